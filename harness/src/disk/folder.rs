//! Stores in real folders: read one, compare it with what a log says, and lay out one image after the other.

use std::collections::{BTreeMap, HashMap};
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
    /// What is there, unless somebody may have changed anything.
    holds: Option<BTreeMap<PathBuf, Held>>,
}

/// What is at a path of a stage.
#[derive(Clone, Debug)]
enum Held {
    /// A file with these bytes.
    File(Arc<File>),
    /// A file with no other name, and unknown bytes.
    Doubtful,
    /// A second name of a file, or a symbolic link: made anew in each image.
    Link,
    Folder,
}

impl Stage {
    /// Takes a folder. With the first image everything else in it is gone.
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

    /// Says that only these files may have been changed, added or removed. Everything else must be as it was laid out.
    ///
    /// # Errors
    /// One of them can be neither seen nor removed.
    pub fn touched_only<'a>(&mut self, paths: impl IntoIterator<Item = &'a Path>) -> io::Result<()> {
        let Some(holds) = &mut self.holds else { return Ok(()) };
        for path in paths {
            let real = self.folder.join(path);
            match fs::symlink_metadata(&real) {
                Ok(metadata) if is_lone_file(&metadata) => _ = holds.insert(path.to_owned(), Held::Doubtful),
                Ok(_) => {
                    fs::remove_file(&real)?;
                    holds.remove(path);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => _ = holds.remove(path),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Lays out an image.
    ///
    /// # Errors
    /// The folder could not be written. The next image is then written whole.
    pub fn lay_out(&mut self, tree: &Tree) -> io::Result<()> {
        let old = match self.holds.take() {
            Some(holds) => holds,
            None => found(&self.folder)?,
        };
        let mut first: HashMap<Inode, PathBuf> = HashMap::new();
        let (mut new, mut links) = (BTreeMap::new(), Vec::new());
        for (path, inode) in tree.paths() {
            let held = match tree.node(inode) {
                Some(Node::File(file)) => match first.get(&inode) {
                    Some(twin) => {
                        links.push((path.clone(), Link::Twin(twin.clone())));
                        Held::Link
                    }
                    None => {
                        first.insert(inode, path.clone());
                        Held::File(file.clone())
                    }
                },
                Some(Node::Symlink(target)) => {
                    links.push((path.clone(), Link::Symbolic(target.into())));
                    Held::Link
                }
                _ => Held::Folder,
            };
            new.insert(path, held);
        }
        // The content of a folder goes before the folder.
        for (path, held) in old.iter().rev() {
            match (held, new.get(path)) {
                (Held::File(_) | Held::Doubtful, Some(Held::File(_))) | (Held::Folder, Some(Held::Folder)) => {}
                (Held::Folder, _) => fs::remove_dir(self.folder.join(path))?,
                _ => fs::remove_file(self.folder.join(path))?,
            }
        }
        for (path, held) in &new {
            let real = self.folder.join(path);
            match (held, old.get(path)) {
                (Held::File(file), Some(Held::File(before))) if Arc::ptr_eq(file, before) => {}
                (Held::File(file), Some(Held::File(before))) => {
                    write(OpenOptions::new().write(true).open(&real)?, file, before)?;
                }
                (Held::File(file), Some(Held::Doubtful)) => {
                    overwrite(OpenOptions::new().write(true).open(&real)?, file)?;
                }
                (Held::File(file), _) => write(fs::File::create_new(&real)?, file, &File::default())?,
                (Held::Folder, Some(Held::Folder)) | (Held::Link | Held::Doubtful, _) => {}
                (Held::Folder, _) => fs::create_dir(&real)?,
            }
        }
        for (path, link) in links {
            let real = self.folder.join(path);
            match link {
                Link::Twin(twin) => fs::hard_link(self.folder.join(twin), real)?,
                Link::Symbolic(target) => symlink(&target, &real)?,
            }
        }
        self.holds = Some(new);
        Ok(())
    }
}

enum Link {
    Twin(PathBuf),
    Symbolic(PathBuf),
}

/// What is in a folder that may hold anything.
fn found(folder: &Path) -> io::Result<BTreeMap<PathBuf, Held>> {
    let mut found = BTreeMap::new();
    let mut open = vec![PathBuf::new()];
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(folder.join(&path))? {
            let entry = entry?;
            let (path, metadata) = (path.join(entry.file_name()), fs::symlink_metadata(entry.path())?);
            let held = match metadata.is_dir() {
                true => Held::Folder,
                false if is_lone_file(&metadata) => Held::Doubtful,
                false => Held::Link,
            };
            if metadata.is_dir() {
                open.push(path.clone());
            }
            found.insert(path, held);
        }
    }
    Ok(found)
}

#[cfg(unix)]
fn is_lone_file(metadata: &Metadata) -> bool {
    metadata.is_file() && identity(metadata).is_none()
}

/// Where nobody says how many names a file has, it is made anew.
#[cfg(not(unix))]
fn is_lone_file(_metadata: &Metadata) -> bool {
    false
}

/// Writes what differs from before. Pages that are not the same are written even if their bytes are equal.
fn write(mut real: fs::File, file: &File, before: &File) -> io::Result<()> {
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

/// Writes everything, into the blocks that are there.
fn overwrite(mut real: fs::File, file: &File) -> io::Result<()> {
    if real.metadata()?.len() != file.size() {
        real.set_len(file.size())?;
    }
    real.write_all(&file.to_vec())
}

#[cfg(unix)]
fn symlink(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn symlink(_target: &Path, _path: &Path) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "symbolic links of an image need a unix system"))
}
