//! The effects of a contract that a binding's downstreams stand for, each held against the contract once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indexmap::IndexMap;
use nack_cases::{Action, Answer};
use nack_contracts::model::{Base, Effect, Type};
use nack_contracts::{Contract, Finding, Kind, Map, Value, suggest};
use serde::Deserialize;

use crate::binding::Binding;
use crate::http::answers::{Downstream, Reaction};
use crate::http::message::Request;
use crate::store::Translation;

/// Every effect that has a downstream.
#[derive(Clone, Debug, Default)]
pub struct Effects(pub(crate) Vec<Arc<Outside>>);

/// One effect and the downstream that stands for it.
#[derive(Debug)]
pub(crate) struct Outside {
    pub(crate) name: String,
    spec: Effect,
    says: Downstream,
    reached: AtomicBool,
}

impl Effects {
    /// The downstreams of a binding.
    ///
    /// # Errors
    /// One that does not fit its effect, with its place and its mend.
    pub fn of(binding: &Binding, contract: &Contract) -> Result<Effects, Box<Finding>> {
        let outside = |(name, said): (&String, _)| outside(binding, contract, name, said).map(Arc::new);
        binding.downstream.iter().map(outside).collect::<Result<_, _>>().map(Effects)
    }

    pub(crate) fn get(&self, effect: &str) -> Option<&Arc<Outside>> {
        self.0.iter().find(|outside| outside.name == effect)
    }

    /// The words that each can be answered with, and how many answers each word has.
    pub(crate) fn answers(&self) -> IndexMap<String, IndexMap<String, usize>> {
        let words = |outside: &Outside| outside.says.answers.words().map(|(word, n)| (word.to_owned(), n)).collect();
        self.0.iter().map(|outside| (outside.name.clone(), words(outside))).collect()
    }
}

impl Outside {
    /// The checkpoints just before and just after the effect.
    pub(crate) fn between(&self) -> Option<&(String, String)> {
        self.spec.between.as_ref()
    }

    /// Somebody has reached it.
    pub(crate) fn reach(&self) {
        self.reached.store(true, Ordering::Relaxed);
    }

    /// Whether anybody ever has.
    pub(crate) fn was_reached(&self) -> bool {
        self.reached.load(Ordering::Relaxed)
    }

    /// What a request delivers, in the contract's words.
    pub(crate) fn delivered(&self, request: &Request, words: &Translation) -> Map {
        let columns = self.says.columns.extract(request).into_iter();
        let inward = |(name, value): (String, Value)| {
            let ty = &self.spec.columns[&name];
            let value = words.inward(&name, ty, typed(ty, value));
            (name, value)
        };
        columns.map(inward).collect()
    }

    /// What is done to give this answer of a case, or why it cannot be given.
    pub(crate) fn reaction(&self, answer: &Answer) -> Result<Reaction, String> {
        self.says.answers.reaction(answer).map_err(|error| error.to_string())
    }
}

/// A part of a request is text where it stands in a header or a path. A number or a truth value is meant as one.
fn typed(ty: &Type, value: Value) -> Value {
    let meant = |text: &String| match (&ty.base, Value::from_json(text).ok()?) {
        (Base::Int | Base::Time, value @ Value::Int(_)) | (Base::Bool, value @ Value::Bool(_)) => Some(value),
        _ => None,
    };
    match &value {
        Value::Text(text) => meant(text).unwrap_or(value),
        _ => value,
    }
}

fn outside(binding: &Binding, contract: &Contract, name: &str, said: &toml::Value) -> Result<Outside, Box<Finding>> {
    let key = format!("downstream.{name}");
    let wrong = |message: String, help: String| {
        let span = binding.keys.get(&key).unwrap_or(&binding.span).clone();
        let at = format!("subject.{}.{key}", binding.name);
        Err(Box::new(Finding::error("binding/downstream", at, span, message).help(help)))
    };
    let Some(spec) = contract.effects.get(name) else {
        let known = suggest(name, contract.effects.keys().map(String::as_str));
        return wrong(format!("{} has no effect `{name}`", contract.name), known);
    };
    let says = match Downstream::deserialize(said.clone()) {
        Ok(says) => says,
        Err(error) => {
            let help = "write { listen = \"http\", columns = { … }, answers = { … } }";
            return wrong(error.message().to_owned(), help.to_owned());
        }
    };
    let bound = &says.columns.0;
    if let Some(stray) = bound.keys().find(|column| !spec.columns.contains_key(*column)) {
        let known = suggest(stray, spec.columns.keys().map(String::as_str));
        return wrong(format!("`{name}` has no column `{stray}`"), known);
    }
    if let Some(missing) = spec.columns.keys().find(|column| !bound.contains_key(*column)) {
        let message = format!("nothing says where the column `{missing}` of `{name}` stands in a request");
        return wrong(message, format!("add it: columns = {{ …, {missing} = \"json:{missing}\" }}"));
    }
    let words = words(contract, spec, binding.capabilities.as_deref().unwrap_or_default());
    for (word, count) in says.answers.words() {
        if !words.iter().any(|(known, _)| *known == word) {
            let known = suggest(word, words.iter().map(|(word, _)| *word));
            return wrong(format!("`{word}` is no answer of `{name}`"), known);
        }
        for n in 1..=count {
            let (sample, does) = (format!("{word}-{n}"), Action::Return(word.into()));
            let reaction = says.answers.reaction(&Answer { class: String::new(), sample, does });
            if !matches!(reaction, Ok(Reaction::Play(_))) {
                let message = format!("`{word}` is to be an answer that reads nothing, so nobody saw the use");
                return wrong(message, "use a status, or net = reset-after, body-cut, hang or drip".to_owned());
            }
        }
    }
    let unsaid = |(word, due): &&(&str, bool)| *due && says.answers.words().all(|(said, _)| said != *word);
    if let Some((missing, _)) = words.iter().find(unsaid) {
        let all: Vec<&str> = words.iter().filter(|(_, due)| *due).map(|(word, _)| *word).collect();
        let message = format!("nothing says what the answer `{missing}` of `{name}` is over HTTP");
        let help = format!("add it to `answers`, as {missing} = {{ status = … }}; the words are {}", all.join(", "));
        return wrong(message, help);
    }
    Ok(Outside { name: name.to_owned(), spec: spec.clone(), says, reached: AtomicBool::new(false) })
}

/// The words that an effect answers with, and whether a subject with these capabilities is ever given each.
fn words<'c>(contract: &'c Contract, spec: &Effect, capabilities: &[String]) -> Vec<(&'c str, bool)> {
    let derived = ["http", "process"];
    let has = |need: &String| capabilities.contains(need) || derived.contains(&need.as_str());
    let domains = spec.answers.iter().map(|domain| &contract.domains[domain]);
    let samples = domains.flat_map(|domain| domain.classes.iter().flat_map(|class| &class.samples));
    let words = samples.filter_map(|sample| match &sample.node.kind {
        Kind::Value(Value::Text(word)) => Some((word.as_str(), sample.needs.iter().all(has))),
        _ => None,
    });
    words.collect()
}
