//! One server process: started on a port of its own, ready when the binding says so, and drained while it runs.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use rustix::event::PollFd;
use rustix::process::Pid;

use super::ports::{Door, Port, door};
use super::reply::Statuses;
use crate::binding::{HttpServer, Placeholder, Ready, Template};
use crate::http::client::{Exchange, HangUp, Progress};
use crate::http::message::Request;
use crate::process::{Command, Ended, Process, Tail, in_words, shown, wait_for};
use crate::session::StartError;

/// How often a server that starts is looked at.
const TICK: Duration = Duration::from_millis(5);
/// How many of its last lines are quoted where it is told that it would not start.
const QUOTED: usize = 8;

/// How a server is started and asked, as its binding says.
#[derive(Debug)]
pub(super) struct How {
    /// Where it runs and how long it may take; its words are not filled in.
    pub(super) command: Command,
    pub(super) server: HttpServer,
    /// What its answers mean, by call.
    pub(super) statuses: IndexMap<String, Statuses>,
}

impl How {
    /// Whether its command has this placeholder.
    pub(super) fn says(&self, placeholder: &Placeholder) -> bool {
        self.server.command.iter().any(|word| word.placeholders().any(|said| said == placeholder))
    }

    fn filled(&self, store: &str, port: Option<u16>, now: i64) -> Result<Command, StartError> {
        let value = |placeholder: &Placeholder| match placeholder {
            Placeholder::Store => Ok(store.as_bytes().to_vec()),
            Placeholder::Now => Ok(now.to_string().into_bytes()),
            Placeholder::Port => Ok(port.map_or_else(String::new, |port| port.to_string()).into_bytes()),
            other => Err(StartError(format!("nothing stands for {other} in the command of a server"))),
        };
        let word = |word: &Template| Ok(String::from_utf8_lossy(&word.fill(value)?).into_owned());
        Ok(self.command.with(self.server.command.iter().map(word).collect::<Result<_, StartError>>()?))
    }
}

/// A server that is ready.
#[derive(Debug)]
pub(super) struct Server {
    process: Process,
    printed: Tail,
    /// The port that it was told.
    _port: Option<Port>,
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// The time that its command was told.
    pub(super) told: i64,
    /// The workers that have called it.
    pub(super) workers: BTreeSet<String>,
}

impl Server {
    /// Starts a server on this store and waits until it is ready.
    pub(super) fn start(how: &How, store: &str, now: i64) -> Result<Server, StartError> {
        let port = match how.says(&Placeholder::Port) {
            true => Some(Port::free().ok_or_else(|| StartError("no port is free".to_owned()))?),
            false => None,
        };
        let number = port.as_ref().map(|port| port.number);
        let process = Process::start(&how.filled(store, number, now)?)?;
        let mut starting = Starting {
            process,
            printed: Tail::default(),
            port: number,
            signed: false,
            foreign: 0,
            probe: None,
            probed: None,
        };
        let address = starting.ready(&how.server.ready, how.command.start_within)?;
        how.command.remember_of(starting.process.number());
        let Starting { process, printed, .. } = starting;
        Ok(Server { process, printed, _port: port, address, told: now, workers: BTreeSet::new() })
    }

    /// Reads what it says.
    pub(super) fn turn(&mut self) {
        drain(&mut self.process, |line| self.printed.push(shown(line)));
    }

    /// The pipes that something may happen on.
    pub(super) fn watched<'a>(&'a self, pipes: &mut Vec<PollFd<'a>>) {
        self.process.watched(pipes);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.process.has_ended()
    }

    pub(super) fn family(&self) -> Vec<Pid> {
        self.process.family()
    }

    /// Ends it without farewell, if it lives, and reads the rest of what it said.
    pub(super) fn end(&mut self) -> Ended {
        let ended = self.process.end();
        self.turn();
        ended
    }

    /// What it said last.
    pub(super) fn said(&self) -> Vec<String> {
        said(&self.process, &self.printed)
    }

    /// How it ended, or why it was ended, with what it said last.
    pub(super) fn obituary(&mut self, why: Option<&str>) -> String {
        let ended = format!("the server ended with {}", in_words(self.end().status));
        quoting(why.unwrap_or(&ended), &self.said())
    }
}

/// A server that is not ready yet.
struct Starting {
    process: Process,
    printed: Tail,
    port: Option<u16>,
    /// Whether it printed the line that it is to print.
    signed: bool,
    /// How often in a row its port was seen to be somebody else's.
    foreign: u32,
    probe: Option<Exchange>,
    /// What the last probe that has ended came to.
    probed: Option<String>,
}

/// What a look at a server that starts has shown.
enum Look {
    Ready(SocketAddr),
    /// Not yet, for this reason.
    Wait(String),
    Never(String),
}

impl Starting {
    fn ready(&mut self, ready: &Ready, within: Duration) -> Result<SocketAddr, StartError> {
        let deadline = Instant::now() + within;
        loop {
            // Looked at first, so that whatever it said before its end is read.
            let ended = self.process.has_ended();
            let look = self.look(ready);
            if ended {
                let ended = in_words(self.process.end().status);
                drain(&mut self.process, |line| self.printed.push(shown(line)));
                return Err(self.never(&format!("it ended with {ended} before it was ready")));
            }
            match look {
                Look::Ready(address) => return Ok(address),
                Look::Never(why) => return Err(self.never(&why)),
                Look::Wait(why) if Instant::now() >= deadline => {
                    return Err(self.never(&format!("it was not ready within {within:?}: {why}")));
                }
                Look::Wait(_) => wait_for(&[&self.process], deadline.min(Instant::now() + TICK)),
            }
        }
    }

    fn never(&self, why: &str) -> StartError {
        StartError(quoting(why, &said(&self.process, &self.printed)))
    }

    fn look(&mut self, ready: &Ready) -> Look {
        let mut sign = None;
        drain(&mut self.process, |line| {
            let line = shown(line);
            if let Ready::Stdout(text) = ready
                && let Some(at) = line.find(text.as_str())
            {
                sign.get_or_insert(line[at + text.len()..].to_owned());
            }
            self.printed.push(line);
        });
        if let Some(rest) = sign {
            self.signed = true;
            self.port = self.port.or_else(|| port_in(&rest));
        }
        if let (Ready::Stdout(text), false) = (ready, self.signed) {
            return Look::Wait(format!("it has not printed `{text}`"));
        }
        let Some(port) = self.port else {
            return Look::Never("the line that it printed names no port, and its command has no {port}".to_owned());
        };
        match door(port, &self.process.family()) {
            Door::Shut => Look::Wait(format!("nobody listens on port {port}")),
            // It may have come to its port between the two looks that were taken.
            Door::Theirs if self.foreign < 2 => {
                self.foreign += 1;
                Look::Wait(format!("port {port} belongs to another process"))
            }
            Door::Theirs => Look::Never(format!("port {port} belongs to another process, which nack did not start")),
            Door::Ours(address) => match ready {
                Ready::Get(path) => self.probe(address, path),
                Ready::Tcp | Ready::Stdout(_) => Look::Ready(address),
            },
        }
    }

    fn probe(&mut self, address: SocketAddr, path: &str) -> Look {
        let headers = vec![("connection".to_owned(), b"close".to_vec())];
        let request = Request { method: "GET".to_owned(), target: path.to_owned(), headers, body: Vec::new() };
        let probe = match &mut self.probe {
            Some(probe) => probe,
            None => match Exchange::start(address, request, HangUp::Never) {
                Ok(probe) => self.probe.insert(probe),
                Err(error) => return Look::Never(format!("GET {path} cannot be asked: {error}")),
            },
        };
        let came_to = loop {
            match probe.turn() {
                Some(Progress::Answer(answer)) if answer.status < 500 => return Look::Ready(address),
                Some(Progress::Answer(answer)) => break format!("GET {path} is answered {}", answer.status),
                Some(Progress::Failed(why) | Progress::Garbage(why)) => {
                    break format!("GET {path} is not answered: {why}");
                }
                Some(Progress::Began | Progress::HungUp) => {}
                None => {
                    let unanswered = || format!("GET {path} has no answer");
                    return Look::Wait(self.probed.clone().unwrap_or_else(unanswered));
                }
            }
        };
        self.probe = None;
        self.probed = Some(came_to.clone());
        Look::Wait(came_to)
    }
}

/// The port in what stands behind the words of readiness: what follows a colon, as in a URL, or the first number.
fn port_in(text: &str) -> Option<u16> {
    let port = |digits: &str| digits.parse::<u16>().ok().filter(|port| *port > 0);
    // An IPv6 address has colons of its own.
    let text = text.split_once(']').map_or(text, |(_, rest)| rest);
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    let behind_colons = text.split(':').skip(1).find_map(|rest| port(&digits(rest)));
    behind_colons.or_else(|| text.split(|c: char| !c.is_ascii_digit()).find_map(port))
}

fn drain(process: &mut Process, mut take: impl FnMut(&[u8])) {
    process.turn();
    while let Some(line) = process.lines.next() {
        take(&line);
    }
}

fn said(process: &Process, printed: &Tail) -> Vec<String> {
    printed.lines().into_iter().chain(process.lines.unfinished()).chain(process.tail.lines()).collect()
}

fn quoting(what: &str, said: &[String]) -> String {
    match &said[said.len().saturating_sub(QUOTED)..] {
        [] => what.to_owned(),
        last => format!("{what}\nit said last:\n  {}", last.join("\n  ")),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::bare(" 8080", Some(8080))]
    #[case::words(" port 8080 (pid 12)", Some(8080))]
    #[case::address(" 127.0.0.1:8080", Some(8080))]
    #[case::url(" http://127.0.0.1:8080/ at 12:30", Some(8080))]
    #[case::ipv6(" http://[::1]:8080", Some(8080))]
    #[case::no_port(" a socket", None)]
    #[case::too_large(" 123456", None)]
    fn the_port_is_found_behind_the_words(#[case] text: &str, #[case] port: Option<u16>) {
        assert_eq!(port_in(text), port);
    }
}
