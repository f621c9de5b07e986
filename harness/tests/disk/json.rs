//! A store that is one JSON file: which ways to write it hold what they acknowledged, and what goes wrong in the others.

use std::collections::BTreeSet;
use std::sync::Arc;

use nack::disk::file::File;
use nack::disk::log::{Bytes, Inode, What};
use nack::disk::model::Model::{Ext4, Strict};
use nack::disk::search::{Budget, kills, power_losses};
use nack::disk::sweep::{Judge, sweep};
use nack::disk::timeline::Timeline;
use nack::disk::tree::{Node, Tree};
use rstest::rstest;

use crate::logs::*;

const STATES: usize = 3;

/// How a state is written.
#[derive(Clone, Copy, Default)]
struct Way {
    in_place: bool,
    to_a_new_name: bool,
    fsync: bool,
    sync_folder: bool,
}

const IN_PLACE: Way = Way { in_place: true, to_a_new_name: false, fsync: false, sync_folder: false };
const RENAME: Way = Way { in_place: false, ..IN_PLACE };
const NEW_NAME: Way = Way { to_a_new_name: true, ..RENAME };

/// The text of a state: large enough for three pages, and with its number at both ends.
fn text(state: usize) -> Vec<u8> {
    let filler = b"ABCD"[state] as char;
    format!("{{{state}{}{state}}}", filler.to_string().repeat(9000)).into_bytes()
}

fn start(way: Way) -> Tree {
    let mut tree = Tree::default();
    tree.set_node(Inode(1), Node::File(Arc::new(File::new(&text(0)))));
    tree.set_name(&place(if way.to_a_new_name { "state-0" } else { "state" }), Some(Inode(1))).unwrap();
    tree
}

fn log(way: Way) -> Vec<What> {
    let mut log = Vec::new();
    for state in 1..=STATES {
        let inode = if way.in_place { 1 } else { state as u32 + 1 };
        log.push(if way.in_place { size(1, 0) } else { create(inode, "tmp") });
        log.push(What::Write { inode: Inode(inode), offset: 0, bytes: Bytes::from(text(state)), synced: None });
        log.extend(way.fsync.then(|| fsync(inode)));
        log.push(close(inode));
        if !way.in_place {
            log.push(rename("tmp", &if way.to_a_new_name { format!("state-{state}") } else { "state".to_owned() }));
        }
        log.extend(way.sync_folder.then(|| fsync(0)));
        log.push(mark(state as u32));
    }
    log
}

#[derive(Debug, PartialEq)]
enum State {
    Corrupt,
    Half,
    Whole(usize),
}

struct Json;

impl Judge for Json {
    type Worker = ();
    type State = State;

    fn open(&self, (): &mut (), disk: &Tree) -> State {
        let newest = disk.paths().into_iter().rfind(|(path, _)| path.to_string_lossy().starts_with("state"));
        let bytes = newest.and_then(|(_, inode)| disk.file(inode).map(|file| file.to_vec())).unwrap_or_default();
        let ends = |state: &usize| (bytes.starts_with(&text(*state)[..2]), bytes.ends_with(&text(*state)[9002..]));
        if bytes.len() != text(0).len() || bytes.contains(&0) {
            return State::Corrupt;
        }
        match (0..=STATES).find(|state| text(*state) == bytes) {
            Some(state) => State::Whole(state),
            None if (0..=STATES).any(|state| ends(&state).0) => State::Half,
            None => State::Corrupt,
        }
    }

    fn judge(&self, state: &State, _op: usize, seen: usize) -> Option<String> {
        match state {
            State::Corrupt => Some("corrupt".to_owned()),
            State::Half => Some("half".to_owned()),
            State::Whole(state) => (*state < seen).then(|| "lost".to_owned()),
        }
    }
}

#[rstest]
#[case::in_place(IN_PLACE, "corrupt", "corrupt half lost", "corrupt lost")]
#[case::in_place_and_fsync(Way { fsync: true, ..IN_PLACE }, "corrupt", "corrupt half", "corrupt")]
#[case::rename(RENAME, "", "corrupt lost", "lost")]
#[case::rename_to_a_new_name(NEW_NAME, "", "corrupt lost", "corrupt lost")]
#[case::rename_and_folder(Way { sync_folder: true, ..RENAME }, "", "corrupt", "")]
#[case::rename_to_a_new_name_and_folder(Way { sync_folder: true, ..NEW_NAME }, "", "corrupt", "corrupt")]
#[case::fsync_and_rename(Way { fsync: true, ..RENAME }, "", "lost", "lost")]
#[case::fsync_and_rename_to_a_new_name(Way { fsync: true, ..NEW_NAME }, "", "lost", "lost")]
#[case::fsync_rename_and_folder(Way { fsync: true, sync_folder: true, ..RENAME }, "", "", "")]
#[case::fsync_rename_to_a_new_name_and_folder(Way { fsync: true, sync_folder: true, ..NEW_NAME }, "", "", "")]
fn each_way_to_write_a_file_fails_as_it_must(
    #[case] way: Way,
    #[case] killed: &str,
    #[case] strict: &str,
    #[case] ext4: &str,
) {
    let timeline = Timeline::new(recording(start(way), log(way))).unwrap();
    let budget = Budget::default();
    let rules = |findings: Vec<nack::disk::sweep::Finding>| {
        findings
            .into_iter()
            .map(|finding| finding.rule)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let workers = || vec![(), ()];
    assert_eq!(rules(sweep(&Json, workers(), |visit| kills(&timeline, &budget, visit)).0), killed, "kill");
    let power = |model| rules(sweep(&Json, workers(), |visit| power_losses(&timeline, model, &budget, visit)).0);
    assert_eq!(power(Strict), strict, "strict");
    assert_eq!(power(Ext4), ext4, "ext4");
}

#[rstest]
fn without_its_syncs_the_right_way_turns_red(#[values(Strict, Ext4)] model: nack::disk::model::Model) {
    let way = Way { fsync: true, sync_folder: true, ..RENAME };
    let timeline = Timeline::new(recording(start(way), log(way)).without_syncs()).unwrap();
    let (findings, _) = sweep(&Json, vec![()], |visit| power_losses(&timeline, model, &Budget::default(), visit));
    assert!(!findings.is_empty());
}

#[test]
fn findings_do_not_depend_on_the_number_of_threads() {
    let timeline = Timeline::new(recording(start(IN_PLACE), log(IN_PLACE))).unwrap();
    let findings =
        |threads| sweep(&Json, vec![(); threads], |visit| power_losses(&timeline, Strict, &Budget::default(), visit)).0;
    let one = findings(1);
    assert!(!one.is_empty());
    assert_eq!(one, findings(3));
}
