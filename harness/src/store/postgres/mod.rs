//! PostgreSQL as a store: a database for each case, as a copy of one in which the subject's tables were made once,
//! seeded and read back through connections of the harness.
//!
//! A schema for each case would be no copy: the subject's own setup would have to run each time, and whatever names a
//! schema in it would leave the case.

mod gate;
mod history;
mod layout;
mod parameters;
mod reset;
mod server;
mod store;
mod values;

pub(super) use server::drop_leftovers;
pub(super) use store::PostgresStores;

use std::error::Error as _;

use postgres::Error;
use postgres::error::SqlState;

use super::StoreError;

impl From<Error> for StoreError {
    fn from(error: Error) -> StoreError {
        let unheld = [SqlState::CHARACTER_NOT_IN_REPERTOIRE, SqlState::UNTRANSLATABLE_CHARACTER];
        match error.code() {
            Some(code) if unheld.contains(code) => StoreError::CannotHold(said(&error)),
            // Of all that a type cannot read, only this is no mistake of a binding: a payload need not be JSON.
            Some(code) if *code == SqlState::INVALID_TEXT_REPRESENTATION && is_about_json(&error) => {
                StoreError::CannotHold("it is no JSON, and its column holds nothing else".to_owned())
            }
            _ => StoreError::Server(said(&error)),
        }
    }
}

fn is_about_json(error: &Error) -> bool {
    error.as_db_error().is_some_and(|error| error.message().ends_with("json"))
}

/// What the server said, or why it could not be heard.
fn said(error: &Error) -> String {
    if let Some(error) = error.as_db_error() {
        let more = [error.detail(), error.hint()];
        return more.into_iter().flatten().fold(error.message().to_owned(), |said, more| format!("{said}: {more}"));
    }
    let cause = error.source().map_or_else(String::new, |cause| format!(": {cause}"));
    format!("{error}{cause}")
}
