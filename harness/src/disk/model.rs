//! What a file system promises, as dependencies: which steps a disk cannot hold without which earlier ones.
//!
//! A disk after a power loss is the durable store plus some of the pending parts of steps, such that nothing is kept
//! without what it needs. In every model a cell never skips a value: a sector, a size, a name needs its own earlier
//! values. `Ext4` adds an order of all names and truncations, and ties data to it.

use serde::{Deserialize, Serialize};

use super::pending::Pending;
use super::timeline::{NAME, Part, Parts, SECTORS, SHORT, SIZE, SIZES};

/// Which disks a power loss may leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// What POSIX promises: sectors, sizes and names are each on their own until synced.
    #[default]
    Strict,
    /// ext4 with `data=ordered`, delayed allocation and `auto_da_alloc`, its default: every disk that it allows is one
    /// that `Strict` allows too.
    Ext4,
}

/// Of a file: a truncation before what follows was lost, or is needed.
const CUT: Parts = 1 << 12;
/// Of a file: bytes were lost, or must be on the disk.
const BYTES: Parts = 1 << 13;

impl Pending<'_> {
    /// Takes away what cannot be kept without something that is not.
    pub(crate) fn drop_unsupported(&self, kept: &mut [Parts]) {
        match self.model {
            Model::Strict => self.drop_unsupported_strict(kept),
            Model::Ext4 => self.drop_unsupported_ext4(kept),
        }
    }

    /// Adds what the kept parts need.
    pub(crate) fn add_needed(&self, kept: &mut [Parts]) {
        match self.model {
            Model::Strict => self.add_needed_strict(kept),
            Model::Ext4 => self.add_needed_ext4(kept),
        }
    }

    fn drop_unsupported_strict(&self, kept: &mut [Parts]) {
        let mut lost = vec![0; self.timeline.cells];
        for (held, kept) in self.steps.iter().zip(kept) {
            let full = held.parts;
            *kept &= full;
            match self.part(held) {
                Part::Data(data) => {
                    *kept &= !(lost[data.slot] | lost[data.cell]);
                    if full & SHORT & !*kept != 0 {
                        *kept &= !SIZE;
                    }
                    lost[data.slot] |= full & !*kept & SECTORS;
                    if full & !*kept & SIZES != 0 {
                        lost[data.cell] = SIZES;
                    }
                }
                Part::Size { cell, .. } => {
                    *kept &= !lost[*cell];
                    if *kept != full {
                        lost[*cell] = SIZES;
                    }
                }
                Part::Names { names, .. } => {
                    for renamed in names.iter().filter(|renamed| lost[renamed.slot] != 0) {
                        *kept &= !renamed.part;
                    }
                    for renamed in names.iter().filter(|renamed| full & !*kept & renamed.part != 0) {
                        lost[renamed.slot] = NAME;
                    }
                }
                Part::Close { .. } => {}
            }
        }
    }

    fn add_needed_strict(&self, kept: &mut [Parts]) {
        let mut needed = vec![0; self.timeline.cells];
        for (held, kept) in self.steps.iter().zip(kept).rev() {
            let full = held.parts;
            match self.part(held) {
                Part::Data(data) => {
                    *kept |= full & (needed[data.slot] | needed[data.cell]);
                    if *kept & SIZE != 0 {
                        *kept |= full & SHORT;
                    }
                    needed[data.slot] |= *kept & SECTORS;
                    if *kept & SIZES != 0 {
                        needed[data.cell] = SIZES;
                    }
                }
                Part::Size { cell, .. } => {
                    *kept |= full & needed[*cell];
                    if *kept != 0 {
                        needed[*cell] = SIZES;
                    }
                }
                Part::Names { names, .. } => {
                    for renamed in names.iter().filter(|renamed| needed[renamed.slot] != 0) {
                        *kept |= full & renamed.part;
                    }
                    for renamed in names.iter().filter(|renamed| *kept & renamed.part != 0) {
                        needed[renamed.slot] = NAME;
                    }
                }
                Part::Close { .. } => {}
            }
        }
    }

    fn drop_unsupported_ext4(&self, kept: &mut [Parts]) {
        let mut lost = vec![0; self.timeline.cells];
        let mut order_lost = false;
        for ((held, kept), block) in self.steps.iter().zip(kept).zip(self.blocks()) {
            let full = held.parts;
            *kept &= full;
            let forced = match self.part(held) {
                Part::Data(data) => {
                    let mut gone = lost[data.slot];
                    if gone & block != 0 {
                        gone |= block;
                    }
                    if lost[data.cell] & CUT != 0 {
                        gone = SECTORS | SIZES;
                    }
                    *kept &= !gone;
                    // A new block is written whole or not at all, and the size follows it.
                    let whole = full & block;
                    if *kept & whole != whole {
                        *kept &= !(whole | SIZES);
                    } else {
                        *kept |= full & SIZES & !gone;
                    }
                    lost[data.slot] |= full & !*kept & SECTORS;
                    if full & !*kept & !held.poisoned & SECTORS != 0 {
                        lost[data.cell] |= BYTES;
                    }
                    continue;
                }
                Part::Names { over, .. } => *over,
                Part::Close { cell } => Some(*cell),
                Part::Size { .. } => None,
            };
            let starved = forced.is_some_and(|cell| lost[cell] & BYTES != 0);
            if order_lost || starved || *kept != full {
                *kept = 0;
                order_lost = true;
                if let Part::Size { cell, .. } = self.part(held) {
                    lost[*cell] |= CUT;
                }
            }
        }
    }

    fn add_needed_ext4(&self, kept: &mut [Parts]) {
        let mut needed = vec![0; self.timeline.cells];
        let mut order_needed = false;
        let blocks: Vec<Parts> = self.blocks().collect();
        for ((held, kept), block) in self.steps.iter().zip(kept).zip(blocks).rev() {
            let full = held.parts;
            let forced = match self.part(held) {
                Part::Data(data) => {
                    *kept |= full & needed[data.slot];
                    if needed[data.cell] & BYTES != 0 {
                        *kept |= full & !held.poisoned & SECTORS;
                    }
                    if *kept & (block | SIZES) != 0 {
                        *kept |= full & (block | SIZES);
                        needed[data.slot] |= block;
                    }
                    needed[data.slot] |= *kept & SECTORS;
                    if *kept != 0 {
                        needed[data.cell] |= CUT;
                    }
                    continue;
                }
                Part::Names { over, .. } => *over,
                Part::Close { cell } => Some(*cell),
                Part::Size { cell, .. } => {
                    *kept |= if needed[*cell] & CUT != 0 { full } else { 0 };
                    None
                }
            };
            if order_needed || *kept != 0 {
                *kept = full;
                order_needed = true;
                if let Some(cell) = forced {
                    needed[cell] |= BYTES;
                }
            }
        }
    }
}
