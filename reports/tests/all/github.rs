//! Workflow commands: each is one line, at the contract's line, and nothing that a subject said can begin another.

use nack_reports::{Kind, render};
use proptest::prelude::*;

use crate::{hostile, sample};

#[test]
fn each_failure_is_an_error_at_its_line() {
    let text = render(Kind::Github, &sample::everything());
    assert!(text.contains("::error file=contracts/outbox.toml,line=120,title=outbox/"), "{text}");
    assert_eq!(text.matches("::error ").count(), 4 + 4, "{text}");
    assert_eq!(text.matches("::warning ").count(), 1, "{text}");
    assert!(text.lines().last().expect("a last line").starts_with("::notice title=nack::not held"), "{text}");
}

#[test]
fn more_than_github_shows_are_counted() {
    let mut report = sample::everything();
    let red = report.cases.iter().find(|case| case.verdict == nack_reports::Verdict::Fail).expect("a failure").clone();
    report.cases.extend((0..30).map(|_| red.clone()));
    let text = render(Kind::Github, &report);
    assert_eq!(text.matches("::error ").count(), 10, "{text}");
    assert!(text.contains("more, which the job summary names"), "{text}");
}

/// Reads a command as GitHub's runner does, and gives back its level if it is one.
fn level(line: &str) -> Option<&str> {
    let (head, message) = line.strip_prefix("::")?.split_once("::")?;
    let (level, properties) = head.split_once(' ')?;
    let known = |pair: &str| pair.split_once('=').is_some_and(|(key, _)| ["file", "line", "title"].contains(&key));
    (properties.split(',').all(known) && !message.contains('\r')).then_some(level)
}

proptest! {
    #[test]
    fn no_text_of_a_subject_ends_a_command_or_begins_one(text in hostile::text()) {
        let report = sample::everywhere(&text);
        let plain = render(Kind::Github, &sample::everything());
        let out = render(Kind::Github, &report);
        prop_assert_eq!(out.lines().count(), plain.lines().count());
        for line in out.lines() {
            let level = level(line);
            prop_assert!(level.is_some_and(|level| ["error", "warning", "notice"].contains(&level)), "{:?}", line);
        }
    }
}
