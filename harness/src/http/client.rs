//! The caller of a server under test: one request on one connection, and how the caller behaves about the answer. A
//! caller may hang up, or stop reading in the middle, as callers do.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use socket2::{Domain, SockRef, Socket, Type};

use super::TURN;
use super::connection::is_nothing_yet;
use super::message::{Answer, Request};
use super::reading::AnswerReader;

/// When the caller hangs up of its own will.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HangUp {
    /// It waits for the answer.
    #[default]
    Never,
    /// As soon as the whole request was handed over: the connection is closed.
    AfterRequest,
    /// Once the answer was read whole: it is thrown away and the connection is reset.
    AfterAnswer,
}

/// What became of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The first byte of the answer came.
    Began,
    /// The answer, whole. The exchange is over.
    Answer(Answer),
    /// The caller hung up as it was to, at the place it was to. The exchange is over.
    HungUp,
    /// There is no whole answer, for this reason. The exchange is over.
    Failed(String),
    /// What came is no HTTP, for this reason. The exchange is over.
    Garbage(String),
}

/// One request to a server, and its answer.
#[derive(Debug)]
pub struct Exchange {
    /// None when it is over.
    stream: Option<TcpStream>,
    hang_up: HangUp,
    unsent: Vec<u8>,
    sent: usize,
    reader: AnswerReader,
    connected: bool,
    began: bool,
    held: bool,
}

impl Exchange {
    /// Begins to connect. `Host` is added where the request has none.
    ///
    /// # Errors
    /// When HTTP cannot carry the request ([`io::ErrorKind::InvalidInput`]), or there is no way to that address.
    pub fn start(addr: SocketAddr, mut request: Request, hang_up: HangUp) -> io::Result<Exchange> {
        if request.header("host").is_none() {
            request.headers.insert(0, ("host".to_owned(), addr.to_string().into_bytes()));
        }
        let unsent = request.to_bytes().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let socket = Socket::new(Domain::for_address(addr), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        match socket.connect(&addr.into()) {
            Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => return Err(error),
            _ => {}
        }
        let reader = AnswerReader::new(&request.method);
        let stream = Some(socket.into());
        Ok(Exchange { stream, hang_up, unsent, sent: 0, reader, connected: false, began: false, held: false })
    }

    /// Whether anything of the answer beyond its first byte is read: while held, the server writes until the system
    /// takes no more. To hold before anything is read, say so before the turn that says [`Progress::Began`].
    pub fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// Whether the whole request was handed to the system.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.sent == self.unsent.len()
    }

    /// The caller's own end of the connection, while there is one.
    #[must_use]
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.stream.as_ref().and_then(|stream| stream.local_addr().ok())
    }

    /// What to wait on: as soon as it is ready, a turn is due.
    #[must_use]
    pub fn fds(&self) -> Vec<PollFd<'_>> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::OUT, !self.connected || !self.is_sent());
        flags.set(PollFlags::IN, self.connected && !(self.began && self.held));
        self.stream.iter().filter(|_| !flags.is_empty()).map(|stream| PollFd::new(stream, flags)).collect()
    }

    /// Moves what can be moved now, and says what became of it. To be called until it says nothing more.
    pub fn turn(&mut self) -> Option<Progress> {
        let progress = self.advance().unwrap_or_else(|why| Some(Progress::Failed(why)));
        if !matches!(progress, None | Some(Progress::Began)) {
            self.stream = None;
        }
        progress
    }

    fn advance(&mut self) -> Result<Option<Progress>, String> {
        let Some(stream) = &self.stream else { return Ok(None) };
        if !self.connected {
            self.connected = is_connected(stream).map_err(|error| format!("it could not be reached: {error}"))?;
            if !self.connected {
                return Ok(None);
            }
        }
        // A server that does not take the whole request may have answered all the same.
        let refused = self.send().err().map(|error| format!("the request was not taken: {error}"));
        if self.hang_up == HangUp::AfterRequest && self.is_sent() {
            return Ok(Some(Progress::HungUp));
        }
        match (self.began, self.held) {
            (false, _) if self.begins()? => {
                self.began = true;
                Ok(Some(Progress::Began))
            }
            (false, _) => refused.map_or(Ok(None), Err),
            (true, true) => Ok(None),
            (true, false) => self.receive(),
        }
    }

    fn send(&mut self) -> io::Result<()> {
        let Some(mut stream) = self.stream.as_ref() else { return Ok(()) };
        while self.sent < self.unsent.len() {
            match stream.write(&self.unsent[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(error) if is_nothing_yet(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn begins(&self) -> Result<bool, String> {
        match self.stream.as_ref().map(|stream| stream.peek(&mut [0])) {
            Some(Ok(0)) => Err("the connection was closed without an answer".to_owned()),
            Some(Ok(_)) => Ok(true),
            Some(Err(error)) if !is_nothing_yet(&error) => {
                Err(format!("the connection was lost before the answer: {error}"))
            }
            Some(Err(_)) | None => Ok(false),
        }
    }

    fn receive(&mut self) -> Result<Option<Progress>, String> {
        let Some(mut stream) = self.stream.as_ref() else { return Ok(None) };
        let (mut chunk, mut left) = ([0; 16 << 10], TURN);
        while left > 0 {
            match stream.read(&mut chunk) {
                Ok(0) => {
                    let answer = self.reader.end().map_err(|error| format!("the connection was closed: {error}"))?;
                    return Ok(Some(self.take(answer)));
                }
                Ok(read) => {
                    self.reader.feed(&chunk[..read]);
                    left = left.saturating_sub(read);
                }
                Err(error) if is_nothing_yet(&error) => break,
                Err(error) => return Err(format!("the connection was lost ({error}): {}", self.reader.lacks())),
            }
            match self.reader.next() {
                Ok(None) => {}
                Ok(Some(answer)) => return Ok(Some(self.take(answer))),
                Err(error) => return Ok(Some(Progress::Garbage(error.to_string()))),
            }
        }
        Ok(None)
    }

    fn take(&self, answer: Answer) -> Progress {
        if self.hang_up != HangUp::AfterAnswer {
            return Progress::Answer(answer);
        }
        if let Some(stream) = &self.stream {
            // Should a reset not be possible, the caller is gone all the same.
            let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
        }
        Progress::HungUp
    }
}

/// Whether a connection that was begun has come about.
fn is_connected(stream: &TcpStream) -> io::Result<bool> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}
