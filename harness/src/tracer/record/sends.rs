//! What goes out of a program: into the pipes that the harness made, told by inode and never by descriptor, and into
//! sockets. A send is logged when it begins, for from then on the outside may have the bytes, and again at its return.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::os::unix::net::{SocketAddr, UnixStream};

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::{Expected, Record};
use crate::disk::log::{Bytes, What};
use crate::tracer::calls::Data;
use crate::tracer::store::{Key, LARGEST};
use crate::tracer::sys::Tid;
use crate::tracer::thread;

/// Which pipe or socket is which: standard output is 1, standard error is 2, a socket is the port of its peer, and a
/// named one without a port is 0. Pipes and pairs of sockets within the program are none.
#[derive(Debug)]
pub(super) struct Channels {
    known: HashMap<Key, Option<u32>>,
}

impl Channels {
    /// Those that this process was given.
    pub(super) fn of_this_process() -> io::Result<Channels> {
        let mut known = HashMap::new();
        for fd in [2, 1] {
            let metadata = fs::metadata(format!("/proc/self/fd/{fd}"))?;
            if metadata.file_type().is_fifo() || metadata.file_type().is_socket() {
                known.insert(Key::of(&metadata), Some(fd));
            }
        }
        Ok(Channels { known })
    }

    fn of(&mut self, tid: Tid, fd: i32, metadata: &Metadata) -> io::Result<Option<u32>> {
        let key = Key::of(metadata);
        if let Some(channel) = self.known.get(&key) {
            return Ok(*channel);
        }
        if !metadata.file_type().is_socket() {
            return Ok(None);
        }
        let channel = peer(tid, fd)?;
        self.known.insert(key, channel);
        Ok(channel)
    }
}

/// The port of a socket's peer.
fn peer(tid: Tid, fd: i32) -> io::Result<Option<u32>> {
    let process = Pid::from_raw(thread::process(tid)?).ok_or(io::ErrorKind::NotFound)?;
    let process = pidfd_open(process, PidfdFlags::empty())?;
    let socket: OwnedFd = pidfd_getfd(&process, fd, PidfdGetfdFlags::empty())?;
    let (stream, pair) = (TcpStream::from(socket.try_clone()?), UnixStream::from(socket));
    if let Ok(peer) = stream.peer_addr() {
        return Ok(Some(u32::from(peer.port())));
    }
    if stream.local_addr().is_ok() {
        return Ok(Some(0));
    }
    // The unnamed ones are pairs: the program talks to itself. Whatever is no unix socket either talks to the kernel.
    let unnamed = |address: SocketAddr| address.is_unnamed();
    let own = pair.peer_addr().is_ok_and(unnamed) && pair.local_addr().is_ok_and(unnamed);
    Ok((pair.local_addr().is_ok() && !own).then_some(0))
}

impl Record {
    /// A write to something that is no file of the store.
    pub(super) fn send(&mut self, tid: Tid, name: &'static str, fd: i32, data: Data) -> io::Result<Option<Expected>> {
        let Some(metadata) = thread::behind(tid, fd)? else { return Ok(None) };
        let Some(channel) = self.channels.of(tid, fd, &metadata)? else { return Ok(None) };
        let bytes = Bytes::from(given(tid, data)?);
        self.log(tid, name, What::Send { channel, bytes });
        let messages = if let Data::Messages(address, _) = data { Some(address) } else { None };
        Ok(Some(Expected::Sent { channel, messages }))
    }

    pub(super) fn sent(
        &mut self,
        tid: Tid,
        name: &'static str,
        channel: u32,
        messages: Option<u64>,
        result: i64,
    ) -> io::Result<()> {
        let result = result.max(0) as u64;
        let taken = match messages {
            None => result,
            // Of several messages it returns how many went, and beside each stands how much of it.
            Some(address) => (0..result).map(|index| message_taken(tid, address, index)).sum::<io::Result<u64>>()?,
        };
        self.log(tid, name, What::Sent { channel, taken });
        Ok(())
    }
}

fn message_taken(tid: Tid, address: u64, index: u64) -> io::Result<u64> {
    thread::word(tid, address + 64 * index + 56).map(|word| word & u64::from(u32::MAX))
}

/// All that a call was given to send. What is in a pipe cannot be seen, and is none.
fn given(tid: Tid, data: Data) -> io::Result<Vec<u8>> {
    let most = LARGEST as usize;
    match data {
        Data::Buffer(address, length) => thread::prefix(tid, address, (length as usize).min(most)),
        Data::Vectors(address, count) => thread::vectors(tid, address, count, most),
        Data::Messages(address, count) => {
            let mut bytes = Vec::new();
            for header in (0..count.min(1024)).map(|index| address + 64 * index) {
                let (vectors, count) = (thread::word(tid, header + 16)?, thread::word(tid, header + 24)?);
                bytes.extend(thread::vectors(tid, vectors, count, most - bytes.len())?);
            }
            Ok(bytes)
        }
        Data::File(fd, offset, length) => {
            let Some(metadata) = thread::behind(tid, fd)?.filter(Metadata::is_file) else { return Ok(Vec::new()) };
            let offset = offset.map_or_else(|| thread::description(tid, fd).map(|it| it.position), Ok)?;
            let mut bytes = vec![0; metadata.len().saturating_sub(offset).min(length).min(LARGEST) as usize];
            File::open(thread::descriptor(tid, fd))?.read_exact_at(&mut bytes, offset)?;
            Ok(bytes)
        }
        Data::Pipe => Ok(Vec::new()),
    }
}
