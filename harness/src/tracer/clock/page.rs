//! The virtual time of one case, in a page of memory that the harness shares with every tracer of the case: it moves by
//! what the harness says and by what the programs sleep, for all of them at once.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// How many numbers there are: a page of them.
const NUMBERS: usize = 512;
const SIZE: usize = NUMBERS * size_of::<i64>();

/// The wall clock at the start, in nanoseconds since the epoch.
const START: usize = 0;
/// The nanoseconds that have passed since.
const PASSED: usize = 1;
/// How many nanoseconds may pass by what programs sleep.
const HORIZON: usize = 2;
/// Where the numbers of the workers begin, and how many each has.
const WORKERS: usize = 3;
const EACH: usize = 3;
/// The nanoseconds by which its wall clock is ahead.
const AHEAD: usize = 0;
/// How long it was held from outside, in nanoseconds. While it is, what its monotonic clock shows since the start, as a
/// negative number below 0.
const HELD: usize = 1;
/// What it does, as a [`Doing`].
const DOING: usize = 2;

/// The most that can pass: two hundred years. What would wait longer waits for ever.
pub(super) const EVER: i64 = 200 * 365 * 86_400 * SECOND;
/// A second in nanoseconds.
pub(super) const SECOND: i64 = 1_000_000_000;
/// Where the monotonic clocks stand at the start: some programs take a young machine for a broken one.
const BOOTED: i64 = 1_000_000 * SECOND;

/// What a worker does, as far as the others' time depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It is not there, or held: time may pass it by.
    Nothing,
    /// It works, and until it does not nobody's wait is over.
    Works,
    /// It waits for somebody outside, and time passes for all as it does there.
    IsOwed,
    /// It sleeps until so much will have passed.
    Sleeps(i64),
}

impl Doing {
    fn number(self) -> i64 {
        match self {
            Doing::Nothing => 0,
            Doing::Works => 1,
            Doing::IsOwed => 2,
            Doing::Sleeps(until) => until.saturating_add(3),
        }
    }

    fn of(number: i64) -> Doing {
        match number {
            0 => Doing::Nothing,
            1 => Doing::Works,
            2 => Doing::IsOwed,
            until => Doing::Sleeps(until - 3),
        }
    }
}

/// The virtual time of one case, which stands still but for what programs wait for and what it is moved by.
#[derive(Debug)]
pub struct VirtualClock {
    path: PathBuf,
    numbers: NonNull<AtomicI64>,
}

// SAFETY: the memory is shared between processes anyway, and only reached through atomics.
unsafe impl Send for VirtualClock {}
// SAFETY: the same.
unsafe impl Sync for VirtualClock {}

impl VirtualClock {
    /// The most workers that one time is told to.
    pub const WORKERS: usize = (NUMBERS - WORKERS) / EACH - 1;

    /// A time that begins at `start`, in seconds since the epoch, in a new file. Programs may sleep without end.
    ///
    /// # Errors
    /// The file exists, or cannot be made.
    pub fn create(path: impl Into<PathBuf>, start: i64) -> io::Result<VirtualClock> {
        let path = path.into();
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        file.set_len(SIZE as u64)?;
        let clock = VirtualClock { numbers: map(&file)?, path };
        clock.number(START).store(start.saturating_mul(SECOND), Ordering::SeqCst);
        clock.number(HORIZON).store(EVER, Ordering::SeqCst);
        Ok(clock)
    }

    /// The time that was made in this file.
    pub(in crate::tracer) fn open(path: &Path) -> io::Result<VirtualClock> {
        let file = File::options().read(true).write(true).open(path)?;
        if file.metadata()?.len() != SIZE as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(VirtualClock { numbers: map(&file)?, path: path.to_owned() })
    }

    pub(in crate::tracer) fn path(&self) -> &Path {
        &self.path
    }

    fn of(&self, worker: usize, number: usize) -> &AtomicI64 {
        self.number(WORKERS + EACH * worker + number)
    }

    fn number(&self, index: usize) -> &AtomicI64 {
        assert!(index < NUMBERS, "there is no such worker");
        // SAFETY: the page holds this many numbers, is aligned as pages are, and stays mapped as long as this does.
        unsafe { self.numbers.add(index).as_ref() }
    }

    /// How much time has passed since the start.
    #[must_use]
    pub fn passed(&self) -> Duration {
        Duration::from_nanos(self.passed_nanos().unsigned_abs())
    }

    /// Lets time pass for every worker.
    pub fn advance(&self, by: Duration) {
        let by = nanos(by);
        // It always has a value to give.
        let _ = self.number(PASSED).fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| Some((now + by).min(EVER)));
    }

    /// Forbids programs to sleep to where more than this has passed since the start. Whoever waits longer waits for real.
    pub fn limit(&self, passed: Duration) {
        self.number(HORIZON).store(nanos(passed), Ordering::SeqCst);
    }

    /// Puts the wall clock of one worker ahead by so many seconds, or behind. What it measures and waits stays right.
    pub fn skew(&self, worker: usize, seconds: i64) {
        self.of(worker, AHEAD).store(seconds.saturating_mul(SECOND).clamp(-EVER, EVER), Ordering::SeqCst);
    }

    /// Holds a worker from outside, by an answer that it does not get, as if its machine were suspended: what it waits for
    /// is not over, and what it measures stands, while its wall clock and the others' time go on.
    pub fn hold(&self, worker: usize) {
        let hold = |held: i64| (held >= 0).then(|| -1 - (self.passed_nanos() - held));
        // Whoever is held already stays so.
        let _ = self.of(worker, HELD).fetch_update(Ordering::SeqCst, Ordering::SeqCst, hold);
    }

    /// Lets a worker go on that is held.
    pub fn release(&self, worker: usize) {
        let release = |held: i64| (held < 0).then(|| self.passed_nanos() - (-1 - held));
        // Whoever is not held goes on anyway.
        let released = self.of(worker, HELD).fetch_update(Ordering::SeqCst, Ordering::SeqCst, release);
        if released.is_ok() {
            self.does(worker, Doing::Works);
        }
    }

    /// Keeps every worker's waits from being over, or no longer: whoever keeps the clock holds what they wait for.
    pub fn stand_still(&self, stands: bool) {
        // As if there were one more worker.
        self.does(VirtualClock::WORKERS, if stands { Doing::Works } else { Doing::Nothing });
    }

    /// A worker's program is about to start: the others wait for it.
    pub(super) fn enter(&self, worker: usize) {
        self.does(worker, Doing::Works);
    }

    /// A worker's program has ended. Nobody waits for it any more, though its tracer may have been killed.
    pub fn leave(&self, worker: usize) {
        self.release(worker);
        self.does(worker, Doing::Nothing);
    }

    pub(super) fn is_held(&self, worker: usize) -> bool {
        self.of(worker, HELD).load(Ordering::SeqCst) < 0
    }

    pub(super) fn does(&self, worker: usize, what: Doing) {
        self.of(worker, DOING).store(what.number(), Ordering::SeqCst);
    }

    /// What keeps the time from being moved to where this worker sleeps until, if anybody does.
    pub(super) fn kept_by(&self, worker: usize, until: i64) -> Doing {
        let others = (0..=VirtualClock::WORKERS).filter(|other| *other != worker);
        let doing = others.map(|other| match Doing::of(self.of(other, DOING).load(Ordering::SeqCst)) {
            // Whoever is due first goes first.
            Doing::Sleeps(theirs) if (theirs, other) > (until, worker) => Doing::Nothing,
            Doing::Sleeps(_) => Doing::Works,
            doing => doing,
        });
        doing.fold(Doing::Nothing, |all, one| match (all, one) {
            (Doing::Works, _) | (_, Doing::Works) => Doing::Works,
            (Doing::Nothing, other) | (other, _) => other,
        })
    }

    /// The nanoseconds that have passed for a worker, but for those in which it was held.
    pub(super) fn lived(&self, worker: usize) -> i64 {
        match self.of(worker, HELD).load(Ordering::SeqCst) {
            held @ 0.. => self.passed_nanos() - held,
            held => -1 - held,
        }
    }

    /// How much will have passed for all when so much has for a worker.
    pub(super) fn passed_when(&self, worker: usize, lived: i64) -> i64 {
        let behind = self.passed_nanos() - self.lived(worker);
        if lived < EVER { lived + behind } else { EVER }
    }

    pub(super) fn passed_nanos(&self) -> i64 {
        self.number(PASSED).load(Ordering::SeqCst)
    }

    pub(super) fn horizon(&self) -> i64 {
        self.number(HORIZON).load(Ordering::SeqCst)
    }

    /// By how much a worker's wall clock is ahead of what has passed.
    pub(super) fn wall(&self, worker: usize) -> i64 {
        self.number(START).load(Ordering::SeqCst) + self.of(worker, AHEAD).load(Ordering::SeqCst)
    }

    /// By how much the monotonic clocks are ahead of what has passed.
    pub(super) fn monotonic(&self) -> i64 {
        BOOTED
    }

    /// A little passes, so that whoever looks again sees the clock move.
    pub(super) fn tick(&self, by: i64) {
        self.number(PASSED).fetch_add(by, Ordering::SeqCst);
    }

    /// As much has passed, or already more.
    pub(super) fn reach(&self, passed: i64) {
        self.number(PASSED).fetch_max(passed, Ordering::SeqCst);
    }
}

impl Drop for VirtualClock {
    fn drop(&mut self) {
        // SAFETY: it is what was mapped, and nothing refers to it any more.
        unsafe { libc::munmap(self.numbers.as_ptr().cast(), SIZE) };
    }
}

/// A duration in nanoseconds, at most what can pass.
pub(super) fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(EVER).min(EVER)
}

fn map(file: &File) -> io::Result<NonNull<AtomicI64>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of a file that is long enough; nobody cuts it.
    let start = unsafe { libc::mmap(ptr::null_mut(), SIZE, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
