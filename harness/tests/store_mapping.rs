//! A subject's own tables, words and ids, as a binding says them: what goes in comes out in the contract's words, and
//! a binding that does not fit says which of its keys is wrong.

use std::sync::Arc;

use indexmap::IndexMap;
use nack::clock::EPOCH;
use nack::store::{Ids, Mapping, Place, Setup, Store, StoreError, StoreMapping, Stores, Tables, Words};
use nack_contracts::{Contract, Map, Value, shipped};
use rstest::rstest;
use tempfile::TempDir;

const SCHEMA: &str = "CREATE TABLE mail_queue (id INTEGER PRIMARY KEY, status INTEGER, tries INTEGER, body TEXT,
     enqueued_at INTEGER, locked_until INTEGER)";
const SEED: &str = "INSERT INTO mail_queue (id, status, tries, body, enqueued_at, locked_until)
     VALUES (:id, :state, :attempts, :payload, :created, :leased_until)";
const OBSERVE: &str = "SELECT id, status AS state, tries AS attempts, body AS payload, enqueued_at AS created,
     locked_until AS leased_until FROM mail_queue ORDER BY enqueued_at, rowid";

fn contract(name: &str) -> Arc<Contract> {
    let mut contracts = shipped().into_iter().map(|source| Contract::read(source, &IndexMap::new()).expect("it reads"));
    Arc::new(contracts.find(|contract| contract.name == name).expect("it is shipped"))
}

fn mapping(seed: &str, observe: &str) -> Mapping {
    let words = [("0", "pending"), ("1", "inflight"), ("2", "sent"), ("3", "dead")];
    let words = words.into_iter().map(|(own, word)| (own.to_owned(), word.to_owned())).collect();
    let store = StoreMapping { seed: vec![seed.to_owned()], observe: Some(observe.to_owned()), ids: Ids::Int };
    Mapping {
        stores: IndexMap::from([("outbox".to_owned(), store)]),
        words: IndexMap::from([("state".to_owned(), Words(words))]),
    }
}

fn prepare(schema: &str, mapping: Mapping) -> (TempDir, Result<Box<dyn Stores>, StoreError>) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("schema.sql");
    std::fs::write(&file, schema).expect("it can be written");
    let tables = Tables { place: Place::Sqlite("app.db".to_owned()), setup: Setup::File(file), mapping };
    let capabilities = ["lease", "created"].map(str::to_owned);
    let stores = tables.prepare(&contract("outbox"), &capabilities, folder.path(), "test");
    (folder, stores)
}

fn row(id: &str, state: &str, created: i64) -> Map {
    let value = |value: &str| Value::from(value);
    Map::from([
        ("id".to_owned(), value(id)),
        ("state".to_owned(), value(state)),
        ("attempts".to_owned(), Value::Int(1)),
        ("payload".to_owned(), value("hello")),
        ("created".to_owned(), Value::Int(created)),
        ("leased_until".to_owned(), Value::Null),
    ])
}

fn given() -> IndexMap<String, Vec<Map>> {
    IndexMap::from([("outbox".to_owned(), vec![row("m-1", "pending", 0), row("m-2", "sent", 5)])])
}

fn run(store: &dyn Store, sql: &str) {
    let connection = rusqlite::Connection::open(store.address()).expect("it is there");
    connection.execute_batch(sql).expect("the SQL is valid");
}

#[test]
fn own_tables_words_ids_and_times_come_back_as_they_were_given() {
    let (folder, stores) = prepare(SCHEMA, mapping(SEED, OBSERVE));
    let stores = stores.expect("the binding fits");
    // Twice, since the second store is a copy of the first.
    for case in ["first", "second"] {
        let home = folder.path().join(case);
        std::fs::create_dir(&home).expect("it is new");
        let (store, snapshot) = stores.seeded(&home, EPOCH, &given()).expect("they fit");
        assert_eq!(snapshot.stores, given());
        assert_eq!(store.read(None).expect("it can be read"), snapshot);
        let connection = rusqlite::Connection::open(store.address()).expect("it is there");
        let raw: (i64, i64, i64) = connection
            .query_row("SELECT id, status, enqueued_at FROM mail_queue WHERE id = 2", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .expect("the second row has the second number");
        assert_eq!(raw, (2, 2, EPOCH + 5));
    }
}

#[test]
fn history_is_read_through_observe_and_a_stored_word_outside_the_map_is_no_word() {
    let (folder, stores) = prepare(SCHEMA, mapping(SEED, OBSERVE));
    let stores = stores.expect("the binding fits");
    let (store, _) = stores.seeded(folder.path(), EPOCH, &given()).expect("they fit");
    run(store.as_ref(), "UPDATE mail_queue SET status = 1, tries = 2 WHERE id = 1");
    run(store.as_ref(), "UPDATE mail_queue SET status = 9 WHERE id = 1");
    run(store.as_ref(), "INSERT OR REPLACE INTO mail_queue VALUES (2, 3, 7, 'x', 1800000005, NULL)");
    run(store.as_ref(), "INSERT INTO mail_queue VALUES (3, 0, 0, 'new', 1800000006, NULL)");
    let snapshot = store.read(None).expect("it can be read");
    let changes = &snapshot.history.expect("the triggers are there")["outbox"];
    let seen: Vec<_> =
        changes.iter().map(|change| [&change.old["id"], &change.old["state"], &change.new["state"]]).collect();
    let words = |id: &str, old: &str, new: &str| [id, old, new].map(Value::from);
    let expected = [
        words("m-1", "pending", "inflight"),
        words("m-1", "inflight", "9 (not in the word map)"),
        words("m-2", "sent", "dead"),
    ];
    assert_eq!(seen, expected.iter().map(|row| [&row[0], &row[1], &row[2]]).collect::<Vec<_>>());
    let ids: Vec<_> = snapshot.stores["outbox"].iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, [&Value::from("m-1"), &Value::from("m-2"), &Value::from("3")], "the subject's own id as a text");
}

#[test]
fn history_is_not_covered_once_its_triggers_are_gone() {
    let (folder, stores) = prepare(SCHEMA, mapping(SEED, OBSERVE));
    let stores = stores.expect("the binding fits");
    let (store, _) = stores.seeded(folder.path(), EPOCH, &given()).expect("they fit");
    run(store.as_ref(), "DROP TABLE mail_queue");
    run(store.as_ref(), SCHEMA);
    assert_eq!(store.read(None).expect("it can be read").history, None);
}

#[test]
fn a_held_write_lock_stops_writers_and_lets_readers_go_on() {
    let (folder, stores) = prepare(SCHEMA, mapping(SEED, OBSERVE));
    let stores = stores.expect("the binding fits");
    let (store, _) = stores.seeded(folder.path(), EPOCH, &given()).expect("they fit");
    let lock = store.lock().expect("nobody else writes");
    let connection = rusqlite::Connection::open(store.address()).expect("it is there");
    connection.busy_timeout(std::time::Duration::ZERO).expect("it can be set");
    assert_eq!(connection.query_row("SELECT COUNT(*) FROM mail_queue", [], |row| row.get::<_, i64>(0)), Ok(2));
    assert!(connection.execute("DELETE FROM mail_queue", []).is_err());
    drop(lock);
    assert_eq!(connection.execute("DELETE FROM mail_queue", []), Ok(2));
}

#[rstest]
#[case::unknown_column("seed.outbox", "`:attempt` is no column of outbox", "attempts", ":attempts", ":attempt")]
#[case::refused_seed("seed.outbox", "no such table: mail", "", "INTO mail_queue", "INTO mail")]
#[case::refused_observe("observe.outbox", "no such column: stat", "", "status AS", "stat AS")]
#[case::missing_column("observe.outbox", "it gives no column `attempts`", "AS attempts", "tries AS attempts,", "")]
#[case::stray_column("observe.outbox", "it gives a column `payloat`", "payload", "AS payload", "AS payloat")]
#[case::a_seed_that_leaves_one_out(
    "seed.outbox",
    "it never writes the column `payload`",
    ":payload",
    ":payload",
    "'x'"
)]
fn a_binding_that_does_not_fit_names_its_key(
    #[case] key: &str,
    #[case] says: &str,
    #[case] mend: &str,
    #[case] find: &str,
    #[case] put: &str,
) {
    let (_folder, stores) = prepare(SCHEMA, mapping(&SEED.replace(find, put), &OBSERVE.replace(find, put)));
    let Err(StoreError::Binding { key: found, message, help }) = stores else { panic!("it fits") };
    assert_eq!(found, key);
    assert!(message.contains(says) && help.contains(mend), "{message}\n{help}");
}

#[rstest]
#[case::no_word_for_one("0", None, "no word of the subject means `pending`")]
#[case::a_wrong_word("0", Some("waiting"), "`waiting` is no word of state")]
fn a_word_map_is_whole_and_of_the_contract(#[case] own: &str, #[case] word: Option<&str>, #[case] says: &str) {
    let mut mapping = mapping(SEED, OBSERVE);
    let words = &mut mapping.words["state"].0;
    words.shift_remove(own);
    words.extend(word.map(|word| (own.to_owned(), word.to_owned())));
    let (_folder, stores) = prepare(SCHEMA, mapping);
    let Err(StoreError::Binding { key, message, .. }) = stores else { panic!("it fits") };
    assert_eq!(key, "words.state");
    assert!(message.contains(says), "{message}");
}
