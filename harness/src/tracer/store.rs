//! The inodes of a store: which of the system's files are its own, and a handle on each that changes. Files are told by
//! device and inode number, never by path or descriptor. A handle keeps the number from being used again.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::calls::PathAt;
use super::sys::{self, Tid};
use super::thread;
use crate::disk::folder;
use crate::disk::log::{Inode, Kind, Place, is_left_out};
use crate::disk::tree::Tree;

/// The most bytes of one file that are read at once.
pub(super) const LARGEST: u64 = 64 << 20;

/// How the system tells inodes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(u64, u64);

impl Key {
    pub(super) fn of(metadata: &Metadata) -> Key {
        Key(metadata.dev(), metadata.ino())
    }
}

/// The store's inodes.
#[derive(Debug)]
pub(super) struct Store {
    known: HashMap<Key, Inode>,
    handles: HashMap<Inode, File>,
    device: u64,
    next: u32,
}

/// A name in the store, and where it can be reached.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub(super) place: Place,
    pub(super) path: PathBuf,
}

impl Store {
    /// No store at all.
    pub(super) fn none() -> Store {
        Store { known: HashMap::new(), handles: HashMap::new(), device: 0, next: 0 }
    }

    /// The store in a folder, and what is in it.
    pub(super) fn open(folder: &Path) -> io::Result<(Store, Tree)> {
        let mut store = Store::none();
        let tree = folder::read(folder, |inode, metadata| {
            store.known.insert(Key::of(metadata), inode);
            store.next = store.next.max(inode.0 + 1);
        })?;
        store.device = fs::metadata(folder)?.dev();
        Ok((store, tree))
    }

    /// Whether this file system is the store's.
    pub(super) fn is_on(&self, metadata: &Metadata) -> bool {
        metadata.dev() == self.device
    }

    /// The inode, if it is one of the store's.
    pub(super) fn inode(&self, metadata: &Metadata) -> Option<Inode> {
        self.known.get(&Key::of(metadata)).copied()
    }

    /// The inode that a descriptor stands for, if it is one of the store's.
    pub(super) fn behind(&self, tid: Tid, fd: i32) -> io::Result<Option<Inode>> {
        Ok(thread::behind(tid, fd)?.and_then(|metadata| self.inode(&metadata)))
    }

    /// Takes in a new inode.
    pub(super) fn add(&mut self, metadata: &Metadata) -> Inode {
        let inode = Inode(self.next);
        self.next += 1;
        self.known.insert(Key::of(metadata), inode);
        inode
    }

    /// Forgets an inode that left the store, or that nothing can happen to any more.
    pub(super) fn forget(&mut self, metadata: &Metadata) {
        if let Some(inode) = self.known.remove(&Key::of(metadata)) {
            self.handles.remove(&inode);
        }
    }

    /// A name's place, if it is in a folder of the store and not left out.
    pub(super) fn spot(&self, tid: Tid, at: PathAt) -> io::Result<Option<Spot>> {
        let text = thread::string(tid, at.1)?;
        let path = thread::path(tid, at.0, &text);
        self.spot_of(&path)
    }

    /// The same for a path as this process sees it.
    pub(super) fn spot_of(&self, path: &Path) -> io::Result<Option<Spot>> {
        let text = path.as_os_str().as_bytes();
        let end = text.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let start = text[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (folder, name) = (OsStr::from_bytes(&text[..start]), OsStr::from_bytes(&text[start..end]));
        if name == "." || name == ".." || is_left_out(name) {
            return Ok(None);
        }
        let folder = thread::found(fs::metadata(folder))?.and_then(|folder| self.inode(&folder));
        let path = Path::new(OsStr::from_bytes(&text[..end])).to_owned();
        Ok(folder.map(|folder| Spot { place: Place::new(folder, name), path }))
    }

    /// Gets a handle on a file while it can be reached.
    pub(super) fn hold(&mut self, inode: Inode, path: &Path) -> io::Result<&File> {
        Ok(match self.handles.entry(inode) {
            Entry::Occupied(held) => held.into_mut(),
            Entry::Vacant(free) => {
                // Never waiting: for the other end of a pipe, or for somebody's lease.
                let mut options = File::options();
                free.insert(options.read(true).custom_flags(libc::O_NONBLOCK).open(path)?)
            }
        })
    }

    /// Whether nobody has a file open for writing, as far as it can be told.
    pub(super) fn is_closed(&self, inode: Inode) -> bool {
        self.handles.get(&inode).is_some_and(sys::has_no_writer)
    }

    /// A range of a file as it is now. Whoever asks sees to it that nobody changes it meanwhile.
    pub(super) fn read(&mut self, inode: Inode, path: &Path, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        if length > LARGEST {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "more than 64 MB at once"));
        }
        let mut bytes = vec![0; length as usize];
        self.hold(inode, path)?.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// All of a file as it is now.
    pub(super) fn read_all(&mut self, inode: Inode, path: &Path) -> io::Result<Vec<u8>> {
        let size = self.hold(inode, path)?.metadata()?.len();
        self.read(inode, path, 0, size)
    }
}

/// What stands at a path, if it is something that a store holds.
pub(super) fn kind(path: &Path, metadata: &Metadata) -> io::Result<Option<Kind>> {
    let kind = metadata.file_type();
    Ok(if kind.is_file() {
        Some(Kind::File)
    } else if kind.is_dir() {
        Some(Kind::Folder)
    } else if kind.is_symlink() {
        Some(Kind::Symlink(fs::read_link(path)?.into_os_string()))
    } else {
        None
    })
}
