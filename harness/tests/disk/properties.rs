//! What holds for the images of any log.

use std::collections::{BTreeMap, HashSet};

use nack::disk::log::Recording;
use nack::disk::model::Model;
use nack::disk::search::{self, Budget, Image};
use nack::disk::timeline::Timeline;
use nack::disk::tree::Tree;
use proptest::prelude::*;

use crate::logs::{by_lot, lots};
use crate::oracle::{Oracle, Seen, seen};

fn power(recording: &Recording, model: Model, images: usize) -> Vec<(Image, Tree)> {
    let timeline = Timeline::new(recording.clone()).expect("a log that fits");
    let mut found = Found::default();
    let budget = Budget { images, ..Budget::default() };
    search::power_losses(&timeline, model, &budget, |image| found.add(image));
    found.images
}

fn kills(recording: &Recording) -> Vec<(Image, Tree)> {
    let timeline = Timeline::new(recording.clone()).expect("a log that fits");
    let mut found = Found::default();
    search::kills(&timeline, &Budget::default(), |image| found.add(image));
    found.images
}

#[derive(Default)]
struct Found {
    trees: Vec<Tree>,
    images: Vec<(Image, Tree)>,
}

impl Found {
    fn add(&mut self, mut image: Image) {
        self.trees.extend(image.tree.take());
        let tree = self.trees[image.disk].clone();
        self.images.push((image, tree));
    }
}

/// The images that the oracle does not allow when so many operations were done.
fn refused(recording: &Recording, images: &[(Image, Tree)]) -> Vec<(Image, Seen)> {
    let mut refused = Vec::new();
    Oracle::run(recording, |oracle, op, _| {
        let here = images.iter().filter(|(image, _)| image.op == op).map(|(image, tree)| (image.clone(), seen(tree)));
        refused.extend(here.filter(|(_, disk)| !oracle.allows(disk)));
    });
    refused
}

fn told(recording: &Recording) -> String {
    let timeline = Timeline::new(recording.clone()).expect("a log that fits");
    (0..timeline.ops().len()).map(|op| timeline.label(op).to_owned() + "\n").collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_strict_image_is_one_of_the_product(lots in lots(24)) {
        let log = by_lot(&lots, &[1, 100, 512, 600, 5000], true);
        let refused = refused(&log, &power(&log, Model::Strict, 400));
        prop_assert!(refused.is_empty(), "{}: {refused:?}", told(&log));
    }

    #[test]
    fn strict_allows_all_that_ext4_allows(lots in lots(24)) {
        let log = by_lot(&lots, &[1, 100, 512, 600, 5000], true);
        let refused = refused(&log, &power(&log, Model::Ext4, 400));
        prop_assert!(refused.is_empty(), "{}: {refused:?}", told(&log));
    }

    #[test]
    fn every_kill_is_a_power_loss_of_its_cut(lots in lots(24)) {
        let log = by_lot(&lots, &[1, 100, 600, 5000], true);
        let killed: HashSet<(usize, Seen)> = kills(&log).iter().map(|(image, tree)| (image.seen, seen(tree))).collect();
        for model in [Model::Strict, Model::Ext4] {
            let lost: HashSet<(usize, Seen)> = power(&log, model, 0).iter().map(|(image, tree)| (image.seen, seen(tree))).collect();
            let missing: Vec<_> = killed.difference(&lost).collect();
            prop_assert!(missing.is_empty(), "{}: {model:?}: {missing:?}", told(&log));
        }
    }

    #[test]
    fn small_products_are_found_whole(lots in lots(9)) {
        let log = by_lot(&lots, &[1, 100, 512, 600], false);
        let mut expected: BTreeMap<usize, HashSet<Seen>> = BTreeMap::new();
        let mut small = true;
        Oracle::run(&log, |oracle, _, seen| match oracle.all(24) {
            Some(all) => expected.entry(seen).or_default().extend(all),
            None => small = false,
        });
        prop_assume!(small);
        let mut found: BTreeMap<usize, HashSet<Seen>> = BTreeMap::new();
        for (image, tree) in power(&log, Model::Strict, 2000) {
            found.entry(image.seen).or_default().insert(seen(&tree));
        }
        for (seen, expected) in expected {
            let missing: Vec<_> = expected.difference(&found[&seen]).collect();
            prop_assert!(missing.is_empty(), "{}: seen {seen}: {missing:?}", told(&log));
        }
    }
}
