//! Whether two subjects did the same on one walk. Ids that a subject made itself are compared by the order in which they
//! turn up, and the text of an error is its own business.

use std::collections::HashMap;

use nack_contracts::model::{Base, Contract, Type};
use nack_contracts::{Map, Value};

use crate::judge::Observed;

/// The first relation in which the two differ: its name, what the reference has, what the subject has.
pub(super) fn difference(
    contract: &Contract,
    reference: &Observed,
    subject: &Observed,
) -> Option<(String, String, String)> {
    let mut names: Vec<String> = vec!["reply".to_owned()];
    names.extend(contract.effects.keys().cloned());
    names.extend(contract.stores.keys().cloned());
    names.into_iter().find_map(|name| {
        let (right, own) = (told(contract, reference, &name), told(contract, subject, &name));
        (right != own).then_some((name, right, own))
    })
}

/// A relation in words that two runs of the same subject share.
fn told(contract: &Contract, observed: &Observed, name: &str) -> String {
    let mut made = Made::of(contract, observed);
    let rows = observed.relation(name).into_iter().map(|row| made.renamed(row).to_string());
    rows.collect::<Vec<_>>().join("\n")
}

/// Ids that were not given, in the order in which stores and effects show them.
struct Made {
    given: Vec<Value>,
    names: HashMap<String, usize>,
}

impl Made {
    fn of(contract: &Contract, observed: &Observed) -> Made {
        let given = observed.given.values().flatten().flat_map(|row| row.values().cloned()).collect();
        let mut made = Made { given, names: HashMap::new() };
        let columns = contract.stores.iter().map(|(name, store)| (name, &store.columns));
        let columns = columns.chain(contract.effects.iter().map(|(name, effect)| (name, &effect.columns)));
        for (name, columns) in columns {
            let ids: Vec<&String> = columns.iter().filter(|(_, ty)| is_id(ty)).map(|(column, _)| column).collect();
            for row in observed.relation(name) {
                ids.iter().filter_map(|id| row.get(*id)).for_each(|id| made.meet(id));
            }
        }
        made
    }

    fn meet(&mut self, id: &Value) {
        if let Value::Text(text) = id
            && !self.given.contains(id)
        {
            let next = self.names.len() + 1;
            self.names.entry(text.clone()).or_insert(next);
        }
    }

    fn renamed(&mut self, row: Map) -> Value {
        self.rename(Value::Map(row))
    }

    fn rename(&self, value: Value) -> Value {
        match value {
            Value::Text(text) => match self.names.get(&text) {
                Some(n) => Value::Text(format!("id-{n}")),
                None => Value::Text(text),
            },
            Value::List(items) => Value::List(items.into_iter().map(|item| self.rename(item)).collect()),
            Value::Map(map) => Value::Map(map.into_iter().map(|(key, item)| (key, self.rename(item))).collect()),
            other => other,
        }
    }
}

fn is_id(ty: &Type) -> bool {
    ty.base == Base::Id
}
