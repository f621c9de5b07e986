//! The billing reference, driven by hand: a call that fails leaves a usable program, and every defect it publishes
//! starts and answers. What an answer must be is the contract's business.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use nack::clock::Clock;
use nack::inprocess::InProcess;
use nack::session::{Directive, Event, Session, Watch};
use nack_cases::Action;
use nack_contracts::{Map, Value};
use nack_subjects::billing_reservation::DEFECTS;
use nack_subjects::reference;
use rstest::rstest;
use rusqlite::Connection;

const ORDER: &str = "INSERT INTO orders VALUES ('o-1', 'op-1', 30, 'pending')";

fn sides(folder: &Path, defect: Option<&str>) -> InProcess {
    let program = reference("billing-reservation", defect).expect("the reference knows its own defects");
    let store = folder.join("store.db");
    let connection = Connection::open(&store).expect("a new store");
    program.setup(&connection).expect("empty tables");
    connection.execute_batch(ORDER).expect("the order fits the tables");
    InProcess::new(program, &store, &IndexMap::new(), Arc::new(Clock::default()))
}

/// One call, with an error injected at a checkpoint if one is named; how it ended. The service answers `reserved`.
fn call(session: &mut InProcess, call: &str, raise_at: Option<&str>) -> Event {
    let args = [("order_id", "o-1".into()), ("op_id", "op-1".into()), ("amount", Value::Int(30))];
    let args = args.map(|(name, value)| (name.to_owned(), value)).into_iter().collect::<Map>();
    let watch = Watch { checkpoint: raise_at.map(str::to_owned), ..Watch::default() };
    session.call("main", call, &args, watch).expect("the worker starts");
    loop {
        let (worker, event) = session.next(Duration::from_secs(10)).expect("the worker says something");
        let directive = match event {
            Event::Point(_) => Directive::Raise,
            Event::Effect { .. } => Directive::Answer(Action::Return("reserved".into()).into()),
            ended => return ended,
        };
        session.resume(&worker, directive);
    }
}

#[rstest]
#[case("reserve_order", "before_ask")]
#[case("reserve_order", "after_ask")]
#[case("reserve_order", "after_record")]
#[case("reserve", "before_commit")]
#[case("reserve", "after_commit")]
fn a_failed_call_leaves_a_usable_program(#[case] name: &str, #[case] checkpoint: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut session = sides(folder.path(), None);
    let failed = call(&mut session, name, Some(checkpoint));
    assert!(matches!(&failed, Event::Error { definite: false, .. }), "{failed:?}");
    assert_eq!(call(&mut session, name, None), Event::Reply("reserved".into()));
    assert_eq!(call(&mut session, name, None), Event::Reply("reserved".into()));
}

#[test]
fn every_mutant_starts_and_ends_its_calls_with_a_reply() {
    for name in DEFECTS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut session = sides(folder.path(), Some(name));
        for asked in ["reserve_order", "reserve", "sweep"] {
            let ended = call(&mut session, asked, None);
            assert!(matches!(ended, Event::Reply(_)), "{name} {asked}: {ended:?}");
        }
    }
}

#[test]
fn an_unknown_defect_is_refused() {
    assert!(reference("billing-reservation", Some("no-such-defect")).is_none());
}
