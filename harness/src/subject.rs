//! What a Rust team implements to be judged in-process: a [`Program`] that can be started, and the
//! [`Subject`] that one start of it gives.

use std::fmt;

use nack_contracts::{Map, Value};

use crate::inprocess::Context;

/// What a subject says of itself before the first case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// The subject's name in reports.
    pub name: String,
    /// The capabilities it has, of those that the contract leaves to the subject.
    pub capabilities: Vec<String>,
    /// The checkpoints it passes, of those that the contract names.
    pub checkpoints: Vec<String>,
}

/// An implementation under test that lives in this process: it can say hello, make its empty tables and be started.
pub trait Program: Send + Sync {
    /// Name, capabilities and checkpoints.
    fn hello(&self) -> Hello;

    /// Makes the empty tables of a fresh store, as a migration would.
    ///
    /// # Errors
    /// What SQLite says.
    fn setup(&self, store: &rusqlite::Connection) -> rusqlite::Result<()>;

    /// Starts one worker, as a process would start: nothing in memory is older than this call.
    ///
    /// # Errors
    /// A start that fails; the case is then inconclusive.
    fn start(&self, ctx: &Context) -> Result<Box<dyn Subject>, Failure>;
}

/// One running worker of a [`Program`].
pub trait Subject {
    /// Answers one call of the contract. `Value::Null` is the reply `nothing`.
    ///
    /// # Errors
    /// A [`Failure`] reaches the caller as an error of that name.
    fn call(&mut self, call: &str, args: &Map, ctx: &Context) -> Result<Value, Failure>;
}

/// A call that ended in an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {}", String::from_utf8_lossy(.text))]
pub struct Failure {
    /// The error's name in the contract's words, such as `invalid_event`.
    pub name: String,
    /// Whether the subject knows that nothing happened.
    pub definite: bool,
    /// The error's text, as bytes, since it may be no text at all.
    pub text: Vec<u8>,
}

impl Failure {
    /// A definite error: nothing happened, and the caller may rely on it.
    #[must_use]
    pub fn refused(name: &str) -> Failure {
        Failure { name: name.to_owned(), definite: true, text: Vec::new() }
    }

    /// An indefinite error: it may or may not have happened.
    #[must_use]
    pub fn unknown(name: &str, text: impl Into<Vec<u8>>) -> Failure {
        Failure { name: name.to_owned(), definite: false, text: text.into() }
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Failure {
        Failure::unknown("store", error.to_string())
    }
}

/// An effect that raised instead of returning an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {}", String::from_utf8_lossy(.text))]
pub struct EffectError {
    /// What was raised.
    pub kind: EffectErrorKind,
    /// The error's text, as bytes.
    pub text: Vec<u8>,
}

/// What an effect can raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectErrorKind {
    /// No complete answer within the subject's patience.
    Timeout,
    /// The connection broke before a complete answer.
    Connection,
    /// Any other error of the transport.
    Error,
    /// The worker was interrupted while it waited.
    Interrupt,
    /// The worker's task was cancelled while it waited.
    Cancelled,
    /// The worker was told to exit while it waited.
    SystemExit,
    /// The worker was killed: nothing it does from here on counts.
    Gone,
}

impl fmt::Display for EffectErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EffectErrorKind::Timeout => "timeout",
            EffectErrorKind::Connection => "connection",
            EffectErrorKind::Error => "error",
            EffectErrorKind::Interrupt => "interrupt",
            EffectErrorKind::Cancelled => "cancelled",
            EffectErrorKind::SystemExit => "system-exit",
            EffectErrorKind::Gone => "gone",
        })
    }
}

impl From<EffectError> for Failure {
    fn from(error: EffectError) -> Failure {
        Failure { name: error.kind.to_string(), definite: false, text: error.text }
    }
}
