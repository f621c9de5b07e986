//! What is durable: stores are made, seeded and read back by the harness, through connections of its own. A kind of
//! store is a [`Stores`], made ready once for each subject; a [`Store`] is what one case gets of it.

mod fit;
mod mapping;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;
mod tables;
mod translation;
mod url;

use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use nack_contracts::Map;
use nack_contracts::model::Gate;

pub use mapping::{Ids, Mapping, StoreMapping, Words};
pub use sqlite::HISTORY_PREFIX;
pub(crate) use sqlite::to_sql;
pub use tables::{Place, Setup, Tables, drop_leftovers};
pub use translation::Translation;
pub(crate) use url::star_passwords;
pub use url::{Url, UrlError, hide_passwords};

/// A store that could not be made, seeded or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refused.
    #[error("the store says: {0}")]
    Sql(#[from] rusqlite::Error),
    /// The file system refused.
    #[error("the store's file: {0}")]
    File(#[from] std::io::Error),
    /// PostgreSQL refused.
    #[error("the store says: {0}")]
    Server(String),
    /// The server could not be reached.
    #[error("{0}")]
    Unreachable(String),
    /// The subject's tables could not be made.
    #[error("its tables could not be made: {0}")]
    Setup(String),
    /// A value that a store of this kind cannot hold, such as a NUL in a text.
    #[error("the store cannot hold this: {0}")]
    CannotHold(String),
    /// The subject's tables, or what its binding says of them, do not fit the contract.
    #[error("{message}")]
    Binding {
        /// The key of the binding that is at fault, such as `observe.outbox`; `setup` where there is none.
        key: String,
        /// What is wrong.
        message: String,
        /// Its mend.
        help: String,
    },
}

/// Stores of one kind, made ready for one subject: its tables are made and checked, and what catches history is
/// installed.
pub trait Stores: fmt::Debug + Send + Sync {
    /// `sqlite`, `postgres`.
    fn kind(&self) -> &'static str;

    /// Whether committed history is caught.
    fn keeps_history(&self) -> bool;

    /// A store without rows in `folder`, which is the case's own. `base` is where the case's clock starts.
    ///
    /// # Errors
    /// Why it could not be made.
    fn empty(&self, folder: &Path, base: i64) -> Result<Box<dyn Store + '_>, StoreError>;

    /// A store with these rows, inserted in order, and how it then reads.
    ///
    /// # Errors
    /// Why it could not be made, or which row it refused.
    fn seeded(
        &self,
        folder: &Path,
        base: i64,
        given: &IndexMap<String, Vec<Map>>,
    ) -> Result<(Box<dyn Store + '_>, Snapshot), StoreError>;
}

/// The store of one case.
pub trait Store: fmt::Debug {
    /// What `{store}` stands for: the path of a file, or a connection string.
    fn address(&self) -> &str;

    /// How its words translate.
    fn translation(&self) -> &Arc<Translation>;

    /// The store goes on in another file: the copy that a kill left.
    fn moved_to(&mut self, path: PathBuf);

    /// Reads every store and every history through a fresh connection: only what is committed counts.
    /// `transactions` says which history rows were committed together, where the subject's adapter can tell.
    ///
    /// # Errors
    /// What the store says.
    fn read(&self, transactions: Option<&[Vec<(String, i64)>]>) -> Result<Snapshot, StoreError>;

    /// Tries a gate: the unique index must be in the catalogue, and of the rows exactly the last must be refused.
    /// Returns what is wrong.
    ///
    /// # Errors
    /// What the store says while the catalogue is read.
    fn gate(&self, gate: &Gate, rows: &[Map]) -> Result<Option<String>, StoreError>;

    /// The subject's own names behind a store of the contract.
    fn own(&self, store: &str) -> Own;

    /// Runs a statement on the subject's tables, as sabotage does, and says how many rows it changed.
    ///
    /// # Errors
    /// What the store says.
    fn execute(&self, sql: &str) -> Result<u64, StoreError>;

    /// Takes the write lock of the store until the returned value is dropped: readers go on, writers wait.
    ///
    /// # Errors
    /// What the store says.
    fn lock(&self) -> Result<Box<dyn Any>, StoreError>;
}

/// A subject's own table, and its own columns behind the contract's. A column that is an expression has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// The table that rows are inserted into.
    pub table: String,
    /// The subject's column behind each of the contract's.
    pub columns: IndexMap<String, String>,
}

/// What the harness read back, in the contract's words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The rows of each store.
    pub stores: IndexMap<String, Vec<Map>>,
    /// Every committed change of a row, by store. `None`: the triggers that caught them are gone.
    pub history: Option<IndexMap<String, Vec<Change>>>,
}

/// One committed change of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The row before.
    pub old: Map,
    /// The row after.
    pub new: Map,
}
