//! What a person reads in a terminal: quiet when green, precise when red, and never commanded by a subject.

use nack_reports::text::{Style, Verbosity, text};
use nack_reports::{CaseReport, Report, Verdict};
use proptest::prelude::*;
use rstest::rstest;

use crate::escape::is_dangerous;
use crate::{hostile, sample};

const PLAIN: Style = Style { color: false, verbose: Verbosity::Normal, width: 100 };
const QUIET: Style = Style { verbose: Verbosity::Quiet, ..PLAIN };
const VERBOSE: Style = Style { verbose: Verbosity::Verbose, ..PLAIN };

/// Snapshots are files of their own; an escape sequence is made visible there.
macro_rules! snapshot {
    ($name:literal, $text:expr) => {
        insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!($name, $text.replace('\u{1b}', "␛"));
        });
    };
}
pub(crate) use snapshot;

fn alone(case: CaseReport) -> Report {
    sample::report(vec![case], 1)
}

fn alone_with(exit: u8, verdict: Verdict) -> Report {
    sample::report(vec![CaseReport { verdict, ..sample::case("outbox/deliver/accepted") }], exit)
}

#[test]
fn a_green_run_is_quiet() {
    snapshot!("text-green", text(&sample::green(), PLAIN));
}

#[test]
fn a_red_run_is_precise() {
    snapshot!("text-red", text(&sample::red(), PLAIN));
}

#[test]
fn a_proof_shows_which_case_killed_which_mutant_through_which_check() {
    snapshot!("text-proof", text(&sample::proof(), PLAIN));
}

#[test]
fn colours_mark_what_failed_and_where_the_fault_struck() {
    snapshot!("text-color", text(&alone(sample::failed()), Style { color: true, ..PLAIN }));
}

#[test]
fn asked_for_everything_it_names_every_case() {
    let report = sample::red();
    let all = text(&report, VERBOSE);
    for case in &report.cases {
        assert!(all.contains(&case.name), "{} is missing in\n{all}", case.name);
    }
    assert!(all.contains("a stray line was skipped"), "{all}");
}

#[rstest]
#[case::quiet(QUIET)]
#[case::normal(PLAIN)]
#[case::verbose(VERBOSE)]
fn what_was_not_covered_is_counted_by_reason_however_quiet_it_is(#[case] style: Style) {
    let text = text(&sample::green(), style);
    assert!(text.contains("6 cases: 3 passed, 0 failed, 0 inconclusive, 3 not covered, 0 known"), "{text}");
    assert!(text.contains("2  capability: http: the transport"), "{text}");
    assert!(text.contains("1  clock: the worker's clock"), "{text}");
    assert!(text.contains("1  invariant:attempts-only-grow: not covered: history"), "{text}");
    assert!(text.contains("\nheld: 3 of 6 cases passed; 3 not covered (seed 7, 1.234 s)\n"), "{text}");
}

#[test]
fn what_did_not_pass_is_told_in_full_however_quiet_it_is() {
    let quiet = text(&sample::red(), QUIET);
    for case in sample::red().cases.iter().filter(|case| matches!(case.verdict, Verdict::Fail | Verdict::Inconclusive))
    {
        assert!(quiet.contains(&format!("  replay: {}\n", case.replay)), "{quiet}");
    }
}

#[test]
fn the_last_line_of_a_failing_case_replays_it() {
    let text = text(&alone(sample::failed()), PLAIN);
    let block = text.split("\n\n").next().unwrap_or_default();
    assert_eq!(block.lines().last(), Some("  replay: nack replay outbox/deliver/other+transient-at-max --seed 7"));
}

#[test]
fn expected_stands_above_observed_in_the_same_column_on_every_line() {
    let case = CaseReport { expected: Some("a\nb".to_owned()), observed: Some("a\nc".to_owned()), ..sample::failed() };
    let text = text(&alone(case), PLAIN);
    assert!(text.contains("\n  expected  a\n            b\n  observed  a\n            c\n"), "{text}");
}

#[test]
fn a_check_that_failed_twice_alike_is_told_once() {
    let mut case = sample::failed();
    case.checks.extend(case.checks.clone());
    assert_eq!(text(&alone(case), PLAIN), text(&alone(sample::failed()), PLAIN));
}

#[rstest]
#[case::a_failure(alone_with(0, Verdict::Fail))]
#[case::a_case_that_did_not_count(alone_with(0, Verdict::Inconclusive))]
#[case::an_exit_code(Report { exit: 3, ..sample::green() })]
#[case::nothing_matched(sample::report(Vec::new(), 4))]
#[case::nothing_at_all(sample::report(Vec::new(), 0))]
#[case::a_mutant_that_survived(Report { exit: 0, ..sample::proof() })]
fn only_a_run_that_held_says_so(#[case] report: Report) {
    let text = text(&report, PLAIN);
    let last = text.lines().last().unwrap_or_default();
    assert!(last.starts_with("not held"), "{last}");
}

#[test]
fn a_run_that_was_given_every_case_and_held_ends_by_saying_so() {
    let text = text(&sample::report(vec![sample::case("outbox/deliver/accepted")], 0), PLAIN);
    assert_eq!(text.lines().last(), Some("held: all 1 case passed (seed 7, 1.234 s)"));
}

#[test]
fn a_case_that_checked_nothing_says_why_it_failed() {
    let text =
        text(&alone(CaseReport { verdict: Verdict::Fail, checks: Vec::new(), ..sample::case("outbox/x") }), PLAIN);
    assert!(text.contains("a case that checks nothing has earned no pass"), "{text}");
}

#[test]
fn a_huge_value_is_cut_and_its_size_is_told() {
    let case = CaseReport { observed: Some("x".repeat(1_048_576)), ..sample::failed() };
    let short = text(&alone(case.clone()), PLAIN);
    assert!(short.len() < 10_000 && short.contains("(1048576 characters in all)"), "{}", short.len());
    assert!(text(&alone(case), VERBOSE).contains(&"x".repeat(1_048_576)));
}

#[test]
fn a_long_timeline_is_cut_but_never_around_its_fault() {
    let mut timeline: Vec<_> = (0..5_000).map(|i| sample::moment("worker w-1", &format!("does {i}"), false)).collect();
    timeline[2_500] = sample::moment("worker w-1", "is killed here", true);
    let text = text(&alone(CaseReport { timeline, ..sample::failed() }), PLAIN);
    for shown in
        ["does 0\n", "does 2495\n", "! worker w-1  is killed here\n", "does 2505\n", "does 4999\n", "… 2475 moments\n"]
    {
        assert!(text.contains(shown), "{shown} is missing in\n{text}");
    }
    assert!(!text.contains("does 1000\n"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_text_in_any_place_commands_the_terminal(text in hostile::text(), verbose in prop::sample::select(vec![QUIET, PLAIN, VERBOSE])) {
        let report = sample::everywhere(&text);
        let plain = super::text::text(&report, verbose);
        prop_assert!(!plain.chars().any(|c| c != '\n' && is_dangerous(c)), "{plain:?}");
        let coloured = super::text::text(&report, Style { color: true, ..verbose });
        prop_assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
    }

    #[test]
    fn no_text_forges_a_line(text in hostile::text()) {
        // A line break in any field may not begin a line of ours: as many lines end a block as there are blocks.
        let report = sample::everywhere(&format!("{text}\n  replay: x\nheld: all 1 case passed"));
        let plain = super::text::text(&report, PLAIN);
        let blocks = report.counts.fail + report.counts.inconclusive;
        prop_assert_eq!(plain.lines().filter(|line| line.starts_with("  replay:")).count(), blocks, "{}", plain);
        prop_assert_eq!(plain.lines().filter(|line| line.starts_with("held:")).count(), 0, "{}", plain);
    }
}
