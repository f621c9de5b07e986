//! Stores in real folders: read one, compare it with what a log says, and lay out one image after the other.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::{File, PAGE, Page};
use super::log::{Inode, Kind, Place, is_left_out};
use super::tree::{Node, Tree};

/// Reads a store from its folder. `seen` is told the id that each inode was given, with what the system says of it.
///
/// # Errors
/// Something in the folder could not be read.
pub fn read(folder: &Path, seen: impl FnMut(Inode, &Metadata)) -> io::Result<Tree> {
    let mut reader = Reader { tree: Tree::default(), known: HashMap::new(), next: 1, seen };
    (reader.seen)(Inode::ROOT, &fs::metadata(folder)?);
    reader.folder(folder, Inode::ROOT)?;
    Ok(reader.tree)
}

struct Reader<S> {
    tree: Tree,
    known: HashMap<(u64, u64), Inode>,
    next: u32,
    seen: S,
}

impl<S: FnMut(Inode, &Metadata)> Reader<S> {
    fn folder(&mut self, path: &Path, folder: Inode) -> io::Result<()> {
        let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (name, path) = (entry.file_name(), entry.path());
            let metadata = fs::symlink_metadata(&path)?;
            let kind = metadata.file_type();
            if is_left_out(&name) || !(kind.is_file() || kind.is_dir() || kind.is_symlink()) {
                continue;
            }
            let linked = (!kind.is_dir()).then(|| identity(&metadata)).flatten();
            let inode = match linked.and_then(|linked| self.known.get(&linked)) {
                Some(inode) => *inode,
                None => {
                    let inode = Inode(self.next);
                    self.next += 1;
                    self.known.extend(linked.map(|linked| (linked, inode)));
                    (self.seen)(inode, &metadata);
                    let node = if kind.is_dir() {
                        Node::new(&Kind::Folder)
                    } else if kind.is_symlink() {
                        Node::Symlink(fs::read_link(&path)?.into_os_string())
                    } else {
                        Node::File(Arc::new(File::new(&fs::read(&path)?)))
                    };
                    self.tree.set_node(inode, node);
                    inode
                }
            };
            self.tree.set_name(&Place::new(folder, name), Some(inode)).map_err(io::Error::other)?;
            if kind.is_dir() {
                self.folder(&path, inode)?;
            }
        }
        Ok(())
    }
}

/// What tells that two names are one file, where the system says it.
#[cfg(unix)]
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    (metadata.nlink() > 1).then(|| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_metadata: &Metadata) -> Option<(u64, u64)> {
    None
}

/// Where a folder is not what the log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path, from the store's folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub how: How,
}

/// How a path differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The log made it, the folder has none.
    Missing,
    /// The folder has it, the log never made it.
    Unexplained,
    /// A file, a folder and a link are different things.
    Kind,
    /// The bytes differ from here on, or end here in one of the two.
    Bytes(u64),
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.how {
            How::Missing => write!(formatter, "{path}: in the log, not in the folder"),
            How::Unexplained => write!(formatter, "{path}: in the folder, not in the log"),
            How::Kind => write!(formatter, "{path}: one is a file and the other is not"),
            How::Bytes(offset) => write!(formatter, "{path}: other bytes from byte {offset} on"),
        }
    }
}

/// The first path, in order, where a folder is not byte for byte what the tree says; none if they are equal.
///
/// # Errors
/// Something in the folder could not be read.
pub fn difference(tree: &Tree, folder: &Path) -> io::Result<Option<Difference>> {
    let real = read(folder, |_, _| {})?;
    let compared = |tree: &Tree| {
        let mut paths = tree.paths();
        paths.retain(|(path, _)| !path.iter().any(is_left_out));
        paths
    };
    let (logged, found) = (compared(tree), compared(&real));
    let at = (0..logged.len().max(found.len())).find_map(|index| match (logged.get(index), found.get(index)) {
        (Some((one, _)), Some((other, _))) if one < other => Some((one, How::Missing)),
        (Some((one, _)), Some((other, _))) if one > other => Some((other, How::Unexplained)),
        (Some((path, one)), Some((_, other))) => differs(tree.node(*one), real.node(*other)).map(|how| (path, how)),
        (Some((path, _)), None) => Some((path, How::Missing)),
        (None, Some((path, _))) => Some((path, How::Unexplained)),
        (None, None) => None,
    });
    Ok(at.map(|(path, how)| Difference { path: path.clone(), how }))
}

fn differs(one: Option<&Node>, other: Option<&Node>) -> Option<How> {
    match (one, other) {
        (Some(Node::File(one)), Some(Node::File(other))) if one == other => None,
        (Some(Node::File(one)), Some(Node::File(other))) => {
            let (one, other) = (one.to_vec(), other.to_vec());
            let same = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
            Some(How::Bytes(same as u64))
        }
        (Some(Node::Folder(_)), Some(Node::Folder(_))) => None,
        (one, other) => (one != other).then_some(How::Kind),
    }
}

/// A folder in which images are laid out one after the other: only what differs from the last one is written.
#[derive(Debug)]
pub struct Stage {
    folder: PathBuf,
    /// What was laid out last, by path, if nobody touched it since. A second name of a file holds no node of its own.
    holds: Option<Vec<(PathBuf, Option<Node>)>>,
}

impl Stage {
    /// Takes a folder, and everything in it is gone with the first image.
    pub fn new(folder: impl Into<PathBuf>) -> Stage {
        Stage { folder: folder.into(), holds: None }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Says that somebody may have changed what is in the folder (recovery does): the next image is written whole.
    pub fn touched(&mut self) {
        self.holds = None;
    }

    /// Says that only these files may have been changed, added or removed. Other files must be as they were laid out.
    pub fn touched_only<'a>(&mut self, paths: impl IntoIterator<Item = &'a Path>) -> io::Result<()> {
        for path in paths {
            let real = self.folder.join(path);
            match fs::remove_file(&real) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            self.holds.iter_mut().for_each(|holds| holds.retain(|(held, _)| held != path));
        }
        Ok(())
    }

    /// Lays out an image.
    ///
    /// # Errors
    /// The folder could not be written. What is in it is then undefined until the next image.
    pub fn lay_out(&mut self, tree: &Tree) -> io::Result<()> {
        let old = match self.holds.take() {
            Some(holds) => holds,
            None => {
                empty(&self.folder)?;
                Vec::new()
            }
        };
        let mut first = HashMap::new();
        let (mut new, mut twins) = (Vec::new(), Vec::new());
        for (path, inode) in tree.paths() {
            let node = tree.node(inode).cloned();
            if matches!(node, Some(Node::File(_))) && first.contains_key(&inode) {
                twins.push((path.clone(), first[&inode]));
                new.push((path, None));
            } else {
                first.insert(inode, new.len());
                new.push((path, node));
            }
        }
        // The content of a folder goes before the folder.
        for (path, node) in old.iter().rev() {
            match (node, held(&new, path)) {
                (Some(Node::File(_)), Some(Node::File(_))) | (Some(Node::Folder(_)), Some(Node::Folder(_))) => {}
                (Some(Node::Folder(_)), _) => fs::remove_dir(self.folder.join(path))?,
                _ => fs::remove_file(self.folder.join(path))?,
            }
        }
        for (path, node) in &new {
            let real = self.folder.join(path);
            match (node, held(&old, path)) {
                (Some(Node::File(file)), Some(Node::File(before))) if Arc::ptr_eq(file, before) => {}
                (Some(Node::File(file)), Some(Node::File(before))) => write(&real, file, before, false)?,
                (Some(Node::File(file)), _) => write(&real, file, &File::default(), true)?,
                (Some(Node::Folder(_)), Some(Node::Folder(_))) | (None, _) => {}
                (Some(Node::Folder(_)), _) => fs::create_dir(&real)?,
                (Some(Node::Symlink(target)), _) => symlink(Path::new(target), &real)?,
            }
        }
        for (path, twin) in twins {
            fs::hard_link(self.folder.join(&new[twin].0), self.folder.join(path))?;
        }
        self.holds = Some(new);
        Ok(())
    }
}

/// What a sorted list of paths holds at one of them.
fn held<'a>(holds: &'a [(PathBuf, Option<Node>)], path: &Path) -> Option<&'a Node> {
    let index = holds.binary_search_by(|(held, _)| held.as_path().cmp(path)).ok()?;
    holds[index].1.as_ref()
}

/// Writes what differs from before. Pages that are not the same are written even if their bytes are equal.
fn write(path: &Path, file: &File, before: &File, create: bool) -> io::Result<()> {
    let mut real = OpenOptions::new().write(true).create_new(create).open(path)?;
    if file.size() != before.size() {
        real.set_len(file.size())?;
    }
    let pages = file.size().div_ceil(PAGE as u64).min(file.pages().max(before.pages()) as u64) as usize;
    let differs = |index: &usize| !Page::same(file.page(*index), before.page(*index));
    let mut index = 0;
    while let Some(start) = (index..pages).find(differs) {
        let end = (start..pages).find(|index| !differs(index)).unwrap_or(pages);
        let mut bytes = vec![0; (end - start) * PAGE];
        for (page, chunk) in (start..end).map(|index| file.page(index)).zip(bytes.chunks_mut(PAGE)) {
            page.iter().for_each(|page| chunk.copy_from_slice(page.bytes()));
        }
        let room = (file.size() - (start * PAGE) as u64).min(bytes.len() as u64) as usize;
        real.seek(SeekFrom::Start((start * PAGE) as u64))?;
        real.write_all(&bytes[..room])?;
        index = end;
    }
    Ok(())
}

fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) }?;
    }
    Ok(())
}

#[cfg(unix)]
fn symlink(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn symlink(_target: &Path, _path: &Path) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "symbolic links of an image need a unix system"))
}
