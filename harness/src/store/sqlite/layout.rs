//! What the harness observes of a subject's tables, worked out once: the columns, and the SQL that seeds and reads
//! them, either the binding's own or that of tables with the contract's names.

use indexmap::IndexMap;
use nack_contracts::model::{Contract, Store};
use nack_contracts::relations::quote;
use nack_contracts::{Map, suggest};
use rusqlite::{Connection, Row, Statement};

use super::history::HISTORY_PREFIX;
use super::values::from_sql;
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
            let has = |column: &&String| {
                spec.needs.get(*column).is_none_or(|needs| needs.iter().all(|need| capabilities.contains(need)))
            };
            let columns: Vec<String> = spec.columns.keys().filter(has).cloned().collect();
            let mapped = mapping.store(name);
            let seeded = if mapped.seed.is_empty() {
                name.clone()
            } else {
                check_seed(connection, name, spec, &columns, &mapped.seed)?
            };
            let table = table_columns(connection, &seeded)?;
            if table.is_empty() {
                let key = if mapped.seed.is_empty() { "setup".to_owned() } else { format!("seed.{name}") };
                let help = "make it in `setup`, or say in `seed` and `observe` how its own tables are written and read";
                return Err(wrong(key, format!("the subject made no table `{seeded}`"), help));
            }
            let mut own: IndexMap<String, String> = columns.iter().map(|c| (c.clone(), c.clone())).collect();
            let select = match &mapped.observe {
                Some(sql) => {
                    own = check_observe(connection, name, spec, &columns, sql)?;
                    sql.clone()
                }
                None => {
                    if let Some(missing) = columns.iter().find(|column| !table.contains(column)) {
                        let message = format!("the subject's table `{seeded}` has no column `{missing}`");
                        let help = format!("add it, or say in `observe.{name}` which of its columns it is");
                        return Err(wrong("setup".to_owned(), message, &help));
                    }
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
        for gate in &contract.gates {
            let known = &stores[&gate.store].own;
            if let Some(column) = gate.unique.iter().find(|column| !known.contains_key(*column)) {
                let message =
                    format!("the gate {} needs the column behind `{column}`, and it is an expression", gate.name);
                let help = format!("select the column itself AS {column}, so that its index can be looked up");
                return Err(wrong(format!("observe.{}", gate.store), message, &help));
            }
        }
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

fn wrong(key: String, message: String, help: &str) -> StoreError {
    StoreError::Binding { key, message, help: help.to_owned() }
}

/// The columns of a table, in its own order.
pub(super) fn table_columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT name FROM pragma_table_info(?1)")?;
    let names = statement.query_map([table], |row| row.get(0))?;
    names.collect()
}

fn prepared<'c>(connection: &'c Connection, key: &str, sql: &str) -> Result<Statement<'c>, StoreError> {
    connection.prepare(sql).map_err(|error| {
        let help = "the SQL is run on the tables that `setup` makes";
        wrong(key.to_owned(), format!("its SQL is refused: {error}"), help)
    })
}

/// Checks the statements that seed a store, and returns the table that the first of them inserts into.
fn check_seed(
    connection: &Connection,
    name: &str,
    spec: &Store,
    columns: &[String],
    seed: &[String],
) -> Result<String, StoreError> {
    let key = format!("seed.{name}");
    let mut used: Vec<String> = Vec::new();
    for sql in seed {
        let statement = prepared(connection, &key, sql)?;
        for parameter in (1..=statement.parameter_count()).filter_map(|i| statement.parameter_name(i)) {
            let column = parameter.trim_start_matches([':', '@', '$', '?']);
            if !spec.columns.contains_key(column) {
                let message = format!("`{parameter}` is no column of {name}");
                return Err(wrong(key, message, &suggest(column, spec.columns.keys().map(String::as_str))));
            }
            used.push(column.to_owned());
        }
    }
    if let Some(missing) = columns.iter().find(|column| !used.contains(column)) {
        let help = format!("write `:{missing}` where its value belongs");
        return Err(wrong(key, format!("it never writes the column `{missing}`"), &help));
    }
    let first = seed.first().and_then(|sql| inserted_into(sql));
    first.ok_or_else(|| {
        wrong(key, "its first statement inserts nothing".to_owned(), "begin with INSERT INTO the table of its rows")
    })
}

/// The table that a statement inserts into.
fn inserted_into(sql: &str) -> Option<String> {
    let mut words = sql.split_whitespace().skip_while(|word| !word.eq_ignore_ascii_case("into"));
    let table = words.nth(1)?.split('(').next()?;
    let table = table.rsplit('.').next()?.trim_matches(['"', '`', '[', ']', '\'']);
    (!table.is_empty()).then(|| table.to_owned())
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
        return Err(wrong(key, "it writes".to_owned(), "observe only: a SELECT"));
    }
    let given = statement.column_names();
    if let Some(stray) = given.iter().find(|column| !spec.columns.contains_key(**column)) {
        let message = format!("it gives a column `{stray}`, which {name} does not have");
        return Err(wrong(key, message, &suggest(stray, spec.columns.keys().map(String::as_str))));
    }
    match columns.iter().find(|column| !given.contains(&column.as_str())) {
        Some(missing) => {
            let help = format!("select the subject's own column AS {missing}");
            Err(wrong(key, format!("it gives no column `{missing}`"), &help))
        }
        None => {
            let of = |column: &rusqlite::ColumnMetadata<'_>| {
                Some((column.name().to_owned(), column.origin_name()?.to_owned()))
            };
            Ok(statement.columns_with_metadata().iter().filter_map(of).collect())
        }
    }
}
