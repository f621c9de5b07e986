//! The harness's side of a recording: the command line that records, and what came of it.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use rustix::process::{Pid, Signal, kill_process};
use thiserror::Error;

use super::READY;
use super::clock::VirtualClock;
use super::log_file::{self, Entry, Refusal};
use super::order::Order;
use crate::disk::folder::{Difference, difference};
use crate::disk::log::{Op, Recording, What};
use crate::disk::tree::Misfit;

/// One recording: of one store, into one log file.
#[derive(Clone, Debug)]
pub struct Recorder {
    store: PathBuf,
    log: PathBuf,
    kill_at: Option<u64>,
    clock: Option<(PathBuf, usize)>,
}

/// Why there is no recording that could be judged. The first is a case that is not supported, the others leave it
/// inconclusive.
#[derive(Debug, Error)]
pub enum Unrecorded {
    /// The program or the system does something that cannot be followed.
    #[error("unsupported: {}", .0.join("; "))]
    Unsupported(Vec<String>),
    /// The program itself could not be started.
    #[error("the program could not be started: {0}")]
    NotStarted(String),
    /// Something went wrong while it was recorded.
    #[error("the recording is broken: {}", .0.join("; "))]
    Broken(Vec<String>),
    /// The tracer was killed or failed before everything had ended.
    #[error("the recording has no end: the tracer was killed, or could not write its log")]
    NoEnd,
    /// The log does not fit together.
    #[error("the log contradicts itself at operation {at}: {why}")]
    Misfit {
        /// Which operation, the first is 0.
        at: usize,
        /// What does not fit.
        why: Misfit,
    },
    /// The store is not what the log makes of it.
    #[error("the store is not what the recorded calls make of it: {0}")]
    Differs(Difference),
    /// A file could not be read.
    #[error("the recording or the store could not be read: {0}")]
    File(#[from] io::Error),
}

impl Recorder {
    /// Records what happens to a store, a folder that exists, into a log file, which must not.
    #[must_use]
    pub fn new(store: impl Into<PathBuf>, log: impl Into<PathBuf>) -> Recorder {
        Recorder { store: store.into(), log: log.into(), kill_at: None, clock: None }
    }

    /// Kills everything with SIGKILL right behind the n-th operation of the log.
    #[must_use]
    pub fn kill_at(mut self, operations: u64) -> Recorder {
        self.kill_at = Some(operations);
        self
    }

    /// Runs the program in virtual time, as one of its workers.
    #[must_use]
    pub fn clock(mut self, clock: &VirtualClock, worker: usize) -> Recorder {
        self.clock = Some((clock.path().to_owned(), worker));
        self
    }

    /// The command line that runs a program under the tracer. It has the program's pipes, status and group; signals
    /// are to be sent to the group, as the tracer itself passes none on.
    ///
    /// # Errors
    /// This program does not know its own path.
    pub fn command(&self, argv: impl IntoIterator<Item = impl Into<OsString>>) -> io::Result<Vec<OsString>> {
        Order {
            log: self.log.clone(),
            store: Some(self.store.clone()),
            kill_at: self.kill_at,
            clock: self.clock.clone(),
            argv: argv.into_iter().map(Into::into).collect(),
        }
        .command()
    }

    /// Where the log is now. Asked while the subject rests, it tells what the subject did before from what it does
    /// later.
    #[must_use]
    pub fn position(&self) -> u64 {
        std::fs::metadata(&self.log).map_or(0, |log| log.len())
    }

    /// Asks a tracer to end the subject at once and its recording in good order: a call on the store that is in flight
    /// may still return. Killing the tracer is no less deadly, but leaves a recording without an end.
    pub fn hang_up(tracer: u32) {
        if let Some(pid) = i32::try_from(tracer).ok().and_then(Pid::from_raw) {
            // One that has ended by itself needs no asking.
            let _ = kill_process(pid, Signal::HUP);
        }
    }

    /// What was recorded, once the tracer has ended. The marks are numbers for positions of the log, in their order.
    ///
    /// # Errors
    /// There is nothing that could be judged: it was not supported, not whole, or the store is not, byte for byte and
    /// name for name, what the recorded operations make of it.
    pub fn finish(&self, marks: &[(u64, u32)]) -> Result<Recording, Unrecorded> {
        let mut recording = Recording::default();
        let entries = log_file::read(&self.log)?;
        whole(&entries)?;
        let mut marks = marks.iter().peekable();
        for (position, entry) in entries {
            while let Some((_, number)) = marks.next_if(|(marked, _)| *marked <= position) {
                recording.ops.push(mark(*number));
            }
            match entry {
                Entry::Start(start) => recording.start = start,
                Entry::Op(op) => recording.ops.push(op),
                _ => {}
            }
        }
        recording.ops.extend(marks.map(|(_, number)| mark(*number)));
        let mut tree = recording.start.clone();
        for (at, op) in recording.ops.iter().enumerate() {
            tree.apply(&op.what).map_err(|why| Unrecorded::Misfit { at, why })?;
        }
        match difference(&tree, &self.store)? {
            None => Ok(recording),
            Some(difference) => Err(Unrecorded::Differs(difference)),
        }
    }

    /// Whether this program can record at all.
    pub(super) fn is_ready() -> bool {
        READY.load(Ordering::Relaxed)
    }
}

/// Whether a log tells of a run that was followed to its end.
pub(super) fn whole(entries: &[(u64, Entry)]) -> Result<(), Unrecorded> {
    let (mut unsupported, mut broken, mut whole) = (Vec::new(), Vec::new(), false);
    for (_, entry) in entries {
        match entry {
            Entry::Refused(Refusal::NotStarted(why)) => return Err(Unrecorded::NotStarted(why.clone())),
            Entry::Refused(Refusal::Unsupported(why)) | Entry::Unsupported(why) => unsupported.push(why.clone()),
            Entry::Broken(why) => broken.push(why.clone()),
            Entry::End => whole = true,
            Entry::Start(_) | Entry::Op(_) => {}
        }
    }
    if !unsupported.is_empty() {
        return Err(Unrecorded::Unsupported(unsupported));
    }
    if !broken.is_empty() {
        return Err(Unrecorded::Broken(broken));
    }
    if whole { Ok(()) } else { Err(Unrecorded::NoEnd) }
}

fn mark(number: u32) -> Op {
    Op { actor: 0, call: "mark".into(), what: What::Mark { number } }
}
