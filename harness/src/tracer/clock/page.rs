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
/// The nanoseconds by which each worker's wall clock is ahead, from here on.
const AHEAD: usize = 3;

/// The most that can pass: two hundred years. What would wait longer waits for ever.
pub(super) const EVER: i64 = 200 * 365 * 86_400 * SECOND;
/// A second in nanoseconds.
pub(super) const SECOND: i64 = 1_000_000_000;
/// Where the monotonic clocks stand at the start: some programs take a young machine for a broken one.
const BOOTED: i64 = 1_000_000 * SECOND;

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
    pub const WORKERS: usize = NUMBERS - AHEAD;

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
        self.number(AHEAD + worker).store(seconds.saturating_mul(SECOND).clamp(-EVER, EVER), Ordering::SeqCst);
    }

    pub(super) fn passed_nanos(&self) -> i64 {
        self.number(PASSED).load(Ordering::SeqCst)
    }

    pub(super) fn horizon(&self) -> i64 {
        self.number(HORIZON).load(Ordering::SeqCst)
    }

    /// By how much a worker's wall clock is ahead of what has passed.
    pub(super) fn wall(&self, worker: usize) -> i64 {
        self.number(START).load(Ordering::SeqCst) + self.number(AHEAD + worker).load(Ordering::SeqCst)
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
