//! What a call has to do with time, read from its number and arguments: it asks for the time, or it waits for no longer
//! than some time.

use std::io;

use super::page::{EVER, SECOND, VirtualClock, nanos};
use crate::tracer::sys::{Entry, Tid};
use crate::tracer::thread;

/// The most descriptors of one call that are looked at.
const MOST_DESCRIPTORS: u64 = 1 << 16;
/// `FUTEX_LOCK_PI2`, which waits by the monotonic clock.
const LOCK_PI2: i32 = 13;
/// The part of a futex operation that says what it does.
const COMMAND: i32 = !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);

/// Time as the programs below one tracer are told it.
#[derive(Debug)]
pub(super) struct Time {
    pub(super) clock: VirtualClock,
    pub(super) worker: usize,
}

/// A clock that is not one of the processor's own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Wall,
    Monotonic,
}

impl Which {
    /// The clock of this number, if it shows the virtual time.
    pub(super) fn of(number: u64) -> Option<Which> {
        match number as i32 {
            libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_REALTIME_ALARM | libc::CLOCK_TAI => {
                Some(Which::Wall)
            }
            libc::CLOCK_MONOTONIC
            | libc::CLOCK_MONOTONIC_RAW
            | libc::CLOCK_MONOTONIC_COARSE
            | libc::CLOCK_BOOTTIME
            | libc::CLOCK_BOOTTIME_ALARM => Some(Which::Monotonic),
            _ => None,
        }
    }
}

impl Time {
    /// How much has passed for these programs since the start.
    pub(super) fn now(&self) -> i64 {
        self.clock.lived(self.worker)
    }

    /// What a clock shows.
    pub(super) fn shown(&self, which: Which) -> i64 {
        match which {
            Which::Wall => self.clock.passed_nanos() + self.clock.wall(self.worker),
            Which::Monotonic => self.now() + self.clock.monotonic(),
        }
    }

    /// How much will have passed when a clock shows this.
    pub(super) fn until(&self, which: Which, shown: i64) -> i64 {
        let left = shown.saturating_sub(self.shown(which));
        self.now().saturating_add(left).min(EVER)
    }

    /// So much has passed for these programs, or already more.
    pub(super) fn reach(&self, lived: i64) {
        self.clock.reach(self.clock.passed_when(self.worker, lived));
    }

    /// How much will have passed then.
    pub(super) fn after(&self, duration: i64) -> i64 {
        self.now().saturating_add(duration).min(EVER)
    }
}

/// How the kernel writes a time down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Seconds and nanoseconds.
    Timespec,
    /// Seconds and microseconds.
    Timeval,
}

impl Format {
    /// A time that is not negative, if one stands in this memory.
    pub(super) fn read(self, tid: Tid, address: u64) -> io::Result<Option<i64>> {
        let (seconds, rest) = (thread::word(tid, address)? as i64, thread::word(tid, address + 8)? as i64);
        let (unit, within) = match self {
            Format::Timespec => (1, rest < SECOND),
            Format::Timeval => (1_000, true),
        };
        let whole = seconds.saturating_mul(SECOND).saturating_add(rest.saturating_mul(unit));
        Ok((seconds >= 0 && rest >= 0 && within).then_some(whole))
    }

    /// A time as bytes.
    pub(super) fn bytes(self, time: i64) -> Vec<u8> {
        let rest = time.rem_euclid(SECOND);
        let rest = if self == Format::Timeval { rest / 1_000 } else { rest };
        [time.div_euclid(SECOND), rest].into_iter().flat_map(i64::to_ne_bytes).collect()
    }
}

/// What a call has to do with time.
#[derive(Debug)]
pub(super) enum Timed {
    /// It asks for the time: what it is to find in its memory, and what it returns.
    Asks { writes: Vec<(u64, Vec<u8>)>, result: i64 },
    /// It waits, and no longer than some time.
    Waits(Limit),
}

/// What is done to a call so that it waits without a limit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instead {
    /// It waits for nothing but a signal.
    Pause,
    /// This argument becomes that.
    Argument(u8, u64),
    /// It has no limit of its own.
    AsItIs,
}

/// The limit of a wait.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    /// How much will have passed when it is over.
    pub(super) deadline: i64,
    pub(super) instead: Instead,
    /// What the call returns when it is over.
    pub(super) over: i64,
    /// Where the kernel says how much was left.
    pub(super) left: Option<(u64, Format)>,
    /// Whether it says that only when a signal came in between.
    pub(super) left_if_interrupted: bool,
    /// The sets in which nothing is ready when it is over, and their size in bytes.
    pub(super) sets: [u64; 3],
    pub(super) set_size: usize,
    /// The descriptors that it waits to read from, as far as the call itself names them.
    pub(super) reads: Vec<i32>,
}

impl Limit {
    pub(super) fn new(deadline: i64, instead: Instead, over: i64) -> Limit {
        Limit {
            deadline,
            instead,
            over,
            left: None,
            left_if_interrupted: false,
            sets: [0; 3],
            set_size: 0,
            reads: Vec::new(),
        }
    }
}

/// Reads what a call has to do with time, if anything. One that the kernel will refuse, or that does not wait, has not.
///
/// # Errors
/// The memory that its arguments point to could not be read.
pub(super) fn read(time: &Time, tid: Tid, entry: &Entry) -> io::Result<Option<Timed>> {
    let [a, b, c, d, e, _] = entry.args;
    Ok(match entry.number as i64 {
        libc::SYS_clock_gettime => {
            Which::of(a).map(|which| asks(vec![(b, Format::Timespec.bytes(time.shown(which)))], 0))
        }
        libc::SYS_gettimeofday => {
            let now = (a, Format::Timeval.bytes(time.shown(Which::Wall)));
            // Nobody has set a zone for decades.
            Some(asks([now, (b, vec![0; 8])].into_iter().filter(|(address, _)| *address != 0).collect(), 0))
        }
        libc::SYS_time => {
            let now = time.shown(Which::Wall).div_euclid(SECOND);
            let writes = if a == 0 { Vec::new() } else { vec![(a, now.to_ne_bytes().to_vec())] };
            Some(asks(writes, now))
        }
        libc::SYS_nanosleep => sleep(time, tid, None, a, b)?,
        libc::SYS_clock_nanosleep => match Which::of(a) {
            Some(which) if b & libc::TIMER_ABSTIME as u64 != 0 => sleep(time, tid, Some(which), c, 0)?,
            Some(_) => sleep(time, tid, None, c, d)?,
            None => None,
        },
        libc::SYS_poll => polls(milliseconds(time, c, 2), tid, entry)?,
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => milliseconds(time, d, 3),
        libc::SYS_ppoll => polls(told(time, tid, c, 2, Format::Timespec)?, tid, entry)?,
        libc::SYS_epoll_pwait2 => {
            let limit = within(time, tid, d, Format::Timespec)?;
            limit.map(|deadline| Timed::Waits(Limit::new(deadline, Instead::Argument(3, 0), 0)))
        }
        libc::SYS_select => selects(told(time, tid, e, 4, Format::Timeval)?, tid, entry)?,
        libc::SYS_pselect6 => selects(told(time, tid, e, 4, Format::Timespec)?, tid, entry)?,
        libc::SYS_rt_sigtimedwait => {
            let limit = within(time, tid, c, Format::Timespec)?;
            let again = -i64::from(libc::EAGAIN);
            limit.map(|deadline| Timed::Waits(Limit::new(deadline, Instead::Argument(2, 0), again)))
        }
        libc::SYS_futex => futex(time, tid, b as i32, d)?,
        _ => None,
    })
}

fn asks(writes: Vec<(u64, Vec<u8>)>, result: i64) -> Timed {
    Timed::Asks { writes, result }
}

/// A sleep for a duration, or until a clock shows something.
fn sleep(time: &Time, tid: Tid, until: Option<Which>, request: u64, left: u64) -> io::Result<Option<Timed>> {
    let Some(wanted) = Format::Timespec.read(tid, request)? else { return Ok(None) };
    let deadline = match until {
        Some(which) => time.until(which, wanted),
        None if wanted == 0 => return Ok(None),
        None => time.after(wanted),
    };
    if deadline <= time.now() {
        return Ok(Some(asks(Vec::new(), 0)));
    }
    let mut limit = Limit::new(deadline, Instead::Pause, 0);
    limit.left = (left != 0).then_some((left, Format::Timespec));
    limit.left_if_interrupted = true;
    Ok(Some(Timed::Waits(limit)))
}

fn milliseconds(time: &Time, limit: u64, argument: u8) -> Option<Timed> {
    let limit = i64::from(limit as i32) * 1_000_000;
    let forever = Instead::Argument(argument, u64::from(u32::MAX));
    (limit > 0).then(|| Timed::Waits(Limit::new(time.after(limit), forever, 0)))
}

/// When a duration in memory is over, if there is one and it is more than nothing.
fn within(time: &Time, tid: Tid, address: u64, format: Format) -> io::Result<Option<i64>> {
    if address == 0 {
        return Ok(None);
    }
    Ok(format.read(tid, address)?.filter(|limit| *limit > 0).map(|limit| time.after(limit)))
}

/// A limit by a pointer, behind which the kernel says how much was left.
fn told(time: &Time, tid: Tid, address: u64, argument: u8, format: Format) -> io::Result<Option<Timed>> {
    Ok(within(time, tid, address, format)?.map(|deadline| {
        let mut limit = Limit::new(deadline, Instead::Argument(argument, 0), 0);
        limit.left = Some((address, format));
        Timed::Waits(limit)
    }))
}

/// The descriptors of a poll.
fn polls(timed: Option<Timed>, tid: Tid, entry: &Entry) -> io::Result<Option<Timed>> {
    let Some(Timed::Waits(mut limit)) = timed else { return Ok(timed) };
    let [at, count, ..] = entry.args;
    let bytes = thread::prefix(tid, at, count.min(MOST_DESCRIPTORS) as usize * 8)?;
    for &[a, b, c, d, events, ..] in bytes.as_chunks::<8>().0 {
        if i16::from(events) & libc::POLLIN != 0 {
            limit.reads.push(i32::from_ne_bytes([a, b, c, d]));
        }
    }
    Ok(Some(Timed::Waits(limit)))
}

/// The sets of a select.
fn selects(timed: Option<Timed>, tid: Tid, entry: &Entry) -> io::Result<Option<Timed>> {
    let Some(Timed::Waits(mut limit)) = timed else { return Ok(timed) };
    let [count, sets @ .., _, _] = entry.args;
    limit.sets = sets;
    limit.set_size = u64::from(count as u32).min(MOST_DESCRIPTORS).div_ceil(64) as usize * 8;
    if sets[0] != 0 {
        let bits = thread::prefix(tid, sets[0], limit.set_size)?;
        let set = |fd: &i32| bits.get(*fd as usize / 8).is_some_and(|byte| byte & (1 << (fd % 8)) != 0);
        limit.reads = (0..bits.len() as i32 * 8).filter(set).collect();
    }
    Ok(Some(Timed::Waits(limit)))
}

fn futex(time: &Time, tid: Tid, operation: i32, address: u64) -> io::Result<Option<Timed>> {
    if address == 0 {
        return Ok(None);
    }
    let by = if operation & libc::FUTEX_CLOCK_REALTIME == 0 { Which::Monotonic } else { Which::Wall };
    let until = match operation & COMMAND {
        libc::FUTEX_WAIT => None,
        libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAIT_REQUEUE_PI | LOCK_PI2 => Some(by),
        libc::FUTEX_LOCK_PI => Some(Which::Wall),
        _ => return Ok(None),
    };
    let Some(wanted) = Format::Timespec.read(tid, address)? else { return Ok(None) };
    let deadline = match until {
        Some(which) => time.until(which, wanted),
        None => time.after(wanted),
    };
    Ok(Some(Timed::Waits(Limit::new(deadline, Instead::Argument(3, 0), -i64::from(libc::ETIMEDOUT)))))
}

/// How long something may take, as a limit of a socket says it; nothing if there is none.
pub(super) fn socket_limit(tid: Tid, address: u64) -> io::Result<Option<i64>> {
    let limit = Format::Timeval.read(tid, address)?;
    Ok(limit.filter(|limit| *limit > 0).map(|limit| limit.min(nanos(std::time::Duration::MAX))))
}
