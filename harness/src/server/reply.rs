//! An answer as the reply that it is in the contract's words: `{ http, body }`.

use nack_contracts::model::{self, Base, Type};
use nack_contracts::{Map, Value};

use crate::http::message::Answer;
use crate::store::Translation;

/// The reply to a call. The body is what its JSON says, or a text if it is none, or bytes if it is no text either.
pub(super) fn reply(answer: Answer, call: &model::Call, words: &Translation) -> Value {
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
