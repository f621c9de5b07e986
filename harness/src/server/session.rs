//! The workers of one case as callers of a server. They share one server, or have one each on the one store; a server
//! is started when it is first called and again after a kill. The session waits on all pipes and connections at once,
//! without threads.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nack_contracts::{Contract, Map};
use rustix::event::{Timespec, poll};

use super::ports::taken;
use super::request::Making;
use super::start::{How, Server};
use crate::adapter::Setting;
use crate::binding::Placeholder;
use crate::clock::Clock;
use crate::http::client::{Exchange, HangUp, Progress};
use crate::http::curl_line;
use crate::process::works;
use crate::session::{Directive, Event, Killed, Lost, Point, Said, Seen, Session, StartError, Watch};
use crate::store::Translation;

/// How often the session looks for ends that no pipe shows.
const TICK: Duration = Duration::from_millis(10);
/// How long a server that broke a connection may take to be seen dead, if that is why.
const GRACE: Duration = Duration::from_millis(100);

/// The callers of one case.
#[derive(Debug)]
pub(super) struct HttpSession {
    how: Arc<How>,
    contract: Contract,
    store: String,
    words: Arc<Translation>,
    clock: Arc<Clock>,
    /// By worker, or one under no name that all share.
    servers: BTreeMap<String, Server>,
    /// The calls under way, by worker.
    calls: BTreeMap<String, Calling>,
    ready: VecDeque<(String, Event)>,
    /// The last request of each worker, for a shell.
    lines: BTreeMap<String, String>,
    /// What a worker's server had said before it ended.
    last_words: BTreeMap<String, Said>,
}

/// One call under way.
#[derive(Debug)]
struct Calling {
    call: String,
    exchange: Exchange,
    /// The checkpoint that it is at when its answer begins to come, if the runner wants to hear of that.
    at_answer: Option<String>,
    /// Whether its answer has begun to come.
    began: bool,
    /// When and why it came to its end without an answer.
    failed: Option<(Instant, String)>,
}

impl HttpSession {
    pub(super) fn new(how: Arc<How>, setting: &Setting<'_>) -> HttpSession {
        HttpSession {
            how,
            contract: setting.contract.clone(),
            store: setting.store.to_owned(),
            words: Arc::clone(&setting.words),
            clock: Arc::clone(&setting.clock),
            servers: BTreeMap::new(),
            calls: BTreeMap::new(),
            ready: VecDeque::new(),
            lines: BTreeMap::new(),
            last_words: BTreeMap::new(),
        }
    }

    /// Under which name the server of a worker is known.
    fn key(&self, worker: &str) -> String {
        if self.how.server.each_its_own { worker.to_owned() } else { String::new() }
    }

    /// The server of a worker, started if it does not live.
    fn server(&mut self, worker: &str) -> Result<&mut Server, StartError> {
        let (key, now) = (self.key(worker), self.clock.now(worker));
        let idle = !self.calls.keys().any(|calling| self.key(calling) == key);
        // What is told the time when it starts can only be told another by a new start.
        let late = |server: &Server| self.how.says(&Placeholder::Now) && server.told != now;
        if idle && self.servers.get(&key).is_some_and(late) {
            self.servers.remove(&key);
        }
        if !self.servers.contains_key(&key) {
            let server = Server::start(&self.how, &self.store, now)?;
            self.servers.insert(key.clone(), server);
        }
        let server = self.servers.get_mut(&key).ok_or_else(|| StartError("the server is gone".to_owned()))?;
        if server.workers.insert(worker.to_owned()) {
            self.last_words.remove(worker);
        }
        Ok(server)
    }

    /// Gives every pipe and connection a turn.
    fn turn(&mut self) {
        self.servers.values_mut().for_each(Server::turn);
        // Looked at first, so that an answer that came before the end is read before it.
        let ended: Vec<String> =
            self.servers.iter().filter(|(_, server)| server.has_ended()).map(|(key, _)| key.clone()).collect();
        for worker in self.calls.keys().cloned().collect::<Vec<_>>() {
            self.turn_of(&worker);
        }
        for key in ended {
            self.bury(&key, None);
        }
    }

    /// Hears what came over a worker's connection.
    fn turn_of(&mut self, worker: &str) {
        let Some(calling) = self.calls.get_mut(worker) else { return };
        let mut event = None;
        while event.is_none() {
            event = match calling.exchange.turn() {
                None => break,
                Some(Progress::Began) => {
                    calling.began = true;
                    let point = calling.at_answer.clone();
                    calling.exchange.hold(point.is_some());
                    point.map(|point| Event::Point(Point::Checkpoint(point)))
                }
                Some(Progress::Answer(answer)) => {
                    let statuses = &self.how.statuses[&calling.call];
                    Some(statuses.event(answer, &self.contract.calls[&calling.call], &self.words))
                }
                Some(Progress::HungUp) => Some(unanswered("the caller hung up")),
                Some(Progress::Failed(why)) => {
                    calling.failed = Some((Instant::now(), why));
                    break;
                }
                Some(Progress::Garbage(why)) => {
                    let (key, why) = (self.key(worker), format!("the server's answer is no HTTP: {why}"));
                    return self.bury(&key, Some(&why));
                }
            };
        }
        if let Some((since, why)) = &calling.failed
            && since.elapsed() >= GRACE
        {
            event = Some(unanswered(why));
        }
        let Some(event) = event else { return };
        if !matches!(event, Event::Point(_)) {
            self.calls.remove(worker);
        }
        self.ready.push_back((worker.to_owned(), event));
    }

    /// A server ended though nobody ended it, or cannot go on, and this is why: whoever waits for it hears of it, or
    /// else one that has called it.
    fn bury(&mut self, key: &str, why: Option<&str>) {
        let Some(mut server) = self.servers.remove(key) else { return };
        let how = server.obituary(why);
        self.keep_words(&server);
        let mut told: Vec<String> = self.calls.keys().filter(|worker| self.key(worker) == key).cloned().collect();
        for worker in &told {
            self.calls.remove(worker);
        }
        if told.is_empty() {
            told.extend(server.workers.into_iter().next());
        }
        self.ready.extend(told.into_iter().map(|worker| (worker, Event::Died(how.clone()))));
    }

    fn keep_words(&mut self, server: &Server) {
        let said = Said { stray: Vec::new(), stderr: server.said() };
        self.last_words.extend(server.workers.iter().map(|worker| (worker.clone(), said.clone())));
    }

    fn wait(&self, deadline: Instant) {
        let mut all = Vec::new();
        self.servers.values().for_each(|server| server.watched(&mut all));
        all.extend(self.calls.values().flat_map(|calling| calling.exchange.fds()));
        let left = deadline.min(Instant::now() + TICK).saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
        // An interrupted wait is a short one, and whoever waits looks at the time anyway.
        let _ = poll(&mut all, Some(&left));
    }
}

/// No answer came: what was done nobody knows.
fn unanswered(why: &str) -> Event {
    Event::Error { name: "no-answer".to_owned(), definite: false, text: why.as_bytes().to_vec() }
}

impl Session for HttpSession {
    fn call(&mut self, worker: &str, call: &str, args: &Map, watch: Watch) -> Result<(), StartError> {
        if self.calls.contains_key(worker) {
            return Err(StartError(format!("worker {worker} still waits for another answer")));
        }
        let address = self.server(worker)?.address;
        let (Some(spec), Some(bound)) = (self.contract.calls.get(call), self.how.server.calls.get(call)) else {
            return Err(StartError(format!("the binding has no call.{call}")));
        };
        let now = self.clock.now(worker);
        let mut request = Making { call: spec, args, words: &self.words, now }.request(bound)?;
        self.lines.insert(worker.to_owned(), curl_line(&request, &format!("http://{address}{}", request.target)));
        request.headers.push(("connection".to_owned(), b"close".to_vec()));
        let hang_up = match watch.lost {
            None => HangUp::Never,
            Some(Lost::Request) => HangUp::AfterRequest,
            Some(Lost::Reply) => HangUp::AfterAnswer,
        };
        let exchange = Exchange::start(address, request, hang_up)
            .map_err(|error| StartError(format!("{call} cannot be asked over HTTP: {error}")))?;
        let after = spec.between.as_ref().map(|(_, after)| after);
        let at_answer = watch.checkpoint.filter(|point| Some(point) == after);
        let calling = Calling { call: call.to_owned(), exchange, at_answer, began: false, failed: None };
        self.calls.insert(worker.to_owned(), calling);
        Ok(())
    }

    fn start(&mut self, worker: &str) -> Result<(), StartError> {
        self.server(worker).map(drop)
    }

    fn seen(&self, worker: &str) -> Seen {
        let (Some(calling), Some(server)) = (self.calls.get(worker), self.servers.get(&self.key(worker))) else {
            return Seen::Sleeps;
        };
        let own = calling.exchange.local_addr();
        let is_taken = own.is_none_or(|own| taken(server.address, own).unwrap_or(true));
        match (works(&server.family()), calling.exchange.is_sent() && is_taken) {
            (true, _) => Seen::Works,
            (false, false) => Seen::Untaken,
            (false, true) => Seen::Sleeps,
        }
    }

    fn by_hand(&self, worker: &str) -> Option<String> {
        self.lines.get(worker).cloned()
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

    fn resume(&mut self, worker: &str, _: Directive) {
        if let Some(calling) = self.calls.get_mut(worker) {
            calling.exchange.hold(false);
        }
    }

    fn kill(&mut self, worker: &str) -> Killed {
        let unheard = self.ready.iter().any(|(name, _)| name == worker);
        let key = self.key(worker);
        let Some(mut server) = self.servers.remove(&key) else {
            self.ready.retain(|(name, _)| name != worker);
            return Killed { how: "it had already ended".to_owned(), store: None, proven: false };
        };
        let ended = server.end();
        self.keep_words(&server);
        let mut answered = unheard;
        for caller in &server.workers {
            let Some(mut calling) = self.calls.remove(caller) else { continue };
            // What it had sent before it ended is still there to be read.
            if caller == worker && !calling.began {
                answered |= matches!(calling.exchange.turn(), Some(Progress::Began));
            }
        }
        self.ready.retain(|(name, _)| !server.workers.contains(name));
        ended.killed(answered.then_some("it had answered before"))
    }

    fn alive(&self) -> Vec<String> {
        self.servers.values().flat_map(|server| server.workers.iter().cloned()).collect()
    }

    fn disconnect(&mut self) {
        self.finish();
    }

    fn concurrent(&self) -> bool {
        true
    }

    fn cuts_connections(&self) -> bool {
        true
    }

    fn transactions(&self) -> Option<Vec<Vec<(String, i64)>>> {
        None
    }

    fn said(&self, worker: &str) -> Said {
        let living = self.servers.get(&self.key(worker)).filter(|server| server.workers.contains(worker));
        let living = living.map(|server| Said { stray: Vec::new(), stderr: server.said() });
        living.or_else(|| self.last_words.get(worker).cloned()).unwrap_or_default()
    }

    fn finish(&mut self) -> Vec<String> {
        self.calls.clear();
        self.ready.clear();
        let mut left = Vec::new();
        for mut server in std::mem::take(&mut self.servers).into_values() {
            left.extend(server.end().left);
            self.keep_words(&server);
        }
        left
    }
}
