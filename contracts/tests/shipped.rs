//! The shipped contracts read, have no errors, and are what was frozen.

use indexmap::IndexMap;
use nack_contracts::freeze::{Lock, digest};
use nack_contracts::lint::{apply_accepts, lint, refuses};
use nack_contracts::{Contract, Source, shipped, shipped_lock};

fn contracts() -> Vec<Contract> {
    let read = |source: Source| {
        let file = source.file.clone();
        Contract::read(source, &IndexMap::new()).unwrap_or_else(|findings| panic!("{file}: {findings:#?}"))
    };
    shipped().into_iter().map(read).collect()
}

#[test]
fn every_shipped_contract_reads_and_has_no_errors() {
    for contract in contracts() {
        let findings = apply_accepts(&contract, lint(&contract));
        assert!(!refuses(&findings), "{}: {findings:#?}", contract.name);
    }
}

#[test]
fn the_shipped_lock_is_of_the_shipped_contracts() {
    let lock = Lock::read(&shipped_lock()).expect("the lock reads");
    let drift = lock.drift(&contracts(), true);
    assert!(drift.is_empty(), "run `nack freeze`: {drift:#?}");
    assert_eq!(Lock::of(&contracts()).to_text(), shipped_lock().text, "the lock file is as `nack freeze` writes it");
}

#[test]
fn layout_and_comments_do_not_change_a_digest_and_a_rule_does() {
    let source = shipped().remove(0);
    let read = |text: String| Contract::read(Source::new("x", text), &IndexMap::new()).expect("it reads");
    let plain = digest(&read(source.text.clone()));
    assert_eq!(plain, digest(&read(format!("# a comment\n\n{}", source.text))));
    let changed = source.text.replace("budget = 5", "budget = 6");
    assert_ne!(plain, digest(&read(changed)));
    let widened = source
        .text
        .replace("\"permanent\", \"*\",             \"dead\"", "\"permanent\", \"*\",             \"pending\"");
    assert_ne!(widened, source.text, "the row is where this test expects it");
    assert_ne!(plain, digest(&read(widened)));
}

#[test]
fn an_overridden_parameter_changes_the_digest() {
    let source = shipped().remove(0);
    let plain = Contract::read(source.clone(), &IndexMap::new()).expect("it reads");
    let other = Contract::read(source, &IndexMap::from([("budget".to_owned(), 3)])).expect("it reads");
    assert_ne!(digest(&plain), digest(&other));
}
