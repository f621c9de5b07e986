//! The rules of the models one by one, on logs by hand. What may be on the disk is asked after the mark.

use std::collections::HashSet;
use std::sync::Arc;

use nack::disk::file::{File, PAGE};
use nack::disk::log::{Bytes, Inode, Kind, Place, What};
use nack::disk::model::Model::{self, Ext4, Strict};
use nack::disk::search::{self, Budget, Pick};
use nack::disk::shrink::shrink;
use nack::disk::timeline::Timeline;
use nack::disk::tree::{Node, Tree};
use rstest::rstest;

use crate::logs::*;
use crate::oracle::seen;

/// A durable file `f`, inode 1, of these bytes.
fn holding(bytes: &[u8]) -> Tree {
    let mut tree = Tree::default();
    tree.set_node(Inode(1), Node::File(Arc::new(File::new(bytes))));
    tree.set_name(&place("f"), Some(Inode(1))).unwrap();
    tree
}

fn timeline(start: Tree, whats: impl IntoIterator<Item = What>) -> Timeline {
    Timeline::new(recording(start, whats)).unwrap()
}

/// What one file can hold after the mark; none where it has no name.
fn may_hold(start: Tree, whats: impl IntoIterator<Item = What>, model: Model, name: &str) -> HashSet<Option<Vec<u8>>> {
    let timeline = timeline(start, whats);
    let mut found = HashSet::new();
    let mut trees = Vec::new();
    search::power_losses(&timeline, model, &Budget::default(), |image| {
        trees.extend(image.tree);
        if image.seen == 1 {
            found.insert(seen(&trees[image.disk]).remove(std::path::Path::new(name)).flatten());
        }
    });
    found
}

fn only(bytes: &[u8]) -> HashSet<Option<Vec<u8>>> {
    HashSet::from([Some(bytes.to_vec())])
}

#[rstest]
fn a_sector_never_holds_a_later_write_without_an_earlier_one(#[values(Strict, Ext4)] model: Model) {
    let log = [write(1, 0, b'x', 1), write(1, 100, b'y', 1), mark(0)];
    let held = may_hold(holding(&[0; 512]), log, model, "f");
    let first_and_second: HashSet<_> =
        held.into_iter().flatten().map(|bytes| (bytes[0] != 0, bytes[100] != 0)).collect();
    assert_eq!(first_and_second, HashSet::from([(false, false), (true, false), (true, true)]));
}

#[rstest]
fn sectors_of_an_overwrite_are_kept_each_on_its_own(#[values(Strict, Ext4)] model: Model) {
    let held = may_hold(holding(&[b'a'; 1024]), [write(1, 0, b'x', 1024), mark(0)], model, "f");
    assert!(held.contains(&Some([[b'a'; 512], [b'x'; 512]].concat())));
    assert!(held.contains(&Some([[b'x'; 512], [b'a'; 512]].concat())));
}

#[test]
fn a_new_block_is_torn_by_posix_but_whole_or_absent_on_ext4() {
    let log = || [write(1, 0, b'x', 1024), mark(0)];
    let torn = Some([[0; 512], [b'x'; 512]].concat());
    assert!(may_hold(holding(b""), log(), Strict, "f").contains(&torn));
    assert_eq!(may_hold(holding(b""), log(), Ext4, "f"), HashSet::from([Some(vec![]), Some(vec![b'x'; 1024])]));
}

#[test]
fn a_size_covers_what_was_not_written_by_posix_but_not_on_ext4() {
    let log = |length| [write(1, 0, b'x', length), write(1, length as u64, b'y', length), mark(0)];
    let zeros = |length| Some([vec![b'x'; length], vec![0; length]].concat());
    let hole = |length| Some([vec![0; length], vec![b'y'; length]].concat());
    let strict = may_hold(holding(b""), log(512), Strict, "f");
    assert!(strict.contains(&zeros(512)) && strict.contains(&hole(512)));
    let ext4 = may_hold(holding(b""), log(PAGE), Ext4, "f");
    assert!(!ext4.contains(&zeros(PAGE)));
    assert!(ext4.contains(&hole(PAGE)), "a hole before a later block");
}

#[rstest]
fn a_sync_protects_only_when_it_returned_success(#[values(Strict, Ext4)] model: Model) {
    let tried = may_hold(holding(b"old"), [write(1, 0, b'x', 3), failed(1), fsync(1), mark(0)], model, "f");
    assert_eq!(tried, HashSet::from([Some(b"old".to_vec()), Some(b"xxx".to_vec())]));
    let again = may_hold(
        holding(b"old"),
        [write(1, 0, b'x', 3), failed(1), write(1, 0, b'x', 3), fsync(1), mark(0)],
        model,
        "f",
    );
    assert_eq!(again, only(b"xxx"), "written again, then synced");
    let grown =
        may_hold(holding(b""), [write(1, 0, b'x', 3), failed(1), write(1, 0, b'x', 3), fsync(1), mark(0)], model, "f");
    assert_eq!(grown, only(b"xxx"), "with the size it needs");
}

#[rstest]
fn a_synced_write_protects_only_its_own_bytes(#[values(Strict, Ext4)] model: Model) {
    let log = [write(1, 0, b'x', 512), write_synced(1, 512, b'y', 512), mark(0)];
    let held = may_hold(holding(&[b'a'; 1024]), log, model, "f");
    let halves = |first: u8| Some([[first; 512], [b'y'; 512]].concat());
    assert_eq!(held, HashSet::from([halves(b'a'), halves(b'x')]));
}

#[rstest]
#[case::fsync_of_an_unchanged_file(vec![], fsync(1), true)]
#[case::fsync_of_a_file_changed_before(vec![write(1, 0, b'x', 1)], fsync(1), true)]
fn a_removed_name_comes_back(
    #[case] before: Vec<What>,
    #[case] sync: What,
    #[case] back: bool,
    #[values(Strict, Ext4)] model: Model,
) {
    let log = [vec![create(2, "g"), fsync(0), fsync(2)], before, vec![unlink("g"), sync, mark(0)]].concat();
    assert_eq!(may_hold(holding(b"f"), log, model, "g").contains(&Some(vec![])), back);
}

#[rstest]
#[case::fsync(write(1, 0, b'x', 1), fsync(1), false)]
#[case::fdatasync_of_an_overwrite(write(1, 0, b'x', 1), fdatasync(1), true)]
#[case::fdatasync_of_a_grown_file(write(1, 1, b'x', 1), fdatasync(1), false)]
#[case::fdatasync_of_a_shrunk_file(size(1, 0), fdatasync(1), false)]
fn ext4_commits_names_up_to_the_last_change_of_what_is_synced(
    #[case] change: What,
    #[case] sync: What,
    #[case] back: bool,
) {
    let log = vec![create(2, "g"), fsync(0), unlink("g"), change, sync, mark(0)];
    assert_eq!(may_hold(holding(b"f"), log.clone(), Ext4, "g").contains(&Some(vec![])), back);
    assert!(may_hold(holding(b"f"), log, Strict, "g").contains(&Some(vec![])), "POSIX promises nothing of it");
}

#[test]
fn posix_promises_a_synced_file_no_name_but_ext4_does() {
    let log = || [create(2, "g"), write(2, 0, b'x', 3), fsync(2), mark(0)];
    assert_eq!(may_hold(Tree::default(), log(), Strict, "g"), HashSet::from([None, Some(b"xxx".to_vec())]));
    assert_eq!(may_hold(Tree::default(), log(), Ext4, "g"), only(b"xxx"));
}

#[rstest]
fn a_sync_of_the_folder_writes_no_bytes(#[values(Strict, Ext4)] model: Model) {
    let held = may_hold(Tree::default(), [create(2, "g"), write(2, 0, b'x', 3), fsync(0), mark(0)], model, "g");
    assert!(held.contains(&Some(vec![])) && !held.contains(&None), "{held:?}");
}

#[rstest]
#[case::over_another_name("f", false)]
#[case::to_a_new_name("new", true)]
fn ext4_writes_a_file_out_before_it_replaces_another(#[case] to: &str, #[case] empty: bool) {
    let log = || [create(2, "tmp"), write(2, 0, b'x', 3), rename("tmp", to), mark(0)];
    assert_eq!(may_hold(holding(b"old"), log(), Ext4, to).contains(&Some(vec![])), empty);
    assert!(may_hold(holding(b"old"), log(), Strict, to).contains(&Some(vec![])));
}

#[rstest]
fn a_replaced_name_is_never_absent(#[values(Strict, Ext4)] model: Model) {
    let log = [create(2, "tmp"), write(2, 0, b'x', 3), fsync(2), rename("tmp", "f"), mark(0)];
    assert_eq!(
        may_hold(holding(b"old"), log, model, "f"),
        HashSet::from([Some(b"old".to_vec()), Some(b"xxx".to_vec())])
    );
}

#[test]
fn a_move_between_folders_is_two_changes_by_posix_and_one_on_ext4() {
    let folder = What::New { inode: Inode(9), kind: Kind::Folder, at: Some(place("d")) };
    let moved = What::Rename { from: place("f"), to: Place::new(Inode(9), "f") };
    let names = |model| {
        let timeline = timeline(holding(b"f"), [folder.clone(), fsync(0), moved.clone(), mark(0)]);
        let mut names = HashSet::new();
        search::power_losses(&timeline, model, &Budget::default(), |image| {
            let tree = search::disk(&timeline, image.pick).unwrap();
            if image.seen == 1 {
                names.insert((tree.at("f").is_some(), tree.at("d/f").is_some()));
            }
        });
        names
    };
    assert_eq!(names(Ext4), HashSet::from([(true, false), (false, true)]));
    assert_eq!(names(Strict), HashSet::from([(true, false), (false, true), (true, true), (false, false)]));
}

#[rstest]
#[case::while_it_is_open(vec![write(1, 0, b'x', 3)], true)]
#[case::when_closed_and_nothing_was_committed_since(vec![write(1, 0, b'x', 3), close(1)], true)]
#[case::when_closed_and_the_next_commit_came(vec![write(1, 0, b'x', 3), close(1), create(2, "g"), fsync(2)], false)]
#[case::when_a_commit_came_before_the_close(vec![write(1, 0, b'x', 3), create(2, "g"), fsync(2)], true)]
fn ext4_writes_a_file_cut_to_nothing_out_with_the_commit_after_its_close(#[case] then: Vec<What>, #[case] empty: bool) {
    let log = [vec![size(1, 0)], then, vec![mark(0)]].concat();
    assert_eq!(may_hold(holding(b"old"), log, Ext4, "f").contains(&Some(vec![])), empty);
}

#[rstest]
fn sync_protects_everything(#[values(Strict, Ext4)] model: Model) {
    let log = [create(2, "g"), write(2, 0, b'x', 3), unlink("f"), What::SyncAll, mark(0)];
    assert_eq!(may_hold(holding(b"old"), log.clone(), model, "f"), HashSet::from([None]));
    assert_eq!(may_hold(holding(b"old"), log, model, "g"), only(b"xxx"));
}

#[rstest]
fn what_comes_from_outside_is_not_durable(#[values(Strict, Ext4)] model: Model) {
    let bytes = Bytes::from(b"xxx".to_vec());
    let log = [What::Adopt { inode: Inode(2), kind: Kind::File, bytes, at: place("g") }, fsync(0), mark(0)];
    let held = may_hold(Tree::default(), log, model, "g");
    assert!(held.contains(&Some(vec![])) && held.contains(&Some(b"xxx".to_vec())) && !held.contains(&None));
}

#[test]
fn a_kill_leaves_every_prefix_and_every_page_of_a_large_write() {
    let timeline = timeline(holding(b""), [write(1, 100, b'x', 2 * PAGE), unlink("f")]);
    let mut sizes = Vec::new();
    search::kills(&timeline, &Budget::default(), |image| {
        sizes.push(image.tree.and_then(|tree| tree.file(tree.at("f")?).map(|file| file.size())));
    });
    assert_eq!(sizes, [Some(0), Some(4096), Some(8192), Some(8292), None]);
}

#[test]
fn points_between_plain_writes_are_sampled_and_counted_when_there_are_many() {
    let writes = (0..100).map(|index| write(1, index, index as u8 + 1, 1));
    let timeline = timeline(holding(b""), writes.chain([mark(0)]));
    let mut images = 0;
    let tried = search::kills(&timeline, &Budget { points: 10, ..Budget::default() }, |_| images += 1);
    assert_eq!((tried.tried, tried.possible, images), (10, 102, 10));
}

#[rstest]
fn the_same_seed_gives_the_same_images_in_the_same_order(#[values(Strict, Ext4)] model: Model) {
    let timeline = timeline(
        holding(&[b'a'; 3 * PAGE]),
        (0..30).flat_map(|index| [write(1, 700 * (index % 9), index as u8 + 1, 900), mark(0)]),
    );
    let picks = |seed| {
        let mut picks = Vec::new();
        let tried = search::power_losses(&timeline, model, &Budget { seed, ..Budget::default() }, |image| {
            picks.push((image.pick, image.disk, image.seen));
        });
        (picks, tried)
    };
    let (first, tried) = picks(1);
    assert_eq!(first, picks(1).0);
    assert_ne!(first, picks(2).0);
    assert!(tried.tried < tried.possible, "{tried:?}");
    assert!(tried.lots > 0 && tried.disks <= 2000 && tried.judged == first.len(), "{tried:?}");
}

#[test]
fn an_image_is_found_again_by_its_name() {
    let timeline = timeline(holding(&[b'a'; PAGE]), [write(1, 0, b'x', 3000), create(2, "g"), mark(0)]);
    search::power_losses(&timeline, Strict, &Budget::default(), |image| {
        if let Some(tree) = image.tree {
            assert_eq!(search::disk(&timeline, image.pick), Some(tree));
        }
    });
}

#[test]
fn a_failing_image_is_shrunk_to_what_must_be_lost() {
    let timeline = timeline(
        holding(&[b'a'; 2 * PAGE]),
        [create(2, "other"), write(1, 0, b'x', 2 * PAGE), write(2, 0, b'y', 10), unlink("f"), mark(0)],
    );
    let none = Pick::Power { model: Strict, cut: 0, strategy: nack::disk::power::Strategy::None, number: 0, seed: 0 };
    let torn = |tree: &Tree| {
        let file = tree.at("f").and_then(|inode| tree.file(inode));
        file.is_some_and(|file| file.to_vec()[512] == b'a')
    };
    let shrunk = shrink(&timeline, none, 1000, torn).unwrap();
    assert_eq!(shrunk.lost, ["write f 8192 bytes at 0: 1 of 16 sectors", "unlink f"]);
    assert_eq!(shrunk.kept, ["create other", "write other 10 bytes at 0"]);
    assert!(torn(&shrunk.tree));
}
