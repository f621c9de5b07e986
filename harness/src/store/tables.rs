//! Where a subject keeps its state, and how its empty tables are made.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nack_contracts::Contract;

use super::mapping::Mapping;
use super::sqlite::SqliteStores;
use super::{StoreError, Stores};
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
        }
    }
}

impl Setup {
    fn on_sqlite(&self, store: &Path) -> Result<(), StoreError> {
        let made = match self {
            Setup::File(path) => fs::read_to_string(path).map_err(|error| error.to_string()).and_then(|sql| {
                let connection = rusqlite::Connection::open(store).map_err(|error| error.to_string())?;
                connection.execute_batch(&sql).map_err(|error| format!("{}: {error}", path.display()))
            }),
            #[cfg(unix)]
            Setup::Command(argv, folder) => {
                let store = store.to_string_lossy();
                let argv = argv.iter().map(|word| word.replace("{store}", &store)).collect();
                Command::new(argv, folder.clone()).run()
            }
            Setup::Program(program) => rusqlite::Connection::open(store)
                .and_then(|connection| program.setup(&connection))
                .map_err(|error| error.to_string()),
        };
        made.map_err(|error| StoreError::Start(format!("its tables could not be made: {error}")))
    }
}
