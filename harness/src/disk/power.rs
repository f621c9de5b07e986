//! The disks that a power loss can leave: at which moments to look, and which choices to make there, in which order.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::log::{Inode, What};
use super::model::Model;
use super::pending::Pending;
use super::timeline::{Part, Parts, SECTORS, Timeline};

/// How many images of one kind are made of the older pending steps at one cut.
const OLDER: usize = 32;

/// Of so many pending parts all choices are made rather than some by lot.
const FEW_PARTS: u32 = 10;

/// A moment at which the power may fail. Between two of them the disks that are possible only become more, and the
/// outside learns nothing: only the last moment counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Its number in the log.
    pub number: usize,
    /// How many operations were done.
    pub op: usize,
    /// How many of them the outside saw.
    pub seen: usize,
}

/// Goes through a log and stops before each sync, around everything the outside sees, and at the end.
pub(crate) fn walk<'t>(timeline: &'t Timeline, model: Model, mut visit: impl FnMut(&Pending<'t>, Cut, Range<usize>)) {
    let mut pending = Pending::new(timeline, model);
    let (mut cut, mut last, mut news) = (Cut { number: 0, op: 0, seen: 0 }, 0, true);
    let mut stop = |pending: &Pending<'t>, cut: &mut Cut, op: usize| {
        cut.op = op;
        visit(pending, *cut, last..op);
        cut.number += 1;
        last = op;
    };
    for (op, done) in timeline.ops.iter().enumerate() {
        let sync = matches!(done.what, What::SyncAll | What::Sync { ok: true, .. });
        if (sync || done.what.is_seen()) && news {
            stop(&pending, &mut cut, op);
            news = false;
        }
        if done.what.is_seen() {
            cut.seen += 1;
            news = true;
        }
        news |= pending.add(op);
        if matches!(done.what, What::Write { synced: Some(_), .. }) && news {
            stop(&pending, &mut cut, op + 1);
            news = false;
        }
        pending.sync(op);
    }
    if news {
        stop(&pending, &mut cut, timeline.ops.len());
    }
}

/// A way to choose what is kept of what is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Only what is durable.
    None,
    /// Each file: everything but it, only it, it and all names.
    File,
    /// All names and no data; data and no names; data and truncations and no names.
    Names,
    /// Everything up to one step.
    Prefix,
    /// One operation with what it needs.
    KeepOne,
    /// Everything except one operation and what needs it.
    DropOne,
    /// A write cut at a sector boundary.
    Torn,
    /// One sector as old as it can be.
    Stale,
    /// A choice by lot for each part.
    Random,
}

impl Strategy {
    /// Those that are always carried out whole.
    pub(crate) const WHOLE: [Strategy; 4] = [Strategy::None, Strategy::File, Strategy::Names, Strategy::Prefix];
    /// Those that share what the budget leaves, in this order.
    pub(crate) const SAMPLED: [Strategy; 4] = [Strategy::KeepOne, Strategy::DropOne, Strategy::Torn, Strategy::Stale];
}

/// All choices at one cut.
pub(crate) struct Choices<'p, 't> {
    pending: &'p Pending<'t>,
    ops: Vec<Range<usize>>,
    files: Vec<Inode>,
    pub(crate) prefixes: Vec<usize>,
    torn: Vec<Torn>,
    stale: Vec<(usize, Parts)>,
    parts: u32,
}

/// One way to tear a write: which of its sectors are kept, and what of the rest.
struct Torn {
    op: usize,
    sectors: Range<usize>,
    with_later: bool,
}

impl<'p, 't> Choices<'p, 't> {
    /// `fresh` are the operations since the last cut.
    pub(crate) fn new(pending: &'p Pending<'t>, fresh: Range<usize>) -> Choices<'p, 't> {
        let steps = &pending.steps;
        let op_of = |index: usize| pending.timeline.steps[steps[index].step].op as usize;
        let mut ops: Vec<Range<usize>> = Vec::new();
        let (mut files, mut stale) = (Vec::new(), Vec::new());
        let (mut known, mut touched) = (vec![false; pending.timeline.cells], vec![0; pending.timeline.cells]);
        for (index, held) in steps.iter().enumerate() {
            match ops.last_mut() {
                Some(last) if op_of(last.start) == op_of(index) => last.end = index + 1,
                _ => ops.push(index..index + 1),
            }
            let file = match pending.part(held) {
                Part::Data(data) => {
                    let new = held.parts & SECTORS & !touched[data.slot];
                    touched[data.slot] |= new;
                    stale.extend(bits(new).map(|bit| (data.slot, bit)));
                    Some((data.file, data.cell))
                }
                Part::Size { file, cell, .. } => Some((*file, *cell)),
                _ => None,
            };
            if let Some((file, cell)) = file.filter(|(_, cell)| !known[*cell]) {
                known[cell] = true;
                files.push(file);
            }
        }
        let parts = steps.iter().map(|held| held.parts.count_ones()).sum();
        let old = steps.len() - (0..steps.len()).rev().take_while(|index| op_of(*index) >= fresh.start).count();
        let prefixes = sample(old, OLDER).chain(old..=steps.len()).collect();
        if files.len() > OLDER {
            files = sample(files.len(), OLDER).map(|index| files[index]).collect();
        }
        let mut choices = Choices { pending, ops, files, prefixes, torn: Vec::new(), stale, parts };
        choices.torn = choices.tears();
        choices
    }

    fn tears(&self) -> Vec<Torn> {
        let mut torn = Vec::new();
        for (op, steps) in self.ops.iter().enumerate() {
            let sectors =
                steps.clone().map(|index| (self.pending.steps[index].parts & SECTORS).count_ones()).sum::<u32>();
            let count = sectors as usize;
            let mut cuts = vec![1, count / 2, count.saturating_sub(1)];
            cuts.dedup();
            for cut in cuts.into_iter().filter(|cut| *cut > 0 && *cut < count) {
                for with_later in [false, true] {
                    torn.push(Torn { op, sectors: 0..cut, with_later });
                    torn.push(Torn { op, sectors: cut..count, with_later });
                }
            }
        }
        torn
    }

    /// How many choices a strategy has. `Random` has no end, unless few parts are pending.
    pub(crate) fn count(&self, strategy: Strategy) -> usize {
        match strategy {
            Strategy::None => 1,
            Strategy::File => 3 * self.files.len(),
            Strategy::Names => 3,
            Strategy::Prefix => self.prefixes.len(),
            Strategy::KeepOne | Strategy::DropOne => self.ops.len(),
            Strategy::Torn => self.torn.len(),
            Strategy::Stale => self.stale.len(),
            Strategy::Random if self.parts <= FEW_PARTS => 1 << self.parts,
            Strategy::Random => usize::MAX,
        }
    }

    /// What one choice keeps. `seed` is for `Random` only.
    pub(crate) fn kept(&self, strategy: Strategy, number: usize, seed: u64) -> Vec<Parts> {
        let pending = self.pending;
        let none = vec![0; pending.steps.len()];
        let with = |mut kept: Vec<Parts>| {
            pending.add_needed(&mut kept);
            kept
        };
        let without = |mut kept: Vec<Parts>| {
            pending.drop_unsupported(&mut kept);
            kept
        };
        // The parts for which a question about the step is answered with yes.
        let those = |ask: &dyn Fn(&Part) -> bool| -> Vec<Parts> {
            pending.steps.iter().map(|held| if ask(pending.part(held)) { held.parts } else { 0 }).collect()
        };
        match strategy {
            Strategy::None => none,
            Strategy::File => {
                let file = self.files[number / 3];
                let of_file = |part: &Part| match part {
                    Part::Data(data) => data.file == file,
                    Part::Size { file: cut, .. } => *cut == file,
                    _ => false,
                };
                match number % 3 {
                    0 => without(those(&|part| !of_file(part))),
                    1 => with(those(&of_file)),
                    _ => with(those(&|part| of_file(part) || is_name(part))),
                }
            }
            Strategy::Names => match number {
                0 => with(those(&is_name)),
                1 => without(those(&|part| matches!(part, Part::Data(_)))),
                _ => without(those(&|part| !is_name(part))),
            },
            Strategy::Prefix => {
                let mut kept = pending.all();
                kept[self.prefixes[number]..].fill(0);
                kept
            }
            Strategy::KeepOne => {
                let mut kept = none;
                for index in self.ops[number].clone() {
                    kept[index] = pending.steps[index].parts;
                }
                with(kept)
            }
            Strategy::DropOne => {
                let mut kept = pending.all();
                kept[self.ops[number].clone()].fill(0);
                without(kept)
            }
            Strategy::Torn => {
                let Torn { op, sectors, with_later } = &self.torn[number];
                let mut kept = pending.all();
                let steps = self.ops[*op].clone();
                if !with_later {
                    kept[steps.end..].fill(0);
                }
                let mut sector = 0;
                for index in steps {
                    for bit in bits(pending.steps[index].parts & SECTORS) {
                        if !sectors.contains(&sector) {
                            kept[index] &= !bit;
                        }
                        sector += 1;
                    }
                }
                without(kept)
            }
            Strategy::Stale => {
                let (slot, bit) = self.stale[number];
                let mut kept = pending.all();
                for (held, kept) in pending.steps.iter().zip(&mut kept) {
                    if matches!(pending.part(held), Part::Data(data) if data.slot == slot) {
                        *kept &= !bit;
                    }
                }
                without(kept)
            }
            Strategy::Random => self.random(number, seed),
        }
    }

    /// All choices if there are few, else one by lot: of whole operations, whole steps, or parts.
    fn random(&self, number: usize, seed: u64) -> Vec<Parts> {
        let mut kept = self.pending.all();
        if self.parts <= FEW_PARTS {
            let mut part = 0;
            for kept in &mut kept {
                for bit in bits(*kept) {
                    *kept &= if number >> part & 1 == 0 { !bit } else { Parts::MAX };
                    part += 1;
                }
            }
            self.pending.drop_unsupported(&mut kept);
            return kept;
        }
        let mut lots = fastrand::Rng::with_seed(seed.wrapping_add((number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let (chance, grain) = (lots.u8(1..8), lots.u8(0..4));
        for op in &self.ops {
            let mut is_kept = lots.u8(0..8) < chance;
            for index in op.clone() {
                if grain > 0 {
                    is_kept = lots.u8(0..8) < chance;
                }
                for bit in bits(kept[index]) {
                    if grain > 1 {
                        is_kept = lots.u8(0..8) < chance;
                    }
                    if !is_kept {
                        kept[index] &= !bit;
                    }
                }
            }
        }
        if lots.bool() {
            self.pending.add_needed(&mut kept)
        } else {
            self.pending.drop_unsupported(&mut kept)
        }
        kept
    }
}

fn bits(parts: Parts) -> impl Iterator<Item = Parts> {
    (0..Parts::BITS).map(|bit| 1 << bit).filter(move |bit| parts & bit != 0)
}

fn is_name(part: &Part) -> bool {
    matches!(part, Part::Names { .. } | Part::Close { .. })
}

/// At most `most` numbers below `count`, evenly spread, in order.
pub(crate) fn sample(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let taken = count.min(most);
    (0..taken).map(move |index| index * count / taken)
}
