//! Reaches a subject over stdio: what `nack.toml` says about it, and what its hello said when it was asked once.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nack_contracts::Contract;
use rusqlite::Connection;

use super::message::{Greeting, Hello};
use super::process::Command;
use super::session::{StdioSession, probe};
use crate::adapter::Adapter;
use crate::clock::Clock;
use crate::session::{Session, StartError};
use crate::subject::{self, Program};

/// How a subject's empty tables are made.
pub enum Setup {
    /// By this file of SQL.
    File(PathBuf),
    /// By this command, in the subject's folder; `{store}` in it is the path of the store.
    Command(Vec<String>),
    /// As this program makes them. It is what the command serves.
    Program(Arc<dyn Program>),
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setup::File(path) => write!(f, "File({})", path.display()),
            Setup::Command(argv) => write!(f, "Command({})", argv.join(" ")),
            Setup::Program(program) => write!(f, "Program({})", program.hello().name),
        }
    }
}

/// The stdio adapter.
#[derive(Debug)]
pub struct StdioAdapter {
    command: Arc<Command>,
    setup: Setup,
    greeting: Greeting,
    hello: subject::Hello,
}

impl StdioAdapter {
    /// Starts the subject once to hear its hello, and reaches it from then on.
    ///
    /// # Errors
    /// When it cannot be started or says no proper hello.
    pub fn new(command: Command, setup: Setup, contract: &Contract) -> Result<StdioAdapter, StartError> {
        // There is no store yet, and hello is answered without one.
        let greeting = probe(&command, &Hello::new(&contract.name, contract.param_values(), ""))?;
        let hello = subject::Hello {
            name: greeting.name.clone(),
            capabilities: greeting.capabilities.clone(),
            checkpoints: greeting.checkpoints.clone(),
        };
        Ok(StdioAdapter { command: Arc::new(command), setup, greeting, hello })
    }

    fn set_up(&self, store: &Path) -> Result<(), String> {
        match &self.setup {
            Setup::File(path) => {
                let sql = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
                let connection = Connection::open(store).map_err(|error| error.to_string())?;
                connection.execute_batch(&sql).map_err(|error| format!("{}: {error}", path.display()))
            }
            Setup::Command(argv) => {
                let store = store.to_string_lossy();
                let argv = argv.iter().map(|word| word.replace("{store}", &store)).collect();
                Command::new(argv, self.command.folder.clone()).run()
            }
            Setup::Program(program) => {
                let connection = Connection::open(store).map_err(|error| error.to_string())?;
                program.setup(&connection).map_err(|error| error.to_string())
            }
        }
    }
}

impl Adapter for StdioAdapter {
    fn kind(&self) -> &'static str {
        "stdio"
    }

    fn hello(&self) -> &subject::Hello {
        &self.hello
    }

    fn provides(&self) -> &[&'static str] {
        &["history", "values", "process", "raw", "text-ids", "clock"]
    }

    fn statements(&self) -> bool {
        self.greeting.statements
    }

    fn setup(&self, store: &Path) -> Result<(), StartError> {
        self.set_up(store).map_err(|error| StartError(format!("its tables could not be made: {error}")))
    }

    fn session(&self, contract: &Contract, store: &Path, clock: Arc<Clock>) -> Result<Box<dyn Session>, StartError> {
        let hello = Hello::new(&contract.name, contract.param_values(), &store.to_string_lossy());
        Ok(Box::new(StdioSession::new(Arc::clone(&self.command), hello, clock)))
    }
}
