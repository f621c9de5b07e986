//! The other side of the pipe: puts an in-process program behind the protocol, so that a real process with real
//! signals runs it. The program meets the same points as in-process, since the same session runs it here; this
//! module only carries that session's events over the wire and waits for locks in real time.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use nack_cases::Action;
use nack_contracts::Value;
use serde::Serialize;

use super::message::{self, Octets, Passed, Raised};
use super::wire::{self, Message, RpcError, Unreadable};
use crate::clock::Clock;
use crate::inprocess::InProcess;
use crate::session::{Directive, Event, Point, Session, Watch};
use crate::subject::Program;

/// How long a lock is waited for before the store says that it is busy.
const BUSY: Duration = Duration::from_secs(5);
/// How long between two tries for a lock.
const TRY_AGAIN: Duration = Duration::from_millis(2);
/// How often a running call looks for the end of the input.
const TICK: Duration = Duration::from_millis(50);

/// Serves a program on standard input and output until the input ends.
///
/// # Errors
/// When the output breaks or the program panics; the process should then end with a status other than 0.
pub fn serve(program: Arc<dyn Program>) -> io::Result<()> {
    serve_on(program, io::stdin(), io::stdout())
}

/// Serves a program on any input and output until the input ends.
///
/// # Errors
/// When the output breaks or the program panics.
pub fn serve_on(program: Arc<dyn Program>, input: impl Read + Send + 'static, output: impl Write) -> io::Result<()> {
    let (sender, lines) = channel();
    thread::Builder::new().name("nack input".to_owned()).spawn(move || {
        let mut input = BufReader::new(input);
        let mut line = Vec::new();
        while input.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            if sender.send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    })?;
    let mut server = Server { program, lines, early: VecDeque::new(), output, last_id: 0, life: None };
    match server.run() {
        // The end of the input is how a server on stdio is told to end.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
        ended => ended,
    }
}

struct Server<W> {
    program: Arc<dyn Program>,
    lines: Receiver<Vec<u8>>,
    /// Lines that arrived while a call only looked whether the input had ended.
    early: VecDeque<Vec<u8>>,
    output: W,
    last_id: i64,
    life: Option<Life>,
}

/// What `hello` began.
struct Life {
    session: InProcess,
    clock: Arc<Clock>,
    worker: String,
}

impl<W: Write> Server<W> {
    fn run(&mut self) -> io::Result<()> {
        loop {
            match self.receive()? {
                Ok(Message::Request { id, method, params }) => self.answer(&id, &method, &params)?,
                // An answer that nobody waits for any more.
                Ok(Message::Reply { .. }) => {}
                Err(unreadable) => self.refuse(&unreadable)?,
            }
        }
    }

    fn receive(&mut self) -> io::Result<Result<Message, Unreadable>> {
        let line = match self.early.pop_front() {
            Some(line) => line,
            None => self.lines.recv().map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?,
        };
        Ok(wire::read(&line))
    }

    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        self.output.write_all(line)?;
        self.output.flush()
    }

    fn refuse(&mut self, unreadable: &Unreadable) -> io::Result<()> {
        let (code, reason) = match unreadable {
            Unreadable::Stray(reason) => (wire::NOT_JSON, reason),
            Unreadable::Broken(reason) => (wire::NO_REQUEST, reason),
        };
        self.send(&wire::error(&Value::Null, code, reason))
    }

    fn answer(&mut self, id: &Value, method: &str, params: &Value) -> io::Result<()> {
        match method {
            message::HELLO => match wire::typed(params) {
                Ok(hello) => self.hello(id, hello),
                Err(why) => self.send(&wire::error(id, wire::BAD_PARAMS, &why)),
            },
            message::CALL => match (self.life.take(), wire::typed(params)) {
                (Some(mut life), Ok(call)) => {
                    let answered = self.call(&mut life, id, &call);
                    self.life = Some(life);
                    answered
                }
                (None, _) => self.send(&wire::error(id, wire::NO_REQUEST, "hello comes before a call")),
                (life, Err(why)) => {
                    self.life = life;
                    self.send(&wire::error(id, wire::BAD_PARAMS, &why))
                }
            },
            _ => self.send(&wire::error(id, wire::NO_METHOD, "there are two methods here: hello, call")),
        }
    }

    fn hello(&mut self, id: &Value, hello: message::Hello) -> io::Result<()> {
        let spoken = hello.protocol.min..=hello.protocol.max;
        if !spoken.contains(&message::PROTOCOL) {
            let text = format!("this program speaks protocol {} only", message::PROTOCOL);
            return self.send(&wire::error(id, wire::BAD_PARAMS, &text));
        }
        let clock = Arc::new(Clock::default());
        let program = Arc::clone(&self.program);
        let session = InProcess::new(program, Path::new(&hello.store), &hello.params, Arc::clone(&clock));
        self.life = Some(Life { session, clock, worker: hello.worker });
        let said = self.program.hello();
        let greeting = message::Greeting {
            name: said.name,
            protocol: message::PROTOCOL,
            capabilities: said.capabilities,
            checkpoints: said.checkpoints,
            statements: true,
            executable: None,
        };
        self.send(&wire::result(id, &greeting))
    }

    fn call(&mut self, life: &mut Life, id: &Value, call: &message::Call) -> io::Result<()> {
        let watch =
            Watch { everywhere: call.watch.everywhere, checkpoint: call.watch.checkpoint.clone(), ..Watch::default() };
        self.set_clock(life)?;
        if let Err(error) = life.session.call(&life.worker, &call.call, &call.args, watch) {
            return Err(io::Error::other(error));
        }
        let mut blocked_since = None;
        loop {
            let Some((_, event)) = life.session.next(TICK) else {
                self.look_for_the_end()?;
                continue;
            };
            let directive = match event {
                Event::Reply(value) => return self.send(&wire::result(id, &value)),
                Event::Error { name, definite, text } => {
                    let message = String::from_utf8_lossy(&text).into_owned();
                    let data = message::CallError { name, definite, text: Octets(text) };
                    return self.send(&wire::error_with(id, message::CALL_FAILED, &message, &data));
                }
                Event::Died(how) => return Err(io::Error::other(how)),
                Event::Blocked => {
                    self.look_for_the_end()?;
                    wait_for_lock(*blocked_since.get_or_insert_with(Instant::now))
                }
                told => {
                    blocked_since = None;
                    let directive = self.tell(told)?;
                    self.set_clock(life)?;
                    directive
                }
            };
            life.session.resume(&life.worker, directive);
        }
    }

    /// Tells the harness of a point or an effect and waits for its word.
    fn tell(&mut self, event: Event) -> io::Result<Directive> {
        match event {
            Event::Point(Point::Checkpoint(name)) => {
                let answer = self.ask(message::CHECKPOINT, &message::Checkpoint { name })?;
                Ok(at_point(answer))
            }
            Event::Point(Point::Statement(sql)) => {
                let answer = self.ask(message::STATEMENT, &message::Statement { sql })?;
                Ok(at_point(answer))
            }
            Event::Effect { name, columns } => {
                let answer = self.ask(message::EFFECT, &message::Effect { name, columns })?;
                Ok(Directive::Answer(at_effect(answer).into()))
            }
            // The harness knows both sides of an effect from its one request.
            _ => Ok(Directive::Continue),
        }
    }

    fn ask(&mut self, method: &str, params: &impl Serialize) -> io::Result<Result<Value, RpcError>> {
        self.last_id += 1;
        let asked = Value::Int(self.last_id);
        self.send(&wire::request(self.last_id, method, params))?;
        loop {
            match self.receive()? {
                Ok(Message::Reply { id, outcome }) if id == asked => return Ok(outcome),
                Ok(Message::Reply { .. }) => {}
                Ok(Message::Request { id, .. }) => {
                    self.send(&wire::error(&id, wire::NO_REQUEST, "a call is running"))?;
                }
                Err(unreadable) => self.refuse(&unreadable)?,
            }
        }
    }

    /// The harness's clock moves only while a worker waits, so it is read whenever one goes on.
    fn set_clock(&mut self, life: &Life) -> io::Result<()> {
        let answer = self.ask(message::NOW, &message::Nothing {})?;
        if let Some(now) = answer.ok().as_ref().and_then(Value::as_int) {
            life.clock.advance(now - life.clock.now(&life.worker), None);
        }
        Ok(())
    }

    fn look_for_the_end(&mut self) -> io::Result<()> {
        match self.lines.try_recv() {
            Ok(line) => self.early.push_back(line),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        Ok(())
    }
}

fn at_point(answer: Result<Value, RpcError>) -> Directive {
    match answer {
        Ok(value) => {
            let passed: Passed = wire::typed(&value).unwrap_or_default();
            passed.storage.map_or(Directive::Continue, Directive::Storage)
        }
        Err(_) => Directive::Raise,
    }
}

fn at_effect(answer: Result<Value, RpcError>) -> Action {
    match answer {
        Ok(value) => Action::Return(value),
        Err(error) => {
            let raised = error.data.as_ref().and_then(|data| wire::typed::<Raised>(data).ok());
            match raised {
                Some(Raised { kind, text }) => Action::Raise { kind, text: text.0 },
                None => Action::Raise { kind: nack_cases::RaiseKind::Error, text: error.message.into_bytes() },
            }
        }
    }
}

/// Another process holds the lock, so it is waited for in real time.
fn wait_for_lock(since: Instant) -> Directive {
    if since.elapsed() > BUSY {
        return Directive::GiveUp;
    }
    thread::sleep(TRY_AGAIN);
    Directive::Continue
}
