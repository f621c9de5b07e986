//! The time of programs that are not told it: each call runs in the case's own, which passes as the case's steps say and
//! as its programs sleep.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock::Clock;
use crate::tracer::{Unrecorded, VirtualClock, clock_supported, program_of};

/// Why programs cannot be kept in the case's time here, if they cannot.
pub(super) fn refused() -> Option<String> {
    clock_supported().err().map(|why| why.to_string())
}

/// The number of the process that runs a call's program, where this one was started for it.
pub(super) fn program(started: u32) -> Option<u32> {
    program_of(started)
}

/// The time of one case.
#[derive(Debug)]
pub(super) struct Time {
    clock: VirtualClock,
    folder: PathBuf,
    /// Who has had a call, by the numbers of their clocks.
    workers: Vec<String>,
    /// The seconds that have passed for case and programs alike.
    passed: i64,
    logs: usize,
}

impl Time {
    /// A time that begins with the case's clock.
    pub(super) fn begin(clock: &Clock, folder: &Path) -> io::Result<Time> {
        let passed = clock.passed();
        let kept = VirtualClock::create(folder.join("time"), clock.now("") - passed)?;
        kept.advance(Duration::from_secs(passed.unsigned_abs()));
        Ok(Time { clock: kept, folder: folder.to_owned(), workers: Vec::new(), passed, logs: 0 })
    }

    /// Lets pass for the programs what has passed in the case, and in the case what has passed for the programs.
    pub(super) fn meet(&mut self, clock: &Clock) {
        let moved = clock.passed() - self.passed;
        self.clock.advance(Duration::from_secs(u64::try_from(moved).unwrap_or(0)));
        let slept = i64::try_from(self.clock.passed().as_secs()).unwrap_or(i64::MAX) - clock.passed();
        if slept > 0 {
            clock.advance(slept, None);
        }
        self.passed = clock.passed();
        for (number, worker) in self.workers.iter().enumerate() {
            self.clock.skew(number, clock.now(worker) - clock.now(""));
        }
    }

    /// The words that run a worker's call in this time, and where it will be told whether it was in it all along.
    pub(super) fn words(
        &mut self,
        clock: &Clock,
        worker: &str,
        argv: Vec<OsString>,
    ) -> io::Result<(Vec<OsString>, PathBuf)> {
        let number = self.workers.iter().position(|known| known == worker).unwrap_or_else(|| {
            self.workers.push(worker.to_owned());
            self.workers.len() - 1
        });
        self.meet(clock);
        self.logs += 1;
        let log = self.folder.join(format!("time-{}", self.logs));
        Ok((self.clock.command(number, &log, argv)?, log))
    }

    /// A worker is held at a point of its call, or let go.
    pub(super) fn hold(&self, worker: &str, held: bool) {
        if let Some(number) = self.workers.iter().position(|known| known == worker) {
            if held { self.clock.hold(number) } else { self.clock.release(number) }
        }
    }

    /// No time passes for the workers, or it may again.
    pub(super) fn stand_still(&self, stands: bool) {
        self.clock.stand_still(stands);
    }

    /// A worker's call has ended.
    pub(super) fn leave(&self, worker: &str) {
        if let Some(number) = self.workers.iter().position(|known| known == worker) {
            self.clock.leave(number);
        }
    }

    /// Why a call that has ended was not in this time all along, if it was not.
    pub(super) fn left(log: &Path) -> Option<String> {
        match VirtualClock::finish(log) {
            // One that was killed has nothing more to tell.
            Ok(()) | Err(Unrecorded::NoEnd) => None,
            Err(why) => Some(format!("the clock of a program was not controlled: {why}")),
        }
    }
}
