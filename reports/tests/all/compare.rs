//! Two reports side by side: what vanished, what came to another verdict, and what that likely comes from.

use nack_reports::compare::{Comparison, compare};
use nack_reports::{Report, Verdict};
use rstest::rstest;

use crate::escape::is_dangerous;
use crate::sample;

fn changed(change: fn(&mut Report)) -> Comparison {
    let a = sample::everything();
    let mut b = a.clone();
    change(&mut b);
    compare(&a, &b)
}

#[test]
fn the_same_gate_with_the_same_result_is_said_so() {
    let comparison = changed(|_| {});
    assert_eq!((comparison.exit, comparison.same), (0, sample::everything().cases.len()));
    assert!(comparison.text().contains("same gate, same result: 12 cases agree"), "{}", comparison.text());
}

#[test]
fn where_no_case_is_in_both_nothing_was_compared() {
    let proof = sample::proof();
    let comparison = compare(&proof, &proof);
    assert_eq!((comparison.exit, comparison.same), (4, 0));
    assert!(comparison.text().contains("nothing was compared"), "{}", comparison.text());
}

#[rstest]
#[case::a_vanished_case(|b: &mut Report| { b.cases.remove(0); }, 1, "it was not chosen there")]
#[case::a_case_more(|b: &mut Report| { let mut c = b.cases[0].clone(); c.name += "/more"; b.cases.push(c); }, 0, "1 new")]
#[case::another_verdict(|b: &mut Report| b.cases[0].verdict = Verdict::Fail, 1, "does something else under the same rules")]
#[case::a_better_verdict(
    |b: &mut Report| b.cases.iter_mut().filter(|c| c.verdict == Verdict::Fail).for_each(|c| c.verdict = Verdict::Pass),
    1,
    "4 verdicts apart"
)]
#[case::another_digest(|b: &mut Report| b.contracts[0].digest = "c".repeat(64), 1, "says two things: aaaaaaaaaaaa and cccccccccccc")]
#[case::a_contract_less(|b: &mut Report| { b.contracts.remove(0); }, 1, "only the first ran the contract outbox")]
#[case::nothing_in_both(|b: &mut Report| b.cases.clear(), 1, "vanished")]
#[case::another_seed(|b: &mut Report| b.seed = 8, 0, "seed 7 and 8")]
#[case::another_store(|b: &mut Report| b.subjects[0].store = "postgres".to_owned(), 0, "store sqlite and postgres")]
#[case::a_capability_less(|b: &mut Report| { b.subjects[0].capabilities.pop(); }, 0, "only the first has history")]
fn each_mismatch_is_named_with_its_cause(#[case] change: fn(&mut Report), #[case] exit: u8, #[case] words: &str) {
    let comparison = changed(change);
    assert_eq!(comparison.exit, exit, "{}", comparison.text());
    assert!(comparison.text().contains(words), "{}", comparison.text());
    assert!(!comparison.markdown().is_empty());
}

#[test]
fn a_verdict_that_hangs_on_its_environment_says_so() {
    let comparison = changed(|b| {
        b.cases[0].verdict = Verdict::NotCovered;
        b.cases[0].because = sample::because(nack_reports::BecauseKind::Capability, "http");
        b.contracts[0].digest = "c".repeat(64);
    });
    let cause = &comparison.verdicts[0].cause;
    assert!(
        cause.contains("the contract says something else") && cause.contains("in the second: capability: http"),
        "{cause}"
    );
}

#[test]
fn hostile_names_stay_text() {
    let a = sample::everything();
    let mut b = a.clone();
    b.cases.iter_mut().for_each(|case| case.name = sample::HOSTILE.to_owned());
    let comparison = compare(&a, &b);
    for text in [comparison.text(), comparison.markdown()] {
        assert!(text.chars().all(|c| c == '\n' || !is_dangerous(c)), "{text:?}");
    }
    assert!(!comparison.markdown().contains("@octocat"));
}
