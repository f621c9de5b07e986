//! From trapped calls to the log. What a call is about is found at its entry; what it did is written down at its
//! return, with its result, while no other call on the store is in flight.

mod bytes;
mod names;
mod sends;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Display;
use std::io;
use std::path::Path;

use self::bytes::Before;
use self::names::{Moved, Opened};
use self::sends::Channels;
use super::calls::{self, Call, Named, Offset};
use super::filter;
use super::log_file::{Entry as Logged, Writer};
use super::store::{LARGEST, Spot, Store};
use super::sys::{Entry, Tid};
use super::thread;
use crate::disk::log::{Inode, Level, Op, What};

/// The most bytes of one run that are kept.
const MOST: u64 = 256 << 20;

/// A call between its entry and its return.
#[derive(Debug)]
pub(super) struct Pending {
    name: &'static str,
    expected: Expected,
    /// Whether no other call on the store may run meanwhile. Never one that may wait for somebody else.
    pub(super) alone: bool,
}

/// What a call does if it returns success.
#[derive(Debug)]
enum Expected {
    Write {
        fd: i32,
        inode: Inode,
        offset: Offset,
        synced: Option<Level>,
    },
    Resize {
        inode: Inode,
        size: u64,
    },
    Change(Before),
    Sync {
        inode: Inode,
        level: Level,
    },
    SyncAll,
    Open(Opened),
    Make(Spot),
    Link(Spot),
    Remove {
        spot: Spot,
        last: Option<std::fs::Metadata>,
    },
    Rename(Moved),
    Sent {
        channel: u32,
        /// Where several messages lie, if there are.
        messages: Option<u64>,
    },
    Map {
        fd: i32,
        writable: bool,
    },
    Protect,
    /// It must fail, for its arguments lie in memory that cannot be read.
    Unreadable(io::Error),
}

/// What writes the log.
#[derive(Debug)]
pub(super) struct Record {
    /// Whether there is a store.
    records: bool,
    store: Store,
    channels: Channels,
    writer: Writer,
    actors: HashMap<Tid, u32>,
    met: u32,
    /// How many operations stand in the log.
    pub(super) ops: u64,
    kept: u64,
    said: HashSet<String>,
    /// Files that were cut to nothing and may still be written to, and who cut them.
    cut: BTreeMap<Inode, u32>,
    /// Whether some file of the store is mapped so that it could be made writable.
    mapped: bool,
    /// The log itself could not be written: there is no use in going on.
    pub(super) lost: Option<io::Error>,
}

impl Record {
    /// Starts the log with the store as it is in this folder. Without one, nothing is recorded but what went wrong.
    pub(super) fn start(folder: Option<&Path>, mut writer: Writer) -> io::Result<Record> {
        let mut store = Store::none();
        if let Some(folder) = folder {
            let tree;
            (store, tree) = Store::open(folder)?;
            writer.write(&Logged::Start(tree))?;
        }
        Ok(Record {
            records: folder.is_some(),
            store,
            channels: Channels::of_this_process()?,
            writer,
            actors: HashMap::new(),
            met: 0,
            ops: 0,
            kept: 0,
            said: HashSet::new(),
            cut: BTreeMap::new(),
            mapped: false,
            lost: None,
        })
    }

    /// Writes an entry.
    pub(super) fn write(&mut self, entry: &Logged) {
        if let Err(error) = self.writer.write(entry) {
            self.lost.get_or_insert(error);
        }
    }

    /// Says once that something happened that cannot be followed.
    pub(super) fn unsupported(&mut self, what: String) {
        if self.said.insert(what.clone()) {
            self.write(&Logged::Unsupported(what));
        }
    }

    /// Says once that the recording is not what happened.
    pub(super) fn broken(&mut self, what: &str, error: impl Display) {
        let why = format!("{what}: {error}");
        if self.said.insert(why.clone()) {
            self.write(&Logged::Broken(why));
        }
    }

    /// A process has gone, and its number may be used again.
    pub(super) fn gone(&mut self, tid: Tid) {
        self.actors.remove(&tid);
    }

    fn actor(&mut self, tid: Tid) -> u32 {
        let process = thread::process(tid).unwrap_or(tid);
        *self.actors.entry(process).or_insert_with(|| {
            self.met += 1;
            self.met - 1
        })
    }

    fn log(&mut self, tid: Tid, call: &'static str, what: What) {
        let kept = match &what {
            What::Write { bytes, .. } | What::Adopt { bytes, .. } | What::Send { bytes, .. } => bytes.len() as u64,
            What::Patch { runs, .. } => runs.iter().map(|(_, bytes)| bytes.len() as u64).sum(),
            _ => 0,
        };
        self.kept += kept;
        if self.kept > MOST {
            return self.broken("too large", "a run may write at most 256 MB");
        }
        let actor = self.actor(tid);
        self.write_op(Op { actor, call: call.into(), what });
    }

    fn write_op(&mut self, op: Op) {
        self.write(&Logged::Op(op));
        self.ops += 1;
    }

    /// Whether a call may be one to record: it may change a store, or is of a table where its number means something else.
    pub(super) fn minds(&self, entry: &Entry) -> bool {
        entry.arch != filter::ARCH
            || filter::X32 & entry.number as u32 != 0
            || (self.records && filter::name(entry.number).is_some())
    }

    /// A call at its entry; what to do when it returns, if anything.
    pub(super) fn entry(&mut self, tid: Tid, entry: &Entry) -> Option<Pending> {
        self.closes();
        let name = filter::name(entry.number).unwrap_or("call");
        let found = calls::read(tid, entry).and_then(|named| match named {
            Some(named) => self.expect(tid, named),
            None => Ok(None),
        });
        found.unwrap_or_else(|error| Some(Pending { name, expected: Expected::Unreadable(error), alone: false }))
    }

    fn expect(&mut self, tid: Tid, Named { name, call }: Named) -> io::Result<Option<Pending>> {
        let mut alone = true;
        let expected = match call {
            Call::Write { fd, offset, data, synced } => match self.store.behind(tid, fd)? {
                Some(inode) => {
                    // What comes out of a pipe may have to be written first.
                    alone = !matches!(data, calls::Data::Pipe);
                    Some(Expected::Write { fd, inode, offset, synced })
                }
                None => {
                    alone = false;
                    self.send(tid, name, fd, data)?
                }
            },
            Call::Resize { target, size } => {
                self.target(tid, target)?.map(|(inode, _)| Expected::Resize { inode, size })
            }
            Call::Change { fd } => self.before(tid, fd)?.map(Expected::Change),
            Call::Sync { fd, level } => self.store.behind(tid, fd)?.map(|inode| Expected::Sync { inode, level }),
            Call::SyncAll { fd } => {
                let file = fd.map(|fd| thread::behind(tid, fd)).transpose()?.flatten();
                file.is_none_or(|file| self.store.is_on(&file)).then_some(Expected::SyncAll)
            }
            Call::Open { path, flags } => self.opens(tid, path, flags)?.map(Expected::Open),
            Call::Make { path } => self.store.spot(tid, path)?.map(Expected::Make),
            Call::Link { path } => self.store.spot(tid, path)?.map(Expected::Link),
            Call::Remove { path } => self.removes(tid, path)?,
            Call::Rename { from, to, flags } => self.renames(tid, from, to, flags)?.map(Expected::Rename),
            Call::Map { fd, writable } => {
                alone = false;
                self.store.behind(tid, fd)?.map(|_| Expected::Map { fd, writable })
            }
            Call::Protect => {
                alone = false;
                self.mapped.then_some(Expected::Protect)
            }
            Call::Unfollowed(what) => {
                self.unsupported(what.to_owned());
                None
            }
        };
        Ok(expected.map(|expected| Pending { name, expected, alone }))
    }

    /// A call at its return. An error is a negative result.
    pub(super) fn returned(&mut self, tid: Tid, pending: Pending, result: i64) {
        let name = pending.name;
        if let Err(error) = self.done(tid, pending, result) {
            self.broken(name, error);
        }
    }

    fn done(&mut self, tid: Tid, Pending { name, expected, .. }: Pending, result: i64) -> io::Result<()> {
        match expected {
            Expected::Sync { inode, level } => {
                self.log(tid, name, What::Sync { inode, level, ok: result == 0 });
                return Ok(());
            }
            Expected::Sent { channel, messages } => return self.sent(tid, name, channel, messages, result),
            _ if result < 0 => return Ok(()),
            _ => {}
        }
        match expected {
            Expected::Write { fd, inode, offset, synced } => {
                self.wrote(tid, name, (fd, inode), offset, synced, result as u64)
            }
            Expected::Resize { inode, size } => {
                self.resized(tid, name, inode, size);
                Ok(())
            }
            Expected::Change(before) => self.changed(tid, name, before),
            Expected::SyncAll => {
                self.log(tid, name, What::SyncAll);
                Ok(())
            }
            Expected::Open(opened) => self.opened(tid, name, opened, result as i32),
            Expected::Make(spot) => self.made(tid, name, spot),
            Expected::Link(spot) => self.linked(tid, name, spot),
            Expected::Remove { spot, last } => {
                self.log(tid, name, What::Unlink { at: spot.place });
                last.iter().for_each(|metadata| self.store.forget(metadata));
                Ok(())
            }
            Expected::Rename(moved) => self.moved(tid, name, moved),
            Expected::Map { fd, writable } => self.maps(tid, fd, writable),
            Expected::Protect => self.protects(tid),
            Expected::Unreadable(error) => {
                let why = format!("the memory or the files of the subject cannot be read ({name}: {error})");
                self.unsupported(why);
                Ok(())
            }
            Expected::Sync { .. } | Expected::Sent { .. } => Ok(()),
        }
    }
}

fn too_large(size: u64) -> io::Result<()> {
    if size > LARGEST { Err(io::Error::new(io::ErrorKind::FileTooLarge, "more than 64 MB at once")) } else { Ok(()) }
}
