//! SQLite as a store: a file made fresh for each case, seeded and read back through connections of the harness.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use nack_contracts::model::{Contract, Gate, Store};
use nack_contracts::relations::quote;
use nack_contracts::{Map, Value};
use rusqlite::{Connection, OpenFlags, params_from_iter};

use super::values::{from_store, to_store};
use super::{Snapshot, history};

/// A store that could not be made, seeded or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refused.
    #[error("the store says: {0}")]
    Sql(#[from] rusqlite::Error),
    /// The file system refused.
    #[error("the store's file: {0}")]
    File(#[from] std::io::Error),
    /// The subject's tables lack something that the contract observes.
    #[error("{0}")]
    Shape(String),
}

/// What the harness observes of a subject's tables, worked out once: the columns, and the queries that read them.
#[derive(Clone, Debug)]
pub struct Layout {
    pub(super) stores: IndexMap<String, Observe>,
}

/// How one store is observed.
#[derive(Clone, Debug)]
pub(super) struct Observe {
    pub(super) columns: Vec<String>,
    select: String,
    pub(super) select_history: String,
}

impl Observe {
    fn new(store: &str, columns: Vec<String>) -> Observe {
        let list = |prefix: &str| {
            columns.iter().map(|column| quote(&format!("{prefix}{column}"))).collect::<Vec<_>>().join(", ")
        };
        let history = quote(&format!("{}{store}", history::HISTORY_PREFIX));
        let select = format!("SELECT {} FROM {} ORDER BY rowid", list(""), quote(store));
        let select_history = format!("SELECT n, {}, {} FROM {history} ORDER BY n", list("old_"), list("new_"));
        Observe { columns, select, select_history }
    }

    /// The observed columns of a row, from column `from` of the query on.
    pub(super) fn row(
        &self,
        contract: &Contract,
        spec: &Store,
        row: &rusqlite::Row<'_>,
        from: usize,
    ) -> rusqlite::Result<Map> {
        let value = |(i, column): (usize, &String)| {
            Ok((column.clone(), from_store(contract, &spec.columns[column], row.get_ref(from + i)?)))
        };
        self.columns.iter().enumerate().map(value).collect()
    }
}

impl Layout {
    /// Checks a subject's empty tables against its contract, and installs what catches their history. Columns that the
    /// subject lacks, by its capabilities, are neither seeded nor judged.
    ///
    /// # Errors
    /// A table or column that the contract observes and the subject did not make.
    pub fn prepare(contract: &Contract, path: &Path, capabilities: &[String]) -> Result<Layout, StoreError> {
        let connection = open(path)?;
        let mut stores = IndexMap::new();
        for (name, spec) in &contract.stores {
            let has = |column: &&String| {
                spec.needs.get(*column).is_none_or(|needs| needs.iter().all(|need| capabilities.contains(need)))
            };
            let columns: Vec<String> = spec.columns.keys().filter(has).cloned().collect();
            let present = history::table_columns(&connection, name)?;
            if present.is_empty() {
                return Err(StoreError::Shape(format!("the subject made no table `{name}`")));
            }
            if let Some(missing) = columns.iter().find(|column| !present.contains(column)) {
                return Err(StoreError::Shape(format!("the subject's table `{name}` has no column `{missing}`")));
            }
            stores.insert(name.clone(), Observe::new(name, columns));
        }
        let layout = Layout { stores };
        history::install(&connection, contract, &layout)?;
        Ok(layout)
    }
}

fn open(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(Connection::open_with_flags(path, flags)?)
}

/// The store of one case.
#[derive(Clone, Debug)]
pub struct Sqlite<'c> {
    contract: &'c Contract,
    layout: &'c Layout,
    path: PathBuf,
}

impl<'c> Sqlite<'c> {
    /// The store at `path`.
    #[must_use]
    pub fn new(contract: &'c Contract, layout: &'c Layout, path: PathBuf) -> Sqlite<'c> {
        Sqlite { contract, layout, path }
    }

    /// Where its file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The store goes on in another file: the copy that a kill left.
    pub fn moved_to(&mut self, path: PathBuf) {
        self.path = path;
    }

    /// Inserts the given rows.
    ///
    /// # Errors
    /// What SQLite says, above all a constraint.
    pub fn seed(&self, given: &IndexMap<String, Vec<Map>>) -> Result<(), StoreError> {
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

    fn insert(&self, connection: &Connection, store: &str, row: &Map) -> Result<(), StoreError> {
        let spec = &self.contract.stores[store];
        let observed = self.layout.stores[store].columns.iter();
        let columns: Vec<&String> = observed.filter(|column| row.contains_key(*column)).collect();
        let names: Vec<String> = columns.iter().map(|column| quote(column)).collect();
        let marks: Vec<String> = (1..=columns.len()).map(|i| format!("?{i}")).collect();
        let sql = format!("INSERT INTO {} ({}) VALUES ({})", quote(store), names.join(", "), marks.join(", "));
        let values = columns.iter().map(|column| to_store(&spec.columns[*column], &row[*column]));
        connection.prepare_cached(&sql)?.execute(params_from_iter(values))?;
        Ok(())
    }

    /// Reads every store, and every history, through a fresh connection: only what is committed counts.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn read(&self, transactions: Option<&[Vec<(String, i64)>]>) -> Result<Snapshot, StoreError> {
        let connection = open(&self.path)?;
        let mut stores = IndexMap::new();
        for (name, spec) in &self.contract.stores {
            let observed = &self.layout.stores[name];
            let mut statement = connection.prepare(&observed.select)?;
            let mut rows = statement.query([])?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(observed.row(self.contract, spec, row, 0)?);
            }
            stores.insert(name.clone(), out);
        }
        let history = history::read(&connection, self.contract, self.layout, transactions)?;
        Ok(Snapshot { stores, history })
    }

    /// Tries a gate: the unique index must be in the catalogue, and of the rows exactly the last must be refused.
    /// Returns what is wrong.
    ///
    /// # Errors
    /// What SQLite says while the catalogue is read.
    pub fn gate(&self, gate: &Gate, rows: &[Map]) -> Result<Option<String>, StoreError> {
        let connection = open(&self.path)?;
        if !unique_index(&connection, &gate.store, &gate.unique)? {
            let columns = gate.unique.join(", ");
            return Ok(Some(format!("no full unique index on {}({columns}) is in the catalogue", gate.store)));
        }
        let (last, first) = match rows.split_last() {
            Some(split) => split,
            None => return Ok(Some("the gate has no rows".to_owned())),
        };
        for row in first {
            if let Err(error) = self.insert(&connection, &gate.store, row) {
                return Ok(Some(format!("{} was refused: {error}", Value::Map(row.clone()))));
            }
        }
        match self.insert(&connection, &gate.store, last) {
            Err(StoreError::Sql(error))
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) =>
            {
                Ok(None)
            }
            Err(error) => Ok(Some(format!("the last row was refused for another reason: {error}"))),
            Ok(()) => Ok(Some(format!("{} was accepted", Value::Map(last.clone())))),
        }
    }
}

/// Whether a full, not partial, unique index on exactly these columns exists.
fn unique_index(connection: &Connection, table: &str, columns: &[String]) -> rusqlite::Result<bool> {
    let mut list = connection.prepare("SELECT name FROM pragma_index_list(?1) WHERE \"unique\" AND NOT partial")?;
    let names: Vec<String> = list.query_map([table], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut wanted = columns.to_vec();
    wanted.sort();
    for name in names {
        let mut info = connection.prepare("SELECT name FROM pragma_index_info(?1)")?;
        let mut found: Vec<Option<String>> =
            info.query_map([name], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        found.sort();
        if found.iter().map(Option::as_deref).eq(wanted.iter().map(|column| Some(column.as_str()))) {
            return Ok(true);
        }
    }
    Ok(false)
}
