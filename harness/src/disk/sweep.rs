//! Opens every image once, several at a time, and judges it in each situation that it can come about in.

use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use super::search::{Image, Pick, Tried};
use super::tree::Tree;

/// Says what a disk means.
pub trait Judge: Sync {
    /// What one thread needs to open images, such as a folder of its own.
    type Worker: Send;
    /// What recovery found on a disk.
    type State: Send;

    /// Lays out and opens a disk. It is called once for each distinct one, in any order.
    fn open(&self, worker: &mut Self::Worker, disk: &Tree) -> Self::State;

    /// The rule that the state breaks when `op` operations were done and the outside saw `seen` of them; none if all
    /// is well.
    fn judge(&self, state: &Self::State, op: usize, seen: usize) -> Option<String>;
}

/// An image that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: String,
    /// The image.
    pub pick: Pick,
    /// How many operations were done.
    pub op: usize,
    /// How many of them the outside saw.
    pub seen: usize,
}

/// Judges all images that `images` visits, with one thread a worker. The findings are in the order of the images,
/// whatever the threads do.
///
/// # Panics
/// If the judge does.
pub fn sweep<J: Judge>(
    judge: &J,
    workers: Vec<J::Worker>,
    images: impl FnOnce(&mut dyn FnMut(Image)) -> Tried,
) -> (Vec<Finding>, Tried) {
    let mut situations = Vec::new();
    let (disks, opened) = mpsc::sync_channel::<(usize, Tree)>(4 * workers.len().max(1));
    let opened = Mutex::new(opened);
    let (states, tried) = thread::scope(|scope| {
        let threads: Vec<_> = workers
            .into_iter()
            .map(|mut worker| {
                let opened = &opened;
                scope.spawn(move || {
                    let mut states = Vec::new();
                    let next = || opened.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    while let Ok((disk, tree)) = next() {
                        states.push((disk, judge.open(&mut worker, &tree)));
                    }
                    states
                })
            })
            .collect();
        let tried = images(&mut |mut image| {
            if let Some(tree) = image.tree.take() {
                // Without a thread that takes it there is a panic to be passed on below.
                let _ = disks.send((image.disk, tree));
            }
            situations.push(image);
        });
        drop(disks);
        let states = threads.into_iter().map(|thread| thread.join());
        let states: Vec<_> =
            states.map(|states| states.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect();
        (states.into_iter().flatten().collect::<Vec<_>>(), tried)
    });
    let mut by_disk: Vec<Option<J::State>> = (0..tried.disks).map(|_| None).collect();
    for (disk, state) in states {
        by_disk[disk] = Some(state);
    }
    let findings = situations.into_iter().filter_map(|Image { pick, op, seen, disk, .. }| {
        let rule = judge.judge(by_disk[disk].as_ref()?, op, seen)?;
        Some(Finding { rule, pick, op, seen })
    });
    (findings.collect(), tried)
}
