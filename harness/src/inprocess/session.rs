//! One case's workers as threads. A worker runs only while the runner waits for its next event, so the order of
//! everything is the runner's choice and the same seed gives the same run.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use indexmap::IndexMap;
use nack_contracts::Map;

use super::context::{Context, Line, Shared};
use crate::clock::Clock;
use crate::session::{Directive, Event, Killed, Session, StartError, Watch};
use crate::subject::{Failure, Program, Subject};

/// How long a killed worker may take to notice. It meets an error at its next move, so only a worker that
/// computes for ever outlives this; its thread is then left alone, and cannot reach the store any more.
const FAREWELL: Duration = Duration::from_secs(2);

/// The workers of one case, in this process.
pub struct InProcess {
    program: Arc<dyn Program>,
    shared: Arc<Shared>,
    workers: BTreeMap<String, Worker>,
    events: Receiver<(String, Event)>,
    sender: Sender<(String, Event)>,
    lives: u32,
}

struct Worker {
    calls: Option<Sender<(String, Map, Watch)>>,
    directives: Option<Sender<Directive>>,
    ended: Receiver<()>,
}

impl InProcess {
    /// A session on the SQLite file `store`, with the contract's parameters and the case's clock.
    #[must_use]
    pub fn new(
        program: Arc<dyn Program>,
        store: &Path,
        params: &IndexMap<String, i64>,
        clock: Arc<Clock>,
    ) -> InProcess {
        let (sender, events) = channel();
        let shared = Arc::new(Shared {
            clock,
            params: params.clone(),
            store: Mutex::new(store.to_owned()),
            transactions: Mutex::default(),
        });
        InProcess { program, shared, workers: BTreeMap::new(), events, sender, lives: 0 }
    }

    fn start(&mut self, name: &str) -> Result<Worker, StartError> {
        let (calls, inbox) = channel();
        let (directives, orders) = channel();
        let (end, ended) = channel();
        let (program, shared) = (Arc::clone(&self.program), Arc::clone(&self.shared));
        let (events, worker) = (self.sender.clone(), name.to_owned());
        let body = move || {
            let line = Rc::new(Line {
                worker,
                events,
                directives: orders,
                gone: Cell::new(false),
                storage: Cell::new(None),
                watch: RefCell::default(),
                shared,
            });
            live(&program, &line, &inbox);
            drop(line);
            // Nobody may wait any more; then there is nobody to tell.
            let _ = end.send(());
        };
        thread::Builder::new()
            .name(format!("nack worker {name}"))
            .spawn(body)
            .map_err(|error| StartError(format!("worker {name}: no thread could be started: {error}")))?;
        Ok(Worker { calls: Some(calls), directives: Some(directives), ended })
    }

    /// Copies the store as it is at this moment, the way a dead process leaves it. Only for a worker that is alone:
    /// closing a copied file would take SQLite's locks away from the other connections of this process.
    fn copy_store(&mut self) -> Option<PathBuf> {
        let mut store = self.shared.store.lock().ok()?;
        self.lives += 1;
        let folder = store.parent()?.join(format!("after-kill-{}", self.lives));
        fs::create_dir(&folder).ok()?;
        let name = store.file_name()?.to_owned();
        for suffix in ["", "-journal", "-wal"] {
            let mut from = store.clone().into_os_string();
            from.push(suffix);
            let mut to = folder.join(&name).into_os_string();
            to.push(suffix);
            if Path::new(&from).exists() {
                fs::copy(from, to).ok()?;
            }
        }
        *store = folder.join(name);
        Some(store.clone())
    }
}

/// The life of one worker: it starts, answers calls one after another, and ends when nobody can call it any more.
fn live(program: &Arc<dyn Program>, line: &Rc<Line>, inbox: &Receiver<(String, Map, Watch)>) {
    let context = Context { line: Rc::clone(line) };
    let mut subject: Option<Box<dyn Subject>> = None;
    while let Ok((call, args, watch)) = inbox.recv() {
        line.watch.replace(watch);
        line.storage.set(None);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let subject = match &mut subject {
                Some(subject) => subject,
                None => subject.insert(program.start(&context)?),
            };
            subject.call(&call, &args, &context)
        }));
        let event = match outcome {
            Ok(Ok(value)) => Event::Reply(value),
            Ok(Err(Failure { name, definite, text })) => Event::Error { name, definite, text },
            Err(panic) => Event::Died(format!("it panicked: {}", panic_text(panic.as_ref()))),
        };
        if line.gone.get() || line.events.send((line.worker.clone(), event)).is_err() {
            break;
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}

impl Session for InProcess {
    fn call(&mut self, worker: &str, call: &str, args: &Map, watch: Watch) -> Result<(), StartError> {
        if !self.workers.contains_key(worker) {
            let started = self.start(worker)?;
            self.workers.insert(worker.to_owned(), started);
        }
        let calls = self.workers[worker].calls.as_ref();
        calls
            .and_then(|calls| calls.send((call.to_owned(), args.clone(), watch)).ok())
            .ok_or_else(|| StartError(format!("worker {worker} is gone")))
    }

    fn next(&mut self, patience: Duration) -> Option<(String, Event)> {
        let (worker, event) = self.events.recv_timeout(patience).ok()?;
        if matches!(event, Event::Died(_)) {
            self.workers.remove(&worker);
        }
        Some((worker, event))
    }

    fn resume(&mut self, worker: &str, directive: Directive) {
        if let Some(directives) = self.workers.get(worker).and_then(|worker| worker.directives.as_ref()) {
            // A worker that is gone is noticed by the event that never comes.
            let _ = directives.send(directive);
        }
    }

    fn kill(&mut self, worker: &str) -> Killed {
        let alone = self.workers.len() == 1 && self.workers.contains_key(worker);
        let store = if alone { self.copy_store() } else { None };
        if let Some(mut worker) = self.workers.remove(worker) {
            worker.directives = None;
            worker.calls = None;
            // A worker that never notices keeps its thread and nothing else.
            let _ = worker.ended.recv_timeout(FAREWELL);
        }
        let how = if store.is_some() { "kill by copy" } else { "kill by dropping its connection" };
        Killed { how: how.to_owned(), store, proven: true }
    }

    fn disconnect(&mut self) {
        for (_, mut worker) in std::mem::take(&mut self.workers) {
            worker.directives = None;
            worker.calls = None;
            let _ = worker.ended.recv_timeout(FAREWELL);
        }
    }

    fn alive(&self) -> Vec<String> {
        self.workers.keys().cloned().collect()
    }

    fn concurrent(&self) -> bool {
        false
    }

    fn transactions(&self) -> Option<Vec<Vec<(String, i64)>>> {
        self.shared.transactions.lock().ok().map(|groups| groups.clone())
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        self.disconnect();
    }
}
