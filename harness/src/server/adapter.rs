//! Reaches a server: what its binding says about it. It says no hello of its own.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nack_contracts::{Contract, Finding};

use super::reply::Statuses;
use super::session::HttpSession;
use super::start::How;
use crate::adapter::{Adapter, Setting};
use crate::binding::{Binding, HttpCall, HttpServer, Misfit, Placeholder, Template};
use crate::clock::EPOCH;
use crate::session::{Session, StartError};
use crate::store::Tables;
use crate::subject::Hello;

/// The http adapter.
#[derive(Debug)]
pub struct HttpAdapter {
    how: Arc<How>,
    tables: Tables,
    hello: Hello,
}

impl HttpAdapter {
    /// Reaches this server of this binding, which may take so long to start.
    ///
    /// # Errors
    /// What does not fit the contract, with its place and its mend.
    pub fn new(
        binding: &Binding,
        server: &HttpServer,
        tables: Tables,
        contract: &Contract,
        start_within: Duration,
    ) -> Result<HttpAdapter, Box<Finding>> {
        let statuses = |(name, said): (&String, &HttpCall)| {
            let statuses = Statuses::of(said, &contract.calls[name], contract);
            let statuses = statuses.map_err(|Misfit { message, help }| binding.misfit(name, message, &help))?;
            Ok((name.clone(), statuses))
        };
        let statuses = server.calls.iter().map(statuses).collect::<Result<_, Box<Finding>>>()?;
        let mut command = binding.command(server.command.iter().map(spelled).collect());
        command.start_within = start_within;
        let capabilities = binding.capabilities.clone().unwrap_or_default();
        let hello = Hello { name: binding.name.clone(), capabilities, checkpoints: Vec::new() };
        let how = How { command, server: server.clone(), statuses };
        Ok(HttpAdapter { how: Arc::new(how), tables, hello })
    }

    /// Whether the subject is told the time.
    fn told_the_time(&self) -> bool {
        let said = |template: &Template| template.placeholders().any(|said| *said == Placeholder::Now);
        let in_request =
            |call: &HttpCall| said(&call.path) || call.body.iter().any(said) || call.headers.values().any(said);
        self.how.says(&Placeholder::Now) || self.how.server.calls.values().all(in_request)
    }
}

/// A word of a command as the file says it.
fn spelled(word: &Template) -> String {
    let Ok(word) = word.fill(|placeholder| Ok::<_, Infallible>(placeholder.to_string().into_bytes()));
    String::from_utf8_lossy(&word).into_owned()
}

impl Adapter for HttpAdapter {
    fn kind(&self) -> &'static str {
        "http"
    }

    fn hello(&self) -> &Hello {
        &self.hello
    }

    fn provides(&self) -> Vec<&'static str> {
        let clock = self.told_the_time().then_some("clock");
        ["raw", "process"].into_iter().chain(clock).collect()
    }

    fn statements(&self) -> bool {
        false
    }

    fn outside(&self) -> bool {
        true
    }

    fn hears_answers(&self) -> bool {
        true
    }

    fn clock_base(&self) -> i64 {
        if self.told_the_time() {
            return EPOCH;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn session(&self, setting: &Setting<'_>) -> Result<Box<dyn Session>, StartError> {
        Ok(Box::new(HttpSession::new(Arc::clone(&self.how), setting)))
    }
}
