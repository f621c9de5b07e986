//! What of a failing image matters: everything that can be given back is, until only what must be lost is lost.

use super::pending::Pending;
use super::search::{Pick, find};
use super::timeline::{NAME, Parts, SECTORS, SIZES, TARGET, Timeline};
use super::tree::Tree;

/// A failing disk on which as little as possible is lost.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// What was pending and is lost, for people.
    pub lost: Vec<String>,
    /// What was pending and is on the disk.
    pub kept: Vec<String>,
    /// The disk.
    pub tree: Tree,
}

/// Gives back to an image of a power loss what can be given back so that `fails` stays true, with at most `tries`
/// disks tried. None for a kill, which loses nothing, and if the log is not the one that the pick was made for.
pub fn shrink(timeline: &Timeline, pick: Pick, tries: usize, fails: impl FnMut(&Tree) -> bool) -> Option<Shrunk> {
    find(timeline, pick, |pending, kept, _| {
        let mut shrinking = Shrinking { pending, kept: kept.to_vec(), tries, fails };
        shrinking.give_back(&shrinking.lost(|pending, index| pending.timeline.steps[pending.steps[index].step].op));
        shrinking.give_back(&shrinking.lost(|_, index| index as u32));
        let parts: Vec<_> =
            shrinking.lost(|_, _| 0).into_iter().flatten().flat_map(single).map(|one| vec![one]).collect();
        shrinking.give_back(&parts);
        let kept = shrinking.kept;
        Shrunk { lost: told(pending, &kept, true), kept: told(pending, &kept, false), tree: pending.disk(&kept) }
    })
}

/// A part of a pending step, by the step's place among them.
type Lost = (usize, Parts);

struct Shrinking<'p, 't, F> {
    pending: &'p Pending<'t>,
    kept: Vec<Parts>,
    tries: usize,
    fails: F,
}

impl<'t, F: FnMut(&Tree) -> bool> Shrinking<'_, 't, F> {
    /// What is lost, grouped where the key is the same.
    fn lost(&self, key: impl Fn(&Pending<'t>, usize) -> u32) -> Vec<Vec<Lost>> {
        let mut groups: Vec<Vec<Lost>> = Vec::new();
        let mut last = None;
        for (index, held) in self.pending.steps.iter().enumerate() {
            let lost = held.parts & !self.kept[index];
            if lost != 0 {
                let key = Some(key(self.pending, index));
                match groups.last_mut() {
                    Some(group) if key == last => group.push((index, lost)),
                    _ => groups.push(vec![(index, lost)]),
                }
                last = key;
            }
        }
        groups
    }

    /// Gives back all of these groups if it may be, else each half on its own.
    fn give_back(&mut self, groups: &[Vec<Lost>]) {
        let missing = |kept: &[Parts]| groups.iter().flatten().any(|(index, parts)| parts & !kept[*index] != 0);
        if self.tries == 0 || !missing(&self.kept) {
            return;
        }
        let mut kept = self.kept.clone();
        groups.iter().flatten().for_each(|(index, parts)| kept[*index] |= parts);
        self.pending.add_needed(&mut kept);
        self.tries -= 1;
        if (self.fails)(&self.pending.disk(&kept)) {
            self.kept = kept;
        } else if groups.len() > 1 {
            let (first, second) = groups.split_at(groups.len() / 2);
            self.give_back(second);
            self.give_back(first);
        }
    }
}

fn single((index, parts): Lost) -> impl Iterator<Item = Lost> {
    [SIZES, NAME, TARGET]
        .into_iter()
        .chain((0..8).map(|bit| 1 << bit))
        .map(move |bit| (index, parts & bit))
        .filter(|(_, parts)| *parts != 0)
}

/// The operations of which something is lost, or all is kept.
fn told(pending: &Pending<'_>, kept: &[Parts], lost: bool) -> Vec<String> {
    let mut told = Vec::new();
    let op = |index: usize| pending.timeline.steps[pending.steps[index].step].op as usize;
    let mut start = 0;
    while start < kept.len() {
        let end = (start..kept.len()).find(|index| op(*index) != op(start)).unwrap_or(kept.len());
        let count = |mask: Parts, of: &dyn Fn(usize) -> Parts| {
            (start..end).map(|index| (of(index) & mask).count_ones()).sum::<u32>()
        };
        let all = |index: usize| pending.steps[index].parts;
        let gone = |index: usize| pending.steps[index].parts & !kept[index];
        let label = pending.timeline.label(op(start));
        match (count(Parts::MAX, &all), count(Parts::MAX, &gone)) {
            (_, 0) if !lost => told.push(label.to_owned()),
            (some, gone) if lost && some == gone => told.push(label.to_owned()),
            (_, some) if lost && some > 0 => {
                let mut parts = Vec::new();
                match (count(SECTORS, &gone), count(SECTORS, &all)) {
                    (0, _) => {}
                    (sectors, of) => parts.push(format!("{sectors} of {of} sectors")),
                }
                if count(SIZES, &gone) > 0 {
                    parts.push("the size".to_owned());
                }
                if count(NAME | TARGET, &gone) > 0 {
                    parts.push(if count(TARGET, &gone) > 0 { "the new name" } else { "the old name's end" }.to_owned());
                }
                told.push(format!("{label}: {}", parts.join(", ")));
            }
            _ => {}
        }
        start = end;
    }
    told
}
