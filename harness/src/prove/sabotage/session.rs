//! A session between the runner and the real one that falsifies what passes through.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use nack_cases::{Action, Answer, Signal};
use nack_contracts::model::{Base, Contract, Domain};
use nack_contracts::{Map, Value};

use super::kinds::Sabotage;
use crate::session::{Directive, Event, Killed, Said, Seen, Session, StartError, Watch};

/// A session that is tampered with.
pub(crate) struct Tampered {
    inner: Box<dyn Session>,
    kind: Sabotage,
    contract: Arc<Contract>,
    /// What each worker is doing.
    calls: HashMap<String, String>,
    /// The last effect of each worker.
    effects: HashMap<String, String>,
    /// The first answer to a delivery that is shown twice.
    doubled: HashMap<String, (Event, Option<Directive>)>,
    ready: VecDeque<(String, Event)>,
}

impl Tampered {
    pub(crate) fn new(inner: Box<dyn Session>, kind: Sabotage, contract: &Arc<Contract>) -> Tampered {
        Tampered {
            inner,
            kind,
            contract: Arc::clone(contract),
            calls: HashMap::new(),
            effects: HashMap::new(),
            doubled: HashMap::new(),
            ready: VecDeque::new(),
        }
    }

    fn answers(&self, effect: &str) -> Vec<Value> {
        plain_answers(&self.contract, effect)
    }

    fn swapped(&self, worker: &str, action: &Action) -> Action {
        let own = match action {
            Action::Return(value) => Some(value),
            _ => None,
        };
        let effect = self.effects.get(worker).map_or("", String::as_str);
        let other = self.answers(effect).into_iter().find(|value| Some(value) != own);
        other.map_or_else(|| action.clone(), Action::Return)
    }

    fn falsified(&self, worker: &str, reply: Value) -> Value {
        let call = self.calls.get(worker).and_then(|call| self.contract.calls.get(call));
        match self.kind {
            Sabotage::ResultsReordered => reversed(reply),
            Sabotage::StatusReplaced => match reply {
                Value::Map(mut map) if map.contains_key("http") => {
                    let other = if map["http"] == Value::Int(200) { 409 } else { 200 };
                    map.insert("http".to_owned(), Value::Int(other));
                    Value::Map(map)
                }
                other => other,
            },
            Sabotage::ReplyChanged => match call.and_then(|call| call.reply.as_ref()) {
                Some(Base::Domain(domain)) => {
                    let other = other_word(&self.contract.domains[domain], &reply);
                    other.unwrap_or_else(|| changed(reply, &|_| None))
                }
                _ => {
                    let words = call.map(|call| &call.words);
                    let domain =
                        |key: &str| words.and_then(|words| words.get(key)).map(|domain| &self.contract.domains[domain]);
                    changed(reply, &domain)
                }
            },
            _ => reply,
        }
    }
}

/// The plain words that an effect can be answered with.
pub(super) fn plain_answers(contract: &Contract, effect: &str) -> Vec<Value> {
    let domains = contract.effects.get(effect).map_or(&[][..], |effect| effect.answers.as_slice());
    let words = domains.iter().flat_map(|domain| &contract.domains[domain].classes);
    let values = words.flat_map(|class| class.samples.iter().take(1)).map(|sample| sample.node.value());
    values.filter(|value| matches!(value, Value::Text(_) | Value::Bool(_))).collect()
}

/// Another word of the same closed vocabulary.
pub(super) fn other_word(domain: &Domain, value: &Value) -> Option<Value> {
    let own = domain.classes.iter().enumerate().filter(|(index, _)| domain.otherwise != Some(*index));
    let words = own.flat_map(|(_, class)| class.samples.iter().take(1)).map(|sample| sample.node.value());
    let told = if *value == Value::Null { Value::from("nothing") } else { value.clone() };
    words.into_iter().find(|word| *word != told && *word != Value::Null)
}

fn reversed(value: Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.into_iter().rev().map(reversed).collect()),
        Value::Map(map) => Value::Map(map.into_iter().map(|(key, item)| (key, reversed(item))).collect()),
        other => other,
    }
}

/// Every closed word in a structured reply becomes another, and every other value too; an HTTP status is a matter of
/// its own.
fn changed<'d>(value: Value, domain: &dyn Fn(&str) -> Option<&'d Domain>) -> Value {
    match value {
        Value::List(items) => Value::List(items.into_iter().map(|item| changed(item, domain)).collect()),
        Value::Map(map) => {
            let of = |(key, item): (String, Value)| {
                if key == "http" {
                    return (key, item);
                }
                let other = domain(&key).and_then(|domain| other_word(domain, &item));
                (key, other.unwrap_or_else(|| changed(item, domain)))
            };
            Value::Map(map.into_iter().map(of).collect())
        }
        Value::Bool(bool) => Value::Bool(!bool),
        Value::Int(int) => Value::Int(int.saturating_add(1)),
        Value::Text(text) => Value::from(format!("{text}?")),
        other => other,
    }
}

impl Session for Tampered {
    fn call(&mut self, worker: &str, call: &str, args: &Map, watch: Watch) -> Result<(), StartError> {
        self.calls.insert(worker.to_owned(), call.to_owned());
        self.doubled.remove(worker);
        self.inner.call(worker, call, args, watch)
    }

    fn start(&mut self, worker: &str) -> Result<(), StartError> {
        self.inner.start(worker)
    }

    fn seen(&self, worker: &str) -> Seen {
        self.inner.seen(worker)
    }

    fn by_hand(&self, worker: &str) -> Option<String> {
        self.inner.by_hand(worker)
    }

    fn next(&mut self, patience: Duration) -> Option<(String, Event)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let (worker, event) = self.inner.next(patience)?;
            match event {
                Event::Effect { ref name, .. } => {
                    self.effects.insert(worker.clone(), name.clone());
                    if self.kind == Sabotage::DeliverySwallowed {
                        let answer = self.answers(name).into_iter().next().unwrap_or(Value::Null);
                        self.inner.resume(&worker, Directive::Answer(Action::Return(answer).into()));
                        continue;
                    }
                    if self.kind == Sabotage::DeliveryDoubled {
                        self.doubled.insert(worker.clone(), (event.clone(), None));
                    }
                    return Some((worker, event));
                }
                Event::Reply(value) => {
                    let value = self.falsified(&worker, value);
                    return Some((worker, Event::Reply(value)));
                }
                other => return Some((worker, other)),
            }
        }
    }

    fn resume(&mut self, worker: &str, directive: Directive) {
        let Directive::Answer(answer) = &directive else { return self.inner.resume(worker, directive) };
        match self.kind {
            Sabotage::AnswerSwapped => {
                let does = self.swapped(worker, &answer.does);
                self.inner.resume(worker, Directive::Answer(Answer { does, ..answer.clone() }));
            }
            Sabotage::DeliveryDoubled => match self.doubled.remove(worker) {
                Some((event, None)) => {
                    self.doubled.insert(worker.to_owned(), (event.clone(), Some(directive)));
                    self.ready.push_back((worker.to_owned(), event));
                }
                Some((_, Some(first))) => self.inner.resume(worker, first),
                None => self.inner.resume(worker, directive),
            },
            _ => self.inner.resume(worker, directive),
        }
    }

    fn kill(&mut self, worker: &str) -> Killed {
        self.ready.retain(|(name, _)| name != worker);
        self.inner.kill(worker)
    }

    fn disconnect(&mut self) {
        self.ready.clear();
        self.inner.disconnect();
    }

    fn alive(&self) -> Vec<String> {
        self.inner.alive()
    }

    fn concurrent(&self) -> bool {
        self.inner.concurrent()
    }

    fn cuts_connections(&self) -> bool {
        self.inner.cuts_connections()
    }

    fn stand_still(&mut self, stands: bool) {
        self.inner.stand_still(stands);
    }

    fn uncontrolled(&mut self) -> Option<String> {
        self.inner.uncontrolled()
    }

    fn waits_in_vain(&self, worker: &str) -> bool {
        self.inner.waits_in_vain(worker)
    }

    fn transactions(&self) -> Option<Vec<Vec<(String, i64)>>> {
        self.inner.transactions()
    }

    fn signal(&mut self, worker: &str, signal: Signal) -> bool {
        self.inner.signal(worker, signal)
    }

    fn stop(&mut self, worker: &str) -> bool {
        self.inner.stop(worker)
    }

    fn cont(&mut self, worker: &str) -> bool {
        self.inner.cont(worker)
    }

    fn said(&self, worker: &str) -> Said {
        self.inner.said(worker)
    }

    fn finish(&mut self) -> Vec<String> {
        self.inner.finish()
    }
}
