//! Lays pending parts on the durable store, in order, and takes images on the way.

use super::file::{PAGE, Page};
use super::log::Inode;
use super::model::Model;
use super::pending::Pending;
use super::timeline::{Part, Parts, SECTOR, SECTORS, SHORT, SIZE, SIZES};
use super::tree::Tree;

/// The durable store with some pending parts on it.
pub(crate) struct Laying<'p, 't> {
    pending: &'p Pending<'t>,
    tree: Tree,
    /// The files of which bytes may stand behind the end.
    touched: Vec<Inode>,
    /// Cells of which something was left out, so that a page cannot be taken as the running system had it.
    lost: Vec<bool>,
}

impl<'p, 't> Laying<'p, 't> {
    pub(crate) fn new(pending: &'p Pending<'t>) -> Laying<'p, 't> {
        let mut lost = vec![false; pending.timeline.cells];
        pending.uneven.iter().for_each(|slot| lost[*slot] = true);
        Laying { pending, tree: pending.base.clone(), touched: pending.hidden.clone(), lost }
    }

    /// Lays these parts of the steps from `start` on.
    pub(crate) fn add(&mut self, start: usize, kept: &[Parts]) {
        for (held, kept) in self.pending.steps[start..].iter().zip(kept) {
            match self.pending.part(held) {
                Part::Data(data) => {
                    let sectors = held.parts & SECTORS;
                    if *kept != 0
                        && let Ok(file) = self.tree.file_mut(data.file)
                    {
                        let limit = held.limit.saturating_sub((data.index * PAGE) as u64).min(PAGE as u64) as usize;
                        let even = !self.lost[data.slot] && !self.lost[data.cell] && limit == PAGE;
                        if even && sectors != 0 && kept & SECTORS == sectors {
                            file.set_page(data.index, data.after.clone());
                        } else if kept & SECTORS != 0 {
                            let page = composed(file.page(data.index), data.after.as_ref(), kept & SECTORS, limit);
                            file.set_page(data.index, page);
                        }
                        let short = data.short().min(held.limit);
                        match self.pending.model {
                            Model::Strict if kept & SIZE != 0 => file.set_size(data.size.min(held.limit)),
                            Model::Strict if kept & SHORT != 0 => file.set_size(short),
                            Model::Ext4 if kept & SIZES != 0 => file.set_size(file.size().max(short)),
                            _ => {}
                        }
                        self.touch(data.file);
                    }
                    if kept & SECTORS != sectors {
                        self.lost[data.slot] = true;
                    }
                }
                Part::Size { file: inode, cell, size } => {
                    if *kept == 0 {
                        self.lost[*cell] = true;
                    } else if let Ok(file) = self.tree.file_mut(*inode) {
                        file.truncate(*size);
                        self.touch(*inode);
                    }
                }
                Part::Names { names, .. } => {
                    for renamed in names.iter().filter(|renamed| kept & renamed.part != 0) {
                        // A folder that no disk shows any more takes no names.
                        let _ = self.tree.set_name(&renamed.place, renamed.inode);
                    }
                }
                Part::Close { .. } => {}
            }
        }
    }

    fn touch(&mut self, file: Inode) {
        if self.touched.last() != Some(&file) && !self.touched.contains(&file) {
            self.touched.push(file);
        }
    }

    /// The disk as it is now.
    pub(crate) fn disk(&self) -> Tree {
        let mut tree = self.tree.clone();
        for inode in &self.touched {
            if tree.file(*inode).is_some_and(|file| !file.is_cut())
                && let Ok(file) = tree.file_mut(*inode)
            {
                file.cut();
            }
        }
        tree
    }

    /// The store as it stays, and the files of which bytes stand behind the end until a size shows them.
    pub(crate) fn durable(self) -> (Tree, Vec<Inode>) {
        let Laying { tree, touched, .. } = self;
        let hidden = touched.into_iter().filter(|inode| tree.file(*inode).is_some_and(|file| !file.is_cut())).collect();
        (tree, hidden)
    }
}

impl Pending<'_> {
    /// The disk that holds what is durable and these parts of what is pending.
    pub(crate) fn disk(&self, kept: &[Parts]) -> Tree {
        let mut laying = Laying::new(self);
        laying.add(0, kept);
        laying.disk()
    }

    /// The disks that hold the first so many steps whole, for each of these counts, in order.
    pub(crate) fn prefixes(&self, counts: &[usize], mut visit: impl FnMut(usize, &Tree)) {
        let all = self.all();
        let mut laying = Laying::new(self);
        let mut done = 0;
        for (number, count) in counts.iter().enumerate() {
            laying.add(done, &all[done..*count]);
            done = *count;
            visit(number, &laying.disk());
        }
    }
}

/// A page with some sectors of a newer one, which counts as zeros from the limit on.
fn composed(older: Option<&Page>, newer: Option<&Page>, sectors: Parts, limit: usize) -> Option<Page> {
    let mut bytes = Page::copy(older);
    let newer = Page::copy(newer);
    for sector in (0..PAGE / SECTOR).filter(|sector| sectors & (1 << sector) != 0) {
        let (start, end) = (sector * SECTOR, (sector + 1) * SECTOR);
        let shown = limit.clamp(start, end);
        bytes[start..shown].copy_from_slice(&newer[start..shown]);
        bytes[shown..end].fill(0);
    }
    Page::new(bytes)
}
