//! Stores in real folders: what is laid out is what was meant, and what differs is named.

use std::fs;
use std::path::{Path, PathBuf};

use nack::disk::folder::{How, Stage, difference, read};
use nack::disk::log::{Bytes, Inode, Kind, Place, Recording, What};
use nack::disk::model::Model;
use nack::disk::search::{Budget, power_losses};
use nack::disk::timeline::Timeline;
use nack::disk::tree::Tree;
use proptest::prelude::*;

use crate::logs::{by_lot, create, lots, place, recording, write};
use crate::oracle::seen;

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_image_is_laid_out_over_the_last_byte_for_byte(lots in lots(24)) {
        let timeline = Timeline::new(by_lot(&lots, &[1, 600, 5000, 20000], true)).unwrap();
        let scratch = nack::scratch().unwrap();
        let mut stage = Stage::new(scratch.path());
        let mut count = 0;
        power_losses(&timeline, Model::Strict, &Budget { images: 60, ..Budget::default() }, |image| {
            let Some(tree) = image.tree else { return };
            stage.lay_out(&tree).unwrap();
            assert_eq!(difference(&tree, scratch.path()).unwrap(), None);
            let real = read(scratch.path(), |_, _| {}).unwrap();
            assert_eq!(seen(&real), seen(&tree));
            assert_eq!(real.hash(), tree.hash());
            count += 1;
            // Recovery may leave anything.
            if count % 3 == 0 {
                fs::write(scratch.path().join("left"), "x").unwrap();
                stage.touched();
            }
        });
    }
}

fn small() -> Tree {
    let mut tree = Tree::default();
    for what in [
        create(1, "a"),
        write(1, 5000, b'x', 10),
        What::New { inode: Inode(2), kind: Kind::Folder, at: Some(place("d")) },
        What::Link { inode: Inode(1), at: Place::new(Inode(2), "b") },
        What::New { inode: Inode(3), kind: Kind::Symlink("a".into()), at: Some(place("s")) },
    ] {
        tree.apply(&what).unwrap();
    }
    tree
}

#[cfg(unix)]
#[test]
fn links_stay_links() {
    let scratch = nack::scratch().unwrap();
    Stage::new(scratch.path()).lay_out(&small()).unwrap();
    fs::write(scratch.path().join("a"), "new").unwrap();
    assert_eq!(fs::read(scratch.path().join("d/b")).unwrap(), b"new");
    assert_eq!(fs::read(scratch.path().join("s")).unwrap(), b"new");
    assert_eq!(read(scratch.path(), |_, _| {}).unwrap().at("a"), read(scratch.path(), |_, _| {}).unwrap().at("d/b"));
}

#[cfg(unix)]
#[test]
fn the_first_difference_is_named() {
    let scratch = nack::scratch().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let first = || difference(&small(), scratch.path()).unwrap().map(|difference| (difference.path, difference.how));
    Stage::new(scratch.path()).lay_out(&small()).unwrap();
    assert_eq!(first(), None);
    fs::write(at("a-shm"), "left out").unwrap();
    assert_eq!(first(), None);
    fs::write(at("aa"), "").unwrap();
    assert_eq!(first(), Some((PathBuf::from("aa"), How::Unexplained)));
    fs::remove_file(at("aa")).unwrap();
    fs::write(at("z"), "").unwrap();
    assert_eq!(first(), Some((PathBuf::from("z"), How::Unexplained)));
    fs::remove_file(at("z")).unwrap();
    fs::remove_file(at("s")).unwrap();
    assert_eq!(first(), Some((PathBuf::from("s"), How::Missing)));
    fs::write(at("s"), "").unwrap();
    assert_eq!(first(), Some((PathBuf::from("s"), How::Kind)));
    let mut bytes = fs::read(at("a")).unwrap();
    bytes[5001] = b'y';
    fs::write(at("a"), &bytes).unwrap();
    assert_eq!(first(), Some((PathBuf::from("a"), How::Bytes(5001))));
    fs::write(at("a"), &bytes[..5000]).unwrap();
    assert_eq!(first(), Some((PathBuf::from("a"), How::Bytes(5000))));
}

#[test]
fn only_what_was_touched_is_written_again() {
    let scratch = nack::scratch().unwrap();
    let mut stage = Stage::new(scratch.path());
    stage.lay_out(&small()).unwrap();
    fs::write(scratch.path().join("a"), "recovered").unwrap();
    fs::write(scratch.path().join("a-wal"), "left").unwrap();
    stage.touched_only([Path::new("a"), Path::new("a-wal"), Path::new("d/b")]).unwrap();
    stage.lay_out(&small()).unwrap();
    assert_eq!(difference(&small(), scratch.path()).unwrap(), None);
}

#[test]
fn a_log_that_contradicts_itself_is_refused_by_operation() {
    let unknown = Timeline::new(recording(Tree::default(), [create(1, "a"), write(7, 0, 1, 1)])).unwrap_err();
    assert_eq!(unknown.to_string(), "operation 1: inode 7 is unknown, or not of the kind that the operation needs");
    let again = Timeline::new(recording(Tree::default(), [create(1, "a"), create(1, "b")])).unwrap_err();
    assert_eq!(again.to_string(), "operation 1: inode 1 exists already");
    let gone = What::Unlink { at: place("a") };
    let gone = Timeline::new(recording(Tree::default(), [gone])).unwrap_err();
    assert_eq!(gone.to_string(), "operation 0: there is no \"a\" in folder 0");
}

#[test]
fn a_recording_is_stored_and_read_again() {
    let sent = What::Send { channel: 1, bytes: Bytes::from(vec![0, 255, 7]) };
    let recording = recording(small(), [write(1, 0, 200, 9000), sent]);
    let stored = recording.to_bytes();
    assert!(stored.len() < 20_000, "{}", stored.len());
    assert_eq!(Recording::from_bytes(&stored).unwrap(), recording);
    assert!(Recording::from_bytes(&stored[..stored.len() - 1]).is_err());
    assert!(Recording::from_bytes(b"something else").is_err());
}
