//! The stores of one subject, and the store of one case: a file that is copied, seeded and read.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use nack_contracts::Map;
use nack_contracts::model::{Contract, Gate};
use nack_contracts::relations::quote;
use rusqlite::{Connection, OpenFlags, ToSql, params_from_iter};

use super::gate;
use super::history;
use super::layout::{Layout, Observe};
use super::seeds::Seeds;
use super::values::to_sql;
use crate::store::{Mapping, Own, Snapshot, Store, StoreError, Stores, Translation};

/// How long a statement of the harness waits for a subject that holds the store.
const PATIENCE: Duration = Duration::from_secs(5);

/// The stores of one subject.
#[derive(Debug)]
pub(crate) struct SqliteStores {
    contract: Arc<Contract>,
    mapping: Arc<Mapping>,
    layout: Layout,
    seeds: Seeds,
    file: String,
}

impl SqliteStores {
    /// Makes ready the tables in `template`, which a subject has just made.
    pub(crate) fn prepare(
        contract: &Arc<Contract>,
        mapping: &Mapping,
        capabilities: &[String],
        template: PathBuf,
        file: &str,
    ) -> Result<SqliteStores, StoreError> {
        let connection = open(&template)?;
        let layout = Layout::new(&connection, contract, mapping, capabilities)?;
        let mapping = Arc::new(mapping.clone());
        let words = Translation::new(Arc::clone(contract), Arc::clone(&mapping), 0);
        history::install(&connection, &layout, &words)?;
        let seeds = Seeds::new(template);
        Ok(SqliteStores { contract: Arc::clone(contract), mapping, layout, seeds, file: file.to_owned() })
    }

    fn store(&self, folder: &Path, base: i64) -> Sqlite<'_> {
        let path = folder.join(&self.file);
        let address = path.to_string_lossy().into_owned();
        let words = Arc::new(Translation::new(Arc::clone(&self.contract), Arc::clone(&self.mapping), base));
        Sqlite { layout: &self.layout, words, path, address }
    }
}

impl Stores for SqliteStores {
    fn kind(&self) -> &'static str {
        "sqlite"
    }

    fn keeps_history(&self) -> bool {
        true
    }

    fn empty(&self, folder: &Path, base: i64) -> Result<Box<dyn Store + '_>, StoreError> {
        let store = self.store(folder, base);
        self.seeds.empty(&store)?;
        Ok(Box::new(store))
    }

    fn seeded(
        &self,
        folder: &Path,
        base: i64,
        given: &IndexMap<String, Vec<Map>>,
    ) -> Result<(Box<dyn Store + '_>, Snapshot), StoreError> {
        let store = self.store(folder, base);
        let snapshot = self.seeds.seed(&store, base, given)?;
        Ok((Box::new(store), snapshot))
    }
}

/// Opens a store's file with what the harness may do to it: nothing is created.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(Connection::open_with_flags(path, flags)?)
}

/// The store of one case.
#[derive(Debug)]
pub(super) struct Sqlite<'s> {
    layout: &'s Layout,
    words: Arc<Translation>,
    path: PathBuf,
    address: String,
}

impl Sqlite<'_> {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Inserts the given rows.
    pub(super) fn seed(&self, given: &IndexMap<String, Vec<Map>>) -> Result<(), StoreError> {
        let mut connection = open(&self.path)?;
        let transaction = connection.transaction()?;
        for (store, rows) in given {
            for row in rows {
                self.insert(&transaction, store, row)?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    /// Maps the ids of given rows that a copied file already holds.
    pub(super) fn know(&self, given: &IndexMap<String, Vec<Map>>) {
        for (store, rows) in given {
            for row in rows {
                self.spelled(store, row);
            }
        }
    }

    /// A given row as the subject's table holds it, in the order of the observed columns.
    fn spelled<'r>(&'r self, store: &'r str, row: &'r Map) -> Vec<(&'r String, rusqlite::types::Value)> {
        let observed = self.layout.stores[store].columns.iter();
        let columns = observed.filter(|column| row.contains_key(*column));
        columns.map(|column| (column, to_sql(&self.words.seeded(store, column, &row[column])))).collect()
    }

    pub(super) fn insert(&self, connection: &Connection, store: &str, row: &Map) -> Result<(), StoreError> {
        let observed = &self.layout.stores[store];
        let values = self.spelled(store, row);
        if observed.seed.is_empty() {
            let names: Vec<String> = values.iter().map(|(column, _)| quote(column)).collect();
            let marks: Vec<String> = (1..=values.len()).map(|i| format!("?{i}")).collect();
            let table = quote(&observed.table);
            let sql = format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), marks.join(", "));
            connection.prepare_cached(&sql)?.execute(params_from_iter(values.into_iter().map(|(_, value)| value)))?;
            return Ok(());
        }
        for sql in &observed.seed {
            let mut statement = connection.prepare_cached(sql)?;
            let names: Vec<(usize, String)> = (1..=statement.parameter_count())
                .filter_map(|i| Some((i, statement.parameter_name(i)?.trim_start_matches([':', '@', '$']).to_owned())))
                .collect();
            for (index, name) in names {
                let value = values.iter().find(|(column, _)| **column == name).map(|(_, value)| value);
                statement
                    .raw_bind_parameter(index, value.map_or(&rusqlite::types::Null as &dyn ToSql, |value| value))?;
            }
            statement.raw_execute()?;
        }
        Ok(())
    }

    pub(super) fn observed(&self, store: &str) -> &Observe {
        &self.layout.stores[store]
    }
}

impl Store for Sqlite<'_> {
    fn address(&self) -> &str {
        &self.address
    }

    fn translation(&self) -> &Arc<Translation> {
        &self.words
    }

    fn moved_to(&mut self, path: PathBuf) {
        self.address = path.to_string_lossy().into_owned();
        self.path = path;
    }

    fn read(&self, transactions: Option<&[Vec<(String, i64)>]>) -> Result<Snapshot, StoreError> {
        let connection = open(&self.path)?;
        let mut stores = IndexMap::new();
        for (name, observed) in &self.layout.stores {
            let mut statement = connection.prepare(&observed.select)?;
            let mut rows = statement.query([])?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(match observed.select_history {
                    Some(_) => observed.by_place(name, &self.words, row, 0)?,
                    None => observed.by_name(name, &self.words, row)?,
                });
            }
            stores.insert(name.clone(), out);
        }
        let history = history::read(&connection, self.layout, &self.words, transactions)?;
        Ok(Snapshot { stores, history })
    }

    fn gate(&self, gate: &Gate, rows: &[Map]) -> Result<Option<String>, StoreError> {
        gate::try_gate(self, gate, rows)
    }

    fn own(&self, store: &str) -> Own {
        let observed = self.observed(store);
        Own { table: observed.table.clone(), columns: observed.own.clone() }
    }

    fn execute(&self, sql: &str) -> Result<u64, StoreError> {
        let connection = open(&self.path)?;
        connection.busy_timeout(PATIENCE)?;
        Ok(connection.execute(sql, []).map(|rows| rows as u64)?)
    }

    fn lock(&self) -> Result<Box<dyn Any>, StoreError> {
        let connection = open(&self.path)?;
        // It goes with the connection, uncommitted.
        connection.execute_batch("BEGIN IMMEDIATE")?;
        Ok(Box::new(connection))
    }
}
