//! What a recorded run did to its store, as a log: the one thing that a tracer writes and crash images are made from.
//!
//! A store is inodes and names: a file is an inode with bytes, a folder an inode with entries, name → inode. The log
//! speaks of inodes only, so descriptors, paths, forks and hard links need no special case. Its order is the order of
//! effects: whoever writes it keeps at most one call on the store in flight.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use super::tree::Tree;

/// One recorded run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The store as it was before the first operation. All of it counts as durable.
    pub start: Tree,
    /// What was done, in the order of the effects.
    pub ops: Vec<Op>,
}

/// What a stored recording begins with: another version of it begins otherwise.
const HEAD: &[u8] = b"nack recording 1\n";

/// Bytes that are no recording, or one of another version.
#[derive(Debug, Error)]
#[error("no recording that this nack can read{}", .0.as_ref().map_or_else(String::new, |why| format!(": {why}")))]
pub struct NoRecording(Option<postcard::Error>);

impl Recording {
    /// The same run as it would have been without any sync: what must turn red if syncs matter.
    #[must_use]
    pub fn without_syncs(mut self) -> Recording {
        self.ops.retain(|op| !matches!(op.what, What::Sync { .. } | What::SyncAll));
        for op in &mut self.ops {
            if let What::Write { synced, .. } = &mut op.what {
                *synced = None;
            }
        }
        self
    }

    /// The recording as it is stored, and sent from one process to another.
    ///
    /// # Panics
    /// Never: there is nothing in a recording that cannot be stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_extend(self, HEAD.to_vec()).expect("lists, numbers and bytes only")
    }

    /// Reads a stored recording.
    ///
    /// # Errors
    /// The bytes are something else, or cut short.
    pub fn from_bytes(bytes: &[u8]) -> Result<Recording, NoRecording> {
        let body = bytes.strip_prefix(HEAD).ok_or(NoRecording(None))?;
        postcard::from_bytes(body).map_err(|why| NoRecording(Some(why)))
    }
}

/// One operation. As a rule it is one call; a call that failed and changed nothing is none, except a failed sync.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Op {
    /// Which process did it: small numbers in the order in which they were met, the first is 0.
    pub actor: u32,
    /// The call by the system's own name, such as `pwrite64`: for people, and to name a point.
    pub call: Cow<'static, str>,
    /// What it did.
    pub what: What,
}

/// What an operation did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// A new inode, and its first name unless it has none (`O_TMPFILE`).
    New {
        /// Its id, never used before in this log.
        inode: Inode,
        /// What it is.
        kind: Kind,
        /// Its first name.
        at: Option<Place>,
    },
    /// An inode that comes into the store from outside, by a rename or a link, with the bytes that it has there;
    /// nothing of it counts as durable. It may replace what had the name. A folder is adopted before its content.
    Adopt {
        /// Its id, never used before in this log.
        inode: Inode,
        /// What it is.
        kind: Kind,
        /// Its bytes, if it is a file.
        bytes: Bytes,
        /// Its name in the store.
        at: Place,
    },
    /// Bytes of a file were written, as many as the call returned. The file grows if they end behind its end.
    Write {
        /// The file.
        inode: Inode,
        /// Where they begin, in bytes.
        offset: u64,
        /// What was written.
        bytes: Bytes,
        /// Whether the call itself waited for the disk (`O_DSYNC`: data, `O_SYNC`: full). It covers its own bytes only.
        synced: Option<Level>,
    },
    /// The size of a file was set: cut off, or grown by zeros.
    Size {
        /// The file.
        inode: Inode,
        /// The new size, in bytes.
        size: u64,
    },
    /// A call that nobody models changed a file: the difference, found by reading the file again.
    Patch {
        /// The file.
        inode: Inode,
        /// Its size now, in bytes.
        size: u64,
        /// The bytes that differ from before, by where they begin.
        runs: Vec<(u64, Bytes)>,
    },
    /// One more name for an inode that the store has.
    Link {
        /// The inode.
        inode: Inode,
        /// The new name.
        at: Place,
    },
    /// A name was removed: a file's, an empty folder's, or that of something moved out of the store.
    Unlink {
        /// The name.
        at: Place,
    },
    /// A name was moved, and replaced the one that was there.
    Rename {
        /// The old name.
        from: Place,
        /// The new name.
        to: Place,
    },
    /// Two names changed places.
    Exchange {
        /// One name.
        a: Place,
        /// The other.
        b: Place,
    },
    /// A sync of one file or folder returned.
    Sync {
        /// The file or folder.
        inode: Inode,
        /// `fdatasync`: data, `fsync`: full.
        level: Level,
        /// Whether it returned success. Only then does it protect anything.
        ok: bool,
    },
    /// A sync of the whole file system returned success.
    SyncAll,
    /// An open file was closed. It matters only for a file cut to nothing before (ext4 then writes it out); without it
    /// the model leaves more images possible, never fewer.
    Close {
        /// The file.
        inode: Inode,
    },
    /// Bytes go out of the program. From here on the outside may have them.
    Send {
        /// Which of the harness's pipes or sockets.
        channel: u32,
        /// All that the call was given.
        bytes: Bytes,
    },
    /// The call that sent returned.
    Sent {
        /// Which of the harness's pipes or sockets.
        channel: u32,
        /// How many bytes it took.
        taken: u64,
    },
    /// The harness did or saw something that matters to the judge (a step begun, a reply received).
    Mark {
        /// The harness's own number for it.
        number: u32,
    },
}

impl What {
    /// The call in one of few words, the same on every system: `open`, `write`, `truncate`, `link`, `unlink`,
    /// `rename`, `sync`, `close`, `send`, `mark`.
    pub fn word(&self) -> &'static str {
        match self {
            What::New { .. } => "open",
            What::Write { .. } | What::Patch { .. } => "write",
            What::Size { .. } => "truncate",
            What::Link { .. } | What::Adopt { .. } => "link",
            What::Unlink { .. } => "unlink",
            What::Rename { .. } | What::Exchange { .. } => "rename",
            What::Sync { .. } | What::SyncAll => "sync",
            What::Close { .. } => "close",
            What::Send { .. } | What::Sent { .. } => "send",
            What::Mark { .. } => "mark",
        }
    }

    /// Whether the outside knows more after it: a judge must tell before from after.
    pub fn is_seen(&self) -> bool {
        matches!(self, What::Send { .. } | What::Sent { .. } | What::Mark { .. })
    }
}

/// How much a sync covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Level {
    /// The bytes, and of the rest what is needed to read them.
    Data,
    /// Everything of the inode.
    Full,
}

/// An inode, by an id given once: a number that the system uses again is another inode here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Inode(pub u32);

impl Inode {
    /// The store's own folder.
    pub const ROOT: Inode = Inode(0);
}

/// What an inode is. Sockets and pipes in a store's folder hold nothing and are left out everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, and where it points.
    Symlink(OsString),
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The folder.
    pub folder: Inode,
    /// The name in it, without any separator.
    pub name: OsString,
}

impl Place {
    /// A name in a folder.
    pub fn new(folder: Inode, name: impl Into<OsString>) -> Place {
        Place { folder, name: name.into() }
    }
}

/// Whether a name is left out of logs, images and comparisons: SQLite's index of a write-ahead log is written through
/// shared memory, where no call shows it, and is made anew from the log when it is missing.
pub fn is_left_out(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b"-shm")
}

/// Bytes that are shared, not copied, between a log and the images made from it.
#[derive(Clone, PartialEq, Eq)]
pub struct Bytes(Arc<[u8]>);

impl Bytes {
    /// No bytes.
    pub fn none() -> Bytes {
        Bytes(Arc::from([]))
    }
}

impl<T: Into<Arc<[u8]>>> From<T> for Bytes {
    fn from(bytes: T) -> Bytes {
        Bytes(bytes.into())
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(32)];
        write!(formatter, "{} bytes \"{}\"", self.0.len(), shown.escape_ascii())
    }
}

// As a run of bytes rather than a list of numbers, which compact formats copy at once.
impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        struct Run;
        impl Visitor<'_> for Run {
            type Value = Bytes;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("bytes")
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes::from(bytes))
            }
        }
        deserializer.deserialize_bytes(Run)
    }
}
