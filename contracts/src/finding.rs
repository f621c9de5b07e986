//! A finding: one thing that is wrong, or could be better, in a contract, with its place and its mend.

use std::fmt;

use serde::Serialize;

use crate::source::Span;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The contract is refused.
    Error,
    /// Only said.
    Advice,
}

/// One finding. `rule` and `at` are stable, so that `[[accept]]` can name them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id, such as `table/gap`.
    pub rule: &'static str,
    /// The part of the contract, as a dotted path such as `table.decide`.
    pub at: String,
    /// How much it weighs.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What would mend it.
    pub help: Option<String>,
    /// The places: the first is the finding's own, further ones belong to it, each with a label.
    pub marks: Vec<(Span, String)>,
}

impl Finding {
    /// An error at one place.
    #[must_use]
    pub fn error(rule: &'static str, at: impl Into<String>, span: Span, message: impl Into<String>) -> Finding {
        Finding {
            rule,
            at: at.into(),
            severity: Severity::Error,
            message: message.into(),
            help: None,
            marks: vec![(span, String::new())],
        }
    }

    /// The same, as advice.
    #[must_use]
    pub fn advice(mut self) -> Finding {
        self.severity = Severity::Advice;
        self
    }

    /// The same, with its mend.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Finding {
        self.help = Some(help.into());
        self
    }

    /// The same, with a label under its own place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Finding {
        if let Some(first) = self.marks.first_mut() {
            first.1 = label.into();
        }
        self
    }

    /// The same, with one more place.
    #[must_use]
    pub fn also(mut self, span: Span, label: impl Into<String>) -> Finding {
        self.marks.push((span, label.into()));
        self
    }

    /// The finding's own place.
    #[must_use]
    pub fn span(&self) -> Span {
        self.marks.first().map_or(0..0, |mark| mark.0.clone())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}: {}", self.rule, self.at, self.message)
    }
}

/// `; did you mean "x"?`, if one of `known` is near enough to `word`, else the list of what is known.
#[must_use]
pub fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let near = known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 4)
        .min();
    match near {
        Some((_, candidate)) => format!("did you mean `{candidate}`?"),
        None if known.is_empty() => "there is none to choose from".to_owned(),
        None => format!("known: {}", known.join(", ")),
    }
}
