//! The strict model once more, written without a look at the first: it lists each cell's values and takes the product.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use nack::disk::file::PAGE;
use nack::disk::log::{Inode, Kind, Op, Place, Recording, What};
use nack::disk::timeline::SECTOR;
use nack::disk::tree::Tree;

/// What a reader sees of a disk. A folder has no bytes.
pub(crate) type Seen = BTreeMap<PathBuf, Option<Vec<u8>>>;

pub(crate) fn seen(tree: &Tree) -> Seen {
    let bytes = |inode| tree.file(inode).map(|file| file.to_vec());
    tree.paths().into_iter().map(|(path, inode)| (path, bytes(inode))).collect()
}

#[derive(Clone)]
struct Value<T> {
    time: usize,
    poisoned: bool,
    value: T,
}

fn value<T>(time: usize, value: T) -> Value<T> {
    Value { time, poisoned: false, value }
}

/// A pending change of names that cannot be split.
#[derive(Clone)]
struct Change {
    names: Vec<(Place, Option<Inode>)>,
    poisoned: bool,
}

#[derive(Clone)]
struct FileCells {
    sectors: BTreeMap<u64, Vec<Value<Vec<u8>>>>,
    sizes: Vec<Value<u64>>,
    /// The times at which a size stands that does not reach over all that was written.
    shorts: BTreeSet<(usize, u64)>,
    /// How long the file was at each time.
    lengths: BTreeMap<usize, u64>,
    cuts: Vec<(usize, u64)>,
}

/// All cells at one moment. The first value of each is the durable one.
pub(crate) struct Oracle {
    live: BTreeMap<Inode, Vec<u8>>,
    files: BTreeMap<Inode, FileCells>,
    folders: BTreeSet<Inode>,
    names: BTreeMap<Place, Inode>,
    live_names: BTreeMap<Place, Inode>,
    changes: Vec<Change>,
    time: usize,
}

impl Oracle {
    /// Calls `look` with the number of operations done after each of them (and before a synced write is synced), and
    /// with how many the outside saw.
    pub(crate) fn run(recording: &Recording, mut look: impl FnMut(&Oracle, usize, usize)) {
        assert!(recording.start == Tree::default(), "the oracle begins with nothing");
        let mut oracle = Oracle {
            live: BTreeMap::new(),
            files: BTreeMap::new(),
            folders: BTreeSet::from([Inode::ROOT]),
            names: BTreeMap::new(),
            live_names: BTreeMap::new(),
            changes: Vec::new(),
            time: 0,
        };
        let mut seen = 0;
        look(&oracle, 0, 0);
        for (op, Op { what, .. }) in recording.ops.iter().enumerate() {
            seen += usize::from(what.is_seen());
            oracle.change(what);
            look(&oracle, op + 1, seen);
            oracle.sync(what);
        }
    }

    fn change(&mut self, what: &What) {
        match what {
            What::New { inode, kind, .. } if *kind == Kind::File => {
                self.live.insert(*inode, Vec::new());
                let sizes = vec![value(self.time, 0)];
                self.files.insert(
                    *inode,
                    FileCells {
                        sectors: BTreeMap::new(),
                        sizes,
                        shorts: BTreeSet::new(),
                        lengths: BTreeMap::new(),
                        cuts: Vec::new(),
                    },
                );
            }
            What::New { inode, .. } => {
                self.folders.insert(*inode);
            }
            What::Write { inode, offset, bytes, .. } => {
                let mut at = *offset;
                let end = offset + bytes.len() as u64;
                while at < end {
                    let stop = end.min((at / PAGE as u64 + 1) * PAGE as u64);
                    self.page(*inode, at, &bytes[(at - offset) as usize..(stop - offset) as usize]);
                    at = stop;
                }
            }
            What::Size { inode, size } => {
                let live = self.live.get_mut(inode).unwrap();
                if live.len() as u64 != *size {
                    self.time += 1;
                    live.resize(*size as usize, 0);
                    let cells = self.files.get_mut(inode).unwrap();
                    cells.sizes.push(value(self.time, *size));
                    cells.cuts.push((self.time, *size));
                }
            }
            _ => {}
        }
        let mut groups: Vec<Vec<(Place, Option<Inode>)>> = Vec::new();
        match what {
            What::New { inode, at: Some(at), .. } | What::Link { inode, at } => {
                groups.push(vec![(at.clone(), Some(*inode))]);
            }
            What::Unlink { at } => groups.push(vec![(at.clone(), None)]),
            What::Rename { from, to } if self.live_names.get(from) != self.live_names.get(to) => {
                let (gone, new) = ((from.clone(), None), (to.clone(), self.live_names.get(from).copied()));
                if from.folder == to.folder {
                    groups.push(vec![gone, new])
                } else {
                    groups.extend([vec![gone], vec![new]])
                }
            }
            _ => {}
        }
        for names in groups {
            for (place, inode) in &names {
                match inode {
                    Some(inode) => self.live_names.insert(place.clone(), *inode),
                    None => self.live_names.remove(place),
                };
            }
            self.changes.push(Change { names, poisoned: false });
        }
    }

    fn page(&mut self, inode: Inode, at: u64, bytes: &[u8]) {
        self.time += 1;
        let live = self.live.get_mut(&inode).unwrap();
        let (before, end) = (live.len() as u64, at + bytes.len() as u64);
        live.resize(before.max(end) as usize, 0);
        live[at as usize..end as usize].copy_from_slice(bytes);
        let cells = self.files.get_mut(&inode).unwrap();
        cells.lengths.insert(self.time, before.max(end));
        let floor = cells.sizes.iter().map(|size| size.value).min().unwrap();
        let page = at / PAGE as u64 * PAGE as u64;
        if end > before {
            cells.sizes.push(value(self.time, end));
        } else if page >= floor && page + (PAGE as u64) < before {
            cells.sizes.push(value(self.time, page + PAGE as u64));
            cells.shorts.insert((self.time, page + PAGE as u64));
            cells.sizes.push(value(self.time, before));
        }
        for sector in at / SECTOR as u64..end.div_ceil(SECTOR as u64) {
            let mut content = vec![0; SECTOR];
            let start = sector as usize * SECTOR;
            let shown = live.len().min(start + SECTOR);
            content[..shown - start].copy_from_slice(&live[start..shown]);
            let chain = cells.sectors.entry(sector).or_insert_with(|| vec![value(0, vec![0; SECTOR])]);
            chain.push(value(self.time, content));
        }
    }

    fn sync(&mut self, what: &What) {
        match what {
            What::Sync { inode, ok, .. } => self.sync_inode(*inode, *ok),
            What::SyncAll => {
                for inode in self.files.keys().chain(&self.folders).copied().collect::<Vec<_>>() {
                    self.sync_inode(inode, true);
                }
            }
            What::Write { inode, offset, bytes, synced: Some(_) } if !bytes.is_empty() => {
                let end = offset + bytes.len() as u64;
                let cells = self.files.get_mut(inode).unwrap();
                cells.need_size(end);
                for sector in offset / SECTOR as u64..end.div_ceil(SECTOR as u64) {
                    cells.settle_sector(sector);
                }
            }
            _ => {}
        }
    }

    fn sync_inode(&mut self, inode: Inode, ok: bool) {
        if let Some(cells) = self.files.get_mut(&inode) {
            if ok {
                if let Some(last) = cells.sizes.iter().rposition(|size| !size.poisoned) {
                    cells.settle_size(last);
                }
                let new = cells.sectors.iter().filter_map(|(sector, chain)| {
                    let last = chain.iter().skip(1).rfind(|value| !value.poisoned)?;
                    Some(cells.lengths[&last.time].min((sector + 1) * SECTOR as u64))
                });
                if let Some(end) = new.max() {
                    cells.need_size(end.min(self.live[&inode].len() as u64));
                }
                for sector in cells.sectors.keys().copied().collect::<Vec<_>>() {
                    cells.settle_sector(sector);
                }
            } else {
                cells.sizes.iter_mut().skip(1).for_each(|size| size.poisoned = true);
                cells
                    .sectors
                    .values_mut()
                    .for_each(|chain| chain.iter_mut().skip(1).for_each(|value| value.poisoned = true));
            }
        }
        if self.folders.contains(&inode) {
            let own = |change: &Change| change.names[0].0.folder == inode;
            if !ok {
                self.changes.iter_mut().filter(|change| own(change)).for_each(|change| change.poisoned = true);
                return;
            }
            // What is synced, and what it stands on: earlier changes of the same names.
            let mut durable = vec![false; self.changes.len()];
            for index in (0..self.changes.len()).rev() {
                let change = &self.changes[index];
                durable[index] = own(change) && !change.poisoned
                    || (index + 1..self.changes.len())
                        .any(|later| durable[later] && shares(change, &self.changes[later]));
            }
            let changes = std::mem::take(&mut self.changes);
            for (change, durable) in changes.into_iter().zip(durable) {
                if durable { put(&mut self.names, &change) } else { self.changes.push(change) }
            }
        }
    }

    /// Each combination of names that a disk may have.
    fn name_sets(&self) -> Vec<BTreeMap<Place, Inode>> {
        assert!(self.changes.len() <= 12, "too many changes to enumerate");
        let mut sets = Vec::new();
        for kept in 0u32..1 << self.changes.len() {
            let is_kept = |index: usize| kept & 1 << index != 0;
            let whole = (0..self.changes.len()).all(|later| {
                !is_kept(later)
                    || (0..later)
                        .all(|earlier| is_kept(earlier) || !shares(&self.changes[earlier], &self.changes[later]))
            });
            if whole {
                let mut names = self.names.clone();
                (0..self.changes.len())
                    .filter(|index| is_kept(*index))
                    .for_each(|index| put(&mut names, &self.changes[index]));
                sets.push(names);
            }
        }
        sets
    }

    fn paths(&self, names: &BTreeMap<Place, Inode>) -> BTreeMap<PathBuf, Inode> {
        let mut paths = BTreeMap::new();
        let mut open = vec![(Inode::ROOT, PathBuf::new())];
        while let Some((folder, path)) = open.pop() {
            for (place, inode) in names.iter().filter(|(place, _)| place.folder == folder) {
                let path = path.join(&place.name);
                if self.folders.contains(inode) && path.iter().count() < 4 {
                    open.push((*inode, path.clone()));
                }
                paths.insert(path, *inode);
            }
        }
        paths
    }

    /// Whether a disk is in the product. Which inode is behind a name nobody can see.
    pub(crate) fn allows(&self, disk: &Seen) -> bool {
        self.name_sets().iter().any(|names| {
            let paths = self.paths(names);
            paths.len() == disk.len()
                && disk.iter().all(|(path, bytes)| match (paths.get(path), bytes) {
                    (Some(inode), Some(bytes)) => self.files.get(inode).is_some_and(|file| file.allows(bytes)),
                    (Some(inode), None) => self.folders.contains(inode),
                    (None, _) => false,
                })
        })
    }

    /// The whole product, unless it is larger than `most`.
    pub(crate) fn all(&self, most: usize) -> Option<HashSet<Seen>> {
        let mut all = HashSet::new();
        for names in self.name_sets() {
            let mut partial = vec![Seen::new()];
            let mut chosen = BTreeSet::new();
            for (path, inode) in self.paths(&names) {
                let options: Vec<Option<Vec<u8>>> = match self.files.get(&inode) {
                    Some(cells) => cells.all(most)?.into_iter().map(Some).collect(),
                    None => vec![None],
                };
                // Two names of one file would have to agree.
                if !chosen.insert(inode) {
                    return None;
                }
                if partial.len() * options.len() > most {
                    return None;
                }
                partial = partial
                    .iter()
                    .flat_map(|seen| {
                        options.iter().map(|bytes| {
                            let mut seen = seen.clone();
                            seen.insert(path.clone(), bytes.clone());
                            seen
                        })
                    })
                    .collect();
            }
            all.extend(partial);
        }
        (all.len() <= most).then_some(all)
    }
}

fn shares(one: &Change, other: &Change) -> bool {
    one.names.iter().any(|(place, _)| other.names.iter().any(|(also, _)| place == also))
}

fn put(names: &mut BTreeMap<Place, Inode>, change: &Change) {
    for (place, inode) in &change.names {
        match inode {
            Some(inode) => names.insert(place.clone(), *inode),
            None => names.remove(place),
        };
    }
}

impl FileCells {
    /// What is durable up to `end` can be read.
    fn need_size(&mut self, end: u64) {
        let hides = |size: &Value<u64>| size.value < end && self.shorts.contains(&(size.time, size.value));
        let mut sizes = std::mem::take(&mut self.sizes);
        // The first stays: it is what is durable.
        let mut index = 0;
        sizes.retain(|size| {
            index += 1;
            index == 1 || !hides(size)
        });
        self.sizes = sizes;
        let enough = self.sizes.iter().rposition(|size| size.value < end).map_or(0, |last| last + 1);
        self.settle_size(enough);
    }

    fn settle_size(&mut self, durable: usize) {
        self.sizes.drain(..durable);
        let time = self.sizes[0].time;
        let (done, pending) = self.cuts.iter().partition::<Vec<_>, _>(|(cut, _)| *cut <= time);
        self.cuts = pending;
        for (cut, size) in done {
            for (sector, chain) in &mut self.sectors {
                chain
                    .iter_mut()
                    .filter(|value| value.time < cut)
                    .for_each(|value| zero(&mut value.value, *sector, size));
            }
        }
    }

    fn settle_sector(&mut self, sector: u64) {
        let Some(chain) = self.sectors.get_mut(&sector) else { return };
        let Some(last) = chain.iter().rposition(|value| !value.poisoned) else { return };
        chain.drain(..last);
        // A truncation cannot stay behind bytes that were written after it and that it would cut off.
        let durable = chain[0].clone();
        for (cut, at) in self.cuts.clone() {
            let mut bytes = durable.value.clone();
            zero(&mut bytes, sector, at);
            if cut < durable.time && bytes != durable.value {
                let size = self.sizes.iter().position(|size| size.time == cut);
                size.into_iter().for_each(|size| self.settle_size(size));
            }
        }
    }

    /// What a sector can hold if the size is this one.
    fn options(&self, sector: u64, size: usize) -> Vec<Vec<u8>> {
        let Some(chain) = self.sectors.get(&sector) else { return vec![vec![0; SECTOR]] };
        let shown = |value: &Value<Vec<u8>>| {
            let mut bytes = value.value.clone();
            for (cut, at) in self.cuts.iter().filter(|(cut, _)| *cut <= self.sizes[size].time && value.time < *cut) {
                let _ = cut;
                zero(&mut bytes, sector, *at);
            }
            zero(&mut bytes, sector, self.sizes[size].value);
            bytes
        };
        let mut options: Vec<_> = chain.iter().map(shown).collect();
        options.sort();
        options.dedup();
        options
    }

    fn allows(&self, bytes: &[u8]) -> bool {
        (0..self.sizes.len()).any(|size| {
            self.sizes[size].value == bytes.len() as u64
                && bytes.chunks(SECTOR).enumerate().all(|(sector, found)| {
                    self.options(sector as u64, size).iter().any(|option| option[..found.len()] == *found)
                })
        })
    }

    fn all(&self, most: usize) -> Option<HashSet<Vec<u8>>> {
        let mut all = HashSet::new();
        for size in 0..self.sizes.len() {
            let mut partial = vec![Vec::new()];
            for sector in 0..self.sizes[size].value.div_ceil(SECTOR as u64) {
                let options = self.options(sector, size);
                if partial.len() * options.len() > most {
                    return None;
                }
                partial = partial
                    .iter()
                    .flat_map(|bytes: &Vec<u8>| options.iter().map(|option| [bytes.as_slice(), option].concat()))
                    .collect();
            }
            all.extend(partial.into_iter().map(|mut bytes| {
                bytes.truncate(self.sizes[size].value as usize);
                bytes
            }));
        }
        Some(all)
    }
}

fn zero(bytes: &mut [u8], sector: u64, from: u64) {
    let start = sector * SECTOR as u64;
    bytes[from.saturating_sub(start).min(SECTOR as u64) as usize..].fill(0);
}
