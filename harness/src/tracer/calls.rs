//! What a trapped call means, read from its number and arguments, before anybody asks which file it is about.

use std::io;

use super::filter::{ARCH, name};
use super::sys::{Entry, Tid};
use super::thread;
use crate::disk::log::Level;

/// A path as an argument: the folder it is looked up from, and where its text lies in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathAt(pub(super) i32, pub(super) u64);

/// Which file a call is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Fd(i32),
    Path(PathAt),
}

/// Where a write begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Offset {
    /// At the position of the descriptor.
    Position,
    /// At this byte, unless the file is open for appending.
    At(u64),
    /// At its end.
    End,
}

/// Where the bytes are that a call sends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Data {
    Buffer(u64, u64),
    Vectors(u64, u64),
    /// Several messages, each with vectors.
    Messages(u64, u64),
    /// In another file, from this byte on or from its position on.
    File(i32, Option<u64>, u64),
    /// In a pipe, where nobody can look without taking them out.
    Pipe,
}

/// What a call is about to do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    /// Write to a file, a pipe or a socket.
    Write { fd: i32, offset: Offset, data: Data, synced: Option<Level> },
    /// Set the size of a file.
    Resize { target: Target, size: u64 },
    /// Change a file in a way that only shows by reading it again.
    Change { fd: i32 },
    /// Sync one file or folder.
    Sync { fd: i32, level: Level },
    /// Sync the file system of a descriptor, or all of them.
    SyncAll { fd: Option<i32> },
    /// Open a file, and perhaps make it or cut it.
    Open { path: PathAt, flags: i32 },
    /// Make a folder, a node or a symbolic link.
    Make { path: PathAt },
    /// Give something a further name.
    Link { path: PathAt },
    /// Remove a name.
    Remove { path: PathAt },
    /// Move a name.
    Rename { from: PathAt, to: PathAt, flags: u32 },
    /// Map a file so that others see what is written.
    Map { fd: i32, writable: bool },
    /// Make mapped memory writable.
    Protect,
    /// Something that cannot be followed, and what it is called.
    Unfollowed(&'static str),
}

/// A call with its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    pub(super) name: &'static str,
    pub(super) call: Call,
}

/// Reads what a call is about to do; nothing if it is none.
///
/// # Errors
/// The memory that its arguments point to could not be read.
pub(super) fn read(tid: Tid, entry: &Entry) -> io::Result<Option<Named>> {
    if entry.number as u32 == u32::MAX {
        return Ok(None);
    }
    if entry.arch != ARCH {
        return Ok(Some(Named { name: "call", call: Call::Unfollowed("a 32-bit call") }));
    }
    let Some(name) = name(entry.number) else {
        return Ok(Some(Named { name: "call", call: Call::Unfollowed("an x32 call") }));
    };
    Ok(Some(Named { name, call: meaning(tid, entry)? }))
}

fn meaning(tid: Tid, entry: &Entry) -> io::Result<Call> {
    let [a, b, c, d, e, f] = entry.args;
    let fd = |argument: u64| argument as i32;
    let here = |path| PathAt(libc::AT_FDCWD, path);
    let plain = |data, offset| Call::Write { fd: fd(a), offset, data, synced: None };
    // Through a pointer, the offset is there before the call and moved on after it.
    let pointed = |pointer| match pointer {
        0 => Ok(None),
        pointer => thread::word(tid, pointer).map(Some),
    };
    let from = |pointer| pointed(pointer).map(|offset| offset.map_or(Offset::Position, Offset::At));
    let full = |fd| Call::Sync { fd, level: Level::Full };
    Ok(match entry.number as i64 {
        libc::SYS_write | libc::SYS_sendto => plain(Data::Buffer(b, c), Offset::Position),
        libc::SYS_pwrite64 => plain(Data::Buffer(b, c), Offset::At(d)),
        libc::SYS_writev => plain(Data::Vectors(b, c), Offset::Position),
        libc::SYS_pwritev => plain(Data::Vectors(b, c), Offset::At(d)),
        libc::SYS_pwritev2 => {
            let flag = |flag: i32| f & flag as u64 != 0;
            let at = if d as i64 == -1 { Offset::Position } else { Offset::At(d) };
            let offset = if flag(libc::RWF_APPEND) { Offset::End } else { at };
            let data = flag(libc::RWF_DSYNC).then_some(Level::Data);
            let synced = if flag(libc::RWF_SYNC) { Some(Level::Full) } else { data };
            Call::Write { fd: fd(a), offset, data: Data::Vectors(b, c), synced }
        }
        libc::SYS_sendmsg => {
            plain(Data::Vectors(thread::word(tid, b + 16)?, thread::word(tid, b + 24)?), Offset::Position)
        }
        libc::SYS_sendmmsg => plain(Data::Messages(b, c), Offset::Position),
        libc::SYS_sendfile => plain(Data::File(fd(b), pointed(c)?, d), Offset::Position),
        libc::SYS_copy_file_range => {
            Call::Write { fd: fd(c), offset: from(d)?, data: Data::File(fd(a), pointed(b)?, e), synced: None }
        }
        libc::SYS_splice => Call::Write { fd: fd(c), offset: from(d)?, data: Data::Pipe, synced: None },
        libc::SYS_vmsplice => plain(Data::Vectors(b, c), Offset::Position),
        libc::SYS_tee => Call::Write { fd: fd(b), offset: Offset::Position, data: Data::Pipe, synced: None },
        libc::SYS_ftruncate => Call::Resize { target: Target::Fd(fd(a)), size: b },
        libc::SYS_truncate => Call::Resize { target: Target::Path(here(a)), size: b },
        libc::SYS_fallocate | libc::SYS_ioctl => Call::Change { fd: fd(a) },
        libc::SYS_fdatasync => Call::Sync { fd: fd(a), level: Level::Data },
        libc::SYS_fsync => full(fd(a)),
        libc::SYS_sync => Call::SyncAll { fd: None },
        libc::SYS_syncfs => Call::SyncAll { fd: Some(fd(a)) },
        libc::SYS_open => Call::Open { path: here(a), flags: fd(b) },
        libc::SYS_creat => Call::Open { path: here(a), flags: libc::O_CREAT | libc::O_TRUNC | libc::O_WRONLY },
        libc::SYS_openat => Call::Open { path: PathAt(fd(a), b), flags: fd(c) },
        libc::SYS_openat2 => Call::Open { path: PathAt(fd(a), b), flags: thread::word(tid, c)? as i32 },
        libc::SYS_mkdir | libc::SYS_mknod => Call::Make { path: here(a) },
        libc::SYS_mkdirat | libc::SYS_mknodat => Call::Make { path: PathAt(fd(a), b) },
        libc::SYS_symlink => Call::Make { path: here(b) },
        libc::SYS_symlinkat => Call::Make { path: PathAt(fd(b), c) },
        libc::SYS_link => Call::Link { path: here(b) },
        libc::SYS_linkat => Call::Link { path: PathAt(fd(c), d) },
        libc::SYS_unlink | libc::SYS_rmdir => Call::Remove { path: here(a) },
        libc::SYS_unlinkat => Call::Remove { path: PathAt(fd(a), b) },
        libc::SYS_rename => Call::Rename { from: here(a), to: here(b), flags: 0 },
        libc::SYS_renameat => Call::Rename { from: PathAt(fd(a), b), to: PathAt(fd(c), d), flags: 0 },
        libc::SYS_renameat2 => Call::Rename { from: PathAt(fd(a), b), to: PathAt(fd(c), d), flags: e as u32 },
        libc::SYS_mmap => Call::Map { fd: fd(e), writable: c & libc::PROT_WRITE as u64 != 0 },
        libc::SYS_mprotect | libc::SYS_pkey_mprotect => Call::Protect,
        libc::SYS_io_uring_setup => Call::Unfollowed("io_uring"),
        libc::SYS_io_submit => Call::Unfollowed("asynchronous writes (io_submit)"),
        _ => Call::Unfollowed("a call that is trapped without a meaning"),
    })
}
