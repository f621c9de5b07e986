//! How a subject's own tables spell the stores of a contract: SQL that seeds and observes them, its words, its ids.
//! A subject whose tables have the contract's own names and words needs none of it.

use indexmap::IndexMap;
use nack_contracts::model::{Base, Contract};
use nack_contracts::{Value, suggest};

use super::StoreError;

/// What a binding says of a subject's tables.
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    /// By the contract's store.
    pub stores: IndexMap<String, StoreMapping>,
    /// By the contract's column: the subject's word for each word of the contract.
    pub words: IndexMap<String, Words>,
}

/// What a binding says of one store.
#[derive(Clone, Debug, Default)]
pub struct StoreMapping {
    /// Statements that insert one given row, with `:column` for its values. Empty: a table of the same name.
    pub seed: Vec<String>,
    /// The query that reads all rows, with the contract's column names. `None`: a table of the same name.
    pub observe: Option<String>,
    /// How the subject spells ids.
    pub ids: Ids,
}

/// How a subject spells the ids of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ids {
    /// As the contract does.
    #[default]
    Text,
    /// As integers.
    Int,
    /// As UUIDs.
    Uuid,
}

/// The words of one column: the subject's, each with the contract's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(pub IndexMap<String, String>);

impl Words {
    /// The contract's word as the subject writes it. A word that the map lacks stays as it is.
    #[must_use]
    pub fn outward(&self, value: &Value) -> Value {
        let wanted = spelled(value);
        self.0.iter().find(|(_, word)| **word == wanted).map_or(value.clone(), |(own, _)| own.as_str().into())
    }

    /// What the subject wrote, in the contract's words. What the map lacks is no word at all, whatever it looks like.
    #[must_use]
    pub fn inward(&self, value: Value) -> Value {
        if value == Value::Null {
            return value;
        }
        let own = spelled(&value);
        match self.0.get(&own) {
            Some(word) => word.as_str().into(),
            None => format!("{own} (not in the word map)").into(),
        }
    }
}

/// A value as a key of a word map: a text as it stands, anything else as JSON.
fn spelled(value: &Value) -> String {
    value.as_text().map_or_else(|| value.to_json(), str::to_owned)
}

impl Mapping {
    /// Checks the names in it against the contract.
    ///
    /// # Errors
    /// A store, column or word that the contract does not know, or a word of the contract that the map lacks.
    pub fn check(&self, contract: &Contract) -> Result<(), StoreError> {
        for (name, mapping) in &self.stores {
            if contract.stores.contains_key(name) {
                continue;
            }
            let section = match mapping {
                StoreMapping { seed, .. } if !seed.is_empty() => "seed",
                StoreMapping { observe: Some(_), .. } => "observe",
                StoreMapping { .. } => "ids",
            };
            return Err(StoreError::Binding {
                key: format!("{section}.{name}"),
                message: format!("{} has no store `{name}`", contract.name),
                help: suggest(name, contract.stores.keys().map(String::as_str)),
            });
        }
        self.words.iter().try_for_each(|(column, words)| check_words(contract, column, words))
    }

    /// What is said of one store.
    pub(super) fn store(&self, name: &str) -> StoreMapping {
        self.stores.get(name).cloned().unwrap_or_default()
    }

    /// Whether any store's ids are spelled otherwise than in the contract.
    #[must_use]
    pub fn maps_ids(&self) -> bool {
        self.stores.values().any(|store| store.ids != Ids::Text)
    }
}

fn check_words(contract: &Contract, column: &str, words: &Words) -> Result<(), StoreError> {
    let wrong =
        |message: String, help: String| Err(StoreError::Binding { key: format!("words.{column}"), message, help });
    let stores = contract.stores.values().map(|store| &store.columns);
    let columns = stores.chain(contract.effects.values().map(|effect| &effect.columns));
    let mut typed: Vec<(&str, &str)> = columns
        .flatten()
        .filter_map(|(name, ty)| match &ty.base {
            Base::Domain(domain) => Some((name.as_str(), domain.as_str())),
            _ => None,
        })
        .collect();
    typed.extend(
        contract.calls.values().flat_map(|call| &call.words).map(|(key, domain)| (key.as_str(), domain.as_str())),
    );
    let Some((_, domain)) = typed.iter().find(|(name, _)| *name == column) else {
        let known = suggest(column, typed.iter().map(|(name, _)| *name));
        return wrong(format!("{} has no column `{column}` of a closed vocabulary", contract.name), known);
    };
    let domain = &contract.domains[*domain];
    let own = domain.classes.iter().enumerate().filter(|(index, _)| domain.otherwise != Some(*index));
    let known: Vec<String> =
        own.flat_map(|(_, class)| &class.samples).map(|sample| spelled(&sample.node.value())).collect();
    if let Some(stray) = words.0.values().find(|word| !known.contains(word)) {
        return wrong(format!("`{stray}` is no word of {column}"), suggest(stray, known.iter().map(String::as_str)));
    }
    match known.iter().find(|word| *word != "null" && !words.0.values().any(|own| own == *word)) {
        Some(missing) => wrong(
            format!("no word of the subject means `{missing}`"),
            format!("add one: words.{column} = {{ …, \"the subject's word\" = \"{missing}\" }}"),
        ),
        None => Ok(()),
    }
}
