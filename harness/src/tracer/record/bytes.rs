//! Calls that change the bytes of a file: what was written is read back from the file itself, so a buffer that another
//! thread changes meanwhile, a partial write or a copy from elsewhere are all told right.

use std::fs::{self, Metadata};
use std::io;
use std::path::PathBuf;

use super::{Record, too_large};
use crate::disk::log::{Bytes, Inode, Level, Op, What};
use crate::tracer::calls::{Offset, Target};
use crate::tracer::sys::Tid;
use crate::tracer::thread;

/// How far two runs of changed bytes lie apart at least; nearer ones are told as one.
const APART: usize = 64;

/// A file before a call that changes it in ways only seen afterwards.
#[derive(Debug)]
pub(super) struct Before {
    inode: Inode,
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Record {
    /// The file of the store that a call is about, and where it can be reached.
    pub(super) fn target(&self, tid: Tid, target: Target) -> io::Result<Option<(Inode, PathBuf)>> {
        let path = match target {
            Target::Fd(fd) => thread::descriptor(tid, fd),
            Target::Path(at) => thread::path(tid, at.0, &thread::string(tid, at.1)?),
        };
        let found = thread::found(fs::metadata(&path))?.filter(Metadata::is_file);
        Ok(found.and_then(|metadata| self.store.inode(&metadata)).map(|inode| (inode, path)))
    }

    pub(super) fn wrote(
        &mut self,
        tid: Tid,
        name: &'static str,
        (fd, inode): (i32, Inode),
        offset: Offset,
        synced: Option<Level>,
        length: u64,
    ) -> io::Result<()> {
        if length == 0 {
            return Ok(());
        }
        let path = thread::descriptor(tid, fd);
        let description = thread::description(tid, fd)?;
        let appends = description.flags & libc::O_APPEND != 0;
        let offset = match offset {
            Offset::Position => description.position - length,
            // The kernel ignores the offset then.
            Offset::At(_) if appends => fs::metadata(&path)?.len() - length,
            Offset::At(offset) => offset,
            Offset::End => fs::metadata(&path)?.len() - length,
        };
        let opened = match description.flags {
            flags if flags & libc::O_SYNC == libc::O_SYNC => Some(Level::Full),
            flags if flags & libc::O_DSYNC != 0 => Some(Level::Data),
            _ => None,
        };
        let synced = if synced == Some(Level::Full) { synced } else { opened.or(synced) };
        let bytes = Bytes::from(self.store.read(inode, &path, offset, length)?);
        self.log(tid, name, What::Write { inode, offset, bytes, synced });
        Ok(())
    }

    pub(super) fn resized(&mut self, tid: Tid, name: &'static str, inode: Inode, size: u64) {
        self.log(tid, name, What::Size { inode, size });
        if size == 0 {
            let actor = self.actor(tid);
            self.cut.insert(inode, actor);
        }
    }

    /// Writes down which of the files that were cut to nothing nobody writes to any more. No close stops a program, for
    /// most are of other files; it is as good to know of one before whatever comes next.
    pub(in crate::tracer) fn closes(&mut self) {
        let mut cut = std::mem::take(&mut self.cut);
        cut.retain(|inode, actor| {
            let closed = self.store.is_closed(*inode);
            if closed {
                self.write_op(Op { actor: *actor, call: "close".into(), what: What::Close { inode: *inode } });
            }
            !closed
        });
        self.cut = cut;
    }

    /// Keeps what a file holds before a call that changes it in its own way.
    pub(super) fn before(&mut self, tid: Tid, fd: i32) -> io::Result<Option<Before>> {
        let Some((inode, path)) = self.target(tid, Target::Fd(fd))? else { return Ok(None) };
        let bytes = self.store.read_all(inode, &path)?;
        Ok(Some(Before { inode, path, bytes }))
    }

    pub(super) fn changed(&mut self, tid: Tid, name: &'static str, before: Before) -> io::Result<()> {
        let Before { inode, path, bytes } = before;
        let now = self.store.read_all(inode, &path)?;
        let size = now.len() as u64;
        let runs = runs(&bytes, &now);
        if !runs.is_empty() || bytes.len() != now.len() {
            self.log(tid, name, What::Patch { inode, size, runs });
        }
        Ok(())
    }

    /// A file of the store was mapped so that others see what is written.
    pub(super) fn maps(&mut self, tid: Tid, fd: i32, writable: bool) -> io::Result<()> {
        if writable {
            let file = fs::read_link(thread::descriptor(tid, fd))?;
            self.unsupported(format!("a writable shared mapping of {}", file.display()));
        } else if thread::description(tid, fd)?.flags & libc::O_ACCMODE == libc::O_RDWR {
            self.mapped = true;
        }
        Ok(())
    }

    /// Memory was made writable, and it may be that of a file of the store.
    pub(super) fn protects(&mut self, tid: Tid) -> io::Result<()> {
        for line in fs::read_to_string(format!("/proc/{tid}/maps"))?.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, rights, _, _, _, path @ ..] = fields.as_slice() else { continue };
            if !(rights.contains('w') && rights.ends_with('s')) {
                continue;
            }
            let path = path.join(" ");
            if fs::metadata(&path).is_ok_and(|file| self.store.inode(&file).is_some()) {
                self.unsupported(format!("a writable shared mapping of {path}"));
            }
        }
        Ok(())
    }

    /// The bytes of a file that comes into the store.
    pub(super) fn brought(&mut self, inode: Inode, path: &std::path::Path) -> io::Result<Bytes> {
        too_large(fs::metadata(path)?.len())?;
        self.store.read_all(inode, path).map(Bytes::from)
    }
}

/// Where the new bytes differ from the old ones, which end in zeros without end.
fn runs(old: &[u8], new: &[u8]) -> Vec<(u64, Bytes)> {
    let differs = |at: &usize| old.get(*at).copied().unwrap_or(0) != new[*at];
    let (mut runs, mut at) = (Vec::new(), 0);
    while let Some(start) = (at..new.len()).find(differs) {
        let mut last = start;
        while let Some(next) = (last + 1..new.len().min(last + APART)).find(differs) {
            last = next;
        }
        runs.push((start as u64, Bytes::from(&new[start..=last])));
        at = last + 1;
    }
    runs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_make_the_new_bytes_of_the_old_ones(
            old in prop::collection::vec(0..2_u8, 0..300),
            new in prop::collection::vec(0..2_u8, 0..300),
        ) {
            let mut patched = old.clone();
            patched.resize(patched.len().max(new.len()), 0);
            for (offset, bytes) in runs(&old, &new) {
                patched[offset as usize..][..bytes.len()].copy_from_slice(&bytes);
            }
            patched.truncate(new.len());
            prop_assert_eq!(patched, new);
        }
    }
}
