//! One call under way: the process that was started for it, and the outside that it calls.

use std::time::Instant;

use rustix::event::PollFd;
use rustix::process::Signal;

use super::reply::Replies;
use crate::outside::Downstream;
use crate::process::{Ended, Process, Tail, in_words, shown};
use crate::session::{Directive, Event, Said};

/// How many of the last lines a sentence quotes.
const QUOTED: usize = 3;

/// A running program.
#[derive(Debug)]
pub(super) struct Worker {
    /// The call that it was started for.
    pub(super) call: String,
    process: Process,
    downstream: Downstream,
    replies: Replies,
    printed: Tail,
    /// The last line that it printed and that is not blank.
    last: Option<String>,
    over: Option<Ended>,
}

impl Worker {
    pub(super) fn new(call: &str, mut process: Process, downstream: Downstream, replies: Replies) -> Worker {
        process.close_input();
        Worker { call: call.to_owned(), process, downstream, replies, printed: Tail::default(), last: None, over: None }
    }

    /// Moves what can be moved now, and returns what the runner is to hear.
    pub(super) fn turn(&mut self) -> Option<Event> {
        // Looked at first, so that whatever it did before its end is heard.
        let ended = self.over.is_none() && self.process.has_ended();
        self.listen();
        if ended {
            // Whatever it started ends with it, and can deliver nothing later.
            self.over = Some(self.process.end());
            self.listen();
        }
        let event = self.downstream.turn();
        event.or_else(|| self.over.as_ref().filter(|_| self.downstream.is_idle()).map(|ended| self.ended(ended)))
    }

    fn listen(&mut self) {
        self.process.turn();
        while let Some(line) = self.process.lines.next() {
            self.print(&shown(&line));
        }
    }

    fn print(&mut self, line: &str) {
        if !line.trim().is_empty() {
            self.last = Some(line.trim().to_owned());
        }
        self.printed.push(line.to_owned());
    }

    /// What the call came to.
    fn ended(&self, ended: &Ended) -> Event {
        use std::os::unix::process::ExitStatusExt;
        let unfinished = self.process.lines.unfinished().filter(|line| !line.trim().is_empty());
        let last = unfinished.as_deref().map(str::trim).or(self.last.as_deref());
        match ended.status.and_then(|status| status.code()) {
            Some(code) => self.replies.event(last, code),
            None => {
                let signal = ended.status.and_then(|status| status.signal()).is_some();
                let how = if signal { "it was ended by" } else { "it ended:" };
                Event::Died(self.quoting(&format!("{how} {}", in_words(ended.status))))
            }
        }
    }

    /// A sentence about its end, with what it said last.
    fn quoting(&self, what: &str) -> String {
        let said = self.said().stderr;
        match &said[said.len().saturating_sub(QUOTED)..] {
            [] => what.to_owned(),
            last => format!("{what}\nit said last:\n  {}", last.join("\n  ")),
        }
    }

    pub(super) fn resume(&mut self, directive: Directive) -> Option<Event> {
        self.downstream.resume(directive)
    }

    /// Ends it wherever it is; nothing of what it does outside counts any more.
    pub(super) fn end(&mut self) -> Ended {
        let ended = self.over.clone().unwrap_or_else(|| self.process.end());
        self.listen();
        ended
    }

    /// Sends it a signal while it waits for an answer, which then never comes; whether it could be sent.
    pub(super) fn interrupt(&mut self, signal: Signal) -> bool {
        self.downstream.leave_unanswered();
        self.process.signal(signal)
    }

    pub(super) fn process(&self) -> &Process {
        &self.process
    }

    pub(super) fn in_vain(&self) -> bool {
        self.downstream.in_vain()
    }

    pub(super) fn watched<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        self.process.watched(fds);
        self.downstream.watched(fds);
    }

    /// When a turn is due although nothing is ready. That a process has ended shows on no pipe once it closed them.
    pub(super) fn due(&self, soon: Instant) -> Option<Instant> {
        let closing = self.process.silent().then_some(soon);
        self.downstream.due().into_iter().chain(closing).min()
    }

    /// What it printed and said, last.
    pub(super) fn said(&self) -> Said {
        let mut lines = self.printed.lines();
        lines.extend(self.process.lines.unfinished());
        lines.extend(self.process.tail.lines());
        Said { stray: Vec::new(), stderr: lines }
    }
}
