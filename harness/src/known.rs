//! Known failures: cases that are allowed to fail for now, each with its reason. The list is a ratchet: an entry that
//! names no case, or whose case passes by now, is an error, so the list can only get shorter.

use std::fs;
use std::path::Path;

use nack_contracts::{Finding, Source, suggest};
use nack_reports::{Because, BecauseKind, CaseReport, Verdict};
use serde::Deserialize;
use toml::Spanned;

/// A list of known failures.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The file, for messages.
    pub source: Source,
    entries: Vec<Spanned<Entry>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The case's whole name.
    case: String,
    /// The subject it fails on; without one, every subject.
    subject: Option<String>,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    known: Vec<Spanned<Entry>>,
}

impl Entry {
    fn is_of(&self, case: &CaseReport) -> bool {
        self.case == case.name && self.subject.as_ref().is_none_or(|subject| *subject == case.subject)
    }
}

impl Known {
    /// Reads a list: `[[known]]` with `case`, `why` and, if only one subject is meant, `subject`.
    ///
    /// # Errors
    /// What is wrong with the file, with its place.
    pub fn read(path: &Path) -> Result<Known, (Source, Box<Finding>)> {
        let file = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|error| {
            let finding = Finding::error("known/file", "known", 0..0, error.to_string());
            (Source::new(file.clone(), ""), Box::new(finding.help("name a file of [[known]] entries")))
        })?;
        let source = Source::new(file, text);
        let broken = |finding: Finding| (source.clone(), Box::new(finding));
        let read: File = toml::from_str(&source.text).map_err(|error| {
            let finding =
                Finding::error("known/toml", "known", error.span().unwrap_or(0..0), error.message().to_owned());
            broken(finding.help("write [[known]] with `case` and `why`, and `subject` if only one is meant"))
        })?;
        for entry in &read.known {
            if entry.get_ref().why.trim().is_empty() {
                let finding = Finding::error("known/why", &entry.get_ref().case, entry.span(), "it has no reason");
                return Err(broken(finding.help("say in `why` what is known, and who mends it")));
            }
        }
        Ok(Known { source, entries: read.known })
    }

    /// Entries whose case or subject does not exist, given every case and subject of the run, chosen or not.
    #[must_use]
    pub fn unknown(&self, cases: &[&str], subjects: &[&str]) -> Vec<Finding> {
        let wrong = |entry: &Spanned<Entry>, what: &str, name: &str, known: &[&str]| {
            let message = format!("there is no {what} `{name}`; {}", suggest(name, known.iter().copied()));
            Finding::error("known/unknown", &entry.get_ref().case, entry.span(), message)
                .help("take the entry out, or mend the name")
        };
        let of = |entry: &Spanned<Entry>| {
            let Entry { case, subject, .. } = entry.get_ref();
            if !cases.contains(&case.as_str()) {
                return Some(wrong(entry, "case", case, cases));
            }
            let subject = subject.as_deref().filter(|subject| !subjects.contains(subject))?;
            Some(wrong(entry, "subject", subject, subjects))
        };
        self.entries.iter().filter_map(of).collect()
    }

    /// Makes listed failures known, and returns the entries whose cases passed.
    pub fn apply(&self, cases: &mut [CaseReport]) -> Vec<Finding> {
        let mut passing = Vec::new();
        for entry in &self.entries {
            let mut ran = cases.iter_mut().filter(|case| entry.get_ref().is_of(case)).peekable();
            let mut passed = ran.peek().is_some();
            for case in ran {
                passed &= case.verdict == Verdict::Pass;
                if case.verdict == Verdict::Fail {
                    case.verdict = Verdict::Known;
                    case.because =
                        Some(Because { kind: BecauseKind::Known, detail: entry.get_ref().why.trim().to_owned() });
                }
            }
            if passed {
                let finding =
                    Finding::error("known/passes", &entry.get_ref().case, entry.span(), "this case passes now");
                passing.push(finding.help("take the entry out, so that the case cannot fail again unseen"));
            }
        }
        passing
    }
}
