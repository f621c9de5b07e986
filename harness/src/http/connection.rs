//! One connection of a receiver, stage by stage: what it waits for, and what of a play it has done.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use socket2::SockRef;

use super::TURN;
use super::message::{Answer, Request, Unsendable};
use super::reading::RequestReader;
use super::receiver::{Arrival, Conn, Play, What};

/// How long a dripping answer lets its caller wait for each byte.
pub(super) const DRIP: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    reader: RequestReader,
    /// The method of the request that is to be answered.
    method: String,
    unsent: Vec<u8>,
    sent: usize,
    stage: Stage,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The first byte of a further request.
    Idle,
    /// The owner's word that it may be read.
    Unread,
    /// The rest of a request.
    Reading,
    /// The owner's play.
    Asked,
    /// A caller that takes what is sent; the last byte, or the end, may be withheld.
    Sending { end: End, withhold: bool },
    /// The owner's word that the play may end.
    Withheld { end: End },
    /// The time of the next byte.
    Dripping { next: Instant },
    /// Nothing: its caller never hears more.
    Hanging,
    /// The caller's own end, after the play.
    Leaving,
    /// It is done with, and only to be dropped.
    Over,
}

/// How a play ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// With the last byte; the connection stays.
    Stay,
    /// With the last byte or without any; the connection is closed in good order.
    Close,
    /// With a reset.
    Reset,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let (reader, method) = (RequestReader::default(), String::new());
        Ok(Connection { stream, reader, method, unsent: Vec::new(), sent: 0, stage: Stage::Unread })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(super) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    pub(super) fn read(&mut self) {
        if self.stage == Stage::Unread {
            self.stage = Stage::Reading;
        }
    }

    pub(super) fn play(&mut self, play: Play) -> Result<(), Unsendable> {
        if self.stage != Stage::Asked {
            return Ok(());
        }
        let (bytes, end) = match play.what {
            What::Answer(answer) => {
                (answer.to_bytes(&self.method)?, if self.reader.persistent() { End::Stay } else { End::Close })
            }
            What::BodyCut(answer) => {
                let mut bytes = answer.to_bytes("GET")?;
                bytes.truncate(bytes.len() - answer.body.len().div_ceil(2));
                (bytes, End::Close)
            }
            What::ResetAfter => (Vec::new(), End::Reset),
            What::Close => (Vec::new(), End::Close),
            What::Hang => {
                self.stage = Stage::Hanging;
                return Ok(());
            }
            What::Drip => {
                self.queue(&endless().to_bytes("GET")?);
                self.stage = Stage::Dripping { next: Instant::now() };
                return Ok(());
            }
        };
        self.queue(&bytes);
        self.stage = Stage::Sending { end, withhold: play.withhold };
        Ok(())
    }

    pub(super) fn finish(&mut self) {
        if let Stage::Withheld { end } = self.stage {
            self.stage = Stage::Sending { end, withhold: false };
        }
    }

    /// Closes it so that the caller gets a reset. Should that not be possible, it is at least closed.
    pub(super) fn reset(&mut self) {
        let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        self.stage = Stage::Over;
    }

    /// What its stage waits for on the wire.
    pub(super) fn flags(&self) -> PollFlags {
        let unsent = if self.sent < self.unsent.len() { PollFlags::OUT } else { PollFlags::empty() };
        match self.stage {
            Stage::Idle | Stage::Leaving => PollFlags::IN,
            Stage::Reading => PollFlags::IN | unsent,
            Stage::Sending { .. } => PollFlags::OUT,
            Stage::Unread | Stage::Asked | Stage::Withheld { .. } => PollFlags::empty(),
            Stage::Dripping { .. } | Stage::Hanging | Stage::Over => PollFlags::empty(),
        }
    }

    /// When it goes on by itself, whatever happens on the wire.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.stage {
            Stage::Dripping { next } => Some(next),
            Stage::Reading if self.reader.has_more() => Some(Instant::now()),
            _ => None,
        }
    }

    /// Goes as far as it can now.
    pub(super) fn turn(&mut self, conn: Conn, out: &mut Vec<Arrival>) {
        loop {
            let before = self.stage;
            if let Err(why) = self.go_on(conn, out) {
                self.stage = Stage::Over;
                out.push(Arrival::Broken(conn, why));
            }
            if self.stage == before {
                return;
            }
        }
    }

    fn go_on(&mut self, conn: Conn, out: &mut Vec<Arrival>) -> Result<(), String> {
        match self.stage {
            Stage::Idle => match self.further() {
                Ok(true) => {
                    self.stage = Stage::Unread;
                    out.push(Arrival::Connected(conn));
                }
                Ok(false) => {}
                // Nothing was asked, so nothing is broken.
                Err(_) => self.stage = Stage::Over,
            },
            Stage::Reading => {
                if let Some(request) = self.request()? {
                    self.stage = Stage::Asked;
                    self.method.clone_from(&request.method);
                    out.push(Arrival::Request(conn, request));
                }
            }
            Stage::Sending { end, withhold } => {
                let upto = self.unsent.len().saturating_sub(usize::from(withhold));
                if self.flush(upto).map_err(lost)? {
                    if withhold {
                        self.stage = Stage::Withheld { end };
                        out.push(Arrival::LastByte(conn));
                    } else {
                        self.end(end);
                        out.push(Arrival::Answered(conn));
                    }
                }
            }
            Stage::Dripping { next } if Instant::now() >= next => {
                self.flush(self.sent + 1).map_err(lost)?;
                self.stage = Stage::Dripping { next: Instant::now() + DRIP };
            }
            Stage::Leaving => self.drain(),
            Stage::Dripping { .. } | Stage::Unread | Stage::Asked => {}
            Stage::Withheld { .. } | Stage::Hanging | Stage::Over => {}
        }
        Ok(())
    }

    /// Whether a further request has begun on a connection that stayed.
    ///
    /// # Errors
    /// When it has ended instead.
    fn further(&self) -> io::Result<bool> {
        match self.stream.peek(&mut [0]) {
            _ if self.reader.has_more() => Ok(true),
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(true),
            Err(error) if is_nothing_yet(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn request(&mut self) -> Result<Option<Request>, String> {
        let (mut chunk, mut left) = ([0; 16 << 10], TURN);
        loop {
            if let Some(request) = self.reader.next().map_err(|error| error.to_string())? {
                return Ok(Some(request));
            }
            if self.reader.waits_for_word() {
                self.queue(b"HTTP/1.1 100 Continue\r\n\r\n");
            }
            self.flush(self.unsent.len()).map_err(lost)?;
            if left == 0 {
                return Ok(None);
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(format!("it was closed: {}", self.reader.lacks())),
                Ok(read) => {
                    self.reader.feed(&chunk[..read]);
                    left = left.saturating_sub(read);
                }
                Err(error) if is_nothing_yet(&error) => return Ok(None),
                Err(error) => return Err(lost(error)),
            }
        }
    }

    fn queue(&mut self, bytes: &[u8]) {
        self.unsent.drain(..self.sent);
        self.sent = 0;
        self.unsent.extend_from_slice(bytes);
    }

    /// Sends what is queued up to this place; whether it has gone.
    fn flush(&mut self, upto: usize) -> io::Result<bool> {
        while self.sent < upto {
            match self.stream.write(&self.unsent[self.sent..upto]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => self.sent += sent,
                Err(error) if is_nothing_yet(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn end(&mut self, end: End) {
        match end {
            End::Stay => self.stage = Stage::Idle,
            End::Reset => self.reset(),
            End::Close => {
                // Closed at once, with bytes unread, the caller might get a reset instead of the last bytes. If it
                // has left already, there is nobody to close it to.
                let _ = self.stream.shutdown(Shutdown::Write);
                self.stage = Stage::Leaving;
            }
        }
    }

    fn drain(&mut self) {
        let mut chunk = [0; 16 << 10];
        for _ in 0..TURN / chunk.len() {
            match self.stream.read(&mut chunk) {
                Ok(read) if read > 0 => {}
                Err(error) if is_nothing_yet(&error) => return,
                _ => {
                    self.stage = Stage::Over;
                    return;
                }
            }
        }
    }
}

/// More than anybody waits for at its pace.
fn endless() -> Answer {
    Answer { status: 200, headers: Vec::new(), body: vec![b' '; 1 << 20] }
}

fn lost(error: io::Error) -> String {
    format!("it was lost: {error}")
}

/// Whether a socket only has nothing to give or take at the moment.
pub(super) fn is_nothing_yet(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
