//! Committed history by triggers: every update of a row, old and new, into a table of the harness. An insert that
//! replaces a row of the same key is an update, too; nothing else is.

use indexmap::IndexMap;
use nack_contracts::relations::quote;
use nack_contracts::{Map, Value};
use rusqlite::Connection;

use super::layout::{Layout, Observe};
use crate::store::{Change, StoreError, Translation};

/// The prefix of the tables in which the harness keeps committed history.
pub const HISTORY_PREFIX: &str = "nack_history_";

/// Installs the triggers on the table of every store.
pub(super) fn install(connection: &Connection, layout: &Layout, words: &Translation) -> rusqlite::Result<()> {
    for (store, observed) in &layout.stores {
        let columns = &observed.kept;
        let (table, history) = (quote(&observed.table), quote(&format!("{HISTORY_PREFIX}{}", observed.table)));
        let replaced = quote(&format!("nack_replaced_{}", observed.table));
        let prefixed =
            |prefix: &str| columns.iter().map(|c| quote(&format!("{prefix}{c}"))).collect::<Vec<_>>().join(", ");
        let of = |row: &str| columns.iter().map(|c| format!("{row}.{}", quote(c))).collect::<Vec<_>>().join(", ");
        let (old, new) = (prefixed("old_"), prefixed("new_"));
        connection.execute_batch(&format!(
            "CREATE TABLE {history} (n INTEGER PRIMARY KEY, {old}, {new});
             CREATE TRIGGER {update} AFTER UPDATE ON {table} BEGIN
               INSERT INTO {history} ({old}, {new}) VALUES ({old_row}, {new_row});
             END;",
            update = quote(&format!("{HISTORY_PREFIX}{}_update", observed.table)),
            old_row = of("OLD"),
            new_row = of("NEW"),
        ))?;
        let key = match &observed.select_history {
            Some(_) => words.contract().stores[store].key.clone(),
            None => primary_key(connection, &observed.table)?,
        };
        if key.is_empty() {
            continue;
        }
        let same_key = key.iter().map(|c| format!("{0} = NEW.{0}", quote(c))).collect::<Vec<_>>().join(" AND ");
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
            before = quote(&format!("{HISTORY_PREFIX}{}_before_insert", observed.table)),
            after = quote(&format!("{HISTORY_PREFIX}{}_after_insert", observed.table)),
            own = columns.iter().map(|c| quote(c)).collect::<Vec<_>>().join(", "),
            new_row = of("NEW"),
        ))?;
    }
    Ok(())
}

fn primary_key(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk")?;
    let names = statement.query_map([table], |row| row.get(0))?;
    names.collect()
}

/// Whether every trigger is still there: a subject that rebuilds its tables takes them away.
fn installed(connection: &Connection, layout: &Layout) -> rusqlite::Result<bool> {
    let sql =
        format!("SELECT COUNT(*) FROM sqlite_master WHERE type = 'trigger' AND name GLOB '{HISTORY_PREFIX}*_update'");
    let there: i64 = connection.query_row(&sql, [], |row| row.get(0))?;
    Ok(there >= layout.stores.len() as i64)
}

/// Reads the history of every store, with the changes of one transaction made one.
pub(super) fn read(
    connection: &Connection,
    layout: &Layout,
    words: &Translation,
    transactions: Option<&[Vec<(String, i64)>]>,
) -> Result<Option<IndexMap<String, Vec<Change>>>, StoreError> {
    if !installed(connection, layout)? {
        return Ok(None);
    }
    let mut out = IndexMap::new();
    for (store, observed) in &layout.stores {
        let changes = match &observed.select_history {
            Some(sql) => plain(connection, store, observed, words, sql)?,
            None => through_observe(connection, store, observed, words)?,
        };
        let table = format!("{HISTORY_PREFIX}{}", observed.table);
        let key = &words.contract().stores[store].key;
        let changes = match transactions {
            None => changes.into_iter().map(|(_, change)| change).collect(),
            Some(transactions) => collapse(changes, &table, key, transactions),
        };
        out.insert(store.clone(), changes);
    }
    Ok(Some(out))
}

fn plain(
    connection: &Connection,
    store: &str,
    observed: &Observe,
    words: &Translation,
    sql: &str,
) -> rusqlite::Result<Vec<(i64, Change)>> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut changes = Vec::new();
    while let Some(row) = rows.next()? {
        let old = observed.by_place(store, words, row, 1)?;
        let new = observed.by_place(store, words, row, 1 + observed.columns.len())?;
        changes.push((row.get(0)?, Change { old, new }));
    }
    Ok(changes)
}

/// Reads each image of a changed row as `observe` would have read it: through a table of the same name that holds
/// that image alone and hides the real one from this connection.
fn through_observe(
    connection: &Connection,
    store: &str,
    observed: &Observe,
    words: &Translation,
) -> rusqlite::Result<Vec<(i64, Change)>> {
    let history = quote(&format!("{HISTORY_PREFIX}{}", observed.table));
    let numbers: Vec<i64> = {
        let mut statement = connection.prepare(&format!("SELECT n FROM {history} ORDER BY n"))?;
        statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
    };
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let table = quote(&observed.table);
    let list = |prefix: &str| {
        observed.kept.iter().map(|column| quote(&format!("{prefix}{column}"))).collect::<Vec<_>>().join(", ")
    };
    connection.execute_batch(&format!("CREATE TEMP TABLE {table} AS SELECT * FROM main.{table} LIMIT 0"))?;
    let mut changes = Vec::new();
    {
        let mut select = connection.prepare(&observed.select)?;
        let mut image = |n: i64, prefix: &str| -> rusqlite::Result<Option<Map>> {
            connection.execute(&format!("DELETE FROM temp.{table}"), [])?;
            let fill = format!(
                "INSERT INTO temp.{table} ({}) SELECT {} FROM main.{history} WHERE n = ?1",
                list(""),
                list(prefix)
            );
            connection.execute(&fill, [n])?;
            let mut rows = select.query([])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            observed.by_name(store, words, row).map(Some)
        };
        for n in numbers {
            // What `observe` does not show was no row of the store.
            if let (Some(old), Some(new)) = (image(n, "old_")?, image(n, "new_")?) {
                changes.push((n, Change { old, new }));
            }
        }
    }
    connection.execute_batch(&format!("DROP TABLE temp.{table}"))?;
    Ok(changes)
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
