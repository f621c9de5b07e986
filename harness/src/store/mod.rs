//! placeholder
/// The prefix of the tables in which the harness keeps committed history.
pub const HISTORY_PREFIX: &str = "nack_history_";
