//! The calls of one case, each a process of its own. The session waits on their pipes and on the receivers that they
//! call at once, without threads; whatever a call has started ends with it.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nack_contracts::{Contract, Map};
use rustix::process::Signal;

use super::adapter::{How, TimeBy};
use super::time::{self, Time};
use super::worker::Worker;
use crate::adapter::Setting;
use crate::binding::{Placeholder, argument};
use crate::clock::Clock;
use crate::outside::Downstream;
use crate::process::{Command, Process, wait_on, works};
use crate::session::{Directive, Event, Killed, Said, Seen, Session, StartError, Watch};
use crate::store::Translation;

/// How often the session looks for ends that no pipe shows.
const TICK: Duration = Duration::from_millis(20);
/// How soon it looks for the end of a process that closed its pipes.
const SOON: Duration = Duration::from_micros(300);

/// How many ports are tried.
const TRIES: u32 = 10;

/// The calls of one case.
#[derive(Debug)]
pub(super) struct CommandSession {
    how: Arc<How>,
    contract: Contract,
    store: String,
    words: Arc<Translation>,
    clock: Arc<Clock>,
    /// The time of the programs, where it is kept for them.
    time: Option<Time>,
    folder: PathBuf,
    /// How many arguments were written to files.
    files: usize,
    workers: BTreeMap<String, Worker>,
    ready: VecDeque<(String, Event)>,
    last_words: BTreeMap<String, Said>,
    /// What calls left behind when they ended.
    left: Vec<String>,
    /// Where it is told of each worker's call whether it was in the case's time.
    logs: BTreeMap<String, PathBuf>,
    uncontrolled: Option<String>,
}

impl CommandSession {
    pub(super) fn new(how: Arc<How>, setting: &Setting<'_>) -> Result<CommandSession, StartError> {
        let time = (how.time == TimeBy::Tracer).then(|| Time::begin(&setting.clock, setting.folder)).transpose();
        let time = time.map_err(|error| StartError(format!("no time could be kept for its programs: {error}")))?;
        Ok(CommandSession {
            how,
            contract: setting.contract.clone(),
            store: setting.store.to_owned(),
            words: Arc::clone(&setting.words),
            clock: Arc::clone(&setting.clock),
            time,
            folder: setting.folder.to_owned(),
            files: 0,
            workers: BTreeMap::new(),
            ready: VecDeque::new(),
            last_words: BTreeMap::new(),
            left: Vec::new(),
            logs: BTreeMap::new(),
            uncontrolled: None,
        })
    }

    /// Lets the same time pass in the case and for its programs.
    fn meet(&mut self) {
        if let Some(time) = &mut self.time {
            time.meet(&self.clock);
        }
    }

    /// A call's command, in the case's time where that is kept for it.
    fn command(&mut self, worker: &str, call: &str, argv: Vec<OsString>) -> Result<Command, StartError> {
        let command = self.how.calls[call].command.with(argv);
        let Some(time) = &mut self.time else { return Ok(command) };
        let words = time.words(&self.clock, worker, command.words());
        let (words, log) =
            words.map_err(|error| StartError(format!("nothing could be started in the case's time: {error}")))?;
        self.logs.insert(worker.to_owned(), log);
        Ok(command.instead(words))
    }

    /// The outside of a call. A port that nobody is to answer at may be lost to a stranger while it is shut; nobody was
    /// told of it yet, so another will do.
    fn downstream(&self, watch: &Watch) -> Result<Downstream, StartError> {
        let open = || {
            let mut downstream = Downstream::listen(&self.how.effects, &self.words)?;
            downstream.begin(watch).map(|()| downstream)
        };
        (1..TRIES).find_map(|_| open().ok()).map_or_else(open, Ok)
    }

    /// The words of a call's command, filled in.
    fn argv(
        &mut self,
        worker: &str,
        call: &str,
        args: &Map,
        downstream: &Downstream,
    ) -> Result<Vec<OsString>, StartError> {
        let how = Arc::clone(&self.how);
        let Some(bound) = how.calls.get(call) else {
            return Err(StartError(format!("the binding has no call.{call}")));
        };
        let fill = |session: &mut CommandSession, placeholder: &Placeholder| match placeholder {
            Placeholder::Store => Ok(session.store.clone().into_bytes()),
            Placeholder::Now => Ok(session.now(worker).to_string().into_bytes()),
            Placeholder::Downstream(effect) => Ok(downstream.url(effect).unwrap_or_default().into_bytes()),
            Placeholder::Arg(name) => Ok(session.argument(call, args, name)),
            Placeholder::File(name) => session.write(name, &session.argument(call, args, name)),
            Placeholder::Port => Err(StartError("nothing stands for {port} in the command of a call".to_owned())),
        };
        let words = bound.words.iter();
        words.map(|word| Ok(OsString::from_vec(word.fill(|placeholder| fill(self, placeholder))?))).collect()
    }

    /// What the program is told of the time.
    fn now(&self, worker: &str) -> i64 {
        if self.how.moves_clock() {
            return self.clock.now(worker);
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    }

    /// An argument as the program gets it. One that a case leaves out is nothing.
    fn argument(&self, call: &str, args: &Map, name: &str) -> Vec<u8> {
        match (self.contract.calls[call].args.get(name), args.get(name)) {
            (Some(ty), Some(value)) => argument(ty, &self.words.outward(name, ty, value)),
            _ => Vec::new(),
        }
    }

    /// Writes an argument to a file of its own, and returns its path.
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<Vec<u8>, StartError> {
        self.files += 1;
        let path = self.folder.join(format!("arg-{}-{name}", self.files));
        fs::write(&path, bytes)
            .map_err(|error| StartError(format!("the argument `{name}` could not be written: {error}")))?;
        Ok(path.into_os_string().into_vec())
    }

    /// Gives every call a turn.
    fn turn(&mut self) {
        self.meet();
        for name in self.workers.keys().cloned().collect::<Vec<_>>() {
            let Some(worker) = self.workers.get_mut(&name) else { continue };
            let started = worker.process().number();
            let program = if self.time.is_some() { time::program(started) } else { Some(started) };
            if let Some(program) = program {
                self.how.calls[&worker.call].command.remember_of(program);
            }
            let event = worker.turn();
            self.hear(&name, event);
        }
    }

    fn hear(&mut self, name: &str, event: Option<Event>) {
        let Some(event) = event else { return };
        if let Some(time) = &self.time {
            time.hold(name, matches!(event, Event::Point(_) | Event::Reaches(_) | Event::Effect { .. }));
        }
        if matches!(event, Event::Reply(_) | Event::Ended | Event::Error { .. } | Event::Died(_)) {
            self.bury(name);
        }
        self.ready.push_back((name.to_owned(), event));
    }

    /// Keeps what is to be kept of a call that is over.
    fn bury(&mut self, name: &str) -> Option<crate::process::Ended> {
        let mut worker = self.workers.remove(name)?;
        let ended = worker.end();
        self.meet();
        if let Some(time) = &self.time {
            time.leave(name);
        }
        if let Some(log) = self.logs.remove(name) {
            self.uncontrolled = self.uncontrolled.take().or_else(|| Time::left(&log));
        }
        self.last_words.insert(name.to_owned(), worker.said());
        for left in &ended.left {
            self.left.push(format!("{name}: {left}"));
        }
        Some(ended)
    }
}

impl Session for CommandSession {
    fn call(&mut self, worker: &str, call: &str, args: &Map, watch: Watch) -> Result<(), StartError> {
        if self.workers.contains_key(worker) {
            return Err(StartError(format!("worker {worker} is still busy with another call")));
        }
        let downstream = self.downstream(&watch)?;
        let argv = self.argv(worker, call, args, &downstream)?;
        let process = Process::start(&self.command(worker, call, argv)?)?;
        let bound = &self.how.calls[call];
        self.last_words.remove(worker);
        self.workers.insert(worker.to_owned(), Worker::new(call, process, downstream, bound.replies.clone()));
        Ok(())
    }

    fn start(&mut self, _: &str) -> Result<(), StartError> {
        self.how.calls.values().try_for_each(|call| call.command.is_there())
    }

    fn seen(&self, worker: &str) -> Seen {
        match self.workers.get(worker) {
            Some(worker) if works(&worker.process().family()) => Seen::Works,
            _ => Seen::Sleeps,
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
            let now = Instant::now();
            if now >= deadline {
                return None;
            }
            let mut fds = Vec::new();
            self.workers.values().for_each(|worker| worker.watched(&mut fds));
            let due = self.workers.values().filter_map(|worker| worker.due(now + SOON)).min();
            wait_on(&mut fds, deadline.min(now + TICK).min(due.unwrap_or(deadline)));
        }
    }

    fn resume(&mut self, worker: &str, directive: Directive) {
        self.meet();
        let event = self.workers.get_mut(worker).and_then(|worker| worker.resume(directive));
        // Only now, when the answer is on its way.
        if let Some(time) = &self.time {
            time.hold(worker, false);
        }
        self.hear(worker, event);
    }

    fn kill(&mut self, worker: &str) -> Killed {
        // An event that the runner has not heard yet came after the one that it kills at.
        let unheard = self.ready.iter().any(|(name, _)| name == worker);
        self.ready.retain(|(name, _)| name != worker);
        match self.bury(worker) {
            Some(ended) => ended.killed(unheard.then_some("it had gone on before")),
            None => Killed { how: "it had already ended".to_owned(), store: None, proven: false },
        }
    }

    fn alive(&self) -> Vec<String> {
        let unheard = self.ready.iter().map(|(name, _)| name);
        let mut names: Vec<String> = self.workers.keys().chain(unheard).cloned().collect();
        names.sort();
        names.dedup();
        names
    }

    fn concurrent(&self) -> bool {
        true
    }

    fn waits_in_vain(&self, worker: &str) -> bool {
        self.workers.get(worker).is_some_and(Worker::in_vain)
    }

    fn stand_still(&mut self, stands: bool) {
        if let Some(time) = &self.time {
            time.stand_still(stands);
        }
    }

    fn uncontrolled(&mut self) -> Option<String> {
        self.uncontrolled.take()
    }

    fn transactions(&self) -> Option<Vec<Vec<(String, i64)>>> {
        None
    }

    fn signal(&mut self, worker: &str, signal: nack_cases::Signal) -> bool {
        let signal = match signal {
            nack_cases::Signal::Int => Signal::INT,
            nack_cases::Signal::Term => Signal::TERM,
        };
        self.workers.get_mut(worker).is_some_and(|worker| worker.interrupt(signal))
    }

    fn stop(&mut self, worker: &str) -> bool {
        self.workers.get(worker).is_some_and(|worker| worker.process().signal(Signal::STOP))
    }

    fn cont(&mut self, worker: &str) -> bool {
        self.meet();
        self.workers.get(worker).is_some_and(|worker| worker.process().signal(Signal::CONT))
    }

    fn said(&self, worker: &str) -> Said {
        let living = self.workers.get(worker).map(Worker::said);
        living.or_else(|| self.last_words.get(worker).cloned()).unwrap_or_default()
    }

    fn finish(&mut self) -> Vec<String> {
        for name in self.workers.keys().cloned().collect::<Vec<_>>() {
            self.bury(&name);
        }
        self.ready.clear();
        std::mem::take(&mut self.left)
    }
}
