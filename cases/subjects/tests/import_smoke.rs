//! The import reference, driven by hand: a failed import leaves a usable importer, and every defect it publishes starts
//! and answers. What an answer must be is the contract's business.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use nack::clock::Clock;
use nack::inprocess::InProcess;
use nack::session::{Directive, Event, Session, Watch};
use nack_contracts::{Map, Value};
use nack_subjects::member_import::DEFECTS;
use nack_subjects::reference;
use rstest::rstest;
use rusqlite::Connection;

fn importer(folder: &Path, defect: Option<&str>) -> InProcess {
    let program = reference("member-import", defect).expect("the reference knows its own defects");
    let store = folder.join("store.db");
    program.setup(&Connection::open(&store).expect("a new store")).expect("empty tables");
    InProcess::new(program, &store, &IndexMap::new(), Arc::new(Clock::default()))
}

/// One call, with an error injected at a checkpoint if one is named; how it ended.
fn import(session: &mut InProcess, body: Value, raise_at: Option<&str>) -> Event {
    let args = Map::from([("body".to_owned(), body)]);
    let watch = Watch { checkpoint: raise_at.map(str::to_owned), ..Watch::default() };
    session.call("main", "import_members", &args, watch).expect("the worker starts");
    loop {
        match session.next(Duration::from_secs(10)).expect("the worker says something") {
            (worker, Event::Point(_)) => session.resume(&worker, Directive::Raise),
            (_, ended) => return ended,
        }
    }
}

fn one_row() -> Value {
    Value::Bytes(br#"{"rows":[{"row_key":"a","email":"a@example.com","display_name":"Ann"}]}"#.to_vec())
}

fn answered(status: &str) -> Event {
    let json = format!(
        r#"{{"http":200,"body":{{"results":[{{"row_key":"a","status":"{status}","id":"mem-1","error":null}}]}}}}"#
    );
    Event::Reply(Value::from_json(&json).expect("the test's answer is JSON"))
}

#[rstest]
#[case("after_lookup", "created")]
#[case("before_commit", "created")]
#[case("after_commit", "unchanged")]
fn a_failed_import_leaves_a_usable_importer(#[case] checkpoint: &str, #[case] again: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut session = importer(folder.path(), None);
    let failed = import(&mut session, one_row(), Some(checkpoint));
    assert!(matches!(&failed, Event::Error { definite: false, .. }), "{failed:?}");
    assert_eq!(import(&mut session, one_row(), None), answered(again));
    assert_eq!(import(&mut session, one_row(), None), answered("unchanged"));
}

#[test]
fn every_mutant_starts_and_ends_its_call_with_a_reply() {
    for name in DEFECTS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut session = importer(folder.path(), Some(name));
        let ended = import(&mut session, one_row(), None);
        assert!(matches!(ended, Event::Reply(_)), "{name}: {ended:?}");
    }
}

#[test]
fn an_unknown_defect_is_refused() {
    assert!(reference("member-import", Some("no-such-defect")).is_none());
}
