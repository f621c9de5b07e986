//! A subject's own tables, words and ids, as a binding says them: what goes in comes out in the contract's words, and
//! a binding that does not fit says which of its keys is wrong. Every store means the same.

mod store_support;

use indexmap::IndexMap;
use nack::clock::EPOCH;
use nack::store::{Ids, Mapping, StoreError, StoreMapping, Words};
use nack_contracts::Value;
use rstest::rstest;

use store_support::{Kind, given, prepare};

const SCHEMA: &str = "CREATE TABLE mail_queue (id INTEGER PRIMARY KEY, status INTEGER, tries INTEGER, body TEXT,
     enqueued_at INTEGER, locked_until INTEGER)";
const SEED: &str = "INSERT INTO mail_queue (id, status, tries, body, enqueued_at, locked_until)
     VALUES (:id, :state, :attempts, :payload, :created, :leased_until)";
const OBSERVE: &str = "SELECT id, status AS state, tries AS attempts, body AS payload, enqueued_at AS created,
     locked_until AS leased_until FROM mail_queue ORDER BY enqueued_at, id";

fn mapping(seed: &str, observe: &str) -> Mapping {
    let words = [("0", "pending"), ("1", "inflight"), ("2", "sent"), ("3", "dead")];
    let words = words.into_iter().map(|(own, word)| (own.to_owned(), word.to_owned())).collect();
    let store = StoreMapping { seed: vec![seed.to_owned()], observe: Some(observe.to_owned()), ids: Ids::Int };
    Mapping {
        stores: IndexMap::from([("outbox".to_owned(), store)]),
        words: IndexMap::from([("state".to_owned(), Words(words))]),
    }
}

#[rstest]
fn own_tables_words_ids_and_times_come_back_as_they_were_given(#[values(Kind::Sqlite, Kind::Postgres)] kind: Kind) {
    let Some(place) = kind.place() else { return };
    let (stores, folder) = prepare(place, SCHEMA, mapping(SEED, OBSERVE));
    let stores = stores.expect("the binding fits");
    // Twice, since the second store is a copy of the first.
    for case in ["first", "second"] {
        let home = folder.path().join(case);
        std::fs::create_dir(&home).expect("it is new");
        let (store, snapshot) = stores.seeded(&home, EPOCH, &given()).expect("they fit");
        assert_eq!(snapshot.stores, given());
        assert_eq!(snapshot.history.as_ref().map(|history| history["outbox"].len()), Some(0));
        assert_eq!(store.read(None).expect("it can be read"), snapshot);
        let raw = "SELECT id || ' ' || status || ' ' || enqueued_at FROM mail_queue WHERE id = 2";
        assert_eq!(kind.text(store.address(), raw), format!("2 2 {}", EPOCH + 5));
    }
}

#[rstest]
fn history_is_read_through_observe_and_a_stored_word_outside_the_map_is_no_word(
    #[values(Kind::Sqlite, Kind::Postgres)] kind: Kind,
) {
    let Some(place) = kind.place() else { return };
    let (stores, folder) = prepare(place, SCHEMA, mapping(SEED, OBSERVE));
    let stores = stores.expect("the binding fits");
    let (store, _) = stores.seeded(folder.path(), EPOCH, &given()).expect("they fit");
    kind.run(store.address(), "UPDATE mail_queue SET status = 1, tries = 2 WHERE id = 1");
    kind.run(store.address(), "UPDATE mail_queue SET status = 9 WHERE id = 1");
    let replace = kind.of(
        "INSERT OR REPLACE INTO mail_queue VALUES (2, 3, 7, 'x', 1800000005, NULL)",
        "BEGIN; DELETE FROM mail_queue WHERE id = 2;
         INSERT INTO mail_queue VALUES (2, 3, 7, 'x', 1800000005, NULL); COMMIT",
    );
    kind.run(store.address(), replace);
    let upsert = "INSERT INTO mail_queue VALUES (2, 0, 0, '', 0, NULL)
         ON CONFLICT (id) DO UPDATE SET status = 2";
    kind.run(store.address(), upsert);
    kind.run(store.address(), "INSERT INTO mail_queue VALUES (3, 0, 0, 'new', 1800000006, NULL)");
    let snapshot = store.read(None).expect("it can be read");
    let changes = &snapshot.history.expect("the triggers are there")["outbox"];
    let seen: Vec<_> =
        changes.iter().map(|change| [&change.old["id"], &change.old["state"], &change.new["state"]]).collect();
    let words = |id: &str, old: &str, new: &str| [id, old, new].map(Value::from);
    let expected = [
        words("m-1", "pending", "inflight"),
        words("m-1", "inflight", "9 (not in the word map)"),
        words("m-2", "sent", "dead"),
        words("m-2", "dead", "sent"),
    ];
    assert_eq!(seen, expected.iter().map(|row| [&row[0], &row[1], &row[2]]).collect::<Vec<_>>());
    let ids: Vec<_> = snapshot.stores["outbox"].iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, [&Value::from("m-1"), &Value::from("m-2"), &Value::from("3")], "the subject's own id as a text");
}

#[rstest]
fn history_is_not_covered_once_its_triggers_are_gone(#[values(Kind::Sqlite, Kind::Postgres)] kind: Kind) {
    let Some(place) = kind.place() else { return };
    let (stores, folder) = prepare(place, SCHEMA, mapping(SEED, OBSERVE));
    let stores = stores.expect("the binding fits");
    let (store, _) = stores.seeded(folder.path(), EPOCH, &given()).expect("they fit");
    kind.run(store.address(), "DROP TABLE mail_queue");
    kind.run(store.address(), SCHEMA);
    assert_eq!(store.read(None).expect("it can be read").history, None);
}

#[rstest]
fn a_held_write_lock_stops_writers_and_lets_readers_go_on(#[values(Kind::Sqlite, Kind::Postgres)] kind: Kind) {
    let Some(place) = kind.place() else { return };
    let (stores, folder) = prepare(place, SCHEMA, mapping(SEED, OBSERVE));
    let stores = stores.expect("the binding fits");
    let (store, _) = stores.seeded(folder.path(), EPOCH, &given()).expect("they fit");
    let delete = || match kind {
        Kind::Sqlite => {
            let connection = rusqlite::Connection::open(store.address()).expect("it is there");
            connection.busy_timeout(std::time::Duration::ZERO).expect("it can be set");
            connection.execute("DELETE FROM mail_queue", []).ok()
        }
        Kind::Postgres => {
            let mut client = store_support::connect(store.address());
            client.batch_execute("SET lock_timeout = '100ms'").expect("it can be set");
            client.execute("DELETE FROM mail_queue", &[]).ok().and_then(|rows| usize::try_from(rows).ok())
        }
    };
    let lock = store.lock().expect("nobody else writes");
    assert_eq!(kind.text(store.address(), "SELECT CAST(COUNT(*) AS TEXT) FROM mail_queue"), "2");
    assert_eq!(delete(), None);
    drop(lock);
    assert_eq!(delete(), Some(2));
}

#[rstest]
#[case::unknown_column("seed.outbox", ["`:attempt` is no column of outbox"; 2], "attempts", ":attempts", ":attempt")]
#[case::refused_seed("seed.outbox", ["no such table: mail", "\"mail\" does not exist"], "", "INTO mail_queue", "INTO mail")]
#[case::refused_observe(
    "observe.outbox",
    ["no such column: stat", "column \"stat\" does not exist"],
    "",
    "status AS",
    "stat AS"
)]
#[case::missing_column("observe.outbox", ["it gives no column `attempts`"; 2], "AS attempts", "tries AS attempts,", "")]
#[case::stray_column("observe.outbox", ["it gives a column `payloat`"; 2], "payload", "AS payload", "AS payloat")]
#[case::one_that_writes(
    "observe.outbox",
    ["it writes", "it is no plain query"],
    "a SELECT",
    OBSERVE,
    "UPDATE mail_queue SET tries = 1 RETURNING id, status AS state, tries AS attempts, body AS payload,
     enqueued_at AS created, locked_until AS leased_until"
)]
#[case::a_seed_that_leaves_one_out(
    "seed.outbox",
    ["it never writes the column `payload`"; 2],
    ":payload",
    ":payload",
    "'x'"
)]
fn a_binding_that_does_not_fit_names_its_key(
    #[values(Kind::Sqlite, Kind::Postgres)] kind: Kind,
    #[case] key: &str,
    #[case] says: [&str; 2],
    #[case] mend: &str,
    #[case] find: &str,
    #[case] put: &str,
) {
    let Some(place) = kind.place() else { return };
    let (stores, _folder) = prepare(place, SCHEMA, mapping(&SEED.replace(find, put), &OBSERVE.replace(find, put)));
    let Err(StoreError::Binding { key: found, message, help }) = stores else { panic!("{stores:?}") };
    assert_eq!(found, key);
    assert!(message.contains(kind.of(says[0], says[1])) && help.contains(mend), "{message}\n{help}");
}

#[rstest]
#[case::no_word_for_one("0", None, "no word of the subject means `pending`")]
#[case::a_wrong_word("0", Some("waiting"), "`waiting` is no word of state")]
fn a_word_map_is_whole_and_of_the_contract(
    #[values(Kind::Sqlite, Kind::Postgres)] kind: Kind,
    #[case] own: &str,
    #[case] word: Option<&str>,
    #[case] says: &str,
) {
    let Some(place) = kind.place() else { return };
    let mut mapping = mapping(SEED, OBSERVE);
    let words = &mut mapping.words["state"].0;
    words.shift_remove(own);
    words.extend(word.map(|word| (own.to_owned(), word.to_owned())));
    let (stores, _folder) = prepare(place, SCHEMA, mapping);
    let Err(StoreError::Binding { key, message, .. }) = stores else { panic!("it fits") };
    assert_eq!(key, "words.state");
    assert!(message.contains(says), "{message}");
}
