//! Where a subject keeps its state, and how its empty tables are made.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nack_contracts::Contract;

use super::fit::wrong;
use super::mapping::Mapping;
#[cfg(feature = "postgres")]
use super::postgres::PostgresStores;
use super::sqlite::SqliteStores;
use super::{StoreError, Stores, Url};
#[cfg(unix)]
use crate::process::Command;
use crate::subject::Program;

/// A subject's tables, as far as the harness is told of them.
#[derive(Debug)]
pub struct Tables {
    /// Where they are.
    pub place: Place,
    /// How they are made.
    pub setup: Setup,
    /// How they spell what the contract observes.
    pub mapping: Mapping,
}

/// Where a subject keeps its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In an SQLite file of this name, in a folder of each case.
    Sqlite(String),
    /// On a PostgreSQL server, in a database of each case.
    Postgres(Url),
}

/// How a subject's empty tables are made.
pub enum Setup {
    /// By this file of SQL.
    File(PathBuf),
    /// By this command, run in this folder; `{store}` in it is the store's address.
    #[cfg(unix)]
    Command(Vec<String>, PathBuf),
    /// As this program makes them.
    Program(Arc<dyn Program>),
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setup::File(path) => write!(f, "File({})", path.display()),
            #[cfg(unix)]
            Setup::Command(argv, _) => write!(f, "Command({})", argv.join(" ")),
            Setup::Program(program) => write!(f, "Program({})", program.hello().name),
        }
    }
}

impl Tables {
    /// Tables in an SQLite file, in the contract's own names and words.
    #[must_use]
    pub fn sqlite(setup: Setup) -> Tables {
        Tables { place: Place::Sqlite("store.db".to_owned()), setup, mapping: Mapping::default() }
    }

    /// Makes the empty tables once, checks them, and installs what catches their history. `scratch` is a folder that
    /// outlives the stores; `name` is free in it.
    ///
    /// # Errors
    /// Tables that could not be made, or that do not fit the contract.
    pub fn prepare(
        &self,
        contract: &Arc<Contract>,
        capabilities: &[String],
        scratch: &Path,
        name: &str,
    ) -> Result<Box<dyn Stores>, StoreError> {
        self.mapping.check(contract)?;
        match &self.place {
            Place::Sqlite(file) => {
                let template = scratch.join(format!("{name}.db"));
                self.setup.on_sqlite(&template)?;
                let stores = SqliteStores::prepare(contract, &self.mapping, capabilities, template, file)?;
                Ok(Box::new(stores))
            }
            #[cfg(feature = "postgres")]
            Place::Postgres(url) => {
                let setup =
                    |url: &Url, run: &mut dyn FnMut(&str) -> Result<(), StoreError>| self.setup.on_postgres(url, run);
                let stores = PostgresStores::prepare(contract, &self.mapping, capabilities, url, setup)?;
                Ok(Box::new(stores))
            }
            #[cfg(not(feature = "postgres"))]
            Place::Postgres(_) => {
                let help = "build it with `--features postgres`";
                Err(wrong("store", "this nack was built without PostgreSQL", help))
            }
        }
    }
}

/// Drops the databases that runs of nack left on a server when they were killed, and says how many there were. A run
/// that lives keeps its own.
///
/// # Errors
/// A server that cannot be reached.
pub fn drop_leftovers(url: &Url) -> Result<usize, StoreError> {
    #[cfg(feature = "postgres")]
    return super::postgres::drop_leftovers(url);
    #[cfg(not(feature = "postgres"))]
    Err(StoreError::Unreachable(format!("{url} cannot be reached: this nack was built without PostgreSQL")))
}

impl Setup {
    fn on_sqlite(&self, store: &Path) -> Result<(), StoreError> {
        match self {
            Setup::File(path) => {
                let connection = rusqlite::Connection::open(store)?;
                connection.execute_batch(&read(path)?).map_err(|error| in_file(path, &error))
            }
            #[cfg(unix)]
            Setup::Command(argv, folder) => by_command(argv, folder, &store.to_string_lossy()),
            Setup::Program(program) => rusqlite::Connection::open(store)
                .and_then(|connection| program.setup(&connection))
                .map_err(|error| StoreError::Setup(error.to_string())),
        }
    }

    #[cfg(feature = "postgres")]
    fn on_postgres(&self, store: &Url, run: &mut dyn FnMut(&str) -> Result<(), StoreError>) -> Result<(), StoreError> {
        match self {
            Setup::File(path) => run(&read(path)?).map_err(|error| in_file(path, &error)),
            #[cfg(unix)]
            Setup::Command(argv, folder) => by_command(argv, folder, store.reveal()),
            Setup::Program(program) => {
                let message = format!("{} makes its tables in SQLite only", program.hello().name);
                Err(wrong("store", message, "use `sqlite:FILE`"))
            }
        }
    }
}

fn read(path: &Path) -> Result<String, StoreError> {
    fs::read_to_string(path).map_err(|error| in_file(path, &error))
}

fn in_file(path: &Path, error: &dyn fmt::Display) -> StoreError {
    StoreError::Setup(format!("{}: {error}", path.display()))
}

#[cfg(unix)]
fn by_command(argv: &[String], folder: &Path, store: &str) -> Result<(), StoreError> {
    let argv = argv.iter().map(|word| word.replace("{store}", store)).collect();
    Command::new(argv, folder.to_owned()).run().map_err(StoreError::Setup)
}
