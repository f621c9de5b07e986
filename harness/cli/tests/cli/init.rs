//! `nack init` on databases as teams have them: what it writes runs as it stands, and it says what it guessed.

use rstest::rstest;

use crate::common::Nack;
use crate::subjects::{left_behind, python};

/// A case of each kind that a binding must get right: a send, its crash, its recovery, the order, ids and times.
const CASES: [&str; 7] = [
    "outbox/deliver/accepted+accepted-below-max",
    "outbox/deliver/transient+transient-at-max",
    "outbox/deliver/permanent+permanent",
    "outbox/crash/after-claim+kill",
    "outbox/recover/after-send+kill",
    "outbox/claim-yes/lease-over",
    "outbox/oldest-first",
];

/// What `init` wrote holds, and is no less of a gate than what a person writes.
fn runs_as_it_stands(nack: &Nack, db: &str, says: &[&str]) {
    let mut ran = nack.run(&["init", "outbox", "--db", db, "--to", "gate"]).code(0);
    for sentence in says {
        ran = ran.says(sentence);
    }
    let gate = nack.path().join("gate");
    let run = |args: &[&str]| {
        let output = nack.command(args).current_dir(&gate).output().expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), said)
    };
    let (code, said) = run(&[&["run", "--jobs", "2"], &CASES[..]].concat());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(", 0 not covered"), "{said}");
    let example = std::fs::read_to_string(gate.join("example.py")).expect("it was written");
    let broken =
        example.replace("return \"sent\" if json.loads(body)[\"ack\"].strip() else \"dead\"", "return \"dead\"");
    assert_ne!(broken, example);
    std::fs::write(gate.join("example.py"), broken).expect("it can be written");
    let (code, said) = run(&["run", CASES[0]]);
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(left_behind(nack), Vec::<String>::new());
}

#[rstest]
#[case::text_ids(
    "CREATE TABLE outbox_messages (
        message_id TEXT PRIMARY KEY,
        status TEXT NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'working', 'delivered', 'failed')),
        tries INTEGER NOT NULL DEFAULT 0,
        body TEXT NOT NULL,
        created_at INTEGER NOT NULL DEFAULT 0,
        locked_until INTEGER)",
    &["outbox.id: the column `message_id`", "\"working\" = \"inflight\""]
)]
#[case::numbers_as_ids_and_times_as_text(
    "CREATE TABLE jobs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        state TEXT NOT NULL DEFAULT 'pending',
        attempts INTEGER NOT NULL DEFAULT 0,
        payload TEXT NOT NULL,
        created_at TEXT NOT NULL DEFAULT (datetime('now')),
        locked_until TEXT,
        last_error TEXT)",
    &["store outbox: the table `jobs`", "outbox.leased_until: the column `locked_until`"]
)]
fn what_is_written_for_an_sqlite_file_runs_as_it_stands(#[case] schema: &str, #[case] says: &[&str]) {
    if !python() {
        return;
    }
    let nack = Nack::new();
    let db = rusqlite::Connection::open(nack.path().join("app.db")).expect("a database");
    db.execute_batch(schema).expect("it is SQL");
    drop(db);
    runs_as_it_stands(&nack, "app.db", says);
}

#[cfg(feature = "postgres")]
#[test]
fn what_is_written_for_a_postgresql_database_with_uuids_runs_as_it_stands() {
    use crate::postgres::{User, psycopg};

    let Some(mut user) = User::new("init").filter(|_| psycopg()) else { return };
    let url = user.database(
        "CREATE TYPE mail_state AS ENUM ('queued', 'sending', 'sent', 'dead');
         CREATE TABLE mail_outbox (
             id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
             state mail_state NOT NULL DEFAULT 'queued',
             attempts integer NOT NULL DEFAULT 0,
             payload json NOT NULL,
             created_at timestamptz NOT NULL DEFAULT now(),
             leased_until timestamptz)",
    );
    let nack = Nack::new();
    runs_as_it_stands(&nack, &url, &["store outbox: the table `mail_outbox`", "\"sending\" = \"inflight\""]);
    // A payload that is no JSON has no place in this table: that is nobody's fault.
    let output = nack.command(&["run", "outbox/payload"]).current_dir(nack.path().join("gate")).output();
    let said = String::from_utf8_lossy(&output.expect("the binary starts").stdout).into_owned();
    assert!(said.contains("its column holds nothing else"), "{said}");
}
