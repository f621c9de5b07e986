//! Audits: what ran without nack, judged by the tables of a contract.
//!
//! A contract's `[audit]` says what one line of a log stands for and which tables judge it
//! ([`nack_contracts::model::Audit`]). [`Layout`] says where a log keeps each column, [`Plan`] turns the rules into
//! dense tables of outcomes, [`run::judge`] streams the log through them on all cores, and [`report::report`] says
//! what came of it in the one result model. Nothing is guessed: a line that cannot be read, a history that is cut and
//! a column that is missing are each counted apart, and never as held.

mod classify;
mod csv;
mod evidence;
mod frame;
mod input;
mod json;
mod layout;
pub mod live;
mod order;
mod plan;
pub mod report;
pub mod run;
mod scan;
mod section;
mod spill;
pub mod sql;
mod table;
mod tally;
mod time;

pub use input::Inputs;
pub use layout::{Format, Layout, Overrides};
pub use plan::Plan;
pub use section::{Section, sections};
pub use tally::{Flaw, FlawKind, Place, Seen, Tally};
pub use time::Unit;

/// Why a log could not be audited at all.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The flags, the `nack.toml` or the log's layout are wrong.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be opened or read.
    #[error("{file}: {error}")]
    File {
        /// The file's name.
        file: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// A database that cannot be reached.
    #[error("the database: {0}")]
    Unreachable(String),
    /// A temporary file for what does not fit into memory.
    #[error("a temporary file for histories that do not fit into memory: {0}")]
    Spill(std::io::Error),
}
