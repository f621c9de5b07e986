//! Calls that make, move and remove names. A name is a folder's inode and a last component, so no path is ever kept.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{Expected, Record};
use crate::disk::log::{Bytes, Inode, Kind, Place, What};
use crate::tracer::calls::PathAt;
use crate::tracer::store::{Key, Spot, kind};
use crate::tracer::sys::Tid;
use crate::tracer::thread;

/// What an open does if it succeeds.
#[derive(Debug)]
pub(super) enum Opened {
    /// It makes a file, if the name is in the store.
    Made,
    /// It makes a file without a name (`O_TMPFILE`).
    Nameless,
    /// It cuts a file that is there.
    Cut(Inode),
}

/// What a rename is about. A name outside the store is none.
#[derive(Debug)]
pub(super) struct Moved {
    from: Option<Spot>,
    to: Option<Spot>,
    /// Where both are, in the store or not.
    paths: (std::path::PathBuf, std::path::PathBuf),
    /// What had the new name.
    replaced: Option<Metadata>,
    flags: u32,
}

impl Record {
    pub(super) fn opens(&mut self, tid: Tid, at: PathAt, flags: i32) -> io::Result<Option<Opened>> {
        let path = thread::path(tid, at.0, &thread::string(tid, at.1)?);
        if flags & libc::O_TMPFILE == libc::O_TMPFILE {
            let inside = fs::metadata(&path).is_ok_and(|folder| self.store.inode(&folder).is_some());
            return Ok(inside.then_some(Opened::Nameless));
        }
        let stays = flags & libc::O_NOFOLLOW != 0 || flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0;
        let there = if stays { fs::symlink_metadata(&path) } else { fs::metadata(&path) };
        Ok(match thread::found(there)? {
            Some(there) if flags & libc::O_TRUNC != 0 && there.is_file() && there.len() > 0 => {
                self.store.inode(&there).map(Opened::Cut)
            }
            Some(_) => None,
            None => (flags & libc::O_CREAT != 0).then_some(Opened::Made),
        })
    }

    pub(super) fn opened(&mut self, tid: Tid, name: &'static str, opened: Opened, fd: i32) -> io::Result<()> {
        let path = thread::descriptor(tid, fd);
        let what = match opened {
            Opened::Cut(inode) => {
                self.store.hold(inode, &path)?;
                self.resized(tid, name, inode, 0);
                return Ok(());
            }
            Opened::Nameless => {
                let inode = self.store.add(&fs::metadata(&path)?);
                What::New { inode, kind: Kind::File, at: None }
            }
            Opened::Made => {
                // The last component may have been a symbolic link to a name that was not there.
                let Some(Spot { place, .. }) = self.store.spot_of(&fs::read_link(&path)?)? else { return Ok(()) };
                let inode = self.store.add(&fs::metadata(&path)?);
                What::New { inode, kind: Kind::File, at: Some(place) }
            }
        };
        self.log(tid, name, what);
        Ok(())
    }

    pub(super) fn made(&mut self, tid: Tid, name: &'static str, spot: Spot) -> io::Result<()> {
        let metadata = fs::symlink_metadata(&spot.path)?;
        if let Some(kind) = kind(&spot.path, &metadata)? {
            let inode = self.store.add(&metadata);
            self.log(tid, name, What::New { inode, kind, at: Some(spot.place) });
        }
        Ok(())
    }

    pub(super) fn linked(&mut self, tid: Tid, name: &'static str, spot: Spot) -> io::Result<()> {
        match self.store.inode(&fs::symlink_metadata(&spot.path)?) {
            Some(inode) => {
                self.log(tid, name, What::Link { inode, at: spot.place });
                Ok(())
            }
            None => self.adopt(tid, name, &spot.path, spot.place),
        }
    }

    pub(super) fn removes(&mut self, tid: Tid, at: PathAt) -> io::Result<Option<Expected>> {
        let Some(spot) = self.store.spot(tid, at)? else { return Ok(None) };
        let Some(metadata) = thread::found(fs::symlink_metadata(&spot.path))? else { return Ok(None) };
        if self.store.inode(&metadata).is_none() {
            return Ok(None);
        }
        let last = self.last_of(&spot.path, metadata)?;
        Ok(Some(Expected::Remove { spot, last }))
    }

    /// What is about to lose its name. A file that may still be open somewhere stays known, by a handle; nothing can
    /// happen to anything else any more once its last name is gone, and its number may be used again.
    fn last_of(&mut self, path: &Path, metadata: Metadata) -> io::Result<Option<Metadata>> {
        if metadata.is_file() {
            if let Some(inode) = self.store.inode(&metadata) {
                self.store.hold(inode, path)?;
            }
            return Ok(None);
        }
        let last = metadata.is_dir() || metadata.file_type().is_symlink() && metadata.nlink() == 1;
        Ok(last.then_some(metadata))
    }

    pub(super) fn renames(&mut self, tid: Tid, from: PathAt, to: PathAt, flags: u32) -> io::Result<Option<Moved>> {
        let reach = |at: PathAt| Ok::<_, io::Error>(thread::path(tid, at.0, &thread::string(tid, at.1)?));
        let paths = (reach(from)?, reach(to)?);
        let source = thread::found(fs::symlink_metadata(&paths.0))?;
        let known = source.as_ref().is_some_and(|source| self.store.inode(source).is_some());
        let from = self.store.spot_of(&paths.0)?.filter(|_| known);
        let to = self.store.spot_of(&paths.1)?;
        if from.is_none() && to.is_none() {
            return Ok(None);
        }
        let replaced = match &to {
            Some(to) if flags & libc::RENAME_EXCHANGE == 0 => match fs::symlink_metadata(&to.path) {
                // Nothing happens to two names of one thing.
                Ok(there) if source.is_none_or(|source| Key::of(&source) != Key::of(&there)) => {
                    self.last_of(&to.path, there)?
                }
                _ => None,
            },
            _ => None,
        };
        Ok(Some(Moved { from, to, paths, replaced, flags }))
    }

    pub(super) fn moved(&mut self, tid: Tid, name: &'static str, moved: Moved) -> io::Result<()> {
        let Moved { from, to, paths, replaced, flags } = moved;
        if flags & libc::RENAME_WHITEOUT != 0 {
            self.unsupported("a rename that leaves a whiteout".to_owned());
        }
        let exchange = flags & libc::RENAME_EXCHANGE != 0;
        match (from, to) {
            (Some(from), Some(to)) if exchange => {
                self.log(tid, name, What::Exchange { a: from.place, b: to.place });
            }
            (Some(from), Some(to)) => self.log(tid, name, What::Rename { from: from.place, to: to.place }),
            (Some(from), None) => {
                self.drop_all(&paths.1)?;
                match exchange {
                    true => self.adopt(tid, name, &from.path, from.place)?,
                    false => self.log(tid, name, What::Unlink { at: from.place }),
                }
            }
            (None, Some(to)) => {
                if exchange {
                    self.drop_all(&paths.0)?;
                }
                self.adopt(tid, name, &to.path, to.place)?;
            }
            (None, None) => {}
        }
        replaced.iter().for_each(|metadata| self.store.forget(metadata));
        Ok(())
    }

    /// Takes in what came from outside, and all that is in it.
    fn adopt(&mut self, tid: Tid, name: &'static str, path: &Path, at: Place) -> io::Result<()> {
        let metadata = fs::symlink_metadata(path)?;
        let Some(kind) = kind(path, &metadata)? else { return Ok(()) };
        if let Some(inode) = self.store.inode(&metadata) {
            // It was known by another name.
            self.log(tid, name, What::Link { inode, at });
            return Ok(());
        }
        let inode = self.store.add(&metadata);
        let bytes = if kind == Kind::File { self.brought(inode, path)? } else { Bytes::none() };
        let folder = kind == Kind::Folder;
        self.log(tid, name, What::Adopt { inode, kind, bytes, at });
        if folder {
            for entry in fs::read_dir(path)? {
                if let Some(Spot { place, path }) = self.store.spot_of(&entry?.path())? {
                    self.adopt(tid, name, &path, place)?;
                }
            }
        }
        Ok(())
    }

    /// Forgets what left the store, and all that was in it; not a file that has another name, which may be inside.
    fn drop_all(&mut self, path: &Path) -> io::Result<()> {
        let metadata = fs::symlink_metadata(path)?;
        if metadata.is_dir() {
            fs::read_dir(path)?.try_for_each(|entry| self.drop_all(&entry?.path()))?;
        }
        if metadata.is_dir() || metadata.nlink() == 1 {
            self.store.forget(&metadata);
        }
        Ok(())
    }
}
