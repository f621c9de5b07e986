//! One worker's side of the conversation: which call runs, what the subject has asked and not yet been told, and
//! what of it the runner hears. It reads and writes messages; when to wait is the session's business.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use nack_contracts::{Map, Value};
use serde::de::DeserializeOwned;

use super::ask::{Answer, Ask, Next, Stage, unanswered};
use super::message;
use super::wire::{self, Message, RpcError, Unreadable};
use crate::clock::Clock;
use crate::process::{Command, Process, in_words, wait_for};
use crate::process::{LONGEST, Tail, shown};
use crate::session::{Directive, Event, Point, Said, StartError, Watch};

/// How long a subject may live on after it closed its standard output: a program that ends closes it a little before.
const CLOSED_WITHIN: Duration = Duration::from_millis(200);
/// How many questions may be open at once: a subject has a few threads at most.
const MOST_ASKS: usize = 1000;
/// How many of the last lines a sentence quotes.
const QUOTED: usize = 3;

/// A worker: its process, and where the conversation with it stands.
#[derive(Debug)]
pub(super) struct Worker {
    name: String,
    pub(super) process: Process,
    greeting: Option<message::Greeting>,
    last_id: i64,
    calling: Option<Calling>,
    stray: Tail,
    silent_since: Option<Instant>,
}

#[derive(Debug)]
struct Calling {
    id: i64,
    call: String,
    watch: Watch,
    /// What the subject waits for. The runner knows of the first only.
    asks: VecDeque<Ask>,
}

impl Worker {
    /// Starts a process and waits for its hello.
    pub(super) fn start(command: &Command, hello: &message::Hello, clock: &Clock) -> Result<Worker, StartError> {
        let mut worker = Worker {
            name: hello.worker.clone(),
            process: Process::start(command)?,
            greeting: None,
            last_id: 0,
            calling: None,
            stray: Tail::default(),
            silent_since: None,
        };
        worker.request(message::HELLO, hello);
        let deadline = Instant::now() + command.start_within;
        while worker.greeting.is_none() {
            let events = &mut Vec::new();
            if let Err(what) = worker.turn(clock, events) {
                worker.process.end();
                return Err(StartError(worker.quoting(&format!("before it answered hello, {what}"))));
            }
            if worker.greeting.is_none() && Instant::now() >= deadline {
                worker.process.end();
                let patience = command.start_within;
                return Err(StartError(worker.quoting(&format!("it did not answer hello within {patience:?}"))));
            }
            if worker.greeting.is_none() {
                wait_for(&[&worker.process], deadline.min(Instant::now() + Duration::from_millis(20)));
            }
        }
        command.remember(worker.greeting().executable.as_deref());
        Ok(worker)
    }

    pub(super) fn greeting(&self) -> message::Greeting {
        self.greeting.clone().unwrap_or_default()
    }

    fn request(&mut self, method: &str, params: &impl serde::Serialize) -> i64 {
        self.last_id += 1;
        self.process.send(&wire::request(self.last_id, method, params));
        self.last_id
    }

    pub(super) fn call(&mut self, call: &str, args: &Map, watch: Watch) {
        // What it printed while it started is shown with its first call.
        if self.last_id > 1 {
            self.stray.clear();
        }
        let wanted = message::WatchFor { everywhere: watch.everywhere, checkpoint: watch.checkpoint.clone() };
        let params = message::Call { call: call.to_owned(), args: args.clone(), watch: wanted };
        let id = self.request(message::CALL, &params);
        self.calling = Some(Calling { id, call: call.to_owned(), watch, asks: VecDeque::new() });
    }

    /// Reads and writes what can be read and written now. An error says why the worker cannot go on.
    pub(super) fn turn(&mut self, clock: &Clock, events: &mut Vec<Event>) -> Result<(), String> {
        // Looked at before its pipes are read, so that nothing it said before its end is missed.
        let ended = self.process.has_ended().then(|| self.process.end());
        self.process.turn();
        while let Some(line) = self.process.lines.next() {
            self.read(&line, clock, events)?;
        }
        if self.process.lines.too_long() {
            return Err("it wrote a line longer than any message".to_owned());
        }
        if self.process.backlog() > 2 * LONGEST || self.calling.as_ref().is_some_and(|c| c.asks.len() > MOST_ASKS) {
            return Err("it asks on and on without waiting for an answer".to_owned());
        }
        if let Some(ended) = ended {
            let cut = self.process.lines.unfinished().map_or("", |_| ", in the middle of a line");
            return Err(format!("it ended by itself with {}{cut}", in_words(ended.status)));
        }
        if self.process.silent() && self.silent_since.get_or_insert_with(Instant::now).elapsed() > CLOSED_WITHIN {
            return Err("it closed its standard output and went on running".to_owned());
        }
        self.answer_late(events);
        Ok(())
    }

    fn read(&mut self, line: &[u8], clock: &Clock, events: &mut Vec<Event>) -> Result<(), String> {
        match wire::read(line) {
            Err(Unreadable::Stray(reason)) => {
                if !line.trim_ascii().is_empty() {
                    self.stray.push(format!("{} [{reason}]", shown(line)));
                }
                Ok(())
            }
            Err(Unreadable::Broken(reason)) => Err(format!("it broke the protocol: {reason}: `{}`", shown(line))),
            Ok(Message::Request { id, method, params }) => self.asked(id, &method, &params, clock, events),
            Ok(Message::Reply { id, outcome }) => self.replied(&id, outcome, events),
        }
    }

    fn asked(
        &mut self,
        id: Value,
        method: &str,
        params: &Value,
        clock: &Clock,
        events: &mut Vec<Event>,
    ) -> Result<(), String> {
        match method {
            message::NOW => self.process.send(&wire::result(&id, &clock.now(&self.name))),
            message::CHECKPOINT => {
                let message::Checkpoint { name } = fitting(method, params)?;
                self.declared(&name)?;
                self.reached(id, Point::Checkpoint(name), events);
            }
            message::STATEMENT => {
                let message::Statement { sql } = fitting(method, params)?;
                self.reached(id, Point::Statement(sql), events);
            }
            message::EFFECT => {
                let message::Effect { name, columns } = fitting(method, params)?;
                self.calls_outside(id, name, columns, events);
            }
            _ => {
                let methods = "checkpoint, statement, effect, now";
                let text = format!("there is no method `{method}`; there are {methods}");
                self.process.send(&wire::error(&id, wire::NO_METHOD, &text));
            }
        }
        Ok(())
    }

    fn declared(&self, name: &str) -> Result<(), String> {
        let declared = self.greeting.as_ref().map_or(&[][..], |greeting| &greeting.checkpoints);
        if declared.iter().any(|checkpoint| checkpoint == name) {
            return Ok(());
        }
        let declared = declared.join(", ");
        Err(format!("it passed the checkpoint `{name}`, which its hello did not declare; it declared: {declared}"))
    }

    fn reached(&mut self, id: Value, point: Point, events: &mut Vec<Event>) {
        let watched = self.calling.as_ref().is_some_and(|calling| match &point {
            Point::Checkpoint(name) => calling.watch.checkpoint.as_ref() == Some(name),
            _ => calling.watch.everywhere,
        });
        if watched {
            self.ask(Ask { id, stage: Stage::At(point) }, events);
        } else {
            self.process.send(&wire::result(&id, &message::Passed::default()));
        }
    }

    fn calls_outside(&mut self, id: Value, name: String, columns: Map, events: &mut Vec<Event>) {
        let Some(calling) = &self.calling else {
            return self.process.send(&wire::error(
                &id,
                wire::NO_REQUEST,
                "an effect belongs to a call, and none runs",
            ));
        };
        let stage = Stage::effect(name, columns, calling.watch.everywhere);
        self.ask(Ask { id, stage }, events);
    }

    fn ask(&mut self, ask: Ask, events: &mut Vec<Event>) {
        let Some(calling) = &mut self.calling else { return };
        // A signal may end the wait for an effect inside the subject; then it asks anew, and that effect is over.
        if matches!(calling.asks.front(), Some(Ask { stage: Stage::Signalled { .. }, .. })) {
            calling.asks.pop_front();
        }
        if calling.asks.is_empty() {
            events.extend(ask.stage.event());
        }
        calling.asks.push_back(ask);
    }

    fn replied(&mut self, id: &Value, outcome: Result<Value, RpcError>, events: &mut Vec<Event>) -> Result<(), String> {
        if *id == Value::Null {
            let reason = outcome.err().map(|error| error.message).unwrap_or_default();
            return Err(format!("it could not read what it was sent: {reason}"));
        }
        if self.greeting.is_none() && *id == Value::Int(1) {
            self.greeting = Some(greeting(outcome)?);
            return Ok(());
        }
        match self.calling.take() {
            Some(calling) if *id == Value::Int(calling.id) => events.push(ending(outcome)?),
            calling => {
                self.calling = calling;
                return Err(format!("it answered a question that was not asked, with the id {id}"));
            }
        }
        Ok(())
    }

    /// Tells the subject what it waits for, and returns what the runner is to hear next.
    pub(super) fn resume(&mut self, directive: Directive) -> Vec<Event> {
        let mut events = Vec::new();
        let Some(calling) = &mut self.calling else { return events };
        let Some(Ask { id, stage }) = calling.asks.pop_front() else { return events };
        let waits = match stage.follow(directive) {
            Next::Pass(passed) => {
                self.process.send(&wire::result(&id, &passed));
                None
            }
            Next::Inject => {
                self.process.send(&wire::error(&id, message::INJECTED, "an injected error"));
                None
            }
            Next::Answer(answer) => {
                self.answer(&id, answer);
                None
            }
            Next::Wait(stage) => Some(stage),
            Next::Signal(signal, stage) => {
                self.process.signal(signal);
                Some(stage)
            }
        };
        self.go_on(id, waits, &mut events);
        events
    }

    /// Puts a request back at its next stage, or turns to the one behind it.
    fn go_on(&mut self, id: Value, waits: Option<Stage>, events: &mut Vec<Event>) {
        let Some(calling) = &mut self.calling else { return };
        if let Some(stage) = waits {
            calling.asks.push_front(Ask { id, stage });
        }
        events.extend(calling.asks.front().and_then(|ask| ask.stage.event()));
    }

    fn answer(&mut self, id: &Value, answer: Answer) {
        let line = match answer {
            Ok(value) => wire::result(id, &value),
            Err(raised) => wire::error_with(id, message::RAISED, "the outside raised an error", &raised),
        };
        self.process.send(&line);
    }

    /// Ends an effect that a signal fell into and did not end.
    fn answer_late(&mut self, events: &mut Vec<Event>) {
        let Some(calling) = &mut self.calling else { return };
        if calling.asks.front().is_some_and(|ask| ask.stage.is_over())
            && let Some(ask) = calling.asks.pop_front()
        {
            self.answer(&ask.id, unanswered());
            self.go_on(ask.id, None, events);
        }
    }

    /// Whether it wrote a message that nobody has read yet.
    pub(super) fn spoke(&mut self) -> bool {
        std::iter::from_fn(|| self.process.lines.next()).any(|line| wire::read(&line).is_ok())
    }

    pub(super) fn busy(&self) -> bool {
        self.calling.is_some()
    }

    pub(super) fn said(&self) -> Said {
        let mut stray = self.stray.lines();
        stray.extend(self.process.lines.unfinished().map(|cut| format!("{cut} [it has no end]")));
        Said { stray, stderr: self.process.tail.lines() }
    }

    /// A sentence about its end, with the call that ran and what it said last.
    pub(super) fn quoting(&self, what: &str) -> String {
        let during = self.calling.as_ref().map(|calling| format!(" during `{}`", calling.call)).unwrap_or_default();
        let Said { stray, stderr } = self.said();
        let last = |lines: &[String]| lines[lines.len().saturating_sub(QUOTED)..].join("\n  ");
        let mut text = format!("{what}{during}");
        if !stray.is_empty() {
            text += &format!("\non standard output, which carries messages only, it wrote:\n  {}", last(&stray));
        }
        if !stderr.is_empty() {
            text += &format!("\nit said last:\n  {}", last(&stderr));
        }
        text
    }
}

fn fitting<T: DeserializeOwned>(method: &str, params: &Value) -> Result<T, String> {
    wire::typed(params).map_err(|error| format!("the parameters of its `{method}` do not fit: {error}"))
}

fn greeting(outcome: Result<Value, RpcError>) -> Result<message::Greeting, String> {
    let value = outcome.map_err(|error| format!("it answered hello with an error: {}", error.message))?;
    let greeting: message::Greeting =
        wire::typed(&value).map_err(|error| format!("its answer to hello does not fit: {error}"))?;
    if greeting.protocol != message::PROTOCOL {
        let (theirs, ours) = (greeting.protocol, message::PROTOCOL);
        return Err(format!("it speaks protocol {theirs}, and this nack speaks {ours}"));
    }
    Ok(greeting)
}

fn ending(outcome: Result<Value, RpcError>) -> Result<Event, String> {
    let error = match outcome {
        Ok(value) => return Ok(Event::Reply(value)),
        Err(error) => error,
    };
    match error.data.filter(|_| error.code == message::CALL_FAILED) {
        Some(data) => {
            let message::CallError { name, definite, text } =
                wire::typed(&data).map_err(|why| format!("the data of its error does not fit: {why}"))?;
            Ok(Event::Error { name, definite, text: text.0 })
        }
        None => Ok(Event::Error { name: "error".to_owned(), definite: false, text: error.message.into_bytes() }),
    }
}
