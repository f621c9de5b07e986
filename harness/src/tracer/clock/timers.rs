//! Timers that the kernel never sets: it is told nothing of them, and whoever set one gets its signal, or finds its
//! descriptor ready, when virtual time comes to it.

use std::collections::HashMap;
use std::io;

use super::borrowed::{borrow, send_expiry, set_timer, timer_clock};
use super::calls::{Format, Time, Which};
use super::page::{EVER, SECOND};
use super::waits::Due;
use crate::tracer::registers::write_memory;
use crate::tracer::sys::{Entry, Tid};
use crate::tracer::thread;

/// Where the numbers of timers begin that are kept here, far from the kernel's own.
const FIRST: i32 = 1 << 24;

/// The calls on timers.
const CALLS: [i64; 10] = [
    libc::SYS_alarm,
    libc::SYS_setitimer,
    libc::SYS_getitimer,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
];

/// Which timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// The one that every process has.
    Alarm(Tid),
    /// One that was made, by its number.
    Made(Tid, i32),
    /// The one behind a descriptor.
    Descriptor(Tid, i32),
}

/// What becomes of whoever set it.
#[derive(Clone, Copy, Debug)]
enum Expires {
    /// A signal, perhaps to one thread, with a value.
    Signal(i32, Option<Tid>, u64),
    /// Its descriptor becomes ready.
    Descriptor,
    /// Nothing.
    Silently,
}

#[derive(Debug)]
struct Timer {
    expires: Expires,
    which: Which,
    /// When it expires next, if it is set.
    due: Option<Due>,
    interval: i64,
    /// How much had passed without a jump when it was set, and how long it is to take.
    since: i64,
    length: i64,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Timers {
    timers: HashMap<Key, Timer>,
    made: i32,
}

/// What a call on a timer comes to: it is answered here, or it is one of a kind that is left to the kernel.
pub(super) type Answered = Option<i64>;

impl Timers {
    /// The timer that expires next.
    pub(super) fn next(&self) -> Option<Due> {
        self.timers.values().filter_map(|timer| timer.due).min().filter(|(due, _)| *due < EVER)
    }

    /// The timer that expires because so much has passed without a jump.
    pub(super) fn outlasted(&self, stood: i64) -> Option<Due> {
        self.timers.values().filter(|timer| stood - timer.since >= timer.length).filter_map(|timer| timer.due).min()
    }

    /// Lets the timer that is due so expire.
    pub(super) fn fire(&mut self, at: Due, (order, stood): (u64, i64)) {
        let Some((key, timer)) = self.timers.iter_mut().find(|(_, timer)| timer.due == Some(at)) else { return };
        let again = (timer.interval > 0).then(|| (at.0.saturating_add(timer.interval).min(EVER), order));
        timer.due = again;
        (timer.since, timer.length) = (stood, timer.interval);
        // Whoever is gone misses nothing.
        let _ = match (timer.expires, *key) {
            (Expires::Signal(signal, thread, value), Key::Made(process, number)) => {
                send_expiry(process, thread, signal, value, number)
            }
            (Expires::Signal(signal, ..), Key::Alarm(process) | Key::Descriptor(process, _)) => {
                send_expiry(process, None, signal, 0, 0)
            }
            (Expires::Descriptor, Key::Descriptor(process, fd)) => {
                borrow(process, fd).and_then(|copy| set_timer(&copy, 1))
            }
            _ => Ok(()),
        };
    }

    /// A process becomes another program, or ends.
    pub(super) fn forget(&mut self, process: Tid, ends: bool) {
        self.timers.retain(|key, _| match key {
            Key::Alarm(of) | Key::Descriptor(of, _) => *of != process || !ends,
            Key::Made(of, _) => *of != process,
        });
    }

    /// Answers a call on a timer, if it is one of these. `now` is a number for what comes next, and how much has passed
    /// without a jump.
    pub(super) fn answer(&mut self, time: &Time, now: (u64, i64), tid: Tid, entry: &Entry) -> io::Result<Answered> {
        if !CALLS.contains(&(entry.number as i64)) {
            return Ok(None);
        }
        let [a, b, c, d, ..] = entry.args;
        let process = thread::process(tid)?;
        let alarm = Key::Alarm(process);
        let made = Key::Made(process, a as i32);
        let descriptor = Key::Descriptor(process, a as i32);
        match entry.number as i64 {
            libc::SYS_alarm => {
                let seconds = (a as u32 as i64) * SECOND;
                let (left, _) = self.set(alarm, time, now, (seconds, 0), false);
                // What is left of a second is one.
                Ok(Some(left.saturating_add(SECOND - 1) / SECOND))
            }
            libc::SYS_setitimer if a as i32 == libc::ITIMER_REAL => {
                let wanted = if b == 0 { Some((0, 0)) } else { setting(tid, b, Format::Timeval)? };
                let Some(wanted) = wanted else { return Ok(None) };
                let before = self.set(alarm, time, now, wanted, false);
                told(tid, c, before, Format::Timeval)
            }
            libc::SYS_getitimer if a as i32 == libc::ITIMER_REAL => {
                told(tid, b, self.left(alarm, time), Format::Timeval)
            }
            libc::SYS_timer_create => self.create(process, tid, entry),
            libc::SYS_timer_settime if self.timers.contains_key(&made) => {
                let Some(wanted) = setting(tid, c, Format::Timespec)? else { return Ok(None) };
                let before = self.set(made, time, now, wanted, b as i32 & libc::TFD_TIMER_ABSTIME != 0);
                told(tid, d, before, Format::Timespec)
            }
            libc::SYS_timer_gettime if self.timers.contains_key(&made) => {
                told(tid, b, self.left(made, time), Format::Timespec)
            }
            libc::SYS_timer_getoverrun if self.timers.contains_key(&made) => Ok(Some(0)),
            libc::SYS_timer_delete if self.timers.remove(&made).is_some() => Ok(Some(0)),
            libc::SYS_timerfd_settime => {
                let Some(which) = timer_clock(tid, a as i32).and_then(Which::of) else { return Ok(None) };
                let Some(wanted) = setting(tid, c, Format::Timespec)? else { return Ok(None) };
                // What has expired so far is forgotten with it.
                set_timer(&borrow(process, a as i32)?, 0)?;
                let timer = self.timers.entry(descriptor);
                timer
                    .or_insert(Timer {
                        expires: Expires::Descriptor,
                        which,
                        due: None,
                        interval: 0,
                        since: 0,
                        length: 0,
                    })
                    .which = which;
                let before = self.set(descriptor, time, now, wanted, b as i32 & libc::TFD_TIMER_ABSTIME != 0);
                told(tid, d, before, Format::Timespec)
            }
            libc::SYS_timerfd_gettime if self.timers.contains_key(&descriptor) => {
                told(tid, b, self.left(descriptor, time), Format::Timespec)
            }
            _ => Ok(None),
        }
    }

    /// A timer by the system's clocks that tells by a signal, or not at all. Any other is the kernel's.
    fn create(&mut self, process: Tid, tid: Tid, entry: &Entry) -> io::Result<Answered> {
        let [clock, event, number, ..] = entry.args;
        let Some(which) = Which::of(clock) else { return Ok(None) };
        self.made += 1;
        let made = FIRST + self.made;
        let expires = if event == 0 {
            Expires::Signal(libc::SIGALRM, None, made as u64)
        } else {
            let (value, rest) = (thread::word(tid, event)?, thread::word(tid, event + 8)?);
            let signal = rest as u32 as i32;
            match (rest >> 32) as i32 {
                libc::SIGEV_SIGNAL => Expires::Signal(signal, None, value),
                libc::SIGEV_THREAD_ID => {
                    let to = thread::word(tid, event + 16)? as u32 as i32;
                    Expires::Signal(signal, Some(to), value)
                }
                libc::SIGEV_NONE => Expires::Silently,
                _ => return Ok(None),
            }
        };
        write_memory(tid, number, &made.to_ne_bytes())?;
        self.timers
            .insert(Key::Made(process, made), Timer { expires, which, due: None, interval: 0, since: 0, length: 0 });
        Ok(Some(0))
    }

    /// Sets a timer to a first expiry and an interval, and returns what was left of it and its interval.
    fn set(
        &mut self,
        key: Key,
        time: &Time,
        (order, stood): (u64, i64),
        (first, interval): (i64, i64),
        absolute: bool,
    ) -> (i64, i64) {
        let before = self.left(key, time);
        let alarm = Expires::Signal(libc::SIGALRM, None, 0);
        let timer = self.timers.entry(key);
        let timer = timer.or_insert(Timer {
            expires: alarm,
            which: Which::Monotonic,
            due: None,
            interval: 0,
            since: 0,
            length: 0,
        });
        let due = if absolute { time.until(timer.which, first) } else { time.after(first) };
        timer.due = (first > 0).then_some((due, order));
        timer.interval = interval;
        (timer.since, timer.length) = (stood, due - time.now());
        before
    }

    fn left(&self, key: Key, time: &Time) -> (i64, i64) {
        self.timers.get(&key).map_or((0, 0), |timer| {
            let left = timer.due.map_or(0, |(due, _)| (due - time.now()).max(1));
            (left, timer.interval)
        })
    }
}

/// What a timer is to be set to: its first expiry and its interval, which the kernel keeps the other way round. Nothing
/// if the kernel will refuse it.
fn setting(tid: Tid, address: u64, format: Format) -> io::Result<Option<(i64, i64)>> {
    Ok(format.read(tid, address + 16)?.zip(format.read(tid, address)?))
}

/// Writes down how a timer stood, if somewhere.
fn told(tid: Tid, address: u64, (left, interval): (i64, i64), format: Format) -> io::Result<Answered> {
    if address != 0 {
        let bytes: Vec<u8> = [interval, left].into_iter().flat_map(|time| format.bytes(time)).collect();
        write_memory(tid, address, &bytes)?;
    }
    Ok(Some(0))
}
