//! A weakening is accepted by name, on a day, with a reason, once.

use nack_contracts::diff::{Change, diff, unused};
use nack_contracts::lint::{apply_accepts, lint};
use nack_contracts::{Contract, Source};
use rstest::rstest;

use crate::changes::{OUTBOX, prepared};

const ACCEPT: &str = "\n[[accept]]\nrule = \"weakened/success\"\nat = \"table.decide.other\"\ndate = \"2026-12-01\"\nwhy = \"the transport was replaced\"\n";

fn read(text: &str) -> Result<Contract, Vec<nack_contracts::Finding>> {
    Contract::read(Source::new("outbox.toml", text), &Default::default())
}

#[test]
fn a_dated_reason_in_the_new_contract_accepts_its_weakening() {
    let (base, head) = (read(OUTBOX).expect("base"), read(&(prepared(0).text() + ACCEPT)).expect("head"));
    let changes = diff(&base, &head);
    assert!(!changes.iter().any(Change::refuses), "{changes:#?}");
    assert_eq!(changes[0].accepted.as_ref().map(|accepted| accepted.date.as_str()), Some("2026-12-01"));
    assert_eq!(unused(&base, &head, &changes), []);
}

#[test]
fn a_reason_that_the_base_held_already_accepts_nothing_new() {
    let base = read(&(OUTBOX.to_owned() + ACCEPT)).expect("base");
    let head = read(&(prepared(0).text() + ACCEPT)).expect("head");
    assert!(diff(&base, &head).iter().any(Change::refuses));
}

#[test]
fn an_acceptance_of_no_change_is_a_finding() {
    let (base, head) = (read(OUTBOX).expect("base"), read(&(OUTBOX.to_owned() + ACCEPT)).expect("head"));
    let changes = diff(&base, &head);
    assert_eq!(unused(&base, &head, &changes).len(), 1);
    // The linter alone cannot know which changes there were.
    assert!(apply_accepts(&head, lint(&head)).iter().all(|finding| finding.rule != "accept/unused"));
}

#[rstest]
#[case::no_date("", "format/missing")]
#[case::no_day("date = \"2026-12\"", "format/value")]
#[case::no_month("date = \"2026-13-01\"", "format/value")]
#[case::words("date = \"today\"", "format/value")]
fn a_weakening_is_accepted_on_a_day(#[case] date: &str, #[case] rule: &str) {
    let text = OUTBOX.to_owned() + &ACCEPT.replace("date = \"2026-12-01\"", date);
    let findings = read(&text).expect_err("it is refused");
    assert_eq!(findings.iter().map(|finding| finding.rule).collect::<Vec<_>>(), [rule]);
}

#[test]
fn a_finding_that_is_accepted_without_a_date_weakens() {
    let accept = "\n[[accept]]\nrule = \"table/gap\"\nat = \"table.decide\"\nwhy = \"later\"\n";
    let base = read(OUTBOX).expect("base");
    let changes = diff(&base, &read(&(OUTBOX.to_owned() + accept)).expect("head"));
    assert_eq!(changes.iter().map(|change| change.rule.as_str()).collect::<Vec<_>>(), ["weakened/accept"]);
    let dated = accept.to_owned() + "date = \"2026-12-01\"\n";
    let changes = diff(&base, &read(&(OUTBOX.to_owned() + &dated)).expect("head"));
    assert!(!changes.iter().any(Change::refuses), "{changes:#?}");
}
