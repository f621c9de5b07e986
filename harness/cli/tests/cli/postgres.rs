//! A subject that keeps its state in PostgreSQL, from the binary: it is judged as on SQLite, its databases go however
//! a run ends, and no password is ever shown.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ::postgres::Client;
use nack::store::Url;
use rstest::rstest;
use serde_json::Value;

use crate::common::Nack;
use crate::python::{edit, judged, name, workers};
use crate::servers::programs;
use crate::subjects::{BINDING, folder, python};
use crate::workers::section;

#[path = "../../../tests/store_support/server.rs"]
#[allow(unreachable_pub, reason = "others use it, too")]
pub(crate) mod server;

/// A user of the server who may do no more than make databases, so that all of those are a test's own.
pub(crate) struct User {
    admin: Client,
    name: String,
    url: String,
}

impl User {
    pub(crate) fn new(name: &str) -> Option<User> {
        let server = server::server()?;
        let mut admin = server::connect(server.reveal());
        let name = format!("nack_test_{name}_{}", std::process::id());
        admin.batch_execute(&format!("CREATE ROLE {name} LOGIN CREATEDB PASSWORD 's3cret'")).expect("it is new");
        let (scheme, rest) = server.reveal().split_once("://").expect("it is a connection string");
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        Some(User { admin, url: format!("{scheme}://{name}:s3cret@{host}"), name })
    }

    /// A database of the user's with these tables, as a connection string.
    pub(crate) fn database(&mut self, schema: &str) -> String {
        self.admin.batch_execute(&format!("CREATE DATABASE {0} OWNER {0}", self.name)).expect("it is new");
        let (server, _) = self.url.rsplit_once('/').expect("a connection string names a database");
        let url = format!("{server}/{}", self.name);
        server::connect(&url).batch_execute(schema).expect("it is SQL");
        url
    }

    fn databases(&mut self) -> Vec<String> {
        let own = "SELECT datname::text FROM pg_database WHERE pg_get_userbyid(datdba) = $1";
        self.admin.query(own, &[&self.name]).expect("it can be asked").iter().map(|row| row.get(0)).collect()
    }

    /// Waits until there are databases, or none.
    #[track_caller]
    fn await_databases(&mut self, some: bool) {
        let until = Instant::now() + Duration::from_secs(30);
        while self.databases().is_empty() == some && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(!self.databases().is_empty(), some, "{:?}", self.databases());
    }
}

impl Drop for User {
    fn drop(&mut self) {
        for database in self.databases() {
            let _ = self.admin.batch_execute(&format!("DROP DATABASE {database} WITH (FORCE)"));
        }
        let _ = self.admin.batch_execute(&format!("DROP ROLE {}", self.name));
    }
}

/// The door of the other tests with its state in PostgreSQL; `knocked` is what it does when it is called.
fn door_on(url: &str, knocked: &str) -> Nack {
    folder(knocked, &BINDING.replace("sqlite:app.db", url))
}

const RUN: [&str; 5] = ["run", "--contracts", "contracts", "--jobs", "2"];

fn start(nack: &Nack) -> Child {
    nack.command(&RUN).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts")
}

/// The Python worker with another store: what its SQL and its connection are called there.
fn worker(url: &str) -> Nack {
    let nack = workers();
    for (from, to) in [
        ("import sqlite3\n", "import psycopg\n"),
        ("sqlite3.connect(path, isolation_level=None)", "psycopg.connect(path, autocommit=True)"),
        ("AND attempts >= ?\"", "AND attempts >= %s\""),
        (
            "leased_until <= ?))\"\n                \" ORDER BY created, rowid",
            "leased_until <= %s))\"\n                \" ORDER BY created, seq",
        ),
        ("leased_until <= ?)", "leased_until <= %s)"),
        ("attempts = ?, leased_until = ? WHERE id = ?", "attempts = %s, leased_until = %s WHERE id = %s"),
        ("SET state = ?, leased_until = NULL, last_error = ?", "SET state = %s, leased_until = NULL, last_error = %s"),
        (
            "WHERE id = ? AND state = 'inflight' AND attempts = ?",
            "WHERE id = %s AND state = 'inflight' AND attempts = %s",
        ),
        ("\"BEGIN IMMEDIATE\"", "\"BEGIN; LOCK TABLE outbox IN SHARE ROW EXCLUSIVE MODE\""),
        (".decode()[:500]", ".decode().replace(\"\\0\", \"\")[:500]"),
        ("        sqlite=True,\n", ""),
    ] {
        edit(&nack, from, to);
    }
    nack.write(
        "nack.toml",
        &format!(
            "[subject.outbox]\ncontract = \"outbox\"\nadapter = \"stdio\"\nstore = \"{url}\"\nsetup = \"outbox.sql\"\n\
             command = [\"python3\", \"outbox_worker.py\", \"--nack\"]\n"
        ),
    );
    let table = std::fs::read_to_string(nack.path().join("outbox.sql")).expect("it was copied");
    nack.write(
        "outbox.sql",
        &table.replace("id           TEXT", "seq bigserial, id TEXT").replace("INTEGER", "bigint"),
    );
    nack
}

/// Whether Python can speak to PostgreSQL here; in CI it must.
pub(crate) fn psycopg() -> bool {
    let probe = std::process::Command::new("python3").args(["-c", "import psycopg"]).stderr(Stdio::null()).status();
    let here = python() && probe.is_ok_and(|status| status.success());
    assert!(here || std::env::var_os("CI").is_none(), "psycopg is required here");
    here
}

const RULES: [&str; 7] = [
    "outbox/bad-id",
    "outbox/crash",
    "outbox/late-after-takeover",
    "outbox/order",
    "outbox/payload",
    "outbox/poison-unsendable",
    "outbox/recover",
];

#[test]
fn a_worker_is_judged_on_postgres_as_on_sqlite() {
    let Some(user) = User::new("worker") else { return };
    if !psycopg() {
        return;
    }
    let verdicts = |nack: &Nack| -> Vec<(String, String, String)> {
        let case = |case: &Value| {
            let detail = case["because"]["detail"].as_str().unwrap_or_default().to_owned();
            (name(case).to_owned(), case["verdict"].as_str().expect("it has one").to_owned(), detail)
        };
        judged(nack, "outbox", &RULES, 0).iter().map(case).collect()
    };
    let (sqlite, postgres) = (verdicts(&workers()), verdicts(&worker(&user.url)));
    assert_eq!(sqlite.len(), postgres.len());
    let mut apart = Vec::new();
    for (one, other) in sqlite.iter().zip(&postgres) {
        assert_eq!(one.0, other.0);
        if one.1 != other.1 {
            assert_eq!((one.1.as_str(), other.1.as_str()), ("pass", "not_covered"), "{one:?} {other:?}");
            apart.push(other.2.as_str());
        }
    }
    assert!(!apart.is_empty() && apart.iter().all(|why| why.contains("the store cannot hold this")), "{apart:?}");
}

#[test]
fn a_worker_with_a_fault_fails_by_the_same_name() {
    let Some(user) = User::new("fault") else { return };
    if !psycopg() {
        return;
    }
    let nack = worker(&user.url);
    edit(&nack, " AND state = 'inflight' AND attempts = %s\"", "\"");
    edit(&nack, "row[\"id\"], row[\"attempts\"]),", "row[\"id\"]),");
    let cases = judged(&nack, "outbox", &["outbox/late-after-takeover"], 1);
    assert!(!cases.is_empty() && cases.iter().all(|case| case["verdict"] == "fail"), "{cases:?}");
}

/// An unmodified program, started for each call, and the first of the edits that must turn it red.
#[rstest]
#[case::as_it_is(false)]
#[case::with_an_edit(true)]
fn an_unmodified_worker_is_judged_on_postgres(#[case] edited: bool) {
    let Some(user) = User::new(if edited { "edited" } else { "mail" }) else { return };
    if !psycopg() {
        return;
    }
    let shipped =
        |file: &str| std::fs::read_to_string(programs().join("mail_worker").join(file)).expect("it is shipped");
    let binding = section(&shipped("nack.toml"), "postgres");
    let nack = Nack::new();
    nack.write("nack.toml", &binding.replace("postgres://postgres@127.0.0.1:5432/postgres", &user.url));
    nack.write("schema_postgres.sql", &shipped("schema_postgres.sql"));
    let edits: toml::Table = shipped("python/edits.toml").parse().expect("it is TOML");
    let word = |key: &str| edits["edit"][0][key].as_str().expect("it is a text");
    let program = shipped("python/worker.py");
    let program = if edited { program.replace(word("find"), word("replace")) } else { program };
    nack.write("python/worker.py", &program);
    let run = nack.run(&["run", "--jobs", "2", word("killed_by"), "outbox/crash"]).code(i32::from(edited));
    let _ = if edited { run.says(word("killed_by")) } else { run }.never_says("s3cret");
}

#[rstest]
#[case::to_the_end("say(message['id'], answer)", 0)]
#[case::with_failures("say(message['id'], 'ajar')", 1)]
fn no_database_outlives_its_run(#[case] knocked: &str, #[case] code: i32) {
    let Some(mut user) = User::new(&format!("ends{code}")) else { return };
    if !python() {
        return;
    }
    let nack = door_on(&user.url, knocked);
    let _ = nack.run(&RUN).code(code).never_says("s3cret");
    assert_eq!(user.databases(), Vec::<String>::new());
}

#[rstest]
#[case::interrupted("INT")]
#[case::killed("KILL")]
fn no_database_outlives_a_run_that_is_ended(#[case] signal: &str) {
    let Some(mut user) = User::new(&signal.to_lowercase()) else { return };
    if !python() {
        return;
    }
    let nack = door_on(&user.url, "time.sleep(1000)");
    let mut run = start(&nack);
    user.await_databases(true);
    let sent = std::process::Command::new("kill").args([&format!("-{signal}"), &run.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
    run.wait().expect("it ended");
    user.await_databases(false);
}

#[test]
fn two_runs_at_once_leave_each_others_databases_alone() {
    let Some(mut user) = User::new("twice") else { return };
    if !python() {
        return;
    }
    let slow = door_on(&user.url, "time.sleep(1); say(message['id'], answer)");
    let mut run = start(&slow);
    user.await_databases(true);
    let _ = door_on(&user.url, "say(message['id'], answer)").run(&RUN).code(0);
    assert!(run.wait().expect("it ends").success());
    assert_eq!(user.databases(), Vec::<String>::new());
}

#[test]
fn a_server_out_of_reach_is_3_and_a_broken_address_2_at_their_lines_without_the_password() {
    let nack = door_on("postgres://ann:s3cret@127.0.0.1:1/app", "");
    let says = "nack.toml:6: subject door: postgres://ann:***@127.0.0.1:1/app cannot be reached";
    let _ = nack.run(&RUN).code(3).says(says).never_says("s3cret");
    let nack = door_on("postgres://ann:s3cret with a space@db/app", "");
    let _ = nack.run(&RUN).code(2).says("must be percent-encoded").never_says("s3cret");
    // A line that is shown for what else is wrong with it.
    let nack = door_on("postgres://ann:s3cret@db/app\" and \"more", "");
    let _ = nack.run(&RUN).code(2).says("postgres://ann:******@db/app").never_says("s3cret");
    let nack = door_on("mysql://ann:s3cret@db/app", "");
    let _ = nack.run(&RUN).code(2).says("is not in this version of nack");
}

#[test]
fn what_a_subject_says_of_its_address_is_shown_without_the_password() {
    let Some(user) = User::new("said") else { return };
    if !python() {
        return;
    }
    // Its setup has the address as an argument, and so has what it says when it fails.
    let nack = door_on(&user.url, "");
    let binding =
        BINDING.replace("sqlite:app.db", &user.url).replace("\"door.sql\"", "[\"python3\", \"setup.py\", \"{store}\"]");
    nack.write("nack.toml", &binding);
    nack.write("setup.py", "import sys; sys.exit('no way to ' + sys.argv[1])");
    let shown = Url::parse(&user.url).expect("it is one").with_database("nack_").to_string();
    let _ = nack.run(&RUN).code(3).says(&format!("no way to {shown}")).says("nack.toml:7").never_says("s3cret");
    // As has its last word, in the report of a case.
    let gone = format!("print('cannot reach {}', file=sys.stderr, flush=True); os._exit(3)", user.url);
    let _ = door_on(&user.url, &gone).run(&RUN).code(1).says("cannot reach postgres").never_says("s3cret");
}
