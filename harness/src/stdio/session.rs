//! The workers of one case as processes. The session waits on all their pipes at once, without threads, so that a
//! worker that floods or leaks a pipe cannot hang it, and whatever ends the session ends the workers with it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nack_contracts::Map;
use rustix::process::Signal;

use super::ask::in_terms_of_the_system;
use super::message::{Greeting, Hello};
use super::worker::Worker;
use crate::clock::Clock;
use crate::process::{Command, wait_for};
use crate::session::{Directive, Event, Killed, Said, Session, StartError, Watch};

/// How often the session looks for ends that no pipe shows.
const TICK: Duration = Duration::from_millis(20);
/// How long workers may take to end by themselves when their input ends.
const FAREWELL: Duration = Duration::from_millis(100);

/// The workers of one case, each a process with its own group.
#[derive(Debug)]
pub struct StdioSession {
    command: Arc<Command>,
    hello: Hello,
    clock: Arc<Clock>,
    workers: BTreeMap<String, Worker>,
    ready: VecDeque<(String, Event)>,
    /// What workers had said before they ended.
    last_words: BTreeMap<String, Said>,
}

impl StdioSession {
    /// A session whose workers are told `hello`, each with its own name in it.
    #[must_use]
    pub fn new(command: Arc<Command>, hello: Hello, clock: Arc<Clock>) -> StdioSession {
        let (workers, last_words) = (BTreeMap::new(), BTreeMap::new());
        StdioSession { command, hello, clock, workers, ready: VecDeque::new(), last_words }
    }

    /// Gives every worker's pipes a turn.
    fn turn(&mut self) {
        let names: Vec<String> = self.workers.keys().cloned().collect();
        for name in names {
            let Some(worker) = self.workers.get_mut(&name) else { continue };
            let mut events = Vec::new();
            let lives = worker.turn(&self.clock, &mut events);
            self.ready.extend(events.into_iter().map(|event| (name.clone(), event)));
            if let Err(what) = lives {
                self.bury(&name, &what);
            }
        }
    }

    /// Ends a worker that cannot go on, and tells the runner.
    fn bury(&mut self, name: &str, what: &str) {
        let Some(mut worker) = self.workers.remove(name) else { return };
        worker.process.end();
        let event = Event::Died(worker.quoting(what));
        self.last_words.insert(name.to_owned(), worker.said());
        self.ready.push_back((name.to_owned(), event));
    }

    fn wait(&self, deadline: Instant) {
        let processes: Vec<_> = self.workers.values().map(|worker| &worker.process).collect();
        wait_for(&processes, deadline.min(Instant::now() + TICK));
    }
}

impl Session for StdioSession {
    fn call(&mut self, worker: &str, call: &str, args: &Map, watch: Watch) -> Result<(), StartError> {
        if !self.workers.contains_key(worker) {
            self.hello.worker = worker.to_owned();
            let started = Worker::start(&self.command, &self.hello, &self.clock)?;
            self.last_words.remove(worker);
            self.workers.insert(worker.to_owned(), started);
        }
        match self.workers.get_mut(worker).filter(|worker| !worker.busy()) {
            Some(idle) => {
                idle.call(call, args, watch);
                Ok(())
            }
            None => Err(StartError(format!("worker {worker} still answers another call"))),
        }
    }

    fn next(&mut self, patience: Duration) -> Option<(String, Event)> {
        let now = Instant::now();
        let deadline = now.checked_add(patience).unwrap_or(now + Duration::from_secs(86_400));
        loop {
            self.turn();
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if Instant::now() >= deadline {
                return None;
            }
            self.wait(deadline);
        }
    }

    fn resume(&mut self, worker: &str, directive: Directive) {
        if let Some(waiting) = self.workers.get_mut(worker) {
            let events = waiting.resume(directive);
            self.ready.extend(events.into_iter().map(|event| (worker.to_owned(), event)));
        }
    }

    fn kill(&mut self, worker: &str) -> Killed {
        // An event that the runner has not heard yet is a word that came after the one that it kills at.
        let unheard = self.ready.iter().any(|(name, _)| name == worker);
        self.ready.retain(|(name, _)| name != worker);
        let Some(mut dead) = self.workers.remove(worker) else {
            return Killed { how: "it had already ended".to_owned(), store: None, proven: false };
        };
        let ended = dead.process.end();
        let spoke = unheard || dead.spoke();
        self.last_words.insert(worker.to_owned(), dead.said());
        ended.killed(spoke.then_some("it had written a message that nobody had asked for"))
    }

    fn alive(&self) -> Vec<String> {
        self.workers.keys().cloned().collect()
    }

    fn concurrent(&self) -> bool {
        true
    }

    fn transactions(&self) -> Option<Vec<Vec<(String, i64)>>> {
        None
    }

    fn signal(&mut self, worker: &str, signal: nack_cases::Signal) -> bool {
        self.workers.get(worker).is_some_and(|worker| worker.process.signal(in_terms_of_the_system(signal)))
    }

    fn stop(&mut self, worker: &str) -> bool {
        self.workers.get(worker).is_some_and(|worker| worker.process.signal(Signal::STOP))
    }

    fn cont(&mut self, worker: &str) -> bool {
        self.workers.get(worker).is_some_and(|worker| worker.process.signal(Signal::CONT))
    }

    fn said(&self, worker: &str) -> Said {
        let living = self.workers.get(worker).map(Worker::said);
        living.or_else(|| self.last_words.get(worker).cloned()).unwrap_or_default()
    }

    fn finish(&mut self) -> Vec<String> {
        let deadline = Instant::now() + FAREWELL;
        for worker in self.workers.values_mut() {
            worker.process.signal(Signal::CONT);
            worker.process.close_input();
        }
        // Pipes are still read, since a program that cannot write cannot end.
        while Instant::now() < deadline && !self.workers.values().all(|worker| worker.process.has_ended()) {
            for worker in self.workers.values_mut() {
                worker.process.turn();
            }
            let soon = Instant::now() + Duration::from_millis(2);
            wait_for(&[], soon.min(deadline));
        }
        self.ready.clear();
        let workers = std::mem::take(&mut self.workers).into_values();
        workers.flat_map(|mut worker| worker.process.end().left).collect()
    }
}

/// Starts a subject once, hears its hello and ends it: what it is called and what it can do.
///
/// # Errors
/// When it cannot be started or says no proper hello in time.
pub fn probe(command: &Command, hello: &Hello) -> Result<Greeting, StartError> {
    let mut worker = Worker::start(command, hello, &Clock::default())?;
    worker.process.end();
    Ok(worker.greeting())
}
