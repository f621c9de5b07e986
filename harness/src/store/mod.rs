//! What is durable: stores are made, seeded and read back by the harness, through connections of its own.

mod history;
mod seeds;
mod sqlite;
mod values;

pub use history::HISTORY_PREFIX;
pub(crate) use seeds::Seeds;
pub use sqlite::{Layout, Sqlite, StoreError};
pub(crate) use values::to_sql;

use indexmap::IndexMap;
use nack_contracts::Map;

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
