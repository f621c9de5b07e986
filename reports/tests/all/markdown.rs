//! The summary for a review: everything that decides is in it, it fits into a comment, and no subject can write in it.

use nack_reports::markdown::markdown;
use nack_reports::{CaseReport, Report, Verdict};
use proptest::prelude::*;
use rstest::rstest;

use crate::escape::html;
use crate::text::snapshot;
use crate::{hostile, sample};

#[test]
fn a_summary_of_every_verdict_and_a_proof() {
    snapshot!("markdown-everything", markdown(&sample::everything()));
}

#[test]
fn a_green_summary_is_short() {
    snapshot!("markdown-green", markdown(&sample::green()));
}

#[rstest]
#[case::counts("12 cases: 3 passed, 4 failed, 1 inconclusive, 3 not covered, 1 known")]
#[case::a_failed_name("<code>outbox/deliver/other+transient-at-max</code>")]
#[case::its_sentence("An answer that is not an explicit acceptance is never taken for one.")]
#[case::its_line("<code>contracts/outbox.toml:120</code>")]
#[case::its_replay_line("replay:   nack replay outbox/deliver/other+transient-at-max --seed 7")]
#[case::a_reason("2 cases: capability: http: the transport")]
#[case::a_check_that_was_not_made("invariant:\u{200b}attempts-only-grow")]
#[case::a_digest(&"a".repeat(64))]
#[case::an_override("overridden: lease = 30")]
#[case::the_seed("</code>, seed 7, exit 1")]
#[case::what_it_does_not_show("exactly-once delivery")]
#[case::a_survivor("instead: outbox/claim/two: red by vocabulary")]
fn it_holds_what_a_reviewer_needs(#[case] words: &str) {
    let html = html(&markdown(&sample::everything()));
    assert!(html.contains(words), "{words} is missing in\n{html}");
}

#[test]
fn a_thousand_failures_fit_into_a_comment_and_push_nothing_out() {
    let mut report = sample::everything();
    for i in 0..1_000 {
        report.cases.push(CaseReport {
            name: format!("outbox/many/{i}"),
            observed: Some("x".repeat(5_000)),
            ..sample::failed()
        });
    }
    report.counts = nack_reports::Counts::of(&report.cases);
    let text = markdown(&report);
    assert!(text.len() < 65_536, "{}", text.len());
    for words in [
        "1004 failed",
        "more, which the JSON report names",
        "### Not covered",
        "### Contracts",
        "### What this run does not show",
    ] {
        assert!(text.contains(words), "{words} is missing in\n{text}");
    }
}

#[test]
fn a_run_that_did_not_hold_says_so_in_its_title() {
    assert!(markdown(&sample::red()).starts_with("## nack: not held, exit 1\n"));
    assert!(markdown(&sample::green()).starts_with("## nack: held\n"));
}

/// The elements that the summary is made of.
fn elements(html: &str) -> Vec<String> {
    let tag =
        |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '/' || *c == '!').collect::<String>();
    html.split('<').skip(1).map(tag).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_text_in_any_place_changes_the_shape_of_the_summary(text in hostile::text()) {
        let shape = |text: &str| {
            let report = Report { exit: 1, ..sample::everywhere(text) };
            elements(&html(&markdown(&report)))
        };
        prop_assert_eq!(shape(&text), shape("word"));
    }

    #[test]
    fn no_text_in_any_place_calls_somebody(text in hostile::text()) {
        let html = html(&markdown(&sample::everywhere(&text)));
        let outside: String = html.split("<code").map(|part| part.split_once("</code>").map_or(part, |(_, rest)| rest)).collect();
        let called = outside.chars().zip(outside.chars().skip(1)).any(|(a, b)| a == '@' && b.is_alphanumeric());
        prop_assert!(!called && !html.contains("<a "), "{html}");
    }
}

#[test]
fn every_case_that_did_not_pass_is_named() {
    let report = sample::red();
    let text = markdown(&report);
    let red = report.cases.iter().filter(|case| !matches!(case.verdict, Verdict::Pass | Verdict::NotCovered));
    for case in red {
        assert!(text.contains(&case.name), "{}", case.name);
    }
}
