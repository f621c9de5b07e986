//! SQLite as a store: a file made fresh for each case, seeded and read back through connections of the harness.

mod gate;
mod history;
mod layout;
mod seeds;
mod store;
mod values;

pub use history::HISTORY_PREFIX;
pub(super) use store::SqliteStores;
pub(crate) use values::to_sql;
