//! The receiver that stands for an effect: what a worker calls, and what its owner makes it answer. It decides
//! nothing: each connection waits, unread, until the owner says that it may be read, and each request waits until
//! the owner says what is played. So a kill or a hold can stand at either place.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags};
use socket2::{Domain, Socket, Type};

use super::connection::Connection;
use super::message::{Answer, Request, Unsendable};

/// How many callers the system lets wait to be accepted.
const BACKLOG: i32 = 128;
/// How many connections are open at a time; more wait to be accepted.
const CONNECTIONS: usize = 512;

/// A connection, by a number that no other connection of its receiver has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Conn(u64);

/// What came to a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Somebody connected, or began a further request on a connection that stayed open. Nothing of it is read before
    /// [`Receiver::read`].
    Connected(Conn),
    /// A request was read whole. It waits for [`Receiver::answer`].
    Request(Conn, Request),
    /// The connection ended, or what came is no HTTP: why. Before its `Request` nothing was delivered; after it the
    /// delivery stands, and only its answer was not taken.
    Broken(Conn, String),
    /// All but the end of a play was done, as was asked. It waits for [`Receiver::finish`].
    LastByte(Conn),
    /// The play was done to its end: every byte was handed to the system, or the connection was cut as played.
    Answered(Conn),
}

/// What is done about one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Play {
    /// What the caller gets.
    pub what: What,
    /// Whether its end (the last byte, and the cut, if one is played) waits for [`Receiver::finish`].
    pub withhold: bool,
}

/// What the caller of a request gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// This answer.
    Answer(Answer),
    /// This answer's head, which promises its whole length, half of its body, and the end of the connection.
    BodyCut(Answer),
    /// No answer: the connection is reset.
    ResetAfter,
    /// No answer: the connection is closed in good order.
    Close,
    /// No answer, on a connection that stays open.
    Hang,
    /// An answer of which a byte comes every 200 ms, and which nobody sees whole.
    Drip,
}

/// A receiver on a port of its own of 127.0.0.1. Dropping it closes the port and every connection.
#[derive(Debug)]
pub struct Receiver {
    /// The socket that has the port, also while nobody can connect.
    port: Option<Socket>,
    open: bool,
    address: SocketAddr,
    connections: BTreeMap<Conn, Connection>,
    next: u64,
}

impl Receiver {
    /// Listens on a free port.
    ///
    /// # Errors
    /// When the system has none.
    pub fn listen() -> io::Result<Receiver> {
        let port = bound(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        port.listen(BACKLOG)?;
        let address = port.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Receiver { port: Some(port), open: true, address, connections: BTreeMap::new(), next: 0 })
    }

    /// Where it listens, as `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Makes connecting fail as it does where nobody listens. Who waits to be accepted is reset; who was accepted
    /// stays.
    ///
    /// # Errors
    /// When the port was lost to somebody else in that moment. Connecting may then reach a stranger.
    pub fn stop_listening(&mut self) -> io::Result<()> {
        if self.open {
            self.open = false;
            // Only a closed socket stops listening for good. A new one has the port at once, and does not listen.
            self.port = None;
            self.port = Some(bound(self.address)?);
        }
        Ok(())
    }

    /// Listens again, on the same port.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn listen_again(&mut self) -> io::Result<()> {
        if !self.open {
            let port = self.port.take().map_or_else(|| bound(self.address), Ok)?;
            port.listen(BACKLOG)?;
            self.port = Some(port);
            self.open = true;
        }
        Ok(())
    }

    /// What to wait on: as soon as one of these is ready, a turn is due.
    #[must_use]
    pub fn fds(&self) -> Vec<PollFd<'_>> {
        let port = self.port.iter().filter(|_| self.accepts()).map(|port| PollFd::new(port, PollFlags::IN));
        let waiting = self.connections.values().filter(|connection| !connection.flags().is_empty());
        port.chain(waiting.map(|connection| PollFd::new(connection.stream(), connection.flags()))).collect()
    }

    /// When a turn is due although nothing is ready: a byte of a drip, or a request that came along with another.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.connections.values().filter_map(Connection::due).min()
    }

    /// Moves what can be moved now, and says what came.
    pub fn turn(&mut self, out: &mut Vec<Arrival>) {
        while self.accepts()
            && let Some(port) = &self.port
        {
            // A caller that is gone again is none. Any other error shows in a caller that waits in vain.
            let Ok((socket, _)) = port.accept() else { break };
            if let Ok(connection) = Connection::new(socket.into()) {
                let conn = Conn(self.next);
                self.next += 1;
                self.connections.insert(conn, connection);
                out.push(Arrival::Connected(conn));
            }
        }
        for (conn, connection) in &mut self.connections {
            connection.turn(*conn, out);
        }
        self.connections.retain(|_, connection| !connection.is_over());
    }

    /// Lets a request be read.
    pub fn read(&mut self, conn: Conn) {
        if let Some(connection) = self.connections.get_mut(&conn) {
            connection.read();
        }
    }

    /// Plays this to the request that waits on a connection; nothing if it is gone, or none waits.
    ///
    /// # Errors
    /// When HTTP cannot carry the answer. The request goes on waiting.
    pub fn answer(&mut self, conn: Conn, play: Play) -> Result<(), Unsendable> {
        self.connections.get_mut(&conn).map_or(Ok(()), |connection| connection.play(play))
    }

    /// Lets the end of a play go that was withheld.
    pub fn finish(&mut self, conn: Conn) {
        if let Some(connection) = self.connections.get_mut(&conn) {
            connection.finish();
        }
    }

    /// Resets a connection, wherever it is: before it was read, in the middle of an answer, or while it hangs.
    pub fn reset(&mut self, conn: Conn) {
        if let Some(mut connection) = self.connections.remove(&conn) {
            connection.reset();
        }
    }

    fn accepts(&self) -> bool {
        self.open && self.connections.len() < CONNECTIONS
    }
}

impl From<What> for Play {
    /// Played to its end without waiting.
    fn from(what: What) -> Play {
        Play { what, withhold: false }
    }
}

impl fmt::Display for Conn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection {}", self.0)
    }
}

/// A socket that has this port and does not listen.
fn bound(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}
