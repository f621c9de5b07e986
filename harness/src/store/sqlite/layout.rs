//! What the harness observes of a subject's tables, worked out once: the columns, and the SQL that seeds and reads
//! them, either the binding's own or that of tables with the contract's names.

use indexmap::IndexMap;
use nack_contracts::Map;
use nack_contracts::model::{Contract, Store};
use nack_contracts::relations::quote;
use rusqlite::{Connection, Row, Statement};

use super::history::HISTORY_PREFIX;
use super::values::from_sql;
use crate::store::fit::{self, wrong};
use crate::store::{Mapping, StoreError, Translation};

/// What is observed of each store.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) stores: IndexMap<String, Observe>,
}

/// How one store is seeded and observed.
#[derive(Clone, Debug)]
pub(super) struct Observe {
    /// The subject's table that rows are inserted into.
    pub(super) table: String,
    /// The contract's columns that this subject has.
    pub(super) columns: Vec<String>,
    /// The binding's own statements; empty where the table has the contract's names.
    pub(super) seed: Vec<String>,
    /// Reads all rows.
    pub(super) select: String,
    /// Reads the history of a table with the contract's names. `None`: it is read through `select`.
    pub(super) select_history: Option<String>,
    /// The subject's own column behind each of the contract's, where it is one.
    pub(super) own: IndexMap<String, String>,
    /// The columns that the history keeps.
    pub(super) kept: Vec<String>,
}

impl Layout {
    /// Checks a subject's empty tables against its contract. Columns that the subject lacks, by its capabilities, are
    /// neither seeded nor judged.
    pub(super) fn new(
        connection: &Connection,
        contract: &Contract,
        mapping: &Mapping,
        capabilities: &[String],
    ) -> Result<Layout, StoreError> {
        let mut stores = IndexMap::new();
        for (name, spec) in &contract.stores {
            let columns = fit::columns_of(spec, capabilities);
            let mapped = mapping.store(name);
            let seeded = if mapped.seed.is_empty() {
                name.clone()
            } else {
                check_seed(connection, name, spec, &columns, &mapped.seed)?
            };
            let table = table_columns(connection, &seeded)?;
            if table.is_empty() {
                return Err(fit::no_table(name, &seeded, !mapped.seed.is_empty()));
            }
            let mut own: IndexMap<String, String> = columns.iter().map(|c| (c.clone(), c.clone())).collect();
            let select = match &mapped.observe {
                Some(sql) => {
                    own = check_observe(connection, name, spec, &columns, sql)?;
                    sql.clone()
                }
                None => {
                    fit::has_columns(name, &seeded, &columns, &table)?;
                    format!("SELECT {} FROM {} ORDER BY rowid", quoted(&columns, ""), quote(&seeded))
                }
            };
            let plain = mapped.observe.is_none().then(|| {
                let history = quote(&format!("{HISTORY_PREFIX}{seeded}"));
                format!(
                    "SELECT n, {}, {} FROM {history} ORDER BY n",
                    quoted(&columns, "old_"),
                    quoted(&columns, "new_")
                )
            });
            // A longer schema would be read again by every connection of every case.
            let kept = if plain.is_some() { columns.clone() } else { table };
            let seed = mapped.seed;
            let observe = Observe { table: seeded, columns, seed, select, select_history: plain, own, kept };
            stores.insert(name.clone(), observe);
        }
        fit::gates(contract, |store| &stores[store].own)?;
        Ok(Layout { stores })
    }
}

impl Observe {
    /// The observed columns of a row of `select`, by their names.
    pub(super) fn by_name(&self, store: &str, words: &Translation, row: &Row<'_>) -> rusqlite::Result<Map> {
        let spec = &words.contract().stores[store];
        let value = |column: &String| {
            let value = from_sql(row.get_ref(column.as_str())?);
            Ok((column.clone(), words.inward(column, &spec.columns[column], value)))
        };
        self.columns.iter().map(value).collect()
    }

    /// The observed columns of a row, from column `from` of the query on.
    pub(super) fn by_place(
        &self,
        store: &str,
        words: &Translation,
        row: &Row<'_>,
        from: usize,
    ) -> rusqlite::Result<Map> {
        let spec = &words.contract().stores[store];
        let value = |(i, column): (usize, &String)| {
            let value = from_sql(row.get_ref(from + i)?);
            Ok((column.clone(), words.inward(column, &spec.columns[column], value)))
        };
        self.columns.iter().enumerate().map(value).collect()
    }
}

fn quoted(columns: &[String], prefix: &str) -> String {
    columns.iter().map(|column| quote(&format!("{prefix}{column}"))).collect::<Vec<_>>().join(", ")
}

/// The columns of a table, in its own order.
pub(super) fn table_columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT name FROM pragma_table_info(?1)")?;
    let names = statement.query_map([table], |row| row.get(0))?;
    names.collect()
}

fn prepared<'c>(connection: &'c Connection, key: &str, sql: &str) -> Result<Statement<'c>, StoreError> {
    connection.prepare(sql).map_err(|error| wrong(key, format!("its SQL is refused: {error}"), fit::RUN_ON))
}

/// Checks the statements that seed a store, and returns the table that the first of them inserts into.
fn check_seed(
    connection: &Connection,
    name: &str,
    spec: &Store,
    columns: &[String],
    seed: &[String],
) -> Result<String, StoreError> {
    let mut used: Vec<String> = Vec::new();
    for sql in seed {
        let statement = prepared(connection, &format!("seed.{name}"), sql)?;
        let parameters = (1..=statement.parameter_count()).filter_map(|i| statement.parameter_name(i));
        used.extend(parameters.map(|parameter| parameter.trim_start_matches([':', '@', '$', '?']).to_owned()));
    }
    fit::written(name, spec, columns, &used)?;
    let table = fit::inserted_into(name, seed)?;
    Ok(table.rsplit('.').next().unwrap_or(table).trim_matches(['"', '`', '[', ']', '\'']).to_owned())
}

/// Checks the query that reads a store, and returns the subject's own column behind each that it gives.
fn check_observe(
    connection: &Connection,
    name: &str,
    spec: &Store,
    columns: &[String],
    sql: &str,
) -> Result<IndexMap<String, String>, StoreError> {
    let key = format!("observe.{name}");
    let statement = prepared(connection, &key, sql)?;
    if !statement.readonly() {
        return Err(wrong(key, "it writes", "observe only: a SELECT"));
    }
    fit::given(name, spec, columns, &statement.column_names())?;
    let of = |column: &rusqlite::ColumnMetadata<'_>| Some((column.name().to_owned(), column.origin_name()?.to_owned()));
    Ok(statement.columns_with_metadata().iter().filter_map(of).collect())
}
