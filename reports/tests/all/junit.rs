//! JUnit, read back: its counts are those of the JSON report, a failure is no error, and what was not run is not green.

use nack_reports::json::{from_json, to_json};
use nack_reports::junit::junit;
use nack_reports::{CellFate, Counts, Fate, Kind, Report, SabotageFate, Verdict, render};
use proptest::prelude::*;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus};
use rstest::rstest;

use crate::escape::is_dangerous;
use crate::{hostile, sample};

fn read(report: &Report) -> quick_junit::Report {
    quick_junit::Report::deserialize_from_str(&junit(report)).expect("JUnit XML")
}

fn suites(junit: &quick_junit::Report, proof: bool) -> impl Iterator<Item = &quick_junit::TestSuite> {
    junit.test_suites.iter().filter(move |suite| (suite.name.as_str() == "proof") == proof)
}

/// The counts of a list of tests, in the words of the JSON report.
fn counts(tests: &[&TestCase]) -> Counts {
    let verdict = |test: &&TestCase| match &test.status {
        TestCaseStatus::Success { .. } => Verdict::Pass,
        TestCaseStatus::NonSuccess { kind: NonSuccessKind::Failure, .. } => Verdict::Fail,
        TestCaseStatus::NonSuccess { kind: NonSuccessKind::Error, .. } => Verdict::Inconclusive,
        TestCaseStatus::Skipped { ty, .. } if ty.as_deref() == Some("known failure") => Verdict::Known,
        TestCaseStatus::Skipped { .. } => Verdict::NotCovered,
    };
    tests.iter().map(verdict).collect()
}

fn find<'a>(junit: &'a quick_junit::Report, name: &str) -> &'a TestCase {
    let mut tests = junit.test_suites.iter().flat_map(|suite| &suite.test_cases);
    tests.find(|test| test.name.as_str() == name).expect("the case is there")
}

#[rstest]
#[case::green(sample::green())]
#[case::every_verdict(sample::red())]
#[case::everything(sample::everything())]
fn its_counts_are_those_of_the_json_report(#[case] report: Report) {
    let json = from_json(&to_json(&report)).expect("a report");
    let junit = read(&report);
    let tests: Vec<&TestCase> = suites(&junit, false).flat_map(|suite| &suite.test_cases).collect();
    assert_eq!(counts(&tests), json.counts);
    let (tests, failures, errors, skipped) = suites(&junit, false).fold((0, 0, 0, 0), |sums, suite| {
        (sums.0 + suite.tests, sums.1 + suite.failures, sums.2 + suite.errors, sums.3 + suite.skipped)
    });
    assert_eq!(tests, json.counts.total());
    assert_eq!(failures, json.counts.fail);
    assert_eq!(errors, json.counts.inconclusive);
    assert_eq!(skipped, json.counts.not_covered + json.counts.known);
}

#[test]
fn every_case_is_there_once_with_its_name_and_its_class() {
    let report = sample::red();
    let junit = read(&report);
    let named = |test: &TestCase| (test.name.as_str().to_owned(), test.classname.as_deref().map(str::to_owned));
    let mut tests: Vec<_> = junit.test_suites.iter().flat_map(|suite| &suite.test_cases).map(named).collect();
    let class = |name: &str| format!("{}.reference", name.split('/').next().unwrap_or_default());
    let mut cases: Vec<_> = report.cases.iter().map(|case| (case.name.clone(), Some(class(&case.name)))).collect();
    tests.sort();
    cases.sort();
    assert_eq!(tests, cases);
}

#[test]
fn a_failure_says_its_sentence_its_checks_and_how_to_replay_it() {
    let TestCaseStatus::NonSuccess { kind, message, ty, description, .. } =
        find(&read(&sample::red()), "outbox/deliver/other+transient-at-max").status.clone()
    else {
        panic!("it failed");
    };
    assert_eq!(kind, NonSuccessKind::Failure);
    assert_eq!(message.as_deref(), Some(sample::failed().why.as_str()));
    assert_eq!(ty.as_deref(), Some("expect, invariant:sent-implies-accepted"));
    let description = description.expect("it is described");
    assert!(
        description.contains("replay: nack replay outbox/deliver/other+transient-at-max --seed 7"),
        "{description:?}"
    );
    assert!(description.contains("contracts/outbox.toml:120"), "{description:?}");
}

#[test]
fn an_inconclusive_case_is_an_error_that_says_why_and_how_to_replay_it() {
    let TestCaseStatus::NonSuccess { kind, message, ty, description, .. } =
        find(&read(&sample::red()), "order-relay/crash/after-send+kill").status.clone()
    else {
        panic!("it did not count");
    };
    assert_eq!(kind, NonSuccessKind::Error);
    assert_eq!(ty.as_deref(), Some("the fault did not strike"));
    assert!(message.as_deref().is_some_and(|message| message.contains("w-1 never came there")), "{message:?}");
    let description = description.expect("it is described");
    assert!(description.contains("replay: nack replay order-relay/crash/after-send+kill --seed 7"), "{description:?}");
}

#[rstest]
#[case::not_covered("outbox/deliver/cut", "not covered", "capability: http")]
#[case::known("order-relay/relay/twice", "known failure", "issue 12")]
fn what_was_not_claimed_is_skipped_with_its_reason(#[case] name: &str, #[case] kind: &str, #[case] reason: &str) {
    let TestCaseStatus::Skipped { message, ty, .. } = find(&read(&sample::red()), name).status.clone() else {
        panic!("{name} is skipped");
    };
    assert_eq!(ty.as_deref(), Some(kind));
    assert!(message.as_deref().is_some_and(|message| message.contains(reason)), "{message:?}");
}

#[test]
fn every_suite_says_its_seed_and_the_digest_of_its_contract() {
    let report = sample::everything();
    for suite in &read(&report).test_suites {
        let value = |name: &str| suite.properties.iter().find(|p| p.name.as_str() == name).map(|p| p.value.as_str());
        assert_eq!(value("seed"), Some("7"), "{}", suite.name.as_str());
        let contract = suite.name.split(' ').next().unwrap_or_default();
        for info in report.contracts.iter().filter(|info| contract == "proof" || info.name == contract) {
            let name = if contract == "proof" {
                format!("contract.digest.{}", info.name)
            } else {
                "contract.digest".to_owned()
            };
            assert_eq!(value(&name), Some(info.digest.as_str()), "{}", suite.name.as_str());
        }
    }
}

#[test]
fn a_proof_that_failed_is_not_a_green_list_of_tests() {
    let report = sample::proof();
    let junit = read(&report);
    let proof = report.proof.expect("it has a proof");
    let of = |fate| proof.mutants.iter().filter(|mutant| mutant.fate == fate).count();
    let cells = |fate| proof.cells.iter().filter(|cell| cell.fate == fate).count();
    let suite = suites(&junit, true).next().expect("it has a suite");
    let done = |fate| proof.sabotage.iter().filter(|sabotage| sabotage.fate == fate).count();
    let tests = proof.mutants.len() + proof.vacuous.len() + proof.cells.len() + proof.sabotage.len();
    assert_eq!(suite.tests, tests);
    let wrong = cells(CellFate::Undefended) + done(SabotageFate::Blind);
    assert_eq!(suite.failures, of(Fate::Survived) + proof.vacuous.len() + wrong);
    let left = cells(CellFate::NotCovered) + done(SabotageFate::Inapplicable);
    assert_eq!(suite.skipped, of(Fate::NotCovered) + left);
}

#[test]
fn a_note_on_a_case_that_passed_is_kept() {
    let junit = read(&sample::green());
    let said = find(&junit, "outbox/deliver/other").system_out.as_deref();
    assert_eq!(said, Some("a stray line was skipped: \"starting\""));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_in_any_place_gives_xml_that_reads_back_with_the_same_counts(text in hostile::text()) {
        let report = sample::everywhere(&text);
        let xml = render(Kind::Junit, &report);
        let read = quick_junit::Report::deserialize_from_str(&xml).expect("JUnit XML");
        let tests: Vec<&TestCase> = suites(&read, false).flat_map(|suite| &suite.test_cases).collect();
        prop_assert_eq!(counts(&tests), report.counts);
        prop_assert!(!xml.chars().any(|c| c != '\n' && is_dangerous(c)), "{xml:?}");
    }
}
