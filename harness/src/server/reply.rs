//! An answer as the reply that it is in the contract's words: `{ http, body }`, or what the binding says that its
//! status means.

use indexmap::IndexMap;
use nack_contracts::model::{self, Base, Type};
use nack_contracts::{Contract, Map, Value};

use crate::binding::{HttpCall, Meaning, Misfit};
use crate::http::message::Answer;
use crate::session::Event;
use crate::store::Translation;

/// What a binding says of the answers to one call.
#[derive(Clone, Debug, Default)]
pub(super) struct Statuses(IndexMap<u16, Meaning>);

impl Statuses {
    /// What a binding says, in the contract's words.
    ///
    /// # Errors
    /// A reply that the contract does not have.
    pub(super) fn of(said: &HttpCall, call: &model::Call, contract: &Contract) -> Result<Statuses, Misfit> {
        let meaning = |(status, said): (&u16, &toml::Value)| {
            Ok((*status, Meaning::of(&format!("status {status}"), said, call, contract)?))
        };
        Ok(Statuses(said.status.iter().map(meaning).collect::<Result<_, _>>()?))
    }

    /// What a call came to that was answered so. A status that the binding does not name is no word of the contract;
    /// of a broken server nobody knows what it has done.
    pub(super) fn event(&self, answer: Answer, call: &model::Call, words: &Translation) -> Event {
        if self.0.is_empty() {
            return Event::Reply(reply(answer, call, words));
        }
        let status = answer.status;
        match self.0.get(&status) {
            Some(Meaning::Reply(value)) => Event::Reply(value.clone()),
            Some(Meaning::Refused(name)) => Event::Error { name: name.clone(), definite: true, text: answer.body },
            Some(Meaning::Field(name)) => {
                Event::Reply(match Value::from_json(&String::from_utf8_lossy(&answer.body)) {
                    Ok(Value::Map(mut body)) => body.shift_remove(name).unwrap_or_else(|| missing(name)),
                    _ => missing(name),
                })
            }
            None if status >= 500 => {
                Event::Error { name: format!("http-{status}"), definite: false, text: answer.body }
            }
            None => Event::Reply(format!("HTTP {status} (not in the status map)").into()),
        }
    }
}

fn missing(name: &str) -> Value {
    format!("no field `{name}` in the body").into()
}

/// The reply to a call. The body is what its JSON says, or a text if it is none, or bytes if it is no text either.
fn reply(answer: Answer, call: &model::Call, words: &Translation) -> Value {
    let body = match String::from_utf8(answer.body) {
        Ok(text) => Value::from_json(&text).unwrap_or(Value::Text(text)),
        Err(error) => Value::Bytes(error.into_bytes()),
    };
    let reply = Map::from([("http".to_owned(), Value::Int(answer.status.into())), ("body".to_owned(), body)]);
    inward(Value::Map(reply), call, words)
}

/// Closed words and ids anywhere inside, by their keys, as the contract spells them.
fn inward(value: Value, call: &model::Call, words: &Translation) -> Value {
    match value {
        Value::List(items) => Value::List(items.into_iter().map(|item| inward(item, call, words)).collect()),
        Value::Map(map) => Value::Map(map.into_iter().map(|(key, value)| field(key, value, call, words)).collect()),
        value => value,
    }
}

fn field(key: String, value: Value, call: &model::Call, words: &Translation) -> (String, Value) {
    let base = match call.words.get(&key) {
        Some(domain) => Some(Base::Domain(domain.clone())),
        None => is_id(&key, words).then_some(Base::Id),
    };
    let value = match base {
        Some(base) if !matches!(value, Value::List(_) | Value::Map(_)) => {
            words.inward(&key, &Type { base, nullable: true }, value)
        }
        _ => inward(value, call, words),
    };
    (key, value)
}

/// Whether a store has a column of this name that holds an id.
fn is_id(key: &str, words: &Translation) -> bool {
    words.contract().stores.values().any(|store| store.columns.get(key).is_some_and(|ty| ty.base == Base::Id))
}
