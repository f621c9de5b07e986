//! What is durable and what is pending at one moment of a log, and the disks that this allows.

use std::collections::{HashMap, HashSet};

use super::file::PAGE;
use super::kill::prepare;
use super::laying::Laying;
use super::log::{Inode, Level, What};
use super::model::Model;
use super::timeline::{Data, NAME, Part, Parts, SECTOR, SECTORS, SHORT, SIZE, SIZES, TARGET, Timeline};
use super::tree::{Node, Tree};

/// A moment of the log with what is durable then, and which parts of which steps are not yet.
pub(crate) struct Pending<'t> {
    pub(crate) timeline: &'t Timeline,
    pub(crate) model: Model,
    /// The pending steps, in order.
    pub(crate) steps: Vec<Held>,
    /// What is durable. Bytes that were synced before the size that shows them stand behind the end.
    pub(crate) base: Tree,
    /// Files of which bytes stand behind the end.
    pub(crate) hidden: Vec<Inode>,
    /// Pages of which some sectors are newer in the base than what is pending elsewhere in them.
    pub(crate) uneven: HashSet<usize>,
    changed: HashMap<Inode, Changed>,
    /// The smallest size of a file that is pending.
    smallest: HashMap<Inode, u64>,
    /// The operation taken up last.
    now: usize,
}

/// A pending step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// Which step.
    pub(crate) step: usize,
    /// The parts that are not durable.
    pub(crate) parts: Parts,
    /// The parts that a failed sync may have dropped from memory: no later sync writes them.
    pub(crate) poisoned: Parts,
    /// A truncation that is durable already cut off everything from here on.
    pub(crate) limit: u64,
}

/// How many steps there are up to the last that changed an inode in any way, or its shape: grew, shrank, created.
#[derive(Clone, Copy, Default)]
struct Changed {
    any: usize,
    shape: usize,
}

impl<'t> Pending<'t> {
    pub(crate) fn new(timeline: &'t Timeline, model: Model) -> Pending<'t> {
        Pending {
            timeline,
            model,
            steps: Vec::new(),
            base: timeline.start.clone(),
            hidden: Vec::new(),
            uneven: HashSet::new(),
            changed: HashMap::new(),
            smallest: HashMap::new(),
            now: 0,
        }
    }

    pub(crate) fn part(&self, held: &Held) -> &'t Part {
        &self.timeline.steps[held.step].part
    }

    /// Everything that is pending.
    pub(crate) fn all(&self) -> Vec<Parts> {
        self.steps.iter().map(|held| held.parts).collect()
    }

    /// Takes up the steps of an operation. Says whether there are any.
    pub(crate) fn add(&mut self, op: usize) -> bool {
        let what = &self.timeline.ops[op].what;
        self.now = op;
        prepare(&mut self.base, what);
        let steps = self.timeline.steps_of(op);
        for step in steps.clone() {
            let parts = match &self.timeline.steps[step].part {
                Part::Data(data) => data.sectors | self.growth(data),
                Part::Size { .. } => SIZE,
                Part::Names { names, .. } => names.iter().fold(0, |parts, renamed| parts | renamed.part),
                // Only the order of ext4 knows of it.
                Part::Close { .. } if self.model == Model::Strict => continue,
                Part::Close { .. } => NAME,
            };
            let held = Held { step, parts, poisoned: 0, limit: u64::MAX };
            self.steps.push(held);
            self.note(step);
            self.note_size(&held);
        }
        if let What::New { inode, .. } | What::Adopt { inode, .. } = what {
            self.changed.entry(*inode).or_default().shape = steps.end;
        }
        !steps.is_empty()
    }

    /// Which sizes a page brings: the one that it grew the file to, or in a file that grew elsewhere before, also one
    /// that does not reach over what is not written yet.
    fn growth(&self, data: &Data) -> Parts {
        let start = (data.index * PAGE) as u64;
        if data.grew {
            SIZE
        } else if data.short() < data.size && start >= self.floor(data.file) {
            SIZES
        } else {
            0
        }
    }

    /// The size that a file has at least, whatever is kept.
    fn floor(&self, file: Inode) -> u64 {
        let durable = self.base.file(file).map_or(0, |file| file.size());
        self.smallest.get(&file).map_or(durable, |smallest| durable.min(*smallest))
    }

    fn note_size(&mut self, held: &Held) {
        let (file, size) = match self.part(held) {
            Part::Data(data) if held.parts & SHORT != 0 => (data.file, data.short()),
            Part::Data(data) if held.parts & SIZE != 0 => (data.file, data.size),
            Part::Size { file, size, .. } => (*file, *size),
            _ => return,
        };
        let smallest = self.smallest.entry(file).or_insert(size);
        *smallest = (*smallest).min(size);
    }

    fn note(&mut self, step: usize) {
        match &self.timeline.steps[step].part {
            Part::Data(data) => {
                let changed = self.changed.entry(data.file).or_default();
                changed.any = step + 1;
                if data.grew {
                    changed.shape = step + 1;
                }
            }
            Part::Size { file, .. } => {
                self.changed.insert(*file, Changed { any: step + 1, shape: step + 1 });
            }
            Part::Names { names, .. } => {
                for renamed in names {
                    for inode in renamed.inode.iter().chain(&renamed.was).chain([&renamed.place.folder]) {
                        self.changed.entry(*inode).or_default().any = step + 1;
                    }
                }
            }
            Part::Close { .. } => {}
        }
    }

    /// For each pending step the sectors of its page that ext4 writes together: those of blocks that are new.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Parts> {
        let mut floors: HashMap<Inode, u64> = HashMap::new();
        self.steps.iter().map(move |held| match self.part(held) {
            Part::Data(data) => {
                let durable = self.base.file(data.file);
                let size = durable.map_or(0, |file| file.size());
                let floor = *floors.entry(data.file).or_insert(size);
                let start = (data.index * PAGE) as u64;
                if floor <= start || durable.is_none_or(|file| file.page(data.index).is_none()) {
                    SECTORS
                } else {
                    SECTORS & (SECTORS << (floor - start).div_euclid(SECTOR as u64).min(8))
                }
            }
            Part::Size { file, size, .. } => {
                let durable = self.base.file(*file).map_or(0, |file| file.size());
                let floor = floors.entry(*file).or_insert(durable);
                *floor = (*floor).min(*size);
                0
            }
            _ => 0,
        })
    }

    /// What a sync that is part of this operation does.
    pub(crate) fn sync(&mut self, op: usize) {
        match &self.timeline.ops[op].what {
            What::Sync { inode, ok: false, .. } => {
                // The journal of ext4 keeps its order and is written again, or never once it gave up.
                let dropped = if self.model == Model::Ext4 { SECTORS } else { Parts::MAX };
                for index in 0..self.steps.len() {
                    self.steps[index].poisoned |= dropped & self.own_parts(*inode, &self.steps[index]);
                }
            }
            What::Sync { inode, level, ok: true } => self.sync_inode(*inode, *level),
            What::SyncAll => {
                let mut inodes = HashSet::new();
                for held in &self.steps {
                    match self.part(held) {
                        Part::Data(Data { file, .. }) | Part::Size { file, .. } => _ = inodes.insert(*file),
                        Part::Names { names, .. } => inodes.extend(names.iter().map(|renamed| renamed.place.folder)),
                        Part::Close { .. } => {}
                    }
                }
                inodes.into_iter().for_each(|inode| self.sync_inode(inode, Level::Full));
            }
            What::Write { inode, offset, bytes, synced: Some(level) } => {
                let own = |held: &Held| {
                    let is_own = self.timeline.steps[held.step].op as usize == op;
                    if is_own { held.parts & SECTORS } else { 0 }
                };
                let durable = self.steps.iter().map(own).collect();
                self.settle(*inode, *level, offset + bytes.len() as u64, durable);
            }
            _ => {}
        }
    }

    fn sync_inode(&mut self, inode: Inode, level: Level) {
        let own = |held: &Held| self.own_parts(inode, held) & !held.poisoned;
        let durable: Vec<Parts> = self.steps.iter().map(own).collect();
        let mut end = 0;
        for (held, durable) in self.steps.iter().zip(&durable) {
            match self.part(held) {
                Part::Data(data) if durable & SECTORS != 0 => end = end.max(data.end(durable & SECTORS)),
                Part::Size { file, size, .. } if *file == inode => end = end.min(*size),
                _ => {}
            }
        }
        // A folder has no data to which less than all could belong.
        let level = if self.base.file(inode).is_some() { level } else { Level::Full };
        self.settle(inode, level, end, durable);
    }

    /// The parts of a step that belong to an inode: bytes and size of a file, names of a folder.
    fn own_parts(&self, inode: Inode, held: &Held) -> Parts {
        let parts = match self.part(held) {
            Part::Data(data) if data.file == inode => SECTORS | SIZES,
            Part::Size { file, .. } if *file == inode => SIZE,
            Part::Names { names, .. } => {
                let own = names.iter().filter(|renamed| renamed.place.folder == inode);
                own.fold(0, |parts, renamed| parts | renamed.part)
            }
            _ => 0,
        };
        parts & held.parts
    }

    /// The sizes that synced bytes bring along: those needed to read them, up to `end`, also if a sync failed to write
    /// these before. A size that only another write needs waits for that one, with `O_SYNC` too (ext4 grows a file no
    /// further than its bytes are written). Sizes that would hide the bytes again are possible no more.
    fn sizes_for(&mut self, inode: Inode, end: u64, durable: &mut [Parts]) {
        let mut needed = self.base.file(inode).is_some_and(|file| file.size() < end).then_some(0);
        let mut sizes = Vec::new();
        for index in 0..self.steps.len() {
            let size = match self.part(&self.steps[index]) {
                Part::Data(data) if data.file == inode => {
                    if data.short() < end {
                        self.steps[index].parts &= !SHORT;
                    }
                    data.size
                }
                Part::Size { file, size, .. } if *file == inode => *size,
                _ => continue,
            };
            if self.steps[index].parts & SIZE != 0 {
                sizes.push(index);
                if size < end {
                    needed = Some(sizes.len());
                }
            }
        }
        // All up to the first that is large enough for good.
        let count = needed.map_or(0, |small| small + 1);
        sizes.into_iter().take(count).for_each(|index| durable[index] |= SIZE);
    }

    /// ext4 commits names and truncations in order: all of them up to the last change of what is synced.
    fn order_with(&self, inode: Inode, level: Level, durable: &mut [Parts]) {
        let Some(changed) = self.changed.get(&inode) else { return };
        let last = if level == Level::Full { changed.any } else { changed.shape };
        for (held, durable) in self.steps.iter().zip(durable) {
            if held.step < last && !matches!(self.part(held), Part::Data(_)) {
                *durable |= held.parts;
            }
        }
    }

    /// Makes these parts of an inode durable, with what they need, and with what it takes to read them up to `end`.
    fn settle(&mut self, inode: Inode, level: Level, end: u64, mut durable: Vec<Parts>) {
        match self.model {
            Model::Strict => self.sizes_for(inode, end, &mut durable),
            // The size follows the bytes.
            Model::Ext4 => self.order_with(inode, level, &mut durable),
        }
        self.add_needed(&mut durable);
        self.add_cuts(&mut durable);
        let mut laying = Laying::new(self);
        laying.add(0, &durable);
        (self.base, self.hidden) = laying.durable();
        self.retain(&durable);
    }

    /// A truncation cannot stay behind bytes that were written after it and that it would cut off.
    fn add_cuts(&self, durable: &mut [Parts]) {
        let mut added = false;
        for cut in 0..self.steps.len() {
            let Part::Size { file, size, .. } = self.part(&self.steps[cut]) else { continue };
            let later = self.steps.iter().zip(&*durable).skip(cut + 1);
            let cuts =
                later.filter(|(_, durable)| **durable & SECTORS != 0).any(|(held, durable)| match self.part(held) {
                    Part::Data(data) => data.file == *file && data.holds(durable & SECTORS, *size),
                    _ => false,
                });
            if cuts && durable[cut] == 0 {
                durable[cut] = self.steps[cut].parts;
                added = true;
            }
        }
        if added {
            self.add_needed(durable);
        }
    }

    fn retain(&mut self, durable: &[Parts]) {
        let (mut settled, mut left) = (HashSet::new(), HashSet::new());
        let mut limits: HashMap<Inode, u64> = HashMap::new();
        let mut unnamed = Vec::new();
        for (index, durable) in durable.iter().enumerate().rev() {
            let part = self.part(&self.steps[index]);
            let held = &mut self.steps[index];
            held.parts &= !durable;
            match part {
                Part::Data(data) => {
                    held.limit = held.limit.min(limits.get(&data.file).copied().unwrap_or(u64::MAX));
                    if held.limit <= (data.index * PAGE) as u64 {
                        held.parts = 0;
                    }
                    if durable & SECTORS != 0 {
                        settled.insert(data.slot);
                    }
                    if held.parts & SECTORS != 0 {
                        left.insert(data.slot);
                    }
                }
                Part::Size { file, size, .. } if *durable != 0 => {
                    let limit = limits.entry(*file).or_insert(u64::MAX);
                    *limit = (*limit).min(*size);
                }
                Part::Names { names, .. } if durable & (NAME | TARGET) != 0 => {
                    unnamed.extend(names.iter().filter_map(|renamed| renamed.was));
                }
                _ => {}
            }
        }
        self.uneven.extend(settled);
        self.uneven.retain(|slot| left.contains(slot));
        self.steps.retain(|held| held.parts != 0);
        self.smallest.clear();
        for index in 0..self.steps.len() {
            let held = self.steps[index];
            self.note_size(&held);
        }
        if !unnamed.is_empty() {
            self.forget(unnamed);
        }
    }

    /// Forgets inodes that no disk shows any more, whatever is kept, and that nobody will name again.
    fn forget(&mut self, mut inodes: Vec<Inode>) {
        inodes.retain(|inode| {
            let later = self.timeline.named.get(inode).is_some_and(|op| *op as usize > self.now);
            let pending = self.steps.iter().any(|held| match self.part(held) {
                Part::Names { names, .. } => names.iter().any(|renamed| renamed.inode == Some(*inode)),
                _ => false,
            });
            let durable = self.base.inodes().any(|(_, node)| match node {
                Node::Folder(names) => names.values().any(|named| named == inode),
                _ => false,
            });
            !later && !pending && !durable
        });
        for inode in inodes {
            self.base.forget(inode);
            self.steps.retain(|held| match &self.timeline.steps[held.step].part {
                Part::Data(data) => data.file != inode,
                Part::Size { file, .. } => *file != inode,
                Part::Names { names, .. } => names.iter().any(|renamed| renamed.place.folder != inode),
                Part::Close { .. } => true,
            });
        }
    }
}
