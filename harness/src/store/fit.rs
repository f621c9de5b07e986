//! Whether a subject's tables, and what its binding says of them, fit the contract: the checks that need no store.

use indexmap::IndexMap;
use nack_contracts::model::{Contract, Gate, Store};
use nack_contracts::suggest;

use super::StoreError;

/// What the help says of SQL that the store refuses.
pub(super) const RUN_ON: &str = "the SQL is run on the tables that `setup` makes";

pub(super) fn wrong(key: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> StoreError {
    StoreError::Binding { key: key.into(), message: message.into(), help: help.into() }
}

/// The columns of a store that a subject with these capabilities has. The others are neither seeded nor judged.
pub(super) fn columns_of(spec: &Store, capabilities: &[String]) -> Vec<String> {
    let has = |column: &&String| {
        spec.needs.get(*column).is_none_or(|needs| needs.iter().all(|need| capabilities.contains(need)))
    };
    spec.columns.keys().filter(has).cloned().collect()
}

/// The statements that seed a store write every column, and no other.
pub(super) fn written(name: &str, spec: &Store, columns: &[String], parameters: &[String]) -> Result<(), StoreError> {
    let key = format!("seed.{name}");
    if let Some(stray) = parameters.iter().find(|column| !spec.columns.contains_key(*column)) {
        let known = suggest(stray, spec.columns.keys().map(String::as_str));
        return Err(wrong(key, format!("`:{stray}` is no column of {name}"), known));
    }
    match columns.iter().find(|column| !parameters.contains(column)) {
        Some(missing) => {
            let help = format!("write `:{missing}` where its value belongs");
            Err(wrong(key, format!("it never writes the column `{missing}`"), help))
        }
        None => Ok(()),
    }
}

/// The table that the first statement of a seed inserts into, as it is written there.
pub(super) fn inserted_into<'s>(name: &str, seed: &'s [String]) -> Result<&'s str, StoreError> {
    let table = |sql: &'s String| {
        let mut words = sql.split_whitespace().skip_while(|word| !word.eq_ignore_ascii_case("into"));
        words.nth(1)?.split('(').next().filter(|table| !table.is_empty())
    };
    seed.first().and_then(table).ok_or_else(|| {
        let help = "begin with INSERT INTO the table of its rows";
        wrong(format!("seed.{name}"), "its first statement inserts nothing", help)
    })
}

/// The query that reads a store gives every column, and no other.
pub(super) fn given(name: &str, spec: &Store, columns: &[String], given: &[&str]) -> Result<(), StoreError> {
    let key = format!("observe.{name}");
    if let Some(stray) = given.iter().find(|column| !spec.columns.contains_key(**column)) {
        let message = format!("it gives a column `{stray}`, which {name} does not have");
        return Err(wrong(key, message, suggest(stray, spec.columns.keys().map(String::as_str))));
    }
    match columns.iter().find(|column| !given.contains(&column.as_str())) {
        Some(missing) => {
            let help = format!("select the subject's own column AS {missing}");
            Err(wrong(key, format!("it gives no column `{missing}`"), help))
        }
        None => Ok(()),
    }
}

/// The table that a store is seeded into does not exist.
pub(super) fn no_table(name: &str, table: &str, bound: bool) -> StoreError {
    let key = if bound { format!("seed.{name}") } else { "setup".to_owned() };
    let help = "make it in `setup`, or say in `seed` and `observe` how its own tables are written and read";
    wrong(key, format!("the subject made no table `{table}`"), help)
}

/// A table of the contract's own names has all its columns.
pub(super) fn has_columns(name: &str, table: &str, columns: &[String], has: &[String]) -> Result<(), StoreError> {
    match columns.iter().find(|column| !has.contains(column)) {
        Some(missing) => {
            let message = format!("the subject's table `{table}` has no column `{missing}`");
            let help = format!("add it, or say in `observe.{name}` which of its columns it is");
            Err(wrong("setup", message, help))
        }
        None => Ok(()),
    }
}

/// Every column of a gate is one of the subject's own. `own` finds them by the contract's store.
pub(super) fn gates<'o>(
    contract: &Contract,
    own: impl Fn(&str) -> &'o IndexMap<String, String>,
) -> Result<(), StoreError> {
    let missing = |gate: &Gate| gate.unique.iter().find(|column| !own(&gate.store).contains_key(*column)).cloned();
    match contract.gates.iter().find_map(|gate| Some((gate, missing(gate)?))) {
        Some((gate, column)) => {
            let message = format!("the gate {} needs the column behind `{column}`, and it is an expression", gate.name);
            let help = format!("select the column itself AS {column}, so that its index can be looked up");
            Err(wrong(format!("observe.{}", gate.store), message, help))
        }
        None => Ok(()),
    }
}
