//! Reaches a subject over stdio: what `nack.toml` says about it, and what its hello said when it was asked once.

use std::sync::Arc;

use nack_contracts::Contract;

use super::message::{Greeting, Hello};
use super::session::{StdioSession, probe};
use crate::adapter::{Adapter, Setting};
use crate::process::Command;
use crate::session::{Session, StartError};
use crate::store::Tables;
use crate::subject;

/// The stdio adapter.
#[derive(Debug)]
pub struct StdioAdapter {
    command: Arc<Command>,
    tables: Tables,
    greeting: Greeting,
    hello: subject::Hello,
}

impl StdioAdapter {
    /// Starts the subject once to hear its hello, and reaches it from then on.
    ///
    /// # Errors
    /// When it cannot be started or says no proper hello.
    pub fn new(command: Command, tables: Tables, contract: &Contract) -> Result<StdioAdapter, StartError> {
        // There is no store yet, and hello is answered without one.
        let greeting = probe(&command, &Hello::new(&contract.name, contract.param_values(), ""))?;
        let hello = subject::Hello {
            name: greeting.name.clone(),
            capabilities: greeting.capabilities.clone(),
            checkpoints: greeting.checkpoints.clone(),
        };
        Ok(StdioAdapter { command: Arc::new(command), tables, greeting, hello })
    }
}

impl Adapter for StdioAdapter {
    fn kind(&self) -> &'static str {
        "stdio"
    }

    fn hello(&self) -> &subject::Hello {
        &self.hello
    }

    fn provides(&self) -> Vec<&'static str> {
        vec!["values", "process", "raw", "clock"]
    }

    fn statements(&self) -> bool {
        self.greeting.statements
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn session(&self, setting: &Setting<'_>) -> Result<Box<dyn Session>, StartError> {
        let hello = Hello::new(&setting.contract.name, setting.contract.param_values(), setting.store);
        Ok(Box::new(StdioSession::new(Arc::clone(&self.command), hello, Arc::clone(&setting.clock))))
    }
}
