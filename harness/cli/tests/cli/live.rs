//! `nack audit --db`: a live database is only looked at, in one snapshot, with no more than SELECT, and what it cannot show
//! is said.

use rstest::rstest;
use rusqlite::Connection;

use crate::common::Nack;

const OUTBOX: &str = "CREATE TABLE outbox (id TEXT PRIMARY KEY, state TEXT, attempts INTEGER, payload TEXT, created BIGINT, leased_until BIGINT);
    INSERT INTO outbox VALUES ('m-1', 'pending', 0, 'p', 1, NULL), ('m-2', 'inflight', 1, 'p', 1, 5), ('m-3', 'inflight', 1, 'p', 1, NULL),
        ('m-4', 'inflight', 1, 'p', 1, 99999999999), ('m-5', 'Done', 1, 'p', 1, NULL), ('m-6', 'sent', 1, 'p', 1, NULL);";

const PEOPLE: &str = "CREATE TABLE people (id INTEGER PRIMARY KEY, mail TEXT, who TEXT, key TEXT);
    INSERT INTO people VALUES (1, 'ann@example.com', 'Ann', 'k-1'), (2, 'ann@example.com', 'Ann', 'k-2'), (3, 'bob@example.com', 'Bob', 'k-3');
    CREATE UNIQUE INDEX by_key ON people (key);
    CREATE UNIQUE INDEX by_mail ON people (mail) WHERE id > 2;";

/// How the people are members.
const IMPORTER: &str = r#"
[subject.importer]
contract = "member-import"
adapter  = "http"
command  = ["true", "{port}"]
store    = "sqlite:people.db"
setup    = ["true"]
call.import_members = { method = "POST", path = "/" }
observe.members = "SELECT id, mail AS email, who AS display_name, key AS row_key FROM people"
seed.members    = "INSERT INTO people VALUES (:id, :email, :display_name, :row_key)"
"#;

fn with_sqlite(name: &str, sql: &str) -> Nack {
    let nack = Nack::new();
    Connection::open(nack.path().join(name)).and_then(|db| db.execute_batch(sql)).expect("a database");
    nack
}

#[test]
fn words_and_standing_rows_of_a_file_are_told_and_nothing_is_written() {
    let nack = with_sqlite("app.db", OUTBOX);
    let before = std::fs::read(nack.path().join("app.db")).expect("it is there");
    let _ = nack
        .run(&["audit", "outbox", "--db", "app.db"])
        .code(1)
        .says("FAIL outbox/audit/words/outbox.state")
        .says("observed id=m-5 state=Done")
        .says("FAIL outbox/audit/standing/stuck")
        .says("observed id=m-2 attempts=1 leased_until=5")
        .says("FAIL outbox/audit/standing/unleased")
        .says("observed id=m-3 attempts=1")
        .says("10 cases: 1 passed, 3 failed, 0 inconclusive, 6 not covered")
        .says("a table shows none of it");
    assert!(std::fs::read(nack.path().join("app.db")).expect("it is there") == before, "nothing was written");
    let names: Vec<_> =
        std::fs::read_dir(nack.path()).expect("a folder").map(|e| e.expect("an entry").file_name()).collect();
    assert_eq!(names, ["app.db"], "nothing was left behind");
}

#[test]
fn gates_are_looked_for_in_the_catalogue_and_what_they_would_refuse_is_counted() {
    let nack = with_sqlite("people.db", PEOPLE);
    nack.write("nack.toml", IMPORTER);
    let _ = nack
        .run(&["audit", "member-import", "--db", "people.db", "--subject", "importer"])
        .code(1)
        .says("FAIL member-import/audit/gate/email-unique")
        .says("expected a full unique index on people(mail)")
        .says("FAIL member-import/audit/duplicates/email-unique")
        .says("observed email=(15 characters) times=2")
        .says("FAIL member-import/audit/invariant/one-member-per-key-and-email")
        .never_says("gate/key-unique")
        .never_says("ann@example.com");
}

#[test]
fn words_are_those_of_the_binding_and_a_store_that_lacks_a_column_is_not_covered() {
    let nack = with_sqlite(
        "app.db",
        "CREATE TABLE mail (id TEXT, status TEXT, tries INTEGER); INSERT INTO mail VALUES ('m-1', 'done', 1), ('m-2', 'sent', 1);",
    );
    nack.write(
        "nack.toml",
        "[subject.mailer]\ncontract = \"outbox\"\nadapter = \"stdio\"\ncommand = [\"true\"]\nstore = \"sqlite:app.db\"\nsetup = [\"true\"]\n\
         observe.outbox = \"SELECT id, status AS state, tries AS attempts FROM mail;\"\n\
         seed.outbox = \"INSERT INTO mail VALUES (:id, :state, :attempts)\"\n\
         words.state = { queued = \"pending\", busy = \"inflight\", done = \"sent\", failed = \"dead\" }\n",
    );
    let _ = nack
        .run(&["audit", "outbox", "--db", "app.db", "--subject", "mailer", "-v"])
        .code(1)
        .says("observed id=m-2 state=sent (not in the word map)")
        .says("no such column: o.leased_until")
        .says("1 failed");
}

#[rstest]
#[case::no_file(&["outbox", "--db", "nowhere.db"], 2, "there is no such file")]
#[case::no_database(&["outbox", "--db", "garbage.db"], 2, "file is not a database")]
#[case::another_table(&["order-relay", "--db", "app.db"], 2, "it has none of the columns event_id")]
#[case::no_store(&["member-import", "--db", "app.db"], 2, "no such table: members")]
#[case::no_subject(&["outbox", "--db", "app.db", "--subject", "x"], 2, "there is no nack.toml")]
#[case::no_sample(&["outbox", "--db", "app.db", "--sample", "0"], 2, "give a number above 0")]
#[case::no_server(&["outbox", "--db", "postgres://u:s3cret@127.0.0.1:1/x"], 3, "the database")]
#[case::no_connection_string(&["outbox", "--db", "postgres://u:s3cret@[/x"], 2, "no connection string")]
fn what_is_wrong_is_said_and_no_password_shown(#[case] args: &[&str], #[case] code: i32, #[case] says: &str) {
    let nack = with_sqlite("app.db", OUTBOX);
    nack.write("garbage.db", &"garbage ".repeat(1000));
    let _ = nack.run(&[&["audit"], args].concat()).code(code).says(says).never_says("s3cret").never_says("panicked");
}

#[cfg(feature = "postgres")]
mod on_a_server {
    use ::postgres::{Client, NoTls};

    use super::*;
    use crate::postgres::server;

    /// A database of its own, and a role that may do no more there than SELECT.
    struct Shop {
        admin: Client,
        name: String,
        own: String,
        reader: String,
    }

    impl Shop {
        /// None, and said so, if there is no server.
        fn new(name: &str, sql: &str) -> Option<Shop> {
            let server = server::server()?;
            let mut admin = server::connect(server.reveal());
            let name = format!("nack_test_{name}_{}", std::process::id());
            admin.batch_execute(&format!("CREATE DATABASE {name}")).expect("it is new");
            admin.batch_execute(&format!("CREATE ROLE {name} LOGIN PASSWORD 's3cret'")).expect("it is new");
            let own = server.with_database(&name).reveal().to_owned();
            let grant = format!("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}");
            server::connect(&own).batch_execute(&format!("{sql};{grant}")).expect("it is made");
            let (scheme, rest) = own.split_once("://").expect("it is a connection string");
            let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
            let reader = format!("{scheme}://{name}:s3cret@{host}");
            Some(Shop { admin, name, own, reader })
        }
    }

    impl Drop for Shop {
        fn drop(&mut self) {
            let _ = self.admin.batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
            let _ = self.admin.batch_execute(&format!("DROP ROLE {}", self.name));
        }
    }

    #[test]
    fn select_is_enough_no_writer_waits_and_what_is_not_committed_is_not_seen() {
        let Some(shop) = Shop::new("live", OUTBOX) else { return };
        let mut writer = Client::connect(&shop.own, NoTls).expect("it is there");
        let mut writing = writer.transaction().expect("it begins");
        // A writer in the middle of it, who has locked all that a writer can lock.
        let sql = "LOCK TABLE outbox IN EXCLUSIVE MODE; UPDATE outbox SET state = 'success'";
        writing.batch_execute(sql).expect("it writes");
        let _ = Nack::new()
            .run(&["audit", "outbox", "--db", &shop.reader])
            .code(1)
            .says("observed id=m-5 state=Done")
            .says("observed id=m-2 attempts=1 leased_until=5")
            .says("observed id=m-3 attempts=1")
            .says("10 cases: 1 passed, 3 failed, 0 inconclusive, 6 not covered")
            .never_says("success")
            .never_says("s3cret");
        writing.rollback().expect("it ends");
    }

    #[test]
    fn a_writer_is_not_held_up_while_a_query_is_at_work_and_a_slow_one_is_given_up() {
        let Some(shop) = Shop::new("slow", OUTBOX) else { return };
        let nack = Nack::new();
        nack.write(
            "nack.toml",
            "[subject.mailer]\ncontract = \"outbox\"\nadapter = \"stdio\"\ncommand = [\"true\"]\nstore = \"sqlite:a.db\"\nsetup = [\"true\"]\n\
             seed.outbox = \"INSERT INTO outbox VALUES (:id)\"\n\
             observe.outbox = \"SELECT outbox.* FROM outbox, pg_sleep(3600)\"\n",
        );
        let args = ["audit", "outbox", "--db", &shop.reader, "--subject", "mailer", "--within", "1"];
        let mut command = nack.command(&args);
        let mut running = command.stdout(std::process::Stdio::piped()).spawn().expect("it starts");
        let mut writer = Client::connect(&shop.own, NoTls).expect("it is there");
        let at_work = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE usename = $1 AND query LIKE '%pg_sleep%' AND state = 'active')";
        while !writer.query_one(at_work, &[&shop.name]).expect("it can be asked").get::<_, bool>(0) {
            let ended = running.try_wait().expect("it can be asked");
            assert!(ended.is_none(), "it never came to the query: {ended:?}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        writer
            .batch_execute("SET lock_timeout = '30s'; UPDATE outbox SET state = 'dead'")
            .expect("nobody is in its way");
        let output = running.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(String::from_utf8_lossy(&output.stdout).contains("took too long"));
    }

    #[test]
    fn gates_are_looked_for_in_the_catalogue() {
        let Some(shop) = Shop::new(
            "gates",
            &PEOPLE.replace("INTEGER PRIMARY KEY", "TEXT PRIMARY KEY").replace("WHERE id > 2", "WHERE id > '2'"),
        ) else {
            return;
        };
        let nack = Nack::new();
        nack.write("nack.toml", IMPORTER);
        let _ = nack
            .run(&["audit", "member-import", "--db", &shop.reader, "--subject", "importer"])
            .code(1)
            .says("FAIL member-import/audit/gate/email-unique")
            .says("expected a full unique index on people(mail)")
            .says("observed email=(15 characters) times=2")
            .says("FAIL member-import/audit/invariant/one-member-per-key-and-email")
            .never_says("gate/key-unique")
            .never_says("ann@example.com");
    }
}
