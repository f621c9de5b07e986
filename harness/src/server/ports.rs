//! Ports: one to give to a server, and whose a listening one is. Linux tells that without a connection, which a
//! server would see; elsewhere a port is taken to be its own once it can be connected to.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use rustix::process::Pid;

/// The ports that are given away. Systems take those of outgoing connections from above.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;
/// Runs that begin one after another begin far apart.
const APART: u32 = 7919;

/// How long a connection to this machine may take.
const CONNECTED_WITHIN: Duration = Duration::from_millis(100);

/// A port that is free for a server, and that no other nack gives away while this lives.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) number: u16,
    /// The same number of another protocol. Held as TCP, it could not be listened on.
    _held: UdpSocket,
}

impl Port {
    pub(super) fn free() -> Option<Port> {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let begin = std::process::id().wrapping_mul(APART) % u32::from(COUNT);
        (0..COUNT).find_map(|_| {
            let nth = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
            let number = FIRST + ((begin + nth) % u32::from(COUNT)) as u16;
            let held = UdpSocket::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
            TcpListener::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
            Some(Port { number, _held: held })
        })
    }
}

/// Who listens on a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// Nobody.
    Shut,
    /// One of the family; it is reached here.
    Ours(SocketAddr),
    /// Only a process outside the family.
    Theirs,
}

/// Who listens on this port: one of these processes, or another.
pub(super) fn door(port: u16, family: &[Pid]) -> Door {
    let Some(sockets) = sockets() else { return unseen(port) };
    let listening: Vec<_> =
        sockets.into_iter().filter(|socket| socket.listens && socket.local.port() == port).collect();
    if listening.is_empty() {
        return Door::Shut;
    }
    let held = held(family);
    let ours = listening.iter().find(|socket| held.contains(&socket.inode));
    ours.map_or(Door::Theirs, |socket| Door::Ours(reached(socket.local)))
}

fn unseen(port: u16) -> Door {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match TcpStream::connect_timeout(&address, CONNECTED_WITHIN) {
        Ok(_) => Door::Ours(address),
        Err(_) => Door::Shut,
    }
}

/// Whether the server has accepted the connection of a client and read everything that came over it. `None`: the
/// system does not tell.
pub(super) fn taken(server: SocketAddr, client: SocketAddr) -> Option<bool> {
    let same = |a: SocketAddr, b: SocketAddr| a.port() == b.port() && a.ip().to_canonical() == b.ip().to_canonical();
    let ends = sockets()?;
    let end = ends.iter().find(|socket| same(socket.local, server) && same(socket.remote, client));
    // A connection that waits to be accepted belongs to no file yet.
    Some(end.is_none_or(|socket| socket.inode != 0 && socket.unread == 0))
}

/// Where something that listens on this address is reached.
fn reached(local: SocketAddr) -> SocketAddr {
    let ip = match local.ip().to_canonical() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, local.port())
}

/// A TCP socket, as Linux lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Socket {
    local: SocketAddr,
    remote: SocketAddr,
    listens: bool,
    unread: u32,
    inode: u64,
}

/// Every TCP socket of this machine, if it tells.
fn sockets() -> Option<Vec<Socket>> {
    let lists: Vec<_> = ["tcp", "tcp6"].iter().filter_map(|list| fs::read(format!("/proc/net/{list}")).ok()).collect();
    if lists.is_empty() {
        return None;
    }
    let texts = lists.iter().map(|list| String::from_utf8_lossy(list));
    Some(texts.flat_map(|text| text.lines().filter_map(socket).collect::<Vec<_>>()).collect())
}

fn socket(line: &str) -> Option<Socket> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (_, unread) = fields.get(4)?.split_once(':')?;
    Some(Socket {
        local: address(fields.get(1)?)?,
        remote: address(fields.get(2)?)?,
        listens: *fields.get(3)? == "0A",
        unread: u32::from_str_radix(unread, 16).ok()?,
        inode: fields.get(9)?.parse().ok()?,
    })
}

/// An address as the kernel prints it: words of 32 bits in the machine's order, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let words =
        (0..ip.len() / 8).map(|i| u32::from_str_radix(ip.get(i * 8..i * 8 + 8)?, 16).ok().map(u32::to_ne_bytes));
    let bytes = words.collect::<Option<Vec<_>>>()?.concat();
    let ip: IpAddr = match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok()?.into(),
        16 => <[u8; 16]>::try_from(bytes).ok()?.into(),
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// The sockets that these processes hold.
fn held(family: &[Pid]) -> Vec<u64> {
    let files = family.iter().filter_map(|pid| fs::read_dir(format!("/proc/{}/fd", pid.as_raw_pid())).ok());
    let links = files.flatten().flatten().filter_map(|file| fs::read_link(file.path()).ok());
    links.filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rstest::rstest;

    use super::*;

    #[test]
    fn a_free_port_is_free_and_given_once() {
        let ports: Vec<Port> = (0..20).filter_map(|_| Port::free()).collect();
        let numbers: HashSet<u16> = ports.iter().map(|port| port.number).collect();
        assert_eq!(numbers.len(), 20);
        for port in ports {
            assert!(TcpListener::bind((Ipv4Addr::UNSPECIFIED, port.number)).is_ok(), "{port:?}");
            assert!(UdpSocket::bind((Ipv4Addr::LOCALHOST, port.number)).is_err(), "another nack would take {port:?}");
        }
    }

    #[cfg(target_endian = "little")]
    #[rstest]
    #[case::any("00000000:1F90", "0.0.0.0:8080", "127.0.0.1:8080")]
    #[case::one("0100007F:1F90", "127.0.0.1:8080", "127.0.0.1:8080")]
    #[case::any6("00000000000000000000000000000000:1F90", "[::]:8080", "[::1]:8080")]
    #[case::one6("00000000000000000000000001000000:1F90", "[::1]:8080", "[::1]:8080")]
    #[case::mapped("0000000000000000FFFF00000100007F:1F90", "[::ffff:127.0.0.1]:8080", "127.0.0.1:8080")]
    fn an_address_is_read_and_reached(#[case] printed: &str, #[case] meant: &str, #[case] at: &str) {
        let read = address(printed).expect("it is one");
        assert_eq!(read.to_string(), meant);
        assert_eq!(reached(read).to_string(), at);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_port_is_ours_theirs_or_shut() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("it has one");
        assert_eq!(door(address.port(), &[rustix::process::getpid()]), Door::Ours(address));
        assert_eq!(door(address.port(), &[]), Door::Theirs);
        drop(listener);
        assert_eq!(door(address.port(), &[rustix::process::getpid()]), Door::Shut);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_request_is_taken_once_it_is_accepted_and_read() {
        use std::io::{Read, Write};
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let server = listener.local_addr().expect("it has one");
        let mut client = TcpStream::connect(server).expect("it listens");
        let own = client.local_addr().expect("it has one");
        assert_eq!(taken(server, own), Some(false), "it waits to be accepted");
        client.write_all(b"hello").expect("it is sent");
        let (mut accepted, _) = listener.accept().expect("it waits");
        assert_eq!(taken(server, own), Some(false), "it is not read");
        accepted.read_exact(&mut [0; 5]).expect("it is there");
        assert_eq!(taken(server, own), Some(true));
    }
}
