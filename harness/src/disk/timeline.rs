//! The log in steps, the smallest pieces of which a crash keeps some: a page of a write, a size, a change of names.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;

use thiserror::Error;

use super::file::{PAGE, Page, mixed, pieces};
use super::log::{Inode, Kind, Level, Op, Place, Recording, What};
use super::tree::{Misfit, Node, Tree};

/// The bytes of a sector: what a disk writes whole or not at all.
pub const SECTOR: usize = 512;

/// Which parts of a step are meant: one bit for each of the eight sectors of its page, and the ones below.
pub(crate) type Parts = u16;
pub(crate) const SECTORS: Parts = 0xff;
/// A size that does not reach over what was written elsewhere before: the file as short as it can be with this page.
pub(crate) const SHORT: Parts = 1 << 8;
/// The size that the step left.
pub(crate) const SIZE: Parts = 1 << 9;
pub(crate) const SIZES: Parts = SHORT | SIZE;
/// The names, and the second one where a move between two folders is two changes.
pub(crate) const NAME: Parts = 1 << 10;
pub(crate) const TARGET: Parts = 1 << 11;

/// One step.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The operation that it belongs to.
    pub(crate) op: u32,
    pub(crate) part: Part,
}

#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// A page of a file, as the running system had it then.
    Data(Data),
    /// The size was set.
    Size { file: Inode, cell: usize, size: u64 },
    /// Names changed. If a file replaces another, the cell of its size: ext4 writes it out first (auto_da_alloc).
    Names { names: Vec<Renamed>, over: Option<usize> },
    /// A file that was cut to nothing before was closed: ext4 writes it out with its next commit.
    Close { cell: usize },
}

#[derive(Clone, Debug)]
pub(crate) struct Data {
    pub(crate) file: Inode,
    pub(crate) index: usize,
    /// The page's number among all cells.
    pub(crate) slot: usize,
    /// The number of the file's size among all cells.
    pub(crate) cell: usize,
    pub(crate) sectors: Parts,
    pub(crate) after: Option<Page>,
    /// The size that the file has then.
    pub(crate) size: u64,
    pub(crate) grew: bool,
}

impl Data {
    /// Where the last of these sectors ends, or the file in it.
    pub(crate) fn end(&self, sectors: Parts) -> u64 {
        let behind = (Parts::BITS - sectors.leading_zeros()) as usize * SECTOR;
        self.size.min((self.index * PAGE + behind) as u64)
    }

    /// Whether these sectors hold more than zeros from an offset in the file on.
    pub(crate) fn holds(&self, sectors: Parts, from: u64) -> bool {
        let from = from.saturating_sub((self.index * PAGE) as u64).min(PAGE as u64) as usize;
        let shown = |sector: &usize| sectors & (1 << sector) != 0;
        self.after.as_ref().is_some_and(|page| {
            (0..PAGE / SECTOR).filter(shown).any(|sector| {
                let (start, end) = (sector * SECTOR, (sector + 1) * SECTOR);
                page.bytes()[from.clamp(start, end)..end].iter().any(|byte| *byte != 0)
            })
        })
    }

    /// The size of a file in which nothing behind this page was written.
    pub(crate) fn short(&self) -> u64 {
        self.size.min((self.index as u64 + 1) * PAGE as u64)
    }
}

/// One name, and what it stands for after the step.
#[derive(Clone, Debug)]
pub(crate) struct Renamed {
    /// Which part of the step it is.
    pub(crate) part: Parts,
    pub(crate) place: Place,
    /// The name's number among all cells.
    pub(crate) slot: usize,
    pub(crate) inode: Option<Inode>,
    /// What it stood for before.
    pub(crate) was: Option<Inode>,
}

/// A log that contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("operation {op}: {why}")]
pub struct BadLog {
    /// Which operation, from 0.
    pub op: usize,
    /// What is wrong with it.
    pub why: Misfit,
}

/// A recording, ready for images to be made from it.
#[derive(Debug)]
pub struct Timeline {
    pub(crate) start: Tree,
    pub(crate) ops: Vec<Op>,
    pub(crate) steps: Vec<Step>,
    /// How many steps there are before each operation, and at the end.
    before: Vec<u32>,
    labels: Vec<String>,
    shapes: Vec<u64>,
    /// The last operation that gives an inode a name.
    pub(crate) named: HashMap<Inode, u32>,
    /// How many cells there are: pages, sizes and names that ever change.
    pub(crate) cells: usize,
    end: Tree,
}

impl Timeline {
    /// Makes the steps of a recording.
    ///
    /// # Errors
    /// An operation does not fit what came before it.
    pub fn new(recording: Recording) -> Result<Timeline, BadLog> {
        let Recording { start, ops } = recording;
        let mut builder = Builder::new(start.clone());
        for (op, done) in ops.iter().enumerate() {
            builder.label(&done.what);
            builder.before.push(builder.steps.len() as u32);
            builder.add(op as u32, &done.what).map_err(|why| BadLog { op, why })?;
        }
        builder.before.push(builder.steps.len() as u32);
        let Builder { live: end, steps, before, labels, shapes, named, cells, .. } = builder;
        Ok(Timeline { start, ops, steps, before, labels, shapes, named, cells: cells.len(), end })
    }

    /// What was done.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// The store after the last operation, as the running system showed it.
    pub fn end(&self) -> &Tree {
        &self.end
    }

    /// An operation in a few words for people, such as `write app.db 4096 bytes at 8192`.
    pub fn label(&self, op: usize) -> &str {
        &self.labels[op]
    }

    /// A hash of what an operation does to which name, in which amount, not with which bytes nor where.
    pub(crate) fn shape(&self, op: usize) -> u64 {
        self.shapes[op]
    }

    /// The steps of an operation.
    pub(crate) fn steps_of(&self, op: usize) -> Range<usize> {
        self.before[op] as usize..self.before[op + 1] as usize
    }
}

#[derive(Hash, PartialEq, Eq)]
enum Cell {
    Page(Inode, usize),
    Size(Inode),
    Name(Place),
}

struct Builder {
    live: Tree,
    steps: Vec<Step>,
    before: Vec<u32>,
    labels: Vec<String>,
    shapes: Vec<u64>,
    named: HashMap<Inode, u32>,
    cells: HashMap<Cell, usize>,
    homes: HashMap<Inode, PathBuf>,
    emptied: HashSet<Inode>,
}

impl Builder {
    fn new(live: Tree) -> Builder {
        let homes = live.paths().into_iter().map(|(path, inode)| (inode, path)).collect();
        Builder {
            live,
            steps: Vec::new(),
            before: Vec::new(),
            labels: Vec::new(),
            shapes: Vec::new(),
            named: HashMap::new(),
            cells: HashMap::new(),
            homes,
            emptied: HashSet::new(),
        }
    }

    fn add(&mut self, op: u32, what: &What) -> Result<(), Misfit> {
        if let What::New { inode, kind, .. } | What::Adopt { inode, kind, .. } = what {
            if self.live.node(*inode).is_some() {
                return Err(Misfit::Again(*inode));
            }
            self.live.set_node(*inode, Node::new(kind));
        }
        let names = self.live.renamed(what)?;
        match what {
            What::Write { inode, offset, bytes, .. } => self.write(op, *inode, *offset, bytes)?,
            What::Adopt { inode, kind: Kind::File, bytes, .. } => self.write(op, *inode, 0, bytes)?,
            What::Size { inode, size } => self.size(op, *inode, *size)?,
            What::Patch { inode, size, runs } => {
                for (offset, bytes) in runs {
                    self.write(op, *inode, *offset, bytes)?;
                }
                self.size(op, *inode, *size)?;
            }
            What::Close { inode } if self.emptied.remove(inode) => {
                let cell = self.cell(Cell::Size(*inode));
                self.steps.push(Step { op, part: Part::Close { cell } });
            }
            What::Link { inode, .. } | What::Sync { inode, .. } | What::Close { inode } => {
                self.live.node(*inode).ok_or(Misfit::Inode(*inode))?;
            }
            _ => {}
        }
        self.rename(op, what, names)
    }

    fn cell(&mut self, cell: Cell) -> usize {
        let next = self.cells.len();
        *self.cells.entry(cell).or_insert(next)
    }

    fn write(&mut self, op: u32, file: Inode, offset: u64, bytes: &[u8]) -> Result<(), Misfit> {
        for (offset, bytes) in pieces(offset, bytes) {
            let (index, start) = ((offset / PAGE as u64) as usize, (offset % PAGE as u64) as usize);
            let (slot, cell) = (self.cell(Cell::Page(file, index)), self.cell(Cell::Size(file)));
            let sectors = (start / SECTOR..(start + bytes.len()).div_ceil(SECTOR)).fold(0, |all, bit| all | 1 << bit);
            let live = self.live.file_mut(file)?;
            let before = live.size();
            live.write(offset, bytes);
            let (after, size) = (live.page(index).cloned(), live.size());
            let data = Data { file, index, slot, cell, sectors, after, size, grew: size > before };
            self.steps.push(Step { op, part: Part::Data(data) });
        }
        Ok(())
    }

    fn size(&mut self, op: u32, file: Inode, size: u64) -> Result<(), Misfit> {
        let live = self.live.file_mut(file)?;
        if live.size() != size {
            live.truncate(size);
            let cell = self.cell(Cell::Size(file));
            self.steps.push(Step { op, part: Part::Size { file, cell, size } });
            if size == 0 {
                self.emptied.insert(file);
            }
        }
        Ok(())
    }

    fn rename(&mut self, op: u32, what: &What, names: Vec<(Place, Option<Inode>)>) -> Result<(), Misfit> {
        let two_folders = names.len() == 2 && names[0].0.folder != names[1].0.folder;
        let mut renamed = Vec::new();
        for (place, inode) in names {
            let part = if two_folders && !renamed.is_empty() { TARGET } else { NAME };
            let slot = self.cell(Cell::Name(place.clone()));
            let was = self.live.lookup(&place);
            if let Some(inode) = inode {
                self.named.insert(inode, op);
                let home = self.homes.get(&place.folder).cloned().unwrap_or_default().join(&place.name);
                self.homes.insert(inode, home);
            }
            renamed.push(Renamed { part, place, slot, inode, was });
        }
        for renamed in &renamed {
            self.live.set_name(&renamed.place, renamed.inode)?;
        }
        if !renamed.is_empty() {
            let over = match (what, renamed.last()) {
                (What::Rename { .. }, Some(to)) if to.was.is_some() => {
                    to.inode.map(|inode| self.cell(Cell::Size(inode)))
                }
                _ => None,
            };
            self.steps.push(Step { op, part: Part::Names { names: renamed, over } });
        }
        Ok(())
    }

    fn label(&mut self, what: &What) {
        let path = |inode: &Inode| match self.homes.get(inode) {
            Some(path) => path.display().to_string(),
            None if *inode == Inode::ROOT => ".".to_owned(),
            None => format!("file {}", inode.0),
        };
        let named = |place: &Place| {
            let folder = self.homes.get(&place.folder).cloned().unwrap_or_default();
            folder.join(&place.name).display().to_string()
        };
        let synced = |level: &Level| if *level == Level::Data { "data" } else { "all" };
        let (shape, label) = match what {
            What::Write { inode, offset, bytes, synced: None } => {
                let shape = format!("{} {}", path(inode), bytes.len());
                (shape, format!("write {} {} bytes at {offset}", path(inode), bytes.len()))
            }
            What::Write { inode, offset, bytes, synced: Some(level) } => {
                let shape = format!("{} {} {}", path(inode), bytes.len(), synced(level));
                (shape, format!("write {} {} bytes at {offset}, synced: {}", path(inode), bytes.len(), synced(level)))
            }
            What::Size { inode, size } => (path(inode), format!("truncate {} to {size}", path(inode))),
            What::Patch { inode, .. } => {
                (path(inode), format!("change {} by a call that is not modelled", path(inode)))
            }
            What::Send { channel, bytes } => (String::new(), format!("send {} bytes on {channel}", bytes.len())),
            What::Sent { channel, taken } => (String::new(), format!("sent {taken} bytes on {channel}")),
            What::Mark { number } => (String::new(), format!("mark {number}")),
            other => {
                let label = match other {
                    What::New { kind: Kind::Folder, at: Some(at), .. } => format!("mkdir {}", named(at)),
                    What::New { at: Some(at), .. } => format!("create {}", named(at)),
                    What::New { inode, .. } => format!("create {}", path(inode)),
                    What::Adopt { at, .. } => format!("move in {}", named(at)),
                    What::Link { inode, at } => format!("link {} as {}", path(inode), named(at)),
                    What::Unlink { at } => format!("unlink {}", named(at)),
                    What::Rename { from, to } => format!("rename {} to {}", named(from), named(to)),
                    What::Exchange { a, b } => format!("exchange {} and {}", named(a), named(b)),
                    What::Sync { inode, level, ok: true } => format!("sync {}: {}", path(inode), synced(level)),
                    What::Sync { inode, .. } => format!("sync {}: failed", path(inode)),
                    What::Close { inode } => format!("close {}", path(inode)),
                    _ => "sync everything".to_owned(),
                };
                (label.clone(), label)
            }
        };
        self.shapes.push(mixed(what.word(), shape));
        self.labels.push(label);
    }
}
