//! The three order references, driven by hand: each gives its plain answers, survives a failure on its connection, and
//! starts with every defect it publishes. What each defect breaks is for the contracts' own cases to show.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use nack::clock::Clock;
use nack::inprocess::InProcess;
use nack::session::{Directive, Event, Session, Watch};
use nack_cases::Action;
use nack_contracts::{Map, Value};
use nack_subjects::{order_consumer, order_producer, order_relay, reference};
use rstest::rstest;
use rusqlite::Connection;
use tempfile::TempDir;

/// One reference on a store of its own.
struct Bench {
    _folder: TempDir,
    store: PathBuf,
    session: InProcess,
    sends: Vec<Map>,
}

impl Bench {
    fn new(contract: &str, defect: Option<&str>, seed: &str) -> Bench {
        let program = reference(contract, defect).expect("the reference has this defect");
        let folder = TempDir::new().expect("a temporary folder");
        let store = folder.path().join("store.db");
        let connection = Connection::open(&store).expect("a new store");
        program.setup(&connection).expect("empty tables");
        connection.execute_batch(seed).expect("the seed fits the tables");
        let session = InProcess::new(program, &store, &IndexMap::new(), Arc::new(Clock::default()));
        Bench { _folder: folder, store, session, sends: Vec::new() }
    }

    /// One call, with an error injected at a checkpoint if one is named; its reply as JSON, or its error's name.
    fn call(&mut self, call: &str, args: &[(&str, Value)], raise_at: Option<&str>) -> String {
        let args: Map = args.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let watch = Watch { checkpoint: raise_at.map(str::to_owned), ..Watch::default() };
        self.session.call("main", call, &args, watch).expect("the worker starts");
        loop {
            let (worker, event) = self.session.next(Duration::from_secs(10)).expect("the worker says something");
            let directive = match event {
                Event::Point(_) => Directive::Raise,
                Event::Effect { columns, .. } => {
                    self.sends.push(columns);
                    Directive::Answer(Action::Return("taken".into()).into())
                }
                Event::Blocked => Directive::GiveUp,
                Event::Reply(value) => return value.to_json(),
                Event::Error { name, .. } => return name,
                Event::Died(how) => panic!("the worker died: {how}"),
                Event::Reaches(_) | Event::Ended => unreachable!("it is in this process"),
            };
            self.session.resume(&worker, directive);
        }
    }

    fn place(&mut self, order_id: &str, amount: impl Into<Value>, raise_at: Option<&str>) -> String {
        self.call("place_order", &[("order_id", order_id.into()), ("amount", amount.into())], raise_at)
    }

    fn consume(&mut self, event: Value, raise_at: Option<&str>) -> String {
        self.call("consume", &[("event", event)], raise_at)
    }

    /// The rows of a query with one column of text.
    fn rows(&self, sql: &str) -> Vec<String> {
        let connection = Connection::open(&self.store).expect("the store is there");
        let mut statement = connection.prepare(sql).expect("the query fits the tables");
        let rows = statement.query_map((), |row| row.get(0)).expect("the query runs");
        rows.collect::<Result<_, _>>().expect("every row is text")
    }
}

const ORDERS: &str = "SELECT id || ' ' || amount FROM orders ORDER BY rowid";
const BALANCE: &str = "SELECT CAST(balance AS TEXT) FROM wallet";
const EVENTS: &str = "SELECT event_id || ' ' || amount || ' ' || sent FROM outbox ORDER BY rowid";
const MARKERS: &str = "SELECT event_id || ' ' || order_id || ' ' || amount FROM processed ORDER BY rowid";
const NOTIFICATIONS: &str = "SELECT order_id || ' ' || amount FROM notifications ORDER BY rowid";

const WALLET: &str = "INSERT INTO wallet(id, balance) VALUES ('demo', 100)";

#[test]
fn an_order_is_placed_with_its_debit_and_its_event() {
    let mut bench = Bench::new("order-producer", None, WALLET);
    assert_eq!(bench.place("o-2", 30, None), "\"placed\"");
    assert_eq!(bench.rows(ORDERS), ["o-2 30"]);
    assert_eq!(bench.rows(BALANCE), ["70"]);
    assert_eq!(bench.rows(EVENTS), ["order-created:o-2 30 0"]);
}

#[rstest]
#[case::beyond_the_balance("o-2", 101.into(), "insufficient_balance")]
#[case::existing("o-1", 30.into(), "order_exists")]
#[case::no_amount("o-2", 0.into(), "invalid")]
#[case::too_much("o-2", 1_000_001.into(), "invalid")]
#[case::a_float("o-2", Value::Float(30.0), "invalid")]
#[case::no_id("", 30.into(), "invalid")]
#[case::id_too_long(&"😀".repeat(187), 30.into(), "invalid")]
fn a_refused_order_changes_nothing(#[case] order_id: &str, #[case] amount: Value, #[case] error: &str) {
    let seed = format!("{WALLET}; INSERT INTO orders(id, amount) VALUES ('o-1', 10)");
    let mut bench = Bench::new("order-producer", None, &seed);
    assert_eq!(bench.place(order_id, amount, None), error);
    assert_eq!(bench.rows(ORDERS), ["o-1 10"]);
    assert_eq!(bench.rows(BALANCE), ["100"]);
    assert_eq!(bench.rows(EVENTS), [""; 0]);
}

#[test]
fn without_the_wallet_there_is_no_order() {
    let mut bench = Bench::new("order-producer", None, "INSERT INTO wallet(id, balance) VALUES ('another', 100)");
    assert_eq!(bench.place("o-2", 30, None), "no_wallet");
    assert_eq!(bench.rows(ORDERS), [""; 0]);
}

#[rstest]
#[case("after_debit")]
#[case("before_outbox")]
#[case("before_commit")]
fn a_failed_order_leaves_a_usable_producer(#[case] checkpoint: &str) {
    let mut bench = Bench::new("order-producer", None, WALLET);
    assert_eq!(bench.place("o-1", 50, Some(checkpoint)), "raised");
    assert_eq!(bench.place("o-3", 101, None), "insufficient_balance");
    assert_eq!(bench.place(&"😀".repeat(186), 30, None), "\"placed\"");
    assert_eq!(bench.rows(BALANCE), ["70"]);
}

#[test]
fn events_are_sent_oldest_first_and_an_empty_outbox_says_so() {
    let seed =
        "INSERT INTO outbox(event_id, order_id, amount, sent) VALUES ('e-2', 'o-2', 7, 0), ('e-1', 'o-1', 30, 0)";
    let mut bench = Bench::new("order-relay", None, seed);
    let answers: Vec<_> = (0..3).map(|_| bench.call("relay_once", &[], None)).collect();
    assert_eq!(answers, ["true", "true", "false"]);
    let ids: Vec<_> = bench.sends.iter().map(|send| send["event_id"].clone()).collect();
    assert_eq!(ids, ["e-2".into(), "e-1".into()]);
    assert_eq!(bench.rows(EVENTS), ["e-2 7 1", "e-1 30 1"]);
}

#[test]
fn a_failure_after_the_send_repeats_the_same_event() {
    let seed = "INSERT INTO outbox(event_id, order_id, amount, sent) VALUES ('e-1', 'o-1', 30, 0)";
    let mut bench = Bench::new("order-relay", None, seed);
    assert_eq!(bench.call("relay_once", &[], Some("after_send")), "raised");
    assert_eq!(bench.rows(EVENTS), ["e-1 30 0"]);
    assert_eq!(bench.call("relay_once", &[], None), "true");
    assert_eq!(bench.sends.len(), 2);
    assert_eq!(bench.sends[0], bench.sends[1]);
}

/// An event whose fields are given as JSON.
fn event(json: &str) -> Value {
    Value::from_json(json).expect("the test's event is JSON")
}

const FIRST: &str = r#"{"event_id":"e-1","order_id":"o-1","amount":30}"#;

#[test]
fn a_redelivery_has_no_effect_and_a_conflict_is_reported() {
    let mut bench = Bench::new("order-consumer", None, "");
    assert_eq!(bench.consume(event(FIRST), None), "true");
    assert_eq!(bench.consume(Value::Bytes(FIRST.into()), None), "false");
    assert_eq!(bench.consume(event(&FIRST.replace("30", "31")), None), "conflict");
    assert_eq!(bench.consume(event(&FIRST.replace("o-1", "o-2")), None), "conflict");
    assert_eq!(bench.consume(event(&FIRST.replace("e-1", "E-1")), None), "true");
    assert_eq!(bench.rows(MARKERS), ["e-1 o-1 30", "E-1 o-1 30"]);
    assert_eq!(bench.rows(NOTIFICATIONS), ["o-1 30", "o-1 30"]);
}

#[rstest]
#[case::two_hundred_code_points(&"😀".repeat(200), "true")]
#[case::one_more(&"😀".repeat(201), "invalid_event")]
#[case::spaces("  ", "true")]
#[case::empty("", "invalid_event")]
fn ids_are_measured_in_code_points_and_kept_as_they_are(#[case] id: &str, #[case] answer: &str) {
    let mut bench = Bench::new("order-consumer", None, "");
    assert_eq!(bench.consume(event(&FIRST.replace("e-1", id)), None), answer);
    assert_eq!(bench.rows("SELECT event_id FROM processed WHERE event_id <> ''").len(), usize::from(answer == "true"));
}

#[rstest]
#[case::no_bytes(b"")]
#[case::no_json(b"event_id=e-1")]
#[case::cut(br#"{"event_id":"e-1","order_id":"o-1","amount":3"#)]
#[case::two_values(br#"{"event_id":"e-1","order_id":"o-1","amount":30} {}"#)]
#[case::not_utf8(b"{\"\xff\":1}")]
#[case::nan(br#"{"event_id":"e-1","order_id":"o-1","amount":NaN}"#)]
#[case::duplicate_key(br#"{"event_id":"e-1","order_id":"o-1","amount":30,"amount":30}"#)]
#[case::duplicate_key_spelt_otherwise(br#"{"event_id":"e-1","order_id":"o-1","amount":30,"\u0061mount":30}"#)]
#[case::lone_surrogate(br#"{"event_id":"e-\ud800","order_id":"o-1","amount":30}"#)]
#[case::a_float(br#"{"event_id":"e-1","order_id":"o-1","amount":30.0}"#)]
#[case::true_for_one(br#"{"event_id":"e-1","order_id":"o-1","amount":true}"#)]
#[case::an_extra_field(br#"{"event_id":"e-1","order_id":"o-1","amount":30,"note":"x"}"#)]
#[case::fields_by_position(br#"["e-1","o-1",30]"#)]
#[case::text_in_quotes(br#""e-1""#)]
fn a_body_that_is_no_event_is_refused(#[case] body: &[u8]) {
    let mut bench = Bench::new("order-consumer", None, "");
    assert_eq!(bench.consume(Value::Bytes(body.to_vec()), None), "invalid_event");
    assert_eq!(bench.rows(MARKERS), [""; 0]);
}

#[rstest]
#[case::a_float(event(&FIRST.replace("30", "30.0")))]
#[case::true_for_one(event(&FIRST.replace("30", "true")))]
#[case::an_extra_field(event(&FIRST.replace("{", r#"{"note":"x","#)))]
#[case::a_list(Value::List(vec![event(FIRST)]))]
#[case::the_text_of_an_event(FIRST.into())]
#[case::a_lone_surrogate(event(&FIRST.replace("e-1", r"e-\ud800")))]
fn a_value_that_is_no_event_is_refused(#[case] value: Value) {
    let mut bench = Bench::new("order-consumer", None, "");
    assert_eq!(bench.consume(value, None), "invalid_event");
    assert_eq!(bench.rows(MARKERS), [""; 0]);
}

#[rstest]
#[case("after_dedup", "true")]
#[case("after_effect", "true")]
#[case("before_commit", "true")]
#[case("after_commit", "false")]
fn a_failed_event_leaves_a_usable_consumer(#[case] checkpoint: &str, #[case] again: &str) {
    let mut bench = Bench::new("order-consumer", None, "");
    assert_eq!(bench.consume(event(FIRST), Some(checkpoint)), "raised");
    assert_eq!(bench.consume(event(&FIRST.replace("-1", "-2")), None), "true");
    assert_eq!(bench.consume(event(FIRST), None), again);
    assert_eq!(bench.rows(NOTIFICATIONS).len(), 2);
}

#[test]
fn an_effect_outside_the_database_is_not_rolled_back() {
    let mut bench = Bench::new("order-consumer", None, "");
    assert_eq!(bench.call("consume_outside", &[("event", event(FIRST))], Some("before_commit")), "raised");
    assert_eq!(bench.call("consume_outside", &[("event", event(FIRST))], None), "true");
    assert_eq!(bench.sends.len(), 2);
    assert_eq!(bench.rows(NOTIFICATIONS), ["o-1 30"]);
}

#[rstest]
#[case("order-producer", order_producer::DEFECTS, 11)]
#[case("order-relay", order_relay::DEFECTS, 11)]
#[case("order-consumer", order_consumer::DEFECTS, 20)]
fn every_published_defect_starts_and_no_other(#[case] contract: &str, #[case] defects: &[&str], #[case] count: usize) {
    assert_eq!(defects.len(), count);
    for defect in defects {
        let mut bench = Bench::new(contract, Some(defect), "");
        let answer = match contract {
            "order-producer" => bench.place("", Value::Null, None),
            "order-relay" => bench.call("relay_once", &[], None),
            _ => bench.consume(event(FIRST), None),
        };
        let plain = ["invalid", "false", "true"].contains(&answer.as_str());
        assert!(plain, "{contract} with {defect} answered {answer}");
    }
    assert!(reference(contract, Some("no-such-defect")).is_none());
}
