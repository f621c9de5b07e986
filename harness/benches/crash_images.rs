//! How many distinct disks of a power loss are made and laid out in a second, and how that grows with the log.
//!
//! The logs are those of a rollback journal and of a write-ahead log, as a database writes them. Fails in a release
//! build if it is slower, grows faster or takes more memory than promised.

use std::process::ExitCode;
use std::time::Instant;

use nack::disk::folder::Stage;
use nack::disk::log::{Bytes, Inode, Kind, Level, Op, Place, Recording, What};
use nack::disk::model::Model;
use nack::disk::search::{Budget, Pick, kills, power_losses};
use nack::disk::sweep::{Judge, sweep};
use nack::disk::timeline::Timeline;
use nack::disk::tree::Tree;
use tempfile::TempDir;

const PAGE: usize = 4096;
const PROMISED_A_SECOND: f64 = 3000.0;
const PROMISED_GROWTH: f64 = 20.0;
const PROMISED_MEGABYTES: u64 = 256;

fn main() -> ExitCode {
    let mut kept = true;
    for (name, log) in
        [("rollback journal", rollback as fn(usize) -> Recording), ("write-ahead log", ahead), ("no sync", never)]
    {
        let mut before: Option<f64> = None;
        for count in [100, 1000, 10_000] {
            let timeline = Timeline::new(log(count)).expect("a log that fits");
            let (killed, kill_seconds) = timed(&timeline, |timeline, visit| kills(timeline, &Budget::default(), visit));
            let (lost, seconds) =
                timed(&timeline, |timeline, visit| power_losses(timeline, Model::Strict, &Budget::default(), visit));
            let rate = lost.disks as f64 / seconds;
            println!(
                "{name}, {count} operations: kill {} disks in {kill_seconds:.2} s; power {} disks, {} of {} choices, \
                 in {seconds:.2} s: {rate:.0} a second",
                killed.disks, lost.disks, lost.tried, lost.possible
            );
            // A larger log means larger disks, and each is written whole here.
            kept &= count > 1000 || rate >= PROMISED_A_SECOND;
            if let Some(before) = before.replace(seconds + kill_seconds).filter(|_| count > 1000) {
                let growth = (seconds + kill_seconds) / before;
                println!("  ten times the log took {growth:.1} times as long");
                kept &= growth <= PROMISED_GROWTH;
            }
        }
    }
    let peak = peak_megabytes();
    println!("peak memory {peak} MB");
    kept &= peak <= PROMISED_MEGABYTES;
    if cfg!(debug_assertions) || kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Lays images out, and finds nothing wrong with any.
struct LayOut;

impl Judge for LayOut {
    type Worker = (TempDir, Stage);
    type State = ();

    fn open(&self, (_, stage): &mut Self::Worker, disk: &Tree) {
        stage.lay_out(disk).expect("a folder in memory");
        // As if somebody had opened it.
        stage.touched();
    }

    fn judge(&self, (): &(), _op: usize, _seen: usize) -> Option<String> {
        None
    }
}

fn timed(
    timeline: &Timeline,
    images: impl FnOnce(&Timeline, &mut dyn FnMut(nack::disk::search::Image)) -> nack::disk::search::Tried,
) -> (nack::disk::search::Tried, f64) {
    let worker = || {
        let scratch = nack::scratch().expect("a scratch folder");
        let stage = Stage::new(scratch.path());
        (scratch, stage)
    };
    let start = Instant::now();
    let (findings, tried) = sweep(&LayOut, vec![worker(), worker()], |visit| images(timeline, visit));
    assert!(findings.iter().all(|finding| matches!(finding.pick, Pick::Kill { .. })));
    (tried, start.elapsed().as_secs_f64())
}

fn write(inode: u32, offset: usize, tag: usize, length: usize) -> What {
    let bytes: Vec<u8> = tag.to_le_bytes().into_iter().cycle().take(length).collect();
    What::Write { inode: Inode(inode), offset: offset as u64, bytes: Bytes::from(bytes), synced: None }
}

fn sync(inode: u32) -> What {
    What::Sync { inode: Inode(inode), level: Level::Data, ok: true }
}

fn recording(mut whats: Vec<What>, count: usize) -> Recording {
    let mut start = Tree::default();
    let database = What::New { inode: Inode(1), kind: Kind::File, at: Some(Place::new(Inode::ROOT, "app.db")) };
    start.apply(&database).expect("a new file");
    start.apply(&write(1, 0, 1, 6 * PAGE)).expect("a file");
    whats.truncate(count);
    let ops = whats.into_iter().map(|what| Op { actor: 0, call: what.word().into(), what });
    Recording { start, ops: ops.collect() }
}

/// Transactions of two pages each, the journal removed and its folder synced after each.
fn rollback(count: usize) -> Recording {
    let mut whats = Vec::new();
    let journal = Place::new(Inode::ROOT, "app.db-journal");
    for number in 1..=count / 12 + 1 {
        let inode = number as u32 + 1;
        let pages = [0, 1 + number % (4 + number / 8)];
        whats.push(What::New { inode: Inode(inode), kind: Kind::File, at: Some(journal.clone()) });
        whats.push(write(inode, 0, number, 512));
        for (index, page) in pages.iter().enumerate() {
            whats.push(write(inode, 512 + index * (PAGE + 8), page + number, PAGE + 8));
        }
        whats.extend([sync(inode), sync(0)]);
        whats.extend(pages.iter().map(|page| write(1, page * PAGE, number * 7 + page, PAGE)));
        whats.extend([sync(1), What::Unlink { at: journal.clone() }, sync(0), What::Mark { number: number as u32 }]);
    }
    recording(whats, count)
}

/// Transactions of two frames each, and a checkpoint of each hundred.
fn ahead(count: usize) -> Recording {
    let log = What::New { inode: Inode(2), kind: Kind::File, at: Some(Place::new(Inode::ROOT, "app.db-wal")) };
    let mut whats = vec![log, write(2, 0, 1, 32), sync(2), sync(0)];
    let mut frame = 0;
    for number in 1..=count / 6 + 1 {
        for _ in 0..2 {
            whats.push(write(2, 32 + frame * (PAGE + 24), number * 3, 24));
            whats.push(write(2, 32 + frame * (PAGE + 24) + 24, number * 5 + frame, PAGE));
            frame += 1;
        }
        whats.extend([sync(2), What::Mark { number: number as u32 }]);
        if number % 100 == 0 {
            whats.extend((0..50).map(|page| write(1, page * PAGE, number + page, PAGE)));
            whats.push(sync(1));
            frame = 0;
        }
    }
    recording(whats, count)
}

/// The write-ahead log without any sync.
fn never(count: usize) -> Recording {
    ahead(count).without_syncs()
}

fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok())
        .map_or(0, |kilobytes| kilobytes / 1024)
}
