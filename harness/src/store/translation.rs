//! The words of a contract in those of a subject and back, for one case: ids, times and closed words.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nack_contracts::Value;
use nack_contracts::model::{Base, Contract, Type};

use super::mapping::{Ids, Mapping};

/// How values of one case cross the border.
#[derive(Debug)]
pub struct Translation {
    contract: Arc<Contract>,
    mapping: Arc<Mapping>,
    base: i64,
    ids: Mutex<Known>,
}

/// The ids that were mapped so far. One map serves all stores, so that a reference to a row elsewhere is mapped too.
#[derive(Debug, Default)]
struct Known {
    outward: HashMap<String, Value>,
    inward: HashMap<String, String>,
}

impl Translation {
    /// For a case whose clock starts at `base`, in epoch seconds.
    #[must_use]
    pub fn new(contract: Arc<Contract>, mapping: Arc<Mapping>, base: i64) -> Translation {
        Translation { contract, mapping, base, ids: Mutex::default() }
    }

    /// The contract that it translates.
    #[must_use]
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A given value as the subject's store holds it. The ids of a row's key are mapped in order of insertion.
    #[must_use]
    pub fn seeded(&self, store: &str, column: &str, value: &Value) -> Value {
        let spec = &self.contract.stores[store];
        let ty = &spec.columns[column];
        let kind = self.mapping.stores.get(store).map_or(Ids::Text, |store| store.ids);
        if let (Base::Id, Value::Text(id)) = (&ty.base, value)
            && kind != Ids::Text
            && spec.key.iter().any(|key| key == column)
        {
            return self.known().map(id, kind);
        }
        self.outward(column, ty, value)
    }

    /// A value of the contract as the subject spells it, in an argument or a store.
    #[must_use]
    pub fn outward(&self, name: &str, ty: &Type, value: &Value) -> Value {
        match (&ty.base, value) {
            (Base::Time, Value::Int(seconds)) => Value::Int(seconds.saturating_add(self.base)),
            (Base::Id, Value::Text(id)) => self.known().outward.get(id).cloned().unwrap_or_else(|| value.clone()),
            (Base::Domain(_), _) => {
                self.mapping.words.get(name).map_or_else(|| value.clone(), |words| words.outward(value))
            }
            _ => value.clone(),
        }
    }

    /// A value that the subject spelled, in the contract's words: out of a store, an effect or a reply.
    #[must_use]
    pub fn inward(&self, name: &str, ty: &Type, value: Value) -> Value {
        match (&ty.base, value) {
            (Base::Time, Value::Int(seconds)) => Value::Int(seconds.saturating_sub(self.base)),
            (Base::Bool, Value::Int(int @ (0 | 1))) => Value::Bool(int == 1),
            (Base::Id, value) if self.mapping.maps_ids() => self.known().back(value),
            (Base::Domain(domain), value) => match self.mapping.words.get(name) {
                Some(words) => self.typed(domain, words.inward(value), |word| Value::from_json(word.as_text()?).ok()),
                None => self.typed(domain, value, |value| {
                    Some(Value::Bool(match value {
                        Value::Int(int @ (0 | 1)) => *int == 1,
                        _ => return None,
                    }))
                }),
            },
            (_, value) => value,
        }
    }

    /// A closed word in the type that the domain gives it: a store may know no booleans, and a word map knows text only.
    fn typed(&self, domain: &str, value: Value, otherwise: impl Fn(&Value) -> Option<Value>) -> Value {
        let domain = &self.contract.domains[domain];
        let known = |value: &Value| domain.find(value).is_some();
        let other = if known(&value) { None } else { otherwise(&value).filter(known) };
        other.unwrap_or(value)
    }
}

impl Known {
    fn map(&mut self, id: &str, kind: Ids) -> Value {
        if let Some(known) = self.outward.get(id) {
            return known.clone();
        }
        let number = self.outward.len() as i64 + 1;
        let value = match kind {
            Ids::Text => Value::from(id),
            Ids::Int => Value::Int(number),
            Ids::Uuid => Value::from(format!("00000000-0000-4000-8000-{number:012x}")),
        };
        self.inward.insert(text_of(&value), id.to_owned());
        self.outward.insert(id.to_owned(), value.clone());
        value
    }

    /// The contract's id, or the text of an id that the subject made itself.
    fn back(&self, value: Value) -> Value {
        if value == Value::Null {
            return value;
        }
        let own = text_of(&value);
        self.inward.get(&own).cloned().unwrap_or(own).into()
    }
}

fn text_of(value: &Value) -> String {
    value.as_text().map_or_else(|| value.to_json(), str::to_owned)
}
