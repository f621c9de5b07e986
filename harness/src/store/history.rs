//! Committed history by triggers: every update of a row, old and new, into a table of the harness. An insert that
//! replaces a row of the same key is an update, too; nothing else is.

use indexmap::IndexMap;
use nack_contracts::model::Contract;
use nack_contracts::relations::quote;
use nack_contracts::{Map, Value};
use rusqlite::Connection;

use super::sqlite::Layout;
use super::{Change, StoreError};

/// The prefix of the tables in which the harness keeps committed history.
pub const HISTORY_PREFIX: &str = "nack_history_";

/// Installs the triggers on the table of every store. They keep the observed columns: a longer schema would be read
/// again by every connection of every case.
pub(super) fn install(connection: &Connection, contract: &Contract, layout: &Layout) -> rusqlite::Result<()> {
    for (store, spec) in &contract.stores {
        let columns = &layout.stores[store].columns;
        let (table, history) = (quote(store), quote(&format!("{HISTORY_PREFIX}{store}")));
        let replaced = quote(&format!("nack_replaced_{store}"));
        let prefixed =
            |prefix: &str| columns.iter().map(|c| quote(&format!("{prefix}{c}"))).collect::<Vec<_>>().join(", ");
        let of = |row: &str| columns.iter().map(|c| format!("{row}.{}", quote(c))).collect::<Vec<_>>().join(", ");
        let (old, new) = (prefixed("old_"), prefixed("new_"));
        connection.execute_batch(&format!(
            "CREATE TABLE {history} (n INTEGER PRIMARY KEY, {old}, {new});
             CREATE TRIGGER {update} AFTER UPDATE ON {table} BEGIN
               INSERT INTO {history} ({old}, {new}) VALUES ({old_row}, {new_row});
             END;",
            update = quote(&format!("{HISTORY_PREFIX}{store}_update")),
            old_row = of("OLD"),
            new_row = of("NEW"),
        ))?;
        if spec.key.is_empty() {
            continue;
        }
        let same_key = spec.key.iter().map(|c| format!("{0} = NEW.{0}", quote(c))).collect::<Vec<_>>().join(" AND ");
        connection.execute_batch(&format!(
            "CREATE TABLE {replaced} ({old});
             CREATE TRIGGER {before} BEFORE INSERT ON {table} BEGIN
               DELETE FROM {replaced};
               INSERT INTO {replaced} ({old}) SELECT {own} FROM {table} WHERE {same_key};
             END;
             CREATE TRIGGER {after} AFTER INSERT ON {table} BEGIN
               INSERT INTO {history} ({old}, {new}) SELECT {old}, {new_row} FROM {replaced};
               DELETE FROM {replaced};
             END;",
            before = quote(&format!("{HISTORY_PREFIX}{store}_before_insert")),
            after = quote(&format!("{HISTORY_PREFIX}{store}_after_insert")),
            own = columns.iter().map(|c| quote(c)).collect::<Vec<_>>().join(", "),
            new_row = of("NEW"),
        ))?;
    }
    Ok(())
}

/// The columns of a table, in its own order.
pub(super) fn table_columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT name FROM pragma_table_info(?1)")?;
    let names = statement.query_map([table], |row| row.get(0))?;
    names.collect()
}

/// Whether every trigger is still there: a subject that rebuilds its tables takes them away.
fn installed(connection: &Connection, contract: &Contract) -> rusqlite::Result<bool> {
    let sql =
        format!("SELECT COUNT(*) FROM sqlite_master WHERE type = 'trigger' AND name GLOB '{HISTORY_PREFIX}*_update'");
    let there: i64 = connection.query_row(&sql, [], |row| row.get(0))?;
    Ok(there >= contract.stores.len() as i64)
}

/// Reads the history of every store, with the changes of one transaction made one.
pub(super) fn read(
    connection: &Connection,
    contract: &Contract,
    layout: &Layout,
    transactions: Option<&[Vec<(String, i64)>]>,
) -> Result<Option<IndexMap<String, Vec<Change>>>, StoreError> {
    if !installed(connection, contract)? {
        return Ok(None);
    }
    let mut out = IndexMap::new();
    for (store, spec) in &contract.stores {
        let observed = &layout.stores[store];
        let mut statement = connection.prepare(&observed.select_history)?;
        let mut rows = statement.query([])?;
        let mut changes: Vec<(i64, Change)> = Vec::new();
        while let Some(row) = rows.next()? {
            let old = observed.row(contract, spec, row, 1)?;
            let new = observed.row(contract, spec, row, 1 + observed.columns.len())?;
            changes.push((row.get(0)?, Change { old, new }));
        }
        let table = format!("{HISTORY_PREFIX}{store}");
        let changes = match transactions {
            None => changes.into_iter().map(|(_, change)| change).collect(),
            Some(transactions) => collapse(changes, &table, &spec.key, transactions),
        };
        out.insert(store.clone(), changes);
    }
    Ok(Some(out))
}

/// Nobody could see the steps between, so the changes of one row in one transaction are one change.
fn collapse(
    changes: Vec<(i64, Change)>,
    table: &str,
    key: &[String],
    transactions: &[Vec<(String, i64)>],
) -> Vec<Change> {
    let transaction = |n: i64| transactions.iter().position(|rows| rows.iter().any(|(t, row)| t == table && *row == n));
    let name = |row: &Map| -> Vec<Option<Value>> { key.iter().map(|column| row.get(column).cloned()).collect() };
    let mut out: Vec<(Option<usize>, Change)> = Vec::new();
    for (n, change) in changes {
        let home = transaction(n);
        let same = |(other, earlier): &&mut (Option<usize>, Change)| {
            home.is_some() && *other == home && !key.is_empty() && name(&earlier.new) == name(&change.old)
        };
        match out.iter_mut().rev().find(same) {
            Some((_, earlier)) => earlier.new = change.new,
            None => out.push((home, change)),
        }
    }
    out.into_iter().map(|(_, change)| change).collect()
}
