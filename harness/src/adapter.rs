//! How a subject is reached: the trait that every adapter implements, and the in-process one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use nack_cases::Call;
use nack_contracts::Contract;

use crate::clock::{Clock, EPOCH};
use crate::inprocess::InProcess;
use crate::session::{Session, StartError};
use crate::store::{Setup, Tables, Translation};
use crate::subject::{Hello, Program};

/// One way to reach a subject.
pub trait Adapter: Send + Sync {
    /// `in-process`, `stdio`, `command` or `http`.
    fn kind(&self) -> &'static str;

    /// What the subject says of itself.
    fn hello(&self) -> &Hello;

    /// The capabilities that this adapter gives, of those a harness derives. `history` and `text-ids` come from the
    /// store.
    fn provides(&self) -> Vec<&'static str>;

    /// Whether the subject announces each statement of its store, so that it can be stopped there and its store can
    /// be made to fail.
    fn statements(&self) -> bool {
        true
    }

    /// Whether the subject is a program that knows nothing of nack: it passes no checkpoints and says no hello, and
    /// what can be struck from outside is.
    fn outside(&self) -> bool {
        false
    }

    /// Whether calls that come back over a connection are heard of as soon as their answer begins to come.
    fn hears_answers(&self) -> bool {
        false
    }

    /// The effects that the harness receives itself, over a wire: the words that each can be answered with, and how
    /// many answers each word has.
    fn answers(&self) -> IndexMap<String, IndexMap<String, usize>> {
        IndexMap::new()
    }

    /// Why a call of a case cannot be made as it stands, or the outside cannot answer it so, if that is so.
    fn not_given(&self, _contract: &Contract, _call: &Call) -> Option<String> {
        None
    }

    /// How long a worker may be silent on an answer that never comes, if its binding says so.
    fn wait(&self) -> Option<Duration> {
        None
    }

    /// What the calls so far have not shown of the subject. `failed`: a case of it has failed.
    fn unseen(&self, _failed: bool) -> Vec<String> {
        Vec::new()
    }

    /// Where the clock of a case that begins now stands, in epoch seconds.
    fn clock_base(&self) -> i64 {
        EPOCH
    }

    /// Where the subject keeps its state.
    fn tables(&self) -> &Tables;

    /// Opens a session on a store that is made and seeded.
    ///
    /// # Errors
    /// Why it could not be opened.
    fn session(&self, setting: &Setting<'_>) -> Result<Box<dyn Session>, StartError>;
}

/// What a session is opened in: one case's contract, store and clock.
pub struct Setting<'a> {
    /// The contract, with the parameters of the subject's binding.
    pub contract: &'a Contract,
    /// What `{store}` stands for: the path of a file, or a connection string.
    pub store: &'a str,
    /// How words cross the border.
    pub words: Arc<Translation>,
    /// The case's clock.
    pub clock: Arc<Clock>,
    /// A folder of the case's own.
    pub folder: &'a Path,
}

/// The in-process adapter.
pub struct InProcessAdapter {
    program: Arc<dyn Program>,
    hello: Hello,
    tables: Tables,
}

impl InProcessAdapter {
    /// Reaches this program.
    #[must_use]
    pub fn new(program: Arc<dyn Program>) -> InProcessAdapter {
        let hello = program.hello();
        let tables = Tables::sqlite(Setup::Program(Arc::clone(&program)));
        InProcessAdapter { program, hello, tables }
    }
}

impl Adapter for InProcessAdapter {
    fn kind(&self) -> &'static str {
        "in-process"
    }

    fn hello(&self) -> &Hello {
        &self.hello
    }

    fn provides(&self) -> Vec<&'static str> {
        vec!["values", "raw", "clock"]
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn session(&self, setting: &Setting<'_>) -> Result<Box<dyn Session>, StartError> {
        let params = setting.contract.param_values();
        let clock = Arc::clone(&setting.clock);
        Ok(Box::new(InProcess::new(Arc::clone(&self.program), Path::new(setting.store), &params, clock)))
    }
}
