//! SQLite as a store: a file made fresh for each case, seeded and read back through connections of the harness.

use std::fs;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use nack_contracts::model::{Contract, Gate};
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

/// The store of one case.
#[derive(Clone, Debug)]
pub struct Sqlite<'c> {
    contract: &'c Contract,
    path: PathBuf,
    /// Columns that the subject lacks are neither seeded nor judged.
    capabilities: &'c [String],
}

impl<'c> Sqlite<'c> {
    /// The store at `path`.
    #[must_use]
    pub fn new(contract: &'c Contract, path: PathBuf, capabilities: &'c [String]) -> Sqlite<'c> {
        Sqlite { contract, path, capabilities }
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

    /// Checks the subject's empty tables against the contract and installs what catches their history.
    ///
    /// # Errors
    /// A table or column that the contract observes and the subject did not make.
    pub fn prepare(&self) -> Result<(), StoreError> {
        let connection = self.open()?;
        for name in self.contract.stores.keys() {
            let present = history::table_columns(&connection, name)?;
            if present.is_empty() {
                return Err(StoreError::Shape(format!("the subject made no table `{name}`")));
            }
            if let Some(missing) = self.columns(name).find(|column| !present.contains(column)) {
                return Err(StoreError::Shape(format!("the subject's table `{name}` has no column `{missing}`")));
            }
        }
        history::install(&connection, self.contract)?;
        Ok(())
    }

    /// Copies a prepared store here.
    ///
    /// # Errors
    /// What the file system says.
    pub fn copy_from(&self, template: &Path) -> Result<(), StoreError> {
        fs::copy(template, &self.path)?;
        Ok(())
    }

    fn open(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Ok(Connection::open_with_flags(&self.path, flags)?)
    }

    /// The columns of a store that this subject has.
    fn columns(&self, store: &str) -> impl Iterator<Item = &'c String> {
        let spec = &self.contract.stores[store];
        let capabilities = self.capabilities;
        spec.columns.keys().filter(move |column| {
            spec.needs.get(*column).is_none_or(|needs| needs.iter().all(|need| capabilities.contains(need)))
        })
    }

    /// Inserts the given rows.
    ///
    /// # Errors
    /// What SQLite says, above all a constraint.
    pub fn seed(&self, given: &IndexMap<String, Vec<Map>>) -> Result<(), StoreError> {
        if given.values().all(Vec::is_empty) {
            return Ok(());
        }
        let mut connection = self.open()?;
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
        let columns: Vec<&String> = self.columns(store).filter(|column| row.contains_key(*column)).collect();
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
        let connection = self.open()?;
        let mut stores = IndexMap::new();
        for (name, spec) in &self.contract.stores {
            let columns: Vec<&String> = self.columns(name).collect();
            let list: Vec<String> = columns.iter().map(|column| quote(column)).collect();
            let sql = format!("SELECT {} FROM {} ORDER BY rowid", list.join(", "), quote(name));
            let mut statement = connection.prepare(&sql)?;
            let mut rows = statement.query([])?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                let value = |(i, column): (usize, &&String)| {
                    Ok(((*column).clone(), from_store(self.contract, &spec.columns[*column], row.get_ref(i)?)))
                };
                out.push(columns.iter().enumerate().map(value).collect::<rusqlite::Result<Map>>()?);
            }
            stores.insert(name.clone(), out);
        }
        let history = history::read(&connection, self.contract, transactions)?;
        Ok(Snapshot { stores, history })
    }

    /// Tries a gate: the unique index must be in the catalogue, and of the rows exactly the last must be refused.
    /// Returns what is wrong.
    ///
    /// # Errors
    /// What SQLite says while the catalogue is read.
    pub fn gate(&self, gate: &Gate, rows: &[Map]) -> Result<Option<String>, StoreError> {
        let connection = self.open()?;
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
            Err(StoreError::Sql(error)) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => {
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
