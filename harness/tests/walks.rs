//! Walks find defects that nobody told them of, and shrink them to a few calls.

use std::sync::Arc;

use indexmap::IndexMap;
use nack::adapter::{Adapter, InProcessAdapter};
use nack::run::{Options, Stored, run_cases};
use nack::walk::walk;
use nack::{Target, scratch};
use nack_cases::Step;
use nack_contracts::{Contract, shipped};
use nack_reports::{CaseReport, Verdict};
use nack_subjects::reference;
use rstest::rstest;
use tempfile::TempDir;

fn contract(name: &str) -> Arc<Contract> {
    let mut contracts = shipped().into_iter().map(|source| Contract::read(source, &IndexMap::new()).expect("it reads"));
    Arc::new(contracts.find(|contract| contract.name == name).expect("it is shipped"))
}

struct Walked {
    report: CaseReport,
    keep: TempDir,
}

impl Walked {
    fn calls(&self) -> usize {
        let file = self.keep.path().join("outbox__walk").join("case.json");
        let stored = Stored::read(&file).expect("a failing walk is kept");
        stored.case.steps.iter().filter(|step| matches!(step, Step::Call(_))).count()
    }
}

fn walked(contract: &Arc<Contract>, defect: Option<&str>, walks: u32, seed: u64) -> Option<Walked> {
    let (scratch, keep) = (scratch().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let adapter = |defect| -> Option<Arc<dyn Adapter>> {
        Some(Arc::new(InProcessAdapter::new(reference(&contract.name, defect)?)))
    };
    let load =
        |name: &str, adapter| Target::load(name, Arc::clone(contract), adapter, scratch.path()).expect("it loads");
    let subject = load("subject", adapter(defect)?);
    let right = defect.and_then(|_| adapter(None)).map(|adapter| load("reference", adapter));
    let options = Options { seed, keep: Some(keep.path().to_owned()), ..Options::default() };
    let report = walk(&subject, right.as_ref(), walks, scratch.path(), &options);
    Some(Walked { report, keep })
}

#[rstest]
#[case::outbox("outbox")]
#[case::order_producer("order-producer")]
#[case::order_relay("order-relay")]
#[case::order_consumer("order-consumer")]
#[case::member_import("member-import")]
fn the_reference_holds_on_every_walk(#[case] name: &str) {
    let walked = walked(&contract(name), None, 60, 7).expect("it has a reference");
    assert_eq!(walked.report.verdict, Verdict::Pass, "{:#?}", walked.report);
    assert!(walked.report.points >= Some(60));
}

#[rstest]
fn walks_find_many_defects_untold_and_shrink_each_to_a_few_calls(#[values(1, 2, 3, 4, 5)] seed: u64) {
    let outbox = contract("outbox");
    let mut found = Vec::new();
    for mutant in &outbox.mutants {
        let Some(walked) = walked(&outbox, Some(&mutant.name), 200, seed) else { continue };
        if walked.report.verdict == Verdict::Fail {
            assert!(walked.calls() <= 4, "{}: {:#?}", mutant.name, walked.report.timeline);
            found.push(mutant.name.as_str());
        }
        if found.len() == 15 {
            return;
        }
    }
    panic!("only {found:?}");
}

#[test]
fn a_kept_walk_is_a_case_that_fails_again() {
    let outbox = contract("outbox");
    let walked = walked(&outbox, Some("sent-before-send"), 200, 1).expect("it has this defect");
    let file = walked.keep.path().join("outbox__walk").join("case.json");
    let stored = Stored::read(&file).expect("it is kept");
    let folder = scratch().expect("a folder");
    let adapter = Arc::new(InProcessAdapter::new(reference("outbox", Some("sent-before-send")).expect("it has it")));
    let mut target = Target::load("subject", outbox, adapter, folder.path()).expect("it loads");
    target.cases = vec![stored.case.into_owned()];
    let again = run_cases(&[target], &[(0, 0)], folder.path(), &Options::default()).remove(0);
    assert_eq!(again.verdict, Verdict::Fail);
    let red =
        |report: &CaseReport| report.checks.iter().find(|check| check.held == Some(false)).map(|c| c.name.clone());
    assert_eq!(red(&again), red(&walked.report));
}

#[test]
fn the_same_seed_walks_the_same() {
    let outbox = contract("outbox");
    let one = |seed| {
        let mut report = walked(&outbox, Some("permanent-retried"), 200, seed).expect("it has this defect").report;
        (report.elapsed_us, report.notes) = (0, Vec::new());
        report
    };
    assert_eq!(one(3), one(3));
}
