//! What PostgreSQL has that SQLite has not: types, transactions that tell themselves apart, sequences, databases that
//! must go, values that it cannot hold, and passwords.

mod store_support;

use indexmap::IndexMap;
use nack::clock::EPOCH;
use nack::store::{Ids, Mapping, Place, Setup, Store, StoreError, StoreMapping, Stores, Tables, Url, drop_leftovers};
use nack_contracts::{Map, Value};
use rstest::rstest;
use tempfile::TempDir;

use store_support::{Kind, connect, contract, databases, given, name_of, prepare, row, server};

const PLAIN: &str = "CREATE TABLE outbox (id text PRIMARY KEY, state text, attempts int, payload text, created bigint,
     leased_until bigint)";

/// A mail queue whose columns have these types.
fn queue(id: &str, payload: &str, time: &str) -> String {
    format!(
        "CREATE TABLE mail (id {id} PRIMARY KEY, state text, attempts smallint, payload {payload}, created {time},
         leased_until {time})"
    )
}

fn mapped(ids: Ids) -> Mapping {
    let seed = "INSERT INTO mail (id, state, attempts, payload, created, leased_until) OVERRIDING SYSTEM VALUE
         VALUES (:id, :state, :attempts, :payload, :created, :leased_until)";
    let observe = "SELECT state, attempts, payload, created, leased_until, id FROM mail ORDER BY created;";
    let store = StoreMapping { seed: vec![seed.to_owned()], observe: Some(observe.to_owned()), ids };
    Mapping { stores: IndexMap::from([("outbox".to_owned(), store)]), words: IndexMap::new() }
}

fn ready(url: Url, schema: &str, mapping: Mapping) -> (Box<dyn Stores>, TempDir) {
    let (stores, folder) = prepare(Place::Postgres(url), schema, mapping);
    (stores.expect("the binding fits"), folder)
}

fn seeded<'s>(stores: &'s dyn Stores, rows: Vec<Map>) -> (Box<dyn Store + 's>, Vec<Map>) {
    let given = IndexMap::from([("outbox".to_owned(), rows)]);
    let (store, snapshot) = stores.seeded(std::path::Path::new(""), EPOCH, &given).expect("they fit");
    let rows = snapshot.stores["outbox"].clone();
    (store, rows)
}

/// The changes of the history, as old and new states.
fn changes(store: &dyn Store) -> Vec<(Value, Value)> {
    let history = store.read(None).expect("it can be read").history.expect("the triggers are there");
    history["outbox"].iter().map(|change| (change.old["state"].clone(), change.new["state"].clone())).collect()
}

#[rstest]
#[case::texts("text", "text", "bigint", Ids::Text)]
#[case::short_texts("varchar(40)", "varchar", "int", Ids::Text)]
#[case::bytes("text", "bytea", "numeric", Ids::Text)]
#[case::json("text", "json", "numeric(20, 3)", Ids::Text)]
#[case::moments("text", "text", "timestamptz", Ids::Text)]
#[case::moments_without_a_zone("text", "text", "timestamp", Ids::Text)]
#[case::fractions("text", "text", "bigint", Ids::Text)]
#[case::numbers("int", "text", "bigint", Ids::Int)]
#[case::identity("bigint GENERATED ALWAYS AS IDENTITY", "text", "bigint", Ids::Int)]
#[case::uuids("uuid", "text", "bigint", Ids::Uuid)]
fn each_type_gives_back_what_it_was_given(
    #[case] id: &str,
    #[case] payload: &str,
    #[case] time: &str,
    #[case] ids: Ids,
) {
    let Some(url) = server() else { return };
    let (stores, _folder) = ready(url, &queue(id, payload, time), mapped(ids));
    let mut rows = given()["outbox"].clone();
    for row in &mut rows {
        row["payload"] = "{\"a\":  [1, 2.50]}".into();
        row["leased_until"] = Value::Int(-7);
    }
    let (store, found) = seeded(stores.as_ref(), rows.clone());
    assert_eq!(found, rows);
    // And so does the history.
    Kind::Postgres.run(store.address(), "UPDATE mail SET state = 'sent' WHERE state = 'pending'");
    let history = store.read(None).expect("it can be read").history.expect("the triggers are there");
    assert_eq!(history["outbox"][0].old, rows[0]);
}

#[test]
fn bytes_floats_booleans_and_documents_come_back_in_the_contracts_words() {
    let Some(url) = server() else { return };
    let schema = "CREATE TYPE state AS ENUM ('pending', 'sent'); CREATE TABLE mail (id text PRIMARY KEY, state state,
         attempts float8, payload bytea, created boolean, leased_until jsonb)";
    let (stores, _folder) = ready(url, schema, mapped(Ids::Text));
    let mut given = row("m-1", "sent", 0);
    given["payload"] = Value::Bytes(vec![0xff, 0x00, 0x80]);
    given["attempts"] = Value::Float(0.1);
    let (store, found) = seeded(stores.as_ref(), Vec::new());
    assert_eq!(found, Vec::<Map>::new());
    Kind::Postgres.run(
        store.address(),
        "INSERT INTO mail VALUES ('m-1', 'sent', 0.1, '\\xff0080', true, '{\"b\": 1, \"a\": 2.5}')",
    );
    let found = &store.read(None).expect("it can be read").stores["outbox"][0];
    for column in ["id", "state", "payload", "attempts"] {
        assert_eq!(found[column], given[column], "{column}");
    }
    assert_eq!(found["created"], Value::Bool(true));
    assert_eq!(found["leased_until"], Value::from("{\"a\":2.5,\"b\":1}"));
}

#[rstest]
#[case::one_change_each("UPDATE mail SET state = 'inflight'; COMMIT; BEGIN; UPDATE mail SET state = 'sent'", &[("pending", "inflight"), ("inflight", "sent")])]
#[case::together("UPDATE mail SET state = 'inflight'; UPDATE mail SET state = 'sent'", &[("pending", "sent")])]
#[case::another_key("UPDATE mail SET id = 'm-9'; UPDATE mail SET state = 'sent'", &[("pending", "sent")])]
#[case::deleted_and_inserted("DELETE FROM mail; INSERT INTO mail VALUES ('m-1', 'sent')", &[("pending", "sent")])]
#[case::deleted_and_inserted_apart("DELETE FROM mail; COMMIT; BEGIN; INSERT INTO mail VALUES ('m-1', 'sent')", &[])]
#[case::new_and_changed_at_once("INSERT INTO mail VALUES ('m-2', 'pending'); UPDATE mail SET state = 'sent' WHERE id = 'm-2'", &[])]
#[case::changed_and_deleted("UPDATE mail SET state = 'sent'; DELETE FROM mail", &[])]
#[case::an_upsert("INSERT INTO mail VALUES ('m-1', 'x') ON CONFLICT (id) DO UPDATE SET state = 'dead'", &[("pending", "dead")])]
#[case::rolled_back("UPDATE mail SET state = 'sent'; ROLLBACK; BEGIN", &[])]
fn a_transaction_is_one_change_of_a_row(#[case] sql: &str, #[case] expected: &[(&str, &str)]) {
    let Some(url) = server() else { return };
    let (stores, _folder) = ready(url, &queue("text", "text", "bigint"), mapped(Ids::Text));
    let (store, _) = seeded(stores.as_ref(), vec![row("m-1", "pending", 0)]);
    Kind::Postgres.run(store.address(), &format!("BEGIN; {sql}; COMMIT"));
    let expected: Vec<_> = expected.iter().map(|(old, new)| (Value::from(*old), Value::from(*new))).collect();
    assert_eq!(changes(store.as_ref()), expected);
}

#[test]
fn history_goes_on_when_the_subject_adds_a_column() {
    let Some(url) = server() else { return };
    let (stores, _folder) = ready(url, &queue("text", "text", "bigint"), mapped(Ids::Text));
    let (store, _) = seeded(stores.as_ref(), vec![row("m-1", "pending", 0)]);
    Kind::Postgres.run(store.address(), "UPDATE mail SET state = 'inflight'");
    Kind::Postgres.run(store.address(), "ALTER TABLE mail ADD COLUMN note text NOT NULL DEFAULT 'x'");
    Kind::Postgres.run(store.address(), "UPDATE mail SET state = 'sent'");
    assert_eq!(changes(store.as_ref()).len(), 2);
}

#[rstest]
#[case::always("bigint GENERATED ALWAYS AS IDENTITY")]
#[case::by_default("int GENERATED BY DEFAULT AS IDENTITY")]
#[case::serial("bigserial")]
fn the_subjects_own_rows_come_after_the_given_ones(#[case] id: &str) {
    let Some(url) = server() else { return };
    let (stores, _folder) = ready(url, &queue(id, "text", "bigint"), mapped(Ids::Int));
    let (store, _) = seeded(stores.as_ref(), given()["outbox"].clone());
    Kind::Postgres.run(store.address(), "INSERT INTO mail (state) VALUES ('pending')");
    assert_eq!(Kind::Postgres.text(store.address(), "SELECT string_agg(id::text, ' ' ORDER BY id) FROM mail"), "1 2 3");
    let (store, _) = seeded(stores.as_ref(), Vec::new());
    Kind::Postgres.run(store.address(), "INSERT INTO mail (state) VALUES ('pending')");
    assert_eq!(Kind::Postgres.text(store.address(), "SELECT id::text FROM mail"), "1");
}

#[test]
fn tables_of_the_contracts_own_names_need_no_sql() {
    let Some(url) = server() else { return };
    let (stores, _folder) = ready(url, PLAIN, Mapping::default());
    let mut short = row("m-0", "pending", 9);
    short.shift_remove("leased_until");
    let (store, found) = seeded(stores.as_ref(), vec![short, row("m-1", "pending", 0)]);
    assert_eq!(found.iter().map(|row| &row["id"]).collect::<Vec<_>>(), [&Value::from("m-0"), &Value::from("m-1")]);
    Kind::Postgres.run(store.address(), "UPDATE outbox SET state = 'sent' WHERE id = 'm-1'");
    assert_eq!(changes(store.as_ref()), [(Value::from("pending"), Value::from("sent"))]);
}

#[rstest]
#[case::a_nul("text", "payload", Value::from("a\0b"))]
#[case::a_nul_in_an_id("text", "id", Value::from("m\u{0}1"))]
#[case::no_utf8("text", "payload", Value::Bytes(vec![0xff, 0xfe]))]
#[case::a_lone_surrogate("text", "payload", Value::Bytes(vec![0xed, 0xa0, 0x80]))]
#[case::a_nul_in_a_document("jsonb", "payload", Value::from("\"\\u0000\""))]
fn a_value_that_no_column_holds_is_told_apart(#[case] payload: &str, #[case] column: &str, #[case] value: Value) {
    let Some(url) = server() else { return };
    let (stores, _folder) = ready(url, &queue("text", payload, "bigint"), mapped(Ids::Text));
    let mut given = row("m-1", "pending", 0);
    given["payload"] = "1".into();
    given[column] = value;
    let given = IndexMap::from([("outbox".to_owned(), vec![given])]);
    let refused = stores.seeded(std::path::Path::new(""), EPOCH, &given);
    assert!(matches!(refused, Err(StoreError::CannotHold(_))), "{refused:?}");
}

#[rstest]
#[case::numbers("bigint", Ids::Text, "ids.outbox", "`id` is of the type int8", "\"int\"")]
#[case::uuids("uuid", Ids::Text, "ids.outbox", "`id` is of the type uuid", "\"uuid\"")]
fn ids_that_do_not_fit_their_column_are_told_of_once(
    #[case] id: &str,
    #[case] ids: Ids,
    #[case] key: &str,
    #[case] says: &str,
    #[case] mend: &str,
) {
    let Some(url) = server() else { return };
    for (schema, mapping) in [
        (queue(id, "text", "bigint"), mapped(ids)),
        (PLAIN.replace("id text", &format!("id {id}")), Mapping::default()),
    ] {
        let (stores, _folder) = prepare(Place::Postgres(url.clone()), &schema, mapping);
        let Err(StoreError::Binding { key: found, message, help }) = stores else { panic!("it fits") };
        assert_eq!(found, key);
        assert!(message.contains(says) && help.contains(mend), "{message}\n{help}");
    }
}

#[rstest]
#[case::its_schema("FROM public.mail")]
#[case::a_view("FROM mails")]
fn a_query_through_which_no_history_can_be_read_is_refused(#[case] from: &str) {
    let Some(url) = server() else { return };
    let mut mapping = mapped(Ids::Text);
    let observe = &mut mapping.stores["outbox"].observe;
    *observe = observe.as_ref().map(|sql| sql.replace("FROM mail", from));
    let schema = format!("{}; CREATE VIEW mails AS SELECT * FROM mail", queue("text", "text", "bigint"));
    let (stores, _folder) = prepare(Place::Postgres(url), &schema, mapping);
    let Err(StoreError::Binding { key, message, help }) = stores else { panic!("it fits") };
    assert_eq!(key, "observe.outbox");
    assert!(message.contains("history") && help.contains("search_path"), "{message}\n{help}");
}

#[test]
fn a_schema_of_its_own_is_found_by_the_search_path() {
    let Some(url) = server() else { return };
    let url = Url::parse(&format!("{}?options=-csearch_path%3Dapp", url.reveal())).expect("it is one");
    let schema = format!("CREATE SCHEMA app; {}", queue("text", "text", "bigint"));
    let (stores, _folder) = ready(url, &schema, mapped(Ids::Text));
    let (store, _) = seeded(stores.as_ref(), vec![row("m-1", "pending", 0)]);
    assert_eq!(Kind::Postgres.text(store.address(), "SELECT id FROM app.mail"), "m-1");
    Kind::Postgres.run(store.address(), "UPDATE mail SET state = 'sent'");
    assert_eq!(changes(store.as_ref()).len(), 1);
}

#[test]
fn a_setup_that_fails_says_where_and_a_program_makes_tables_in_sqlite_only() {
    let Some(url) = server() else { return };
    let (stores, _folder) = prepare(Place::Postgres(url.clone()), "CREATE TABL mail ()", Mapping::default());
    let Err(StoreError::Setup(message)) = stores else { panic!("it fits") };
    assert!(message.contains("schema.sql: the store says: syntax error at or near \"TABL\""), "{message}");
    let setup = Setup::Program(nack_subjects::reference("outbox", None).expect("it ships"));
    let tables = Tables { place: Place::Postgres(url), setup, mapping: Mapping::default() };
    let stores = tables.prepare(&contract("outbox"), &[], std::path::Path::new(""), "test");
    let Err(StoreError::Binding { key, help, .. }) = stores else { panic!("it fits") };
    assert_eq!((key.as_str(), help.as_str()), ("store", "use `sqlite:FILE`"));
}

const MEMBERS: &str = "CREATE TABLE people (id text PRIMARY KEY, external_key text, mail text, name text);";

fn members() -> Mapping {
    let seed = "INSERT INTO people VALUES (:id, :row_key, :email, :display_name)";
    let observe = "SELECT id, external_key AS row_key, mail AS email, name AS display_name FROM people";
    let store = StoreMapping { seed: vec![seed.to_owned()], observe: Some(observe.to_owned()), ids: Ids::Text };
    Mapping { stores: IndexMap::from([("members".to_owned(), store)]), words: IndexMap::new() }
}

#[rstest]
#[case::none("", Some("no full unique index on public.people(external_key)"))]
#[case::full("CREATE UNIQUE INDEX ON people (external_key)", None)]
#[case::a_constraint("ALTER TABLE people ADD UNIQUE (external_key)", None)]
#[case::that_waits_for_the_commit("ALTER TABLE people ADD UNIQUE (external_key) DEFERRABLE INITIALLY DEFERRED", None)]
#[case::with_another_column_along("CREATE UNIQUE INDEX ON people (external_key) INCLUDE (mail)", None)]
#[case::not_unique("CREATE INDEX ON people (external_key)", Some("no full unique index"))]
#[case::partial("CREATE UNIQUE INDEX ON people (external_key) WHERE mail <> ''", Some("no full unique index"))]
#[case::on_more("CREATE UNIQUE INDEX ON people (external_key, mail)", Some("no full unique index"))]
#[case::on_an_expression("CREATE UNIQUE INDEX ON people (lower(external_key))", Some("no full unique index"))]
#[case::not_valid(
    "CREATE UNIQUE INDEX i ON people (external_key);
     UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'i'::regclass",
    Some("no full unique index")
)]
#[case::that_refuses_nothing(
    "CREATE UNIQUE INDEX ON people (external_key);
     CREATE RULE r AS ON INSERT TO people WHERE EXISTS (SELECT FROM people p WHERE p.external_key = new.external_key)
       DO INSTEAD NOTHING",
    Some("was accepted")
)]
fn a_gate_is_in_the_catalogue_and_refuses(#[case] index: &str, #[case] wrong: Option<&str>) {
    let Some(url) = server() else { return };
    let contract = contract("member-import");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("schema.sql");
    // An index of its own for the other gate.
    let schema = format!("{MEMBERS} CREATE UNIQUE INDEX ON people (mail); {index}");
    std::fs::write(&file, schema).expect("it can be written");
    let tables = Tables { place: Place::Postgres(url), setup: Setup::File(file), mapping: members() };
    let stores = tables.prepare(&contract, &[], folder.path(), "test").expect("it fits");
    let store = stores.empty(folder.path(), EPOCH).expect("it can be made");
    let gate = contract.gates.iter().find(|gate| gate.unique == ["row_key"]).expect("the contract has it");
    let row = |id: &str, key: &str| {
        let columns = [("id", id), ("row_key", key), ("email", id), ("display_name", "x")];
        Map::from_iter(columns.map(|(column, value)| (column.to_owned(), Value::from(value))))
    };
    let rows = [row("1", "a"), row("2", "b"), row("3", "a")];
    let found = store.gate(gate, &rows).expect("the catalogue can be read");
    match (&found, wrong) {
        (None, None) => {}
        (Some(found), Some(wrong)) => assert!(found.contains(wrong), "{found}"),
        _ => panic!("{found:?}"),
    }
}

#[test]
fn databases_go_with_their_stores_whoever_is_connected() {
    let Some(url) = server() else { return };
    let (stores, _folder) = ready(url.clone(), PLAIN, Mapping::default());
    let (store, _) = seeded(stores.as_ref(), Vec::new());
    let (altered, _) = seeded(stores.as_ref(), Vec::new());
    let (other, _) = seeded(stores.as_ref(), Vec::new());
    let names = [&store, &altered, &other].map(|store| name_of(store.address()));
    let template = names[0].rsplit_once('_').map(|(session, _)| format!("{session}_0")).expect("it ends so");
    assert_eq!(databases(&url, &names), 3);
    let _subject = connect(altered.address());
    Kind::Postgres.run(altered.address(), "DROP TABLE outbox");
    drop(altered);
    assert_eq!(databases(&url, &names), 2);
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _other = other;
        panic!("on purpose");
    }));
    assert!(failed.is_err());
    assert_eq!(databases(&url, &names), 1);
    let _subject = connect(store.address());
    drop(store);
    assert_eq!(databases(&url, std::slice::from_ref(&template)), 1);
    drop(stores);
    assert_eq!(databases(&url, &[&names[..], &[template]].concat()), 0);
}

const TWO: &str = "CREATE TABLE mail (id bigserial PRIMARY KEY, state text, attempts smallint, payload text,
         created bigint, leased_until bigint);
     CREATE TABLE log (mail bigint REFERENCES mail, what text); CREATE SEQUENCE numbers START 7";

#[rstest]
#[case::rows("INSERT INTO mail (state) VALUES ('x'); INSERT INTO log VALUES (1, 'x'); SELECT nextval('numbers')", true)]
#[case::another_table("CREATE TABLE extra ()", false)]
#[case::another_column("ALTER TABLE log ADD COLUMN extra text", false)]
#[case::one_column_less("ALTER TABLE log DROP COLUMN what", false)]
#[case::another_type("ALTER TABLE log ALTER COLUMN what TYPE varchar(5)", false)]
#[case::another_default("ALTER TABLE log ALTER COLUMN what SET DEFAULT 'x'", false)]
#[case::another_constraint("ALTER TABLE log ADD CHECK (what <> '')", false)]
#[case::another_index("CREATE INDEX ON log (what)", false)]
#[case::another_name("ALTER TABLE log RENAME TO journal", false)]
#[case::no_triggers("ALTER TABLE mail DISABLE TRIGGER ALL", false)]
#[case::another_schema("CREATE SCHEMA extra", false)]
#[case::a_function("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", false)]
#[case::a_rule("CREATE RULE r AS ON DELETE TO log DO INSTEAD NOTHING", false)]
#[case::a_right("GRANT SELECT ON log TO PUBLIC", false)]
#[case::a_setting(
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 100', current_database()); END $$",
    false
)]
fn the_next_case_begins_as_every_case(#[case] sql: &str, #[case] kept: bool) {
    let Some(url) = server() else { return };
    let (stores, _folder) = ready(url, TWO, mapped(Ids::Int));
    let first = {
        let (store, _) = seeded(stores.as_ref(), given()["outbox"].clone());
        Kind::Postgres.run(store.address(), sql);
        name_of(store.address())
    };
    let (store, rows) = seeded(stores.as_ref(), Vec::new());
    assert_eq!(name_of(store.address()) == first, kept);
    assert_eq!(rows, Vec::<Map>::new());
    assert_eq!(changes(store.as_ref()), []);
    Kind::Postgres.run(store.address(), "INSERT INTO mail (state) VALUES ('x')");
    let found = "SELECT concat_ws(' ', (SELECT max(id) FROM mail), (SELECT count(*) FROM log), nextval('numbers'))";
    assert_eq!(Kind::Postgres.text(store.address(), found), "1 0 7");
}

#[test]
fn rows_that_setup_made_are_there_in_every_case() {
    let Some(url) = server() else { return };
    let schema = format!("{TWO}; INSERT INTO log VALUES (NULL, 'made by setup')");
    let (stores, _folder) = ready(url, &schema, mapped(Ids::Int));
    for _ in 0..2 {
        let (store, _) = seeded(stores.as_ref(), Vec::new());
        assert_eq!(Kind::Postgres.text(store.address(), "SELECT what FROM log"), "made by setup");
        Kind::Postgres.run(store.address(), "DELETE FROM log");
    }
}

#[test]
fn a_sweep_drops_what_dead_runs_left_and_nothing_of_a_living_one() {
    let Some(url) = server() else { return };
    let (stores, _folder) = ready(url.clone(), PLAIN, Mapping::default());
    let (store, _) = seeded(stores.as_ref(), Vec::new());
    let living = name_of(store.address());
    let mut session = connect(url.reveal());
    let dead = format!("nack_{}_1_0", living.split('_').nth(1).expect("its session"));
    session.batch_execute(&format!("CREATE DATABASE {dead}")).expect("it is free");
    // Another test may be the one to drop it.
    drop_leftovers(&url).expect("the server is reachable");
    assert_eq!(databases(&url, &[living, dead]), 1);
}

#[rstest]
#[case::refused("postgres://ann:s3cret@127.0.0.1:1/app", "Connection refused")]
#[case::unknown_option("postgres://ann:s3cret@localhost/app?colour=red", "invalid connection string")]
#[case::encryption("postgres://ann:s3cret@localhost/app?sslmode=require", "TLS")]
fn a_server_out_of_reach_is_named_without_its_password(#[case] url: &str, #[case] says: &str) {
    let place = Place::Postgres(Url::parse(url).expect("it is one"));
    let (stores, _folder) = prepare(place, PLAIN, Mapping::default());
    let Err(error @ StoreError::Unreachable(_)) = stores else { panic!("it is there") };
    let message = error.to_string();
    assert!(message.contains("postgres://ann:***@") && message.contains(says), "{message}");
    assert!(!format!("{error:?}").contains("s3cret"));
}
