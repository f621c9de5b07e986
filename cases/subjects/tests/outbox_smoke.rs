//! That the reference and each of its mutants start and answer. What they must answer is the contract's business.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nack::clock::{Clock, EPOCH};
use nack::inprocess::InProcess;
use nack::session::{Directive, Event, Session, Watch};
use nack_cases::Action;
use nack_contracts::{Map, Value};
use nack_subjects::outbox::DEFECTS;
use nack_subjects::reference;
use rusqlite::{Connection, params};

/// A store with one pending row, and a session on it.
fn seeded(folder: &Path, defect: Option<&str>) -> InProcess {
    let program = reference("outbox", defect).expect("the reference knows its own defects");
    let store = folder.join("store.db");
    let connection = Connection::open(&store).expect("the folder is writable");
    program.setup(&connection).expect("the schema is valid");
    let seed = "INSERT INTO outbox (id, state, attempts, payload, created, leased_until)
                VALUES ('m-1', 'pending', 0, '{}', ?1, NULL)";
    connection.execute(seed, params![EPOCH]).expect("the contract's columns are enough");
    let parameters = [("budget".to_owned(), 5), ("lease".to_owned(), 60)].into_iter().collect();
    InProcess::new(program, &store, &parameters, Arc::new(Clock::default()))
}

/// Calls `deliver_one`, answers every send with an acceptance and returns the call's last event and the ids sent.
fn deliver_one(session: &mut InProcess) -> (Event, Vec<Value>) {
    let args: Map = [("worker".to_owned(), Value::from("w-1"))].into_iter().collect();
    session.call("main", "deliver_one", &args, Watch::default()).expect("a thread starts");
    let mut sent = Vec::new();
    loop {
        let (_, event) = session.next(Duration::from_secs(10)).expect("the worker goes on");
        match event {
            Event::Effect { mut columns, .. } => {
                sent.extend(columns.swap_remove("id"));
                session.resume("main", Directive::Answer(Action::Return("accepted".into()).into()));
            }
            ended => return (ended, sent),
        }
    }
}

fn state(folder: &Path) -> String {
    let connection = Connection::open(folder.join("store.db")).expect("the store is there");
    connection.query_row("SELECT state FROM outbox", (), |row| row.get(0)).expect("the row is there")
}

#[test]
fn an_accepted_row_is_sent_once_and_then_there_is_nothing_to_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut session = seeded(folder.path(), None);
    assert_eq!(deliver_one(&mut session), (Event::Reply("sent".into()), vec!["m-1".into()]));
    assert_eq!(state(folder.path()), "sent");
    assert_eq!(deliver_one(&mut session), (Event::Reply(Value::Null), vec![]));
}

#[test]
fn every_mutant_starts_and_ends_its_call_with_a_reply() {
    for name in DEFECTS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut session = seeded(folder.path(), Some(name));
        let (ended, _) = deliver_one(&mut session);
        assert!(matches!(ended, Event::Reply(_)), "{name}: {ended:?}");
    }
}

#[test]
fn an_unknown_defect_is_refused() {
    assert!(reference("outbox", Some("no-such-defect")).is_none());
}
