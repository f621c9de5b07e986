//! Which images to look at, in which order, until the budget is spent.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::file::mixed;
use super::kill::{Point, kill_images};
use super::model::Model;
use super::pending::Pending;
use super::power::{Choices, Cut, Strategy, sample, walk};
use super::timeline::{Parts, Timeline};
use super::tree::Tree;

/// How far a search for images goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How many distinct images of a power loss. The first four strategies are carried out whole even if they are more.
    pub images: usize,
    /// How many points of a kill, before points between plain writes are left out.
    pub points: usize,
    /// What the choices by lot begin with.
    pub seed: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { images: 2000, points: 1500, seed: 0 }
    }
}

/// What names one image for good: the same log gives the same image again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pick {
    /// A kill.
    Kill {
        /// How many operations were done.
        op: usize,
        /// How many pages of the next one.
        pages: usize,
    },
    /// A power loss.
    Power {
        /// Which disks were allowed.
        model: Model,
        /// The number of the cut.
        cut: usize,
        /// How the choice was made.
        strategy: Strategy,
        /// Which choice of the strategy.
        number: usize,
        /// For choices by lot.
        seed: u64,
    },
}

/// An image to be judged: a disk, and what the outside knew when it came about.
#[derive(Clone, Debug)]
pub struct Image {
    /// Its name.
    pub pick: Pick,
    /// How many operations were done.
    pub op: usize,
    /// How many of them the outside saw. What was sent may have arrived once it is begun.
    pub seen: usize,
    /// The number of the disk among all distinct ones, from 0.
    pub disk: usize,
    /// The disk, if it is the first with its bytes and names. Otherwise it need not be opened again.
    pub tree: Option<Tree>,
}

/// How much of what is possible was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// How many choices were made, those by lot left out.
    pub tried: usize,
    /// How many there are.
    pub possible: usize,
    /// How many choices were made by lot.
    pub lots: usize,
    /// How many distinct disks came of them.
    pub disks: usize,
    /// How many distinct pairs of a disk and what the outside knew.
    pub judged: usize,
}

/// Tells disks apart, and what the outside knew.
#[derive(Default)]
struct Known {
    disks: HashMap<u64, usize>,
    judged: HashSet<(usize, usize)>,
}

impl Known {
    /// The image, unless the same disk was met with the same knowledge of the outside.
    fn image(&mut self, pick: Pick, op: usize, seen: usize, tree: &Tree) -> Option<Image> {
        let next = self.disks.len();
        let disk = *self.disks.entry(tree.hash()).or_insert(next);
        let new = self.judged.insert((disk, seen));
        new.then(|| Image { pick, op, seen, disk, tree: (disk == next).then(|| tree.clone()) })
    }
}

/// Calls `visit` with every image of a kill, once per distinct disk and knowledge of the outside.
pub fn kills(timeline: &Timeline, budget: &Budget, mut visit: impl FnMut(Image)) -> Tried {
    let mut known = Known::default();
    let mut tried = Tried::default();
    let seen: Vec<usize> = std::iter::once(0)
        .chain(timeline.ops().iter().scan(0, |seen, op| {
            *seen += usize::from(op.what.is_seen());
            Some(*seen)
        }))
        .collect();
    tried.possible = kill_images(timeline, budget.points, |Point { op, pages }, tree| {
        tried.tried += 1;
        known.image(Pick::Kill { op, pages }, op, seen[op], tree).into_iter().for_each(&mut visit);
    });
    (tried.disks, tried.judged) = (known.disks.len(), known.judged.len());
    tried
}

/// Calls `visit` with images of a power loss, once per distinct disk and knowledge of the outside: first the strategies
/// that are carried out whole, then those that share the rest of the budget.
pub fn power_losses(timeline: &Timeline, model: Model, budget: &Budget, mut visit: impl FnMut(Image)) -> Tried {
    let mut search = Search { model, seed: budget.seed, known: Known::default(), tried: Tried::default() };
    let mut counts: Vec<[usize; 4]> = Vec::new();
    let familiar = familiar(timeline);
    walk(timeline, model, |pending, cut, fresh| {
        let choices = Choices::new(pending, fresh);
        let wide = familiar[cut.op] && pending.steps.len() > WIDE;
        for strategy in Strategy::WHOLE {
            search.tried.possible += choices.count(strategy);
            match strategy {
                Strategy::Prefix => pending.prefixes(&choices.prefixes, |number, tree| {
                    search.note(cut, strategy, number, tree, &mut visit);
                }),
                Strategy::File | Strategy::Names if wide => {}
                _ => {
                    for number in 0..choices.count(strategy) {
                        search.look(pending, &choices, cut, strategy, number, &mut visit);
                    }
                }
            }
        }
        let count = Strategy::SAMPLED.map(|strategy| choices.count(strategy));
        search.tried.possible += count.iter().sum::<usize>();
        counts.push(if familiar[cut.op] { [0; 4] } else { count });
    });
    for (index, strategy) in Strategy::SAMPLED.into_iter().enumerate() {
        let left = budget.images.saturating_sub(search.known.disks.len());
        let open = counts.iter().filter(|count| count[index] > 0).count();
        // What is left goes in equal parts to the strategies that are still to come, choices by lot among them.
        let mut share = Share { left: left / (Strategy::SAMPLED.len() + 1 - index), takers: open };
        walk(timeline, model, |pending, cut, fresh| {
            let count = counts[cut.number][index];
            if count == 0 {
                return;
            }
            let choices = Choices::new(pending, fresh);
            let before = search.known.disks.len();
            for number in sample(count, share.portion()) {
                search.look(pending, &choices, cut, strategy, number, &mut visit);
            }
            share.took(search.known.disks.len() - before);
        });
    }
    let open = counts.iter().filter(|count| count[0] > 0).count();
    let mut share = Share { left: budget.images.saturating_sub(search.known.disks.len()), takers: open };
    walk(timeline, model, |pending, cut, fresh| {
        if counts[cut.number][0] > 0 && share.portion() > 0 {
            let choices = Choices::new(pending, fresh);
            let took = search.draw(pending, &choices, cut, share.portion(), &mut visit);
            share.took(took);
        }
    });
    (search.tried.disks, search.tried.judged) = (search.known.disks.len(), search.known.judged.len());
    search.tried
}

/// Part of a budget, spread evenly over the cuts that can use it; what one leaves the later ones get.
struct Share {
    left: usize,
    takers: usize,
}

impl Share {
    fn portion(&self) -> usize {
        self.left.div_ceil(self.takers.max(1))
    }

    fn took(&mut self, taken: usize) {
        self.left -= taken.min(self.left);
        self.takers -= 1;
    }
}

struct Search {
    model: Model,
    seed: u64,
    known: Known,
    tried: Tried,
}

/// After so many choices by lot in a row that brought nothing new, there is hardly anything new left.
const STALE_LOTS: usize = 200;

/// How many choices by lot may be made for each disk that is still wanted.
const LOTS_A_DISK: usize = 8;

impl Search {
    fn look(
        &mut self,
        pending: &Pending<'_>,
        choices: &Choices<'_, '_>,
        cut: Cut,
        strategy: Strategy,
        number: usize,
        visit: &mut impl FnMut(Image),
    ) {
        let kept = choices.kept(strategy, number, lot(self.seed, cut));
        self.note(cut, strategy, number, &pending.disk(&kept), visit);
    }

    fn note(&mut self, cut: Cut, strategy: Strategy, number: usize, tree: &Tree, visit: &mut impl FnMut(Image)) {
        let pick = Pick::Power { model: self.model, cut: cut.number, strategy, number, seed: self.seed };
        let count = if strategy == Strategy::Random { &mut self.tried.lots } else { &mut self.tried.tried };
        *count += 1;
        self.known.image(pick, cut.op, cut.seen, tree).into_iter().for_each(visit);
    }

    /// Draws until there are so many new disks, or hardly any are left.
    fn draw(
        &mut self,
        pending: &Pending<'_>,
        choices: &Choices<'_, '_>,
        cut: Cut,
        most: usize,
        visit: &mut impl FnMut(Image),
    ) -> usize {
        let before = self.known.disks.len();
        let (mut stale, mut number) = (0, 0);
        let count = choices.count(Strategy::Random);
        let most_stale = if count == usize::MAX { STALE_LOTS } else { count };
        let draws = count.min(most.saturating_mul(LOTS_A_DISK));
        while number < draws && stale < most_stale && self.known.disks.len() < before + most {
            let known = self.known.disks.len();
            self.look(pending, choices, cut, Strategy::Random, number, visit);
            stale = if self.known.disks.len() > known { 0 } else { stale + 1 };
            number += 1;
        }
        self.known.disks.len() - before
    }
}

fn lot(seed: u64, cut: Cut) -> u64 {
    seed ^ (cut.number as u64).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// Of more pending steps than this, not all that is made of files and names again and again is looked at.
const WIDE: usize = 256;

/// How often a stretch of the log of one shape is looked at with all strategies.
const OFTEN: usize = 3;

/// For each moment, by how many operations were done, whether it stands in a stretch between two things the outside
/// saw of a shape (calls, files, sizes) that was there often before.
fn familiar(timeline: &Timeline) -> Vec<bool> {
    let ops = timeline.ops();
    let seen = (0..ops.len()).filter(|op| ops[*op].what.is_seen());
    let mut times: HashMap<u64, usize> = HashMap::new();
    let mut familiar = vec![false; ops.len() + 1];
    let mut start = 0;
    for end in seen.chain([ops.len()]) {
        let shape = (start..end).fold(0, |shape, op| mixed(shape, timeline.shape(op)));
        let times = times.entry(shape).or_default();
        *times += 1;
        familiar[start + 1..=end].fill(*times > OFTEN);
        start = end;
    }
    familiar
}

/// The image of a name, with what was kept. None if the log is not the one that the name was made for.
pub(crate) fn find<T>(
    timeline: &Timeline,
    pick: Pick,
    then: impl FnOnce(&Pending<'_>, &[Parts], Cut) -> T,
) -> Option<T> {
    let Pick::Power { model, cut: wanted, strategy, number, seed } = pick else { return None };
    let mut then = Some(then);
    let mut found = None;
    walk(timeline, model, |pending, cut, fresh| {
        if cut.number == wanted
            && let Some(then) = then.take()
        {
            let choices = Choices::new(pending, fresh);
            if number < choices.count(strategy) {
                found = Some(then(pending, &choices.kept(strategy, number, lot(seed, cut)), cut));
            }
        }
    });
    found
}

/// The disk of a name. None if the log is not the one that the name was made for.
pub fn disk(timeline: &Timeline, pick: Pick) -> Option<Tree> {
    match pick {
        Pick::Power { .. } => find(timeline, pick, |pending, kept, _| pending.disk(kept)),
        Pick::Kill { op, pages } => {
            let mut found = None;
            kill_images(timeline, usize::MAX, |point, tree| {
                if point == (Point { op, pages }) {
                    found = Some(tree.clone());
                }
            });
            found
        }
    }
}
