//! `nack.toml`: which subjects there are, the contract each is held to, and how each is reached. It is looked for
//! upward from the current folder, as cargo looks for its own file.

mod calls;
mod meaning;
mod shape;
mod subject;
mod template;

use std::fs;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use nack_contracts::{Finding, Source};
use serde::Deserialize;

pub(crate) use meaning::{Meaning, Misfit};
pub use template::{Placeholder, Template, UnknownPlaceholder, argument};

use crate::store::{Mapping, Place, hide_passwords, star_passwords};

type Span = std::ops::Range<usize>;

/// The file's name.
pub const FILE: &str = "nack.toml";

/// A `nack.toml`.
#[derive(Clone, Debug)]
pub struct Bindings {
    /// The file, for messages.
    pub source: Source,
    /// The folder that everything in it is relative to.
    pub folder: PathBuf,
    /// The subjects, in the file's order.
    pub subjects: Vec<Binding>,
}

/// One subject of a `nack.toml`.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Its name.
    pub name: String,
    /// The contract it is held to.
    pub contract: String,
    /// How it is reached.
    pub reach: Reach,
    /// Where it keeps its state.
    pub place: Place,
    /// How its empty tables are made: a file of SQL, or a command.
    pub setup: Making,
    /// How its tables spell what the contract observes.
    pub mapping: Mapping,
    /// The receivers that stand for the contract's effects, as the file says them.
    pub downstream: IndexMap<String, toml::Value>,
    /// The capabilities that it is expected to declare, if the file says any.
    pub capabilities: Option<Vec<String>>,
    /// Parameters of the contract that this deployment sets otherwise.
    pub params: IndexMap<String, i64>,
    /// The folder that its commands run in.
    pub folder: PathBuf,
    /// The only variables of nack's own environment that its processes get, if the file says any.
    pub env_allow: Option<Vec<String>>,
    /// Variables that its processes get besides.
    pub env: IndexMap<String, String>,
    /// How long it may be silent on an answer that never comes, in seconds.
    pub wait: u64,
    /// Where the subject stands in the file.
    pub span: Span,
    /// Where each of its keys stands, as a dotted path such as `observe.outbox`.
    pub keys: IndexMap<String, Span>,
}

/// How a subject is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Reach {
    /// It speaks the protocol.
    Stdio {
        /// How it is started.
        command: Vec<String>,
    },
    /// A program that is started for each call.
    Command {
        /// By the contract's call.
        calls: IndexMap<String, CommandCall>,
    },
    /// A server.
    Http(HttpServer),
}

/// A server, and how it is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpServer {
    /// How it is started.
    pub command: Vec<Template>,
    /// How it is known to be ready.
    pub ready: Ready,
    /// Whether each worker of a case is a server process of its own on the one store.
    pub each_its_own: bool,
    /// By the contract's call.
    pub calls: IndexMap<String, HttpCall>,
}

/// One call of a program that is started for it.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandCall {
    /// The program and its arguments.
    pub command: Vec<Template>,
    /// The reply that a last printed word means.
    pub stdout: IndexMap<String, toml::Value>,
    /// The reply, or `{ _error = NAME }`, that an exit code means.
    pub exit: IndexMap<i32, toml::Value>,
}

/// One call of a server. Its reply is `{ http, body }`, unless the binding says what a status means.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpCall {
    /// The method.
    pub method: String,
    /// The path and query.
    pub path: Template,
    /// The body, if there is one.
    pub body: Option<Template>,
    /// Headers, besides those that the body makes necessary.
    pub headers: IndexMap<String, Template>,
    /// The reply, `{ _error = NAME }` or `{ _field = NAME }`, that a status means.
    pub status: IndexMap<u16, toml::Value>,
}

/// How a server is known to be ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// It takes a connection.
    Tcp,
    /// It prints a line that holds this text. A server that is told no port listens on the one behind it.
    Stdout(String),
    /// It answers a GET of this path with a status below 500.
    Get(String),
}

/// How a subject's empty tables are made.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Making {
    /// By a file of SQL.
    File(String),
    /// By a command; `{store}` in it is the store's address.
    Command(Vec<String>),
}

#[cfg(unix)]
impl Binding {
    /// A command of this subject, run as its binding says.
    #[must_use]
    pub fn command(&self, argv: Vec<String>) -> crate::process::Command {
        let mut command = crate::process::Command::new(argv, self.folder.clone());
        let (allow, set) = (self.env_allow.clone(), self.env.clone());
        command.environment = crate::process::Environment { allow, set };
        command
    }
}

/// Looks upward from `folder`.
#[must_use]
pub fn find(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(FILE)).find(|file| file.is_file())
}

impl Bindings {
    /// Reads a `nack.toml`.
    ///
    /// # Errors
    /// One finding for what is wrong, with its place and its mend.
    pub fn read(path: &Path) -> Result<Bindings, (Source, Box<Finding>)> {
        let file = path.display().to_string();
        let text = fs::read(path)
            .map_err(|error| error.to_string())
            .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not UTF-8; save it as UTF-8".to_owned()));
        let (text, error) = text.map_or_else(|error| (String::new(), Some(error)), |text| (text, None));
        // Findings show lines of it.
        let source = Source::new(file, star_passwords(&text));
        let broken = |finding: Finding| (source.clone(), Box::new(finding));
        if let Some(error) = error {
            return Err(broken(Finding::error("binding/file", FILE, 0..0, error)));
        }
        let read: shape::File = toml::from_str(&text).map_err(|error| {
            let place = error.span().unwrap_or(0..0);
            broken(Finding::error("binding/toml", FILE, place, hide_passwords(error.message())))
        })?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let subjects = read.subject.into_iter().map(|(name, subject)| subject::bind(&folder, &name, subject));
        let subjects: Vec<Binding> = subjects.collect::<Result<_, _>>().map_err(|finding| broken(*finding))?;
        if subjects.is_empty() {
            let finding = Finding::error("binding/empty", FILE, 0..0, "there is no [subject.NAME] in it");
            return Err(broken(finding.help("add one, with `contract`, `adapter`, `command`, `store` and `setup`")));
        }
        Ok(Bindings { source, folder, subjects })
    }
}
