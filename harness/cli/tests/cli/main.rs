//! The binary, as a user and a CI job meet it.

mod audit;
mod common;
mod edits;
mod exit_codes;
mod guide;
mod hostile;
mod known;
mod live;
#[cfg(feature = "postgres")]
mod postgres;
mod python;
mod readme;
mod reports;
mod sabotage;
mod servers;
mod subjects;
mod warehouse;
mod workers;
