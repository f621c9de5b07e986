//! Gates: what the schema itself must refuse. The index is looked for in the catalogue, and then tried.

use nack_contracts::model::Gate;
use nack_contracts::{Map, Value};
use rusqlite::Connection;

use super::store::{Sqlite, open};
use crate::store::StoreError;

/// Tries a gate, and returns what is wrong.
pub(super) fn try_gate(store: &Sqlite<'_>, gate: &Gate, rows: &[Map]) -> Result<Option<String>, StoreError> {
    let connection = open(store.path())?;
    let observed = store.observed(&gate.store);
    let columns: Vec<&str> = gate.unique.iter().map(|column| observed.own[column].as_str()).collect();
    if !unique_index(&connection, &observed.table, &columns)? {
        let (table, columns) = (&observed.table, columns.join(", "));
        return Ok(Some(format!("no full unique index on {table}({columns}) is in the catalogue")));
    }
    let (last, first) = match rows.split_last() {
        Some(split) => split,
        None => return Ok(Some("the gate has no rows".to_owned())),
    };
    for row in first {
        if let Err(error) = store.insert(&connection, &gate.store, row) {
            return Ok(Some(format!("{} was refused: {error}", Value::Map(row.clone()))));
        }
    }
    match store.insert(&connection, &gate.store, last) {
        Err(StoreError::Sql(error)) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => {
            Ok(None)
        }
        Err(error) => Ok(Some(format!("the last row was refused for another reason: {error}"))),
        Ok(()) => Ok(Some(format!("{} was accepted", Value::Map(last.clone())))),
    }
}

/// Whether a full, not partial, unique index on exactly these columns exists. A key that is the row's own number has
/// no index of its own.
fn unique_index(connection: &Connection, table: &str, columns: &[&str]) -> rusqlite::Result<bool> {
    let mut wanted = columns.to_vec();
    wanted.sort_unstable();
    let same = |mut found: Vec<Option<String>>| {
        found.sort();
        found.iter().map(Option::as_deref).eq(wanted.iter().copied().map(Some))
    };
    let columns_of = |sql: &str, of: &str| -> rusqlite::Result<Vec<Option<String>>> {
        connection.prepare(sql)?.query_map([of], |row| row.get(0))?.collect()
    };
    if same(columns_of("SELECT name FROM pragma_table_info(?1) WHERE pk > 0", table)?) {
        return Ok(true);
    }
    let full = "SELECT name FROM pragma_index_list(?1) WHERE \"unique\" AND NOT partial";
    for name in columns_of(full, table)?.into_iter().flatten() {
        if same(columns_of("SELECT name FROM pragma_index_info(?1)", &name)?) {
            return Ok(true);
        }
    }
    Ok(false)
}
