//! How a subject is reached: the trait that every adapter implements, and the in-process one.

use std::path::Path;
use std::sync::Arc;

use nack_contracts::Contract;

use crate::clock::Clock;
use crate::inprocess::InProcess;
use crate::session::{Session, StartError};
use crate::subject::{Hello, Program};

/// One way to reach a subject.
pub trait Adapter: Send + Sync {
    /// `in-process`, `stdio`, `command` or `http`.
    fn kind(&self) -> &'static str;

    /// What the subject says of itself.
    fn hello(&self) -> &Hello;

    /// The capabilities that this adapter gives, of those a harness derives.
    fn provides(&self) -> &[&'static str];

    /// Whether the subject announces each statement of its store, so that it can be stopped there and its store can
    /// be made to fail.
    fn statements(&self) -> bool {
        true
    }

    /// Makes the subject's empty tables in the SQLite file `store`, which does not exist yet.
    ///
    /// # Errors
    /// Why they could not be made.
    fn setup(&self, store: &Path) -> Result<(), StartError>;

    /// Opens a session on a store that is made and seeded.
    ///
    /// # Errors
    /// Why it could not be opened.
    fn session(&self, contract: &Contract, store: &Path, clock: Arc<Clock>) -> Result<Box<dyn Session>, StartError>;
}

/// The in-process adapter.
pub struct InProcessAdapter {
    program: Arc<dyn Program>,
    hello: Hello,
}

impl InProcessAdapter {
    /// Reaches this program.
    #[must_use]
    pub fn new(program: Arc<dyn Program>) -> InProcessAdapter {
        let hello = program.hello();
        InProcessAdapter { program, hello }
    }
}

impl Adapter for InProcessAdapter {
    fn kind(&self) -> &'static str {
        "in-process"
    }

    fn hello(&self) -> &Hello {
        &self.hello
    }

    fn provides(&self) -> &[&'static str] {
        &["history", "values", "raw", "text-ids", "clock"]
    }

    fn setup(&self, store: &Path) -> Result<(), StartError> {
        let connection = rusqlite::Connection::open(store).map_err(|error| StartError(error.to_string()))?;
        self.program.setup(&connection).map_err(|error| StartError(format!("its tables could not be made: {error}")))
    }

    fn session(&self, contract: &Contract, store: &Path, clock: Arc<Clock>) -> Result<Box<dyn Session>, StartError> {
        Ok(Box::new(InProcess::new(Arc::clone(&self.program), store, &contract.param_values(), clock)))
    }
}
