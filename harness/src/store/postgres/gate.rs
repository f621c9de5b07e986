//! Gates: what the schema itself must refuse. The index is looked for in the catalogue, and then tried.

use nack_contracts::model::Gate;
use nack_contracts::{Map, Value};
use postgres::Client;
use postgres::error::SqlState;

use super::layout::Table;
use super::store::Postgres;
use crate::store::StoreError;

/// Tries a gate, and returns what is wrong.
pub(super) fn try_gate(store: &Postgres<'_>, gate: &Gate, rows: &[Map]) -> Result<Option<String>, StoreError> {
    let mut client = store.open()?;
    let observed = store.observed(&gate.store);
    let columns: Vec<&str> = gate.unique.iter().map(|column| observed.own[column].as_str()).collect();
    if !unique_index(&mut client, &observed.table, &columns)? {
        let (table, columns) = (&observed.table.full, columns.join(", "));
        return Ok(Some(format!("no full unique index on {table}({columns}) is in the catalogue")));
    }
    let Some((last, first)) = rows.split_last() else { return Ok(Some("the gate has no rows".to_owned())) };
    for row in first {
        if let Err(error) = store.insert(&mut client, &gate.store, row) {
            return Ok(Some(format!("{} was refused: {}", Value::Map(row.clone()), StoreError::from(error))));
        }
    }
    match store.insert(&mut client, &gate.store, last) {
        Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => Ok(None),
        Err(error) => Ok(Some(format!("the last row was refused for another reason: {}", StoreError::from(error)))),
        Ok(()) => Ok(Some(format!("{} was accepted", Value::Map(last.clone())))),
    }
}

/// Whether a full, valid, not partial, unique index on exactly these columns exists. A deferrable constraint is one:
/// it refuses at the commit, and only what is committed counts.
fn unique_index(client: &mut Client, table: &Table, columns: &[&str]) -> Result<bool, StoreError> {
    let mut wanted: Vec<i16> = columns.iter().filter_map(|column| table.columns.get(*column).copied()).collect();
    wanted.sort_unstable();
    let there = "SELECT EXISTS (SELECT FROM pg_index
        WHERE indrelid = $1 AND indisunique AND indisvalid AND indpred IS NULL AND indexprs IS NULL
          AND $2 = ARRAY(SELECT number FROM unnest(indkey) WITH ORDINALITY AS key (number, place)
                         WHERE place <= indnkeyatts ORDER BY number))";
    Ok(client.query_one(there, &[&table.oid, &wanted])?.get(0))
}
