//! The time that a receive from a socket may take, as the socket itself was told. It is kept here, and whoever is seen
//! asleep in a receive waits until it is over.

use std::collections::HashMap;
use std::io;

use super::asleep::{self, Look};
use super::borrowed::{borrow, socket_number};
use super::calls::{Time, socket_limit};
use super::receive_limit;
use super::waits::Waits;
use crate::tracer::sys::{Entry, Tid};
use crate::tracer::thread;

/// `SO_RCVTIMEO` with 64-bit times.
const NEW_RECEIVE_LIMIT: i32 = 66;

/// The calls that receive. Each has the socket as its first argument.
const RECEIVES: [i64; 7] = [
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
];

/// The limits, by the system's numbers of their sockets.
#[derive(Debug, Default)]
pub(super) struct Receives {
    limits: HashMap<u64, i64>,
    /// Who was seen asleep in a receive, and how often it had been put to sleep by then.
    seen: HashMap<Tid, u64>,
}

impl Receives {
    /// Answers a call that says how long a receive may take, if it is one.
    pub(super) fn answer(&mut self, tid: Tid, entry: &Entry) -> io::Result<Option<i64>> {
        let [fd, level, option, address, length, _] = entry.args;
        let ours = entry.number as i64 == libc::SYS_setsockopt
            && level as i32 == libc::SOL_SOCKET
            && matches!(option as i32, libc::SO_RCVTIMEO | NEW_RECEIVE_LIMIT)
            && length as i32 >= 16;
        if !ours {
            return Ok(None);
        }
        let copy = borrow(thread::process(tid)?, fd as i32)?;
        let Some(number) = socket_number(&copy)? else { return Ok(None) };
        match socket_limit(tid, address)? {
            Some(limit) => self.limits.insert(number, limit),
            None => self.limits.remove(&number),
        };
        Ok(Some(0))
    }

    /// Finds who waits in a receive, now that all are asleep, and forgets who does not any more.
    pub(super) fn look(&mut self, looks: &[Look], waits: &mut Waits, time: &Time, stood: i64) {
        for tid in waits.found_ones() {
            let same = looks.iter().any(|look| look.tid == tid && self.seen.get(&tid) == Some(&look.switches));
            if !same {
                waits.forget(tid);
            }
        }
        if self.limits.is_empty() {
            return;
        }
        for look in looks.iter().filter(|look| !waits.has(look.tid)).cloned().collect::<Vec<_>>() {
            let Some(fd) = receive(look.tid) else { continue };
            let copy = borrow(look.process, fd).and_then(|copy| socket_number(&copy));
            if let Ok(Some(number)) = copy
                && let Some(limit) = self.limits.get(&number)
            {
                self.seen.insert(look.tid, look.switches);
                waits.found(look.tid, receive_limit(time.after(*limit), fd), (time.now(), stood));
            }
        }
    }
}

/// The descriptor from which a thread that sleeps receives, if it does.
pub(super) fn receive(tid: Tid) -> Option<i32> {
    asleep::call(tid).filter(|(number, _)| RECEIVES.contains(number)).map(|(_, fd)| fd as i32)
}
