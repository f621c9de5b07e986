//! A store at one moment: inodes and names, cheap to copy and to change.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::file::{File, mixed};
use super::log::{Bytes, Inode, Kind, Place, What};

/// The names in a folder.
pub type Names = BTreeMap<OsString, Inode>;

/// One inode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A file.
    File(Arc<File>),
    /// A folder.
    Folder(Arc<Names>),
    /// A symbolic link, and where it points.
    Symlink(OsString),
}

impl Node {
    /// A new inode, empty.
    pub fn new(kind: &Kind) -> Node {
        match kind {
            Kind::File => Node::File(Arc::default()),
            Kind::Folder => Node::Folder(Arc::default()),
            Kind::Symlink(target) => Node::Symlink(target.clone()),
        }
    }
}

/// A store at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Plain", into = "Plain")]
pub struct Tree {
    nodes: BTreeMap<Inode, Node>,
}

/// Why an operation does not fit the store that the log has built up to it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Misfit {
    /// An inode that the log never brought.
    #[error("inode {} is unknown, or not of the kind that the operation needs", .0.0)]
    Inode(Inode),
    /// An id that was given before.
    #[error("inode {} exists already", .0.0)]
    Again(Inode),
    /// A name that is not there.
    #[error("there is no {:?} in folder {}", .0.name, .0.folder.0)]
    Name(Place),
}

impl Default for Tree {
    fn default() -> Tree {
        Tree { nodes: BTreeMap::from([(Inode::ROOT, Node::new(&Kind::Folder))]) }
    }
}

impl Tree {
    /// One inode, whether it has a name or not.
    pub fn node(&self, inode: Inode) -> Option<&Node> {
        self.nodes.get(&inode)
    }

    /// A file by its inode.
    pub fn file(&self, inode: Inode) -> Option<&Arc<File>> {
        match self.nodes.get(&inode) {
            Some(Node::File(file)) => Some(file),
            _ => None,
        }
    }

    /// What a name stands for.
    pub fn lookup(&self, place: &Place) -> Option<Inode> {
        match self.nodes.get(&place.folder) {
            Some(Node::Folder(names)) => names.get(&place.name).copied(),
            _ => None,
        }
    }

    /// An inode by its path from the store's folder.
    pub fn at(&self, path: impl AsRef<Path>) -> Option<Inode> {
        path.as_ref().iter().try_fold(Inode::ROOT, |folder, name| self.lookup(&Place::new(folder, name)))
    }

    /// All inodes that have an id, named or not.
    pub fn inodes(&self) -> impl Iterator<Item = (Inode, &Node)> {
        self.nodes.iter().map(|(inode, node)| (*inode, node))
    }

    /// Everything that has a name, by path from the store's folder; a folder stands before what is in it.
    pub fn paths(&self) -> Vec<(PathBuf, Inode)> {
        let mut paths = Vec::new();
        self.walk(Inode::ROOT, &mut PathBuf::new(), &mut vec![Inode::ROOT], &mut |path, inode| {
            paths.push((path.to_owned(), inode));
        });
        paths
    }

    /// A name of an inode, if it has one: for people.
    pub fn path_of(&self, inode: Inode) -> Option<PathBuf> {
        self.paths().into_iter().find(|(_, named)| *named == inode).map(|(path, _)| path)
    }

    /// A hash of all names and bytes, the same in one process for stores that look the same.
    pub fn hash(&self) -> u64 {
        let mut hash = 0;
        self.walk(Inode::ROOT, &mut PathBuf::new(), &mut vec![Inode::ROOT], &mut |path, inode| {
            let content = match &self.nodes[&inode] {
                Node::File(file) => mixed(0, file.hash()),
                Node::Folder(_) => 1,
                Node::Symlink(target) => mixed(2, target),
            };
            hash ^= mixed(path, content);
        });
        hash
    }

    fn walk(&self, folder: Inode, path: &mut PathBuf, above: &mut Vec<Inode>, visit: &mut impl FnMut(&Path, Inode)) {
        let Some(Node::Folder(names)) = self.nodes.get(&folder) else { return };
        for (name, inode) in names.iter() {
            // Two moves of which one was lost can leave a folder in itself; no system shows it there.
            if above.contains(inode) || !self.nodes.contains_key(inode) {
                continue;
            }
            path.push(name);
            visit(path, *inode);
            above.push(*inode);
            self.walk(*inode, path, above, visit);
            above.pop();
            path.pop();
        }
    }

    /// Replaces or adds one inode.
    pub fn set_node(&mut self, inode: Inode, node: Node) {
        self.nodes.insert(inode, node);
    }

    /// Forgets an inode that has no name any more.
    pub fn forget(&mut self, inode: Inode) {
        self.nodes.remove(&inode);
    }

    /// Sets or removes one name.
    ///
    /// # Errors
    /// The folder is none.
    pub fn set_name(&mut self, place: &Place, inode: Option<Inode>) -> Result<(), Misfit> {
        let Some(Node::Folder(names)) = self.nodes.get_mut(&place.folder) else {
            return Err(Misfit::Inode(place.folder));
        };
        match inode {
            Some(inode) => Arc::make_mut(names).insert(place.name.clone(), inode),
            None => Arc::make_mut(names).remove(&place.name),
        };
        Ok(())
    }

    /// A file, to be changed.
    ///
    /// # Errors
    /// There is no such file.
    pub fn file_mut(&mut self, inode: Inode) -> Result<&mut File, Misfit> {
        match self.nodes.get_mut(&inode) {
            Some(Node::File(file)) => Ok(Arc::make_mut(file)),
            _ => Err(Misfit::Inode(inode)),
        }
    }

    /// What the operation leaves of the names: each name it changes, and what the name then stands for.
    ///
    /// # Errors
    /// A name that it needs is not there, or is no folder's.
    pub fn renamed(&self, what: &What) -> Result<Vec<(Place, Option<Inode>)>, Misfit> {
        let found = |place: &Place| self.lookup(place).ok_or_else(|| Misfit::Name(place.clone()));
        let names = match what {
            What::New { inode, at: Some(at), .. } | What::Adopt { inode, at, .. } | What::Link { inode, at } => {
                vec![(at.clone(), Some(*inode))]
            }
            What::Unlink { at } => {
                found(at)?;
                vec![(at.clone(), None)]
            }
            // Two names of one file: the system does nothing.
            What::Rename { from, to } if self.lookup(to) == Some(found(from)?) => Vec::new(),
            What::Rename { from, to } => vec![(from.clone(), None), (to.clone(), Some(found(from)?))],
            What::Exchange { a, b } => vec![(a.clone(), Some(found(b)?)), (b.clone(), Some(found(a)?))],
            _ => Vec::new(),
        };
        let stray = names.iter().find(|(place, _)| !matches!(self.node(place.folder), Some(Node::Folder(_))));
        stray.map_or(Ok(()), |(place, _)| Err(Misfit::Inode(place.folder)))?;
        Ok(names)
    }

    /// Applies one operation, as the running system shows its effect.
    ///
    /// # Errors
    /// The operation does not fit the store.
    pub fn apply(&mut self, what: &What) -> Result<(), Misfit> {
        if let What::New { inode, kind, .. } | What::Adopt { inode, kind, .. } = what {
            if self.nodes.contains_key(inode) {
                return Err(Misfit::Again(*inode));
            }
            self.nodes.insert(*inode, Node::new(kind));
        }
        let names = self.renamed(what)?;
        match what {
            What::Write { inode, offset, bytes, .. } => self.file_mut(*inode)?.write(*offset, bytes),
            What::Adopt { inode, kind: Kind::File, bytes, .. } => self.file_mut(*inode)?.write(0, bytes),
            What::Size { inode, size } => self.file_mut(*inode)?.truncate(*size),
            What::Patch { inode, size, runs } => {
                let file = self.file_mut(*inode)?;
                runs.iter().for_each(|(offset, bytes)| file.write(*offset, bytes));
                file.truncate(*size);
            }
            What::Link { inode, .. } | What::Sync { inode, .. } | What::Close { inode } => {
                self.node(*inode).ok_or(Misfit::Inode(*inode))?;
            }
            _ => {}
        }
        names.iter().try_for_each(|(place, inode)| self.set_name(place, *inode))
    }
}

/// A tree as it is stored.
#[derive(Clone, Serialize, Deserialize)]
struct Plain(Vec<(Inode, PlainNode)>);

#[derive(Clone, Serialize, Deserialize)]
enum PlainNode {
    File(Bytes),
    Folder(Vec<(OsString, Inode)>),
    Symlink(OsString),
}

impl From<Plain> for Tree {
    fn from(plain: Plain) -> Tree {
        let mut tree = Tree::default();
        for (inode, node) in plain.0 {
            let node = match node {
                PlainNode::File(bytes) => Node::File(Arc::new(File::new(&bytes))),
                PlainNode::Folder(names) => Node::Folder(Arc::new(names.into_iter().collect())),
                PlainNode::Symlink(target) => Node::Symlink(target),
            };
            tree.nodes.insert(inode, node);
        }
        tree
    }
}

impl From<Tree> for Plain {
    fn from(tree: Tree) -> Plain {
        let plain = |node| match node {
            Node::File(file) => PlainNode::File(Bytes::from(file.to_vec())),
            Node::Folder(names) => PlainNode::Folder(names.iter().map(|(name, id)| (name.clone(), *id)).collect()),
            Node::Symlink(target) => PlainNode::Symlink(target),
        };
        Plain(tree.nodes.into_iter().map(|(inode, node)| (inode, plain(node))).collect())
    }
}
