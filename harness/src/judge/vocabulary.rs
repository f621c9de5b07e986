//! The closed words: every column and reply that a contract types by a domain must hold a sample of that domain,
//! outside the class that stands for any other value.

use nack_contracts::model::{Base, Contract, Type};
use nack_contracts::{Map, Value};

use super::Observed;

impl Observed {
    /// The first word that is none, in words.
    pub(crate) fn stray_word(&self, contract: &Contract) -> Option<String> {
        for (name, spec) in &contract.stores {
            let rows = self.durable.stores.get(name).into_iter().flatten();
            if let Some(stray) = stray_row(contract, name, &spec.columns, rows) {
                return Some(stray);
            }
            let history = self.durable.history.as_ref().and_then(|history| history.get(name));
            let rows = history.into_iter().flatten().map(|change| &change.new);
            if let Some(stray) = stray_row(contract, &format!("{name}_history"), &spec.columns, rows) {
                return Some(stray);
            }
        }
        for (name, spec) in &contract.effects {
            let rows = self.effects.get(name).into_iter().flatten();
            if let Some(stray) = stray_row(contract, name, &spec.columns, rows) {
                return Some(stray);
            }
        }
        self.replies.iter().find_map(|row| stray_reply(contract, row))
    }
}

fn stray_row<'a>(
    contract: &Contract,
    relation: &str,
    columns: &indexmap::IndexMap<String, Type>,
    rows: impl Iterator<Item = &'a Map>,
) -> Option<String> {
    let typed: Vec<_> = columns.iter().filter(|(_, ty)| matches!(ty.base, Base::Domain(_))).collect();
    if typed.is_empty() {
        return None;
    }
    for row in rows {
        for (column, ty) in &typed {
            let (Some(value), Base::Domain(domain)) = (row.get(*column), &ty.base) else { continue };
            if (ty.nullable && *value == Value::Null) || is_word(contract, domain, value) {
                continue;
            }
            return Some(stray(contract, &format!("{relation}.{column}"), domain, value));
        }
    }
    None
}

fn stray_reply(contract: &Contract, row: &Map) -> Option<String> {
    if row.get("outcome").and_then(Value::as_text) != Some("acknowledged") {
        return None;
    }
    let call = contract.calls.get(row.get("call")?.as_text()?)?;
    let value = row.get("value")?;
    if let Some(Base::Domain(domain)) = &call.reply
        && !is_word(contract, domain, value)
    {
        return Some(stray(contract, "the reply", domain, value));
    }
    stray_inside(contract, &call.words, value)
}

/// Closed words anywhere inside a structured reply, by key.
fn stray_inside(contract: &Contract, words: &indexmap::IndexMap<String, String>, value: &Value) -> Option<String> {
    match value {
        Value::List(items) => items.iter().find_map(|item| stray_inside(contract, words, item)),
        Value::Map(map) => map.iter().find_map(|(key, value)| match words.get(key) {
            Some(domain) if !is_word(contract, domain, value) => {
                Some(stray(contract, &format!("`{key}` in the reply"), domain, value))
            }
            Some(_) => None,
            None => stray_inside(contract, words, value),
        }),
        _ => None,
    }
}

fn is_word(contract: &Contract, domain: &str, value: &Value) -> bool {
    let domain = &contract.domains[domain];
    domain.find(value).is_some_and(|(class, _)| domain.otherwise != Some(class))
}

fn stray(contract: &Contract, place: &str, domain: &str, value: &Value) -> String {
    let words: Vec<&str> = contract.domains[domain].classes.iter().map(|class| class.name.as_str()).collect();
    let banned = value.as_text().is_some_and(|text| contract.banned.contains(&text.trim().to_lowercase()));
    let banned = if banned { ", a banned look-alike" } else { "" };
    format!("{place} is {value}{banned}; the words of `{domain}` are {}", words.join(", "))
}
