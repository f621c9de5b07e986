//! What is owed from outside: while an answer may still be on its way, a limit must not be over for it. A connection owes
//! one when bytes were sent since it last received any, or when somebody waits to read from it; of other sockets nobody
//! can tell.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use super::asleep::Look;
use super::borrowed::{self, borrow};
use super::receives::receive;
use super::waits::Waits;
use crate::tracer::sys::{Entry, Tid};
use crate::tracer::thread;

/// States of a TCP connection in which something can still come.
const OPEN: [u8; 4] = [1, 2, 4, 5];
/// The state in which it is not yet one.
const CONNECTING: u8 = 2;
/// How long nothing must have come before an answer that has begun counts as whole.
const SETTLES: Duration = Duration::from_millis(20);

/// A socket that leads outside.
#[derive(Debug)]
struct Peer {
    process: Tid,
    fd: i32,
    /// The bytes that had come in when something was last sent.
    sent_at: Option<u64>,
    /// The bytes that had come in when it was last looked at, and since when.
    seen: (u64, Instant),
}

/// The sockets that lead outside, by the system's numbers for them.
#[derive(Debug, Default)]
pub(super) struct Peers(HashMap<u64, Peer>);

impl Peers {
    /// A call at its entry that may connect or send.
    pub(super) fn note(&mut self, tid: Tid, entry: &Entry) {
        let fd = entry.args[0] as i32;
        // A message may say where it goes.
        let connects = match entry.number as i64 {
            libc::SYS_connect => true,
            libc::SYS_sendto => entry.args[4] != 0,
            libc::SYS_sendmsg => thread::word(tid, entry.args[1]).is_ok_and(|name| name != 0),
            libc::SYS_sendmmsg => true,
            libc::SYS_write | libc::SYS_writev => false,
            _ => return,
        };
        if !connects && self.0.is_empty() {
            return;
        }
        // What cannot be looked at is no socket, or one that the call itself will refuse.
        let Some(process) = thread::process(tid).ok() else { return };
        let Ok(copy) = borrow(process, fd) else { return };
        let Ok(Some(number)) = borrowed::socket_number(&copy) else { return };
        let received = borrowed::tcp(&copy).map_or(0, |tcp| tcp.received);
        if connects {
            let peer = || Peer { process, fd, sent_at: None, seen: (received, Instant::now()) };
            self.0.entry(number).or_insert_with(peer);
        }
        if let Some(peer) = self.0.get_mut(&number)
            && entry.number as i64 != libc::SYS_connect
        {
            peer.sent_at = Some(received);
        }
    }

    /// Whether something may still come from outside, now that all are asleep. Forgets what is closed.
    pub(super) fn owe(&mut self, looks: &[Look], waits: &Waits) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let mut reads = waits.reads(looks);
        reads.extend(looks.iter().filter_map(|look| Some((look.process, receive(look.tid)?))));
        let mut owed = false;
        self.0.retain(|number, peer| {
            let Ok(copy) = borrow(peer.process, peer.fd) else { return false };
            if !matches!(borrowed::socket_number(&copy), Ok(Some(same)) if same == *number) {
                return false;
            }
            owed |= owes(peer, &copy, reads.contains(&(peer.process, peer.fd)));
            true
        });
        owed
    }
}

fn owes(peer: &mut Peer, copy: &OwnedFd, waited: bool) -> bool {
    match borrowed::kind(copy) {
        // The kernel itself answers at once.
        Ok((libc::AF_NETLINK, _)) => false,
        Ok((_, libc::IPPROTO_TCP)) => {
            let Ok(tcp) = borrowed::tcp(copy) else { return true };
            if tcp.received != peer.seen.0 {
                peer.seen = (tcp.received, Instant::now());
            }
            let settles = peer.sent_at.is_some() && peer.seen.1.elapsed() < SETTLES;
            OPEN.contains(&tcp.state)
                && (waited || tcp.state == CONNECTING || peer.sent_at == Some(tcp.received) || settles)
        }
        _ => peer.sent_at.is_some(),
    }
}
