//! Judging: what was observed, held against what a case expects and what a contract says of every case.

mod evidence;
mod matching;
mod vocabulary;

pub(crate) use evidence::Evidence;
pub(crate) use matching::{Miss, expectation, outcome_meets};

use indexmap::IndexMap;
use nack_contracts::{Map, Value};

use crate::store::Snapshot;

/// How a call ended, as its caller saw it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// A reply came.
    Reply(Value),
    /// It ended well, and nothing tells what it replied.
    Unobserved,
    /// An error reached the caller.
    Error { name: String, definite: bool, text: Vec<u8> },
    /// Nothing came: the worker was killed, or died of a signal it was sent.
    Nothing(String),
}

impl Outcome {
    /// The column `outcome` of the relation `reply`.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            // A server that failed in the middle of it does not know either.
            Outcome::Reply(Value::Map(reply)) if matches!(reply.get("http"), Some(Value::Int(500..=599))) => "unknown",
            Outcome::Reply(_) => "acknowledged",
            Outcome::Error { definite: true, .. } => "refused",
            Outcome::Unobserved | Outcome::Error { .. } | Outcome::Nothing(_) => "unknown",
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Reply(value) => write!(f, "{value}"),
            Outcome::Unobserved => f.write_str("well, with a reply that is not observed"),
            Outcome::Error { name, text, .. } if text.is_empty() => write!(f, "error {name}"),
            Outcome::Error { name, text, .. } => {
                let text = String::from_utf8_lossy(text);
                write!(f, "error {name}: {}", text.chars().take(200).collect::<String>())
            }
            Outcome::Nothing(why) => write!(f, "no reply ({why})"),
        }
    }
}

/// Everything a case has seen so far, in the contract's words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    /// The rows that were seeded.
    pub(crate) given: IndexMap<String, Vec<Map>>,
    /// What is durable now.
    pub(crate) durable: Snapshot,
    /// Every use of an effect, in order, with `n`, `worker`, its columns, `answer` and `sample`.
    pub(crate) effects: IndexMap<String, Vec<Map>>,
    /// Every ended call, in order, with `n`, `worker`, `call`, `outcome`, `word` and `value`.
    pub(crate) replies: Vec<Map>,
    /// Whether a reply is among them that nothing tells the value of. What they say is then not judged.
    pub(crate) unobserved: bool,
}

impl Observed {
    /// The rows of a relation, by its name in the contract.
    pub(crate) fn relation(&self, name: &str) -> Vec<Map> {
        if let Some(rows) = self.durable.stores.get(name) {
            return rows.clone();
        }
        if let Some(rows) = self.effects.get(name) {
            return rows.clone();
        }
        if let Some(store) = name.strip_suffix("_given") {
            return self.given.get(store).cloned().unwrap_or_default();
        }
        if let Some(store) = name.strip_suffix("_history") {
            let history = self.durable.history.as_ref().and_then(|history| history.get(store));
            return history.into_iter().flatten().enumerate().map(history_row).collect();
        }
        if name == "reply" { self.replies.clone() } else { Vec::new() }
    }
}

fn history_row((index, change): (usize, &crate::store::Change)) -> Map {
    let mut row = Map::from([("n".to_owned(), Value::Int(index as i64 + 1))]);
    row.extend(change.new.iter().map(|(column, value)| (column.clone(), value.clone())));
    row.extend(change.old.iter().map(|(column, value)| (format!("old_{column}"), value.clone())));
    row
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::well(r#"{"http": 200, "body": {}}"#, "acknowledged")]
    #[case::refused_in_so_many_words(r#"{"http": 499, "body": {}}"#, "acknowledged")]
    #[case::failed(r#"{"http": 500, "body": {}}"#, "unknown")]
    #[case::gave_up(r#"{"http": 599, "body": {}}"#, "unknown")]
    #[case::no_http("500", "acknowledged")]
    fn an_answer_of_a_failed_server_acknowledges_nothing(#[case] reply: &str, #[case] word: &str) {
        assert_eq!(Outcome::Reply(Value::from_json(reply).expect("it is JSON")).word(), word);
    }
}
