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

/// Reads a command as GitHub's runner does, and gives back its level, its properties and its message.
fn parsed(line: &str) -> Option<(&str, Vec<(&str, String)>, String)> {
    let (head, message) = line.strip_prefix("::")?.split_once("::")?;
    let (level, rest) = head.split_once(' ')?;
    let decoded = |text: &str| {
        let text = text.replace("%0D", "\r").replace("%0A", "\n").replace("%3A", ":").replace("%2C", ",");
        text.replace("%25", "%")
    };
    let property = |pair: &'_ str| pair.split_once('=').map(|(key, value)| (key.to_owned(), decoded(value)));
    let properties = rest.split(',').map(property).collect::<Option<Vec<_>>>()?;
    let known = ["file", "line", "title"];
    let properties = properties
        .into_iter()
        .map(|(key, value)| known.iter().find(|name| **name == key).map(|name| (*name, value)))
        .collect::<Option<Vec<_>>>()?;
    Some((level, properties, decoded(message)))
}

proptest! {
    #[test]
    fn no_text_of_a_subject_ends_a_command_or_begins_one(text in hostile::text()) {
        let report = sample::everywhere(&text);
        let plain = render(Kind::Github, &sample::everything());
        let out = render(Kind::Github, &report);
        prop_assert_eq!(out.lines().count(), plain.lines().count());
        for line in out.lines() {
            let read = parsed(line);
            prop_assert!(read.is_some(), "{:?}", line);
            prop_assert!(["error", "warning", "notice"].contains(&read.expect("read").0));
        }
    }
}
