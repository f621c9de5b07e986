//! What is done to a store behind its subject's back, in SQL that every kind of store understands.

use nack_contracts::Value;
use nack_contracts::model::{Base, Contract};
use nack_contracts::relations::quote;

use super::kinds::Sabotage;
use super::session::other_word;
use crate::store::{Store, StoreError};

/// Where the rows of a table are kept while a call runs.
fn kept(table: &str) -> String {
    quote(&format!("nack_kept_{table}"))
}

/// Before a call.
pub(crate) fn before(kind: Sabotage, contract: &Contract, store: &dyn Store) -> Result<(), StoreError> {
    if kind != Sabotage::CommitLost {
        return Ok(());
    }
    for name in contract.stores.keys() {
        let table = store.own(name).table;
        store.execute(&format!("DROP TABLE IF EXISTS {}", kept(&table)))?;
        store.execute(&format!("CREATE TABLE {} AS SELECT * FROM {}", kept(&table), quote(&table)))?;
    }
    Ok(())
}

/// After a call, while nobody waits for the store.
pub(crate) fn after(kind: Sabotage, contract: &Contract, store: &dyn Store) -> Result<(), StoreError> {
    match kind {
        Sabotage::CommitLost => {
            for name in contract.stores.keys() {
                let table = store.own(name).table;
                store.execute(&format!("DELETE FROM {}", quote(&table)))?;
                store.execute(&format!("INSERT INTO {} SELECT * FROM {}", quote(&table), kept(&table)))?;
            }
            Ok(())
        }
        Sabotage::RowFlipped => flip(contract, store),
        Sabotage::TerminalReopened => reopen(contract, store),
        _ => Ok(()),
    }
}

/// Before a gate: tables without any of their constraints.
pub(crate) fn bare(contract: &Contract, store: &dyn Store) -> Result<(), StoreError> {
    for name in contract.stores.keys() {
        let table = store.own(name).table;
        let (bare, own) = (kept(&table), quote(&table));
        store.execute(&format!("CREATE TABLE {bare} AS SELECT * FROM {own}"))?;
        store.execute(&format!("DROP TABLE {own}"))?;
        store.execute(&format!("ALTER TABLE {bare} RENAME TO {own}"))?;
    }
    Ok(())
}

/// One column of one store becomes something else in every row that has the first row's value.
fn flip(contract: &Contract, store: &dyn Store) -> Result<(), StoreError> {
    let rows = store.read(None)?.stores;
    for (name, spec) in &contract.stores {
        let own = store.own(name);
        let Some(row) = rows.get(name).and_then(|rows| rows.first()) else { continue };
        for (column, ty) in spec.columns.iter().filter(|(column, _)| !spec.key.contains(column)) {
            let (Some(value), Some(mine)) = (row.get(column), own.columns.get(column)) else { continue };
            let other = match (&ty.base, value) {
                (Base::Domain(domain), value) => other_word(&contract.domains[domain], value),
                (Base::Int, Value::Int(int)) => Some(Value::Int(int.saturating_add(1))),
                (Base::Text | Base::Any, Value::Text(text)) => Some(Value::from(format!("{text}?"))),
                _ => None,
            };
            if let Some(other) = other {
                let (old, new) = (literal(store, column, ty, value), literal(store, column, ty, &other));
                let (table, mine) = (quote(&own.table), quote(mine));
                store.execute(&format!("UPDATE {table} SET {mine} = {new} WHERE {mine} = {old}"))?;
                return Ok(());
            }
        }
    }
    Ok(())
}

/// A row whose word is a success of some table goes back to the first word of its vocabulary.
fn reopen(contract: &Contract, store: &dyn Store) -> Result<(), StoreError> {
    for (name, spec) in &contract.stores {
        let own = store.own(name);
        for (column, ty) in &spec.columns {
            let (Base::Domain(domain), Some(mine)) = (&ty.base, own.columns.get(column)) else { continue };
            let vocabulary = &contract.domains[domain];
            let Some(first) = vocabulary.classes.first().and_then(|class| class.samples.first()) else { continue };
            let first = first.node.value();
            for word in success_words(contract).filter(|word| vocabulary.find(word).is_some() && *word != first) {
                let (old, new) = (literal(store, column, ty, &word), literal(store, column, ty, &first));
                let (table, mine) = (quote(&own.table), quote(mine));
                store.execute(&format!("UPDATE {table} SET {mine} = {new} WHERE {mine} = {old}"))?;
            }
        }
    }
    Ok(())
}

/// Every word that some table calls a success.
pub(super) fn success_words(contract: &Contract) -> impl Iterator<Item = Value> {
    contract.tables.values().flat_map(|table| &table.success).flat_map(|(output, classes)| {
        let domain = &contract.domains[output];
        classes.iter().filter_map(|class| Some(domain.classes[*class].samples.first()?.node.value()))
    })
}

fn literal(store: &dyn Store, column: &str, ty: &nack_contracts::model::Type, value: &Value) -> String {
    match store.translation().outward(column, ty, value) {
        Value::Null => "NULL".to_owned(),
        Value::Bool(bool) => if bool { "TRUE" } else { "FALSE" }.to_owned(),
        Value::Int(int) => int.to_string(),
        Value::Float(float) => float.to_string(),
        other => {
            let text = other.as_text().map_or_else(|| other.to_json(), str::to_owned);
            format!("'{}'", text.replace('\'', "''"))
        }
    }
}
