//! Uses of the outside: each is counted once its request was read whole, and gets the next answer of its script.

use nack_cases::{Action, Answer, RaiseKind};
use nack_contracts::{Map, Value};
use nack_reports::BecauseKind;

use super::case::CaseRun;
use super::tasks::State;
use crate::session::Directive;

impl CaseRun<'_> {
    /// Nothing of a request was read: it may be turned away so, and is then no use of the effect that anybody saw.
    pub(super) fn reaches(&mut self, worker: &str, effect: &str) {
        let directive = match self.tasks.get_mut(worker).and_then(|task| task.turns_away(effect)) {
            None => Directive::Continue,
            Some(answer) => {
                self.note(effect, format!("{worker} reaches for it; nothing is read, and it gets {}", answer.sample));
                Directive::Answer(answer)
            }
        };
        self.set(worker, State::Ready(directive));
    }

    /// An effect is counted when it is asked for: its request was read whole.
    pub(super) fn effect(&mut self, worker: &str, name: &str, columns: Map) {
        let Some(spec) = self.contract.effects.get(name) else {
            self.broken.get_or_insert_with(|| {
                format!("worker {worker} used the effect {name}, which the contract does not have")
            });
            self.set(worker, State::Ready(Directive::Answer(plain_error())));
            return;
        };
        if let Some(stray) = columns.keys().find(|column| !spec.columns.contains_key(*column)) {
            let words = format!("worker {worker} used {name} with a column {stray}, which the contract does not have");
            self.broken.get_or_insert(words);
        }
        let shown = Value::Map(columns.clone());
        let answer = self.tasks.get_mut(worker).and_then(|task| task.answer(name, columns.get(&spec.id)));
        let rows = self.observed.effects.entry(name.to_owned()).or_default();
        let mut row =
            Map::from([("n".to_owned(), Value::Int(rows.len() as i64 + 1)), ("worker".to_owned(), worker.into())]);
        // What a subject leaves out is null, and judged as such.
        row.extend(
            spec.columns.keys().map(|column| (column.clone(), columns.get(column).cloned().unwrap_or(Value::Null))),
        );
        let of = |text: Option<&String>| text.map_or(Value::Null, |text| text.as_str().into());
        row.insert("answer".to_owned(), of(answer.as_ref().map(|answer| &answer.class)));
        row.insert("sample".to_owned(), of(answer.as_ref().map(|answer| &answer.sample)));
        rows.push(row);
        match answer {
            Some(Answer { does: Action::Signal(signal), sample, .. }) => {
                self.strike(name, format!("{worker} asks {shown}; instead of an answer comes {sample}"));
                let sent = self.session.signal(worker, signal);
                if let Some(task) = self.tasks.get_mut(worker).filter(|_| sent) {
                    task.signalled = true;
                } else {
                    self.trouble(BecauseKind::Unsupported, format!("{worker} could not be sent a signal"));
                    self.set(worker, State::Ready(Directive::Answer(plain_error())));
                }
            }
            Some(answer) => {
                self.note(name, format!("{worker} asks {shown}; the answer is {}", answer.sample));
                self.set(worker, State::Ready(Directive::Answer(answer)));
            }
            None => {
                self.note(name, format!("{worker} asks {shown}; no answer is scripted for this use"));
                self.unscripted
                    .get_or_insert_with(|| format!("{worker} used {name} once more than the case has answers for"));
                self.set(worker, State::Ready(Directive::Answer(plain_error())));
            }
        }
    }
}

fn plain_error() -> Answer {
    Action::Raise { kind: RaiseKind::Error, text: b"no answer is scripted for this use".to_vec() }.into()
}
