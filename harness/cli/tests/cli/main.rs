//! The binary, as a user and a CI job meet it.

mod common;
mod exit_codes;
mod readme;
mod reports;
