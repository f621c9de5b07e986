//! A kind of report that does not exist is an error that teaches, and one that is planned is never a stub.

use std::str::FromStr;

use nack_reports::{Kind, render};
use rstest::rstest;

use crate::sample;

#[test]
fn every_kind_is_known_by_its_name() {
    for kind in Kind::ALL {
        assert_eq!(Kind::from_str(&kind.to_string()), Ok(kind));
    }
}

#[rstest]
#[case::a_typo("junti", "there is no kind of report `junti`")]
#[case::nothing("", "there is no kind of report ``")]
#[case::another_case("JSON", "there is no kind of report `JSON`")]
#[case::html("html", "not available in this version")]
#[case::sarif("sarif", "not available in this version")]
fn another_name_is_an_error_that_lists_the_valid_ones(#[case] name: &str, #[case] words: &str) {
    let message = Kind::from_str(name).expect_err("it is no kind").to_string();
    assert!(message.contains(words), "{message}");
    assert!(message.ends_with("valid kinds are text, md, junit, json, github"), "{message}");
}

#[test]
fn every_kind_says_the_same_counts() {
    let report = sample::everything();
    let line = "12 cases: 3 passed, 4 failed, 1 inconclusive, 3 not covered, 1 known";
    assert!(render(Kind::Text, &report).lines().any(|text| text == line));
    assert!(render(Kind::Md, &report).lines().any(|text| text == format!("**{line}**")));
    assert!(render(Kind::Json, &report).contains("\"pass\": 3,\n    \"fail\": 4,\n    \"inconclusive\": 1,"));
}

#[test]
fn every_kind_ends_with_a_line_break_and_names_the_seed() {
    for kind in Kind::ALL {
        let text = render(kind, &sample::everything());
        assert!(text.ends_with('\n'), "{kind}");
        assert!(text.contains("seed"), "{kind}");
    }
}
