//! What a running worker can ask of the harness: the time, its store, an effect, and to pass a checkpoint.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};

use indexmap::IndexMap;
use nack_cases::{Action, RaiseKind, StorageFault};
use nack_contracts::{Map, Value};

use super::db::Db;
use crate::clock::Clock;
use crate::session::{Directive, Event, Point, Watch};
use crate::subject::{EffectError, EffectErrorKind, Failure};

/// What all workers of one case share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) clock: Arc<Clock>,
    pub(super) params: IndexMap<String, i64>,
    pub(super) store: Mutex<PathBuf>,
    /// History rows by the transaction that committed them.
    pub(super) transactions: Mutex<Vec<Vec<(String, i64)>>>,
}

/// The worker's line to the runner. It lives on the worker's thread.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) worker: String,
    pub(super) events: Sender<(String, Event)>,
    pub(super) directives: Receiver<Directive>,
    pub(super) gone: Cell<bool>,
    pub(super) storage: Cell<Option<StorageFault>>,
    pub(super) watch: RefCell<Watch>,
    pub(super) shared: Arc<Shared>,
}

impl Line {
    /// Tells the runner, and waits until the worker may go on. `None`: it was killed here.
    pub(super) fn ask(&self, event: Event) -> Option<Directive> {
        if self.gone.get() || self.events.send((self.worker.clone(), event)).is_err() {
            self.gone.set(true);
            return None;
        }
        let directive = self.directives.recv().ok();
        self.gone.set(directive.is_none());
        directive
    }

    /// Stops at a named checkpoint if the runner watches it.
    fn pass_checkpoint(&self, name: &str) -> Result<(), Failure> {
        let watched = self.watch.borrow().checkpoint.as_deref() == Some(name);
        self.pass(watched, || Point::Checkpoint(name.to_owned()))
    }

    /// Stops at any other point if the runner watches all of them.
    pub(super) fn pass_any(&self, point: impl FnOnce() -> Point) -> Result<(), Failure> {
        let watched = self.watch.borrow().everywhere;
        self.pass(watched, point)
    }

    fn pass(&self, watched: bool, point: impl FnOnce() -> Point) -> Result<(), Failure> {
        if self.gone.get() {
            return Err(gone());
        }
        if !watched {
            return Ok(());
        }
        match self.ask(Event::Point(point())) {
            None => Err(gone()),
            Some(Directive::Raise) => Err(Failure::unknown("raised", "an injected error")),
            Some(Directive::Storage(fault)) => {
                self.storage.set(Some(fault));
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }
}

/// The error that every move of a killed worker meets.
pub(super) fn gone() -> Failure {
    Failure::unknown("gone", "this worker was killed")
}

/// The harness, as a worker sees it. Each worker has its own.
#[derive(Clone, Debug)]
pub struct Context {
    pub(super) line: Rc<Line>,
}

impl Context {
    /// Opens a connection to the case's store.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn open(&self) -> Result<Db, Failure> {
        Db::open(&self.line)
    }

    /// The time in epoch seconds, as this worker's clock shows it.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.line.shared.clock.now(&self.line.worker)
    }

    /// A parameter of the contract, as this deployment sets it; 0 if the contract has none of that name.
    #[must_use]
    pub fn param(&self, name: &str) -> i64 {
        self.line.shared.params.get(name).copied().unwrap_or(0)
    }

    /// Passes a named checkpoint.
    ///
    /// # Errors
    /// The error that the runner injects here.
    pub fn checkpoint(&self, name: &str) -> Result<(), Failure> {
        self.line.pass_checkpoint(name)
    }

    /// Calls the outside with the effect's columns and returns its answer.
    ///
    /// # Errors
    /// What the outside raises, and any failure injected around the effect.
    pub fn effect(&self, name: &str, columns: &[(&str, Value)]) -> Result<Value, EffectError> {
        self.line.pass_any(|| Point::BeforeEffect(name.to_owned())).map_err(at_effect)?;
        let columns: Map = columns.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let answer = self.line.ask(Event::Effect { name: name.to_owned(), columns });
        let result = match answer {
            None => Err(raised(EffectErrorKind::Gone, b"this worker was killed")),
            Some(Directive::Answer(answer)) => play(answer.does),
            Some(_) => Err(raised(EffectErrorKind::Error, b"no answer is scripted for this use")),
        };
        self.line.pass_any(|| Point::AfterEffect(name.to_owned())).map_err(at_effect)?;
        result
    }
}

/// An answer that only a wire can give never comes here: such a case needs a capability that this adapter lacks.
fn play(action: Action) -> Result<Value, EffectError> {
    match action {
        Action::Return(value) => Ok(value),
        Action::Raise { kind, text } => {
            let kind = match kind {
                RaiseKind::Timeout => EffectErrorKind::Timeout,
                RaiseKind::Connection => EffectErrorKind::Connection,
                RaiseKind::Error => EffectErrorKind::Error,
                RaiseKind::Interrupt => EffectErrorKind::Interrupt,
                RaiseKind::Cancelled => EffectErrorKind::Cancelled,
                RaiseKind::SystemExit => EffectErrorKind::SystemExit,
            };
            Err(EffectError { kind, text })
        }
        Action::Lost(_) => Err(raised(EffectErrorKind::Connection, b"the answer was lost")),
        Action::Net(_) | Action::Http { .. } | Action::Signal(_) => {
            Err(raised(EffectErrorKind::Error, b"this answer needs a wire"))
        }
    }
}

fn raised(kind: EffectErrorKind, text: &[u8]) -> EffectError {
    EffectError { kind, text: text.to_vec() }
}

fn at_effect(failure: Failure) -> EffectError {
    let kind = if failure.name == "gone" { EffectErrorKind::Gone } else { EffectErrorKind::Error };
    EffectError { kind, text: failure.text }
}
