//! Waits without their limits: the kernel is asked to wait for ever, and whoever's time is over is ended by an interrupt
//! and finds its own result. Whatever happened just before wins, so no wake-up is ever lost.

use std::collections::HashMap;
use std::io;

use super::asleep::Look;
use super::calls::{Format, Instead, Limit, Time};
use crate::tracer::registers::{Registers, interrupt, write_memory};
use crate::tracer::sys::Tid;

/// What the kernel has a call return that is to be made again, or whose wait a signal ended.
const RESTART: i64 = -512;
const RESTART_NO_HANDLER: i64 = -514;
const RESTART_BLOCK: i64 = -516;

/// A wait whose limit is kept here.
#[derive(Debug)]
struct Wait {
    limit: Limit,
    /// As they were at its entry; none for a wait whose entry was not stopped at.
    registers: Option<Registers>,
    order: u64,
    /// How much has passed without a jump when it began.
    since: i64,
    /// How long it is to last.
    length: i64,
    /// Whether it was interrupted because its time is over.
    fired: bool,
    /// Whether it is one of a runtime's own clockwork.
    ticker: bool,
}

/// The waits of all threads.
#[derive(Debug, Default)]
pub(super) struct Waits {
    waits: HashMap<Tid, Wait>,
    met: u64,
    /// Waits that a signal ended, in case they go on after it: where, which call, and until when.
    kept: HashMap<Tid, ((u64, u64), u64, i64)>,
}

/// When something is due, and in which order with others of the same time.
pub(super) type Due = (i64, u64);

impl Waits {
    /// A number for whatever comes next.
    pub(super) fn order(&mut self) -> u64 {
        self.met += 1;
        self.met
    }

    /// Takes the limit from a call at its entry.
    pub(super) fn enter(
        &mut self,
        tid: Tid,
        mut limit: Limit,
        registers: Registers,
        (now, since, ticker): (i64, i64, bool),
    ) -> io::Result<()> {
        let kept = self.kept.remove(&tid);
        if let Some((place, same, deadline)) = kept
            && place == registers.place()
            && same == registers.number()
        {
            limit.deadline = deadline;
        }
        let mut changed = registers;
        match limit.instead {
            Instead::Pause => changed.become_call(libc::SYS_pause),
            Instead::Argument(index, value) => changed.set_argument(index, value),
            Instead::AsItIs => {}
        }
        changed.set(tid)?;
        let (order, length) = (self.order(), limit.deadline - now);
        self.waits.insert(tid, Wait { limit, registers: Some(registers), order, since, length, fired: false, ticker });
        Ok(())
    }

    /// Takes in a wait that was found under way.
    pub(super) fn found(&mut self, tid: Tid, limit: Limit, (now, since): (i64, i64)) {
        let (order, length) = (self.order(), limit.deadline - now);
        self.waits.insert(tid, Wait { limit, registers: None, order, since, length, fired: false, ticker: false });
    }

    pub(super) fn has(&self, tid: Tid) -> bool {
        self.waits.contains_key(&tid)
    }

    /// The threads that wait in a call whose entry was not stopped at.
    pub(super) fn found_ones(&self) -> Vec<Tid> {
        self.waits.iter().filter(|(_, wait)| wait.registers.is_none() && !wait.fired).map(|(tid, _)| *tid).collect()
    }

    pub(super) fn forget(&mut self, tid: Tid) {
        self.waits.remove(&tid);
        self.kept.remove(&tid);
    }

    pub(super) fn retain(&mut self, lives: impl Fn(Tid) -> bool) {
        self.waits.retain(|tid, _| lives(*tid));
        self.kept.retain(|tid, _| lives(*tid));
    }

    /// A handler runs: a call that it interrupted is not gone on with.
    pub(super) fn handled(&mut self, tid: Tid) {
        self.kept.remove(&tid);
    }

    /// The descriptors that threads wait to read from, each with its process.
    pub(super) fn reads(&self, looks: &[Look]) -> Vec<(Tid, i32)> {
        let reads = looks.iter().filter_map(|look| Some((look.process, self.waits.get(&look.tid)?)));
        reads.flat_map(|(process, wait)| wait.limit.reads.iter().map(move |fd| (process, *fd))).collect()
    }

    /// Whether one whose time is over has not told yet what became of it.
    pub(super) fn on_their_way(&self) -> bool {
        self.waits.values().any(|wait| wait.fired)
    }

    /// The wait that ends next, leaving out those of runtimes unless one is already over.
    pub(super) fn next(&self, now: i64) -> Option<(Due, Tid)> {
        let waits = self.waits.iter().filter(|(_, wait)| !wait.fired && (!wait.ticker || wait.limit.deadline <= now));
        waits
            .map(|(tid, wait)| ((wait.limit.deadline, wait.order), *tid))
            .min()
            .filter(|((due, _), _)| *due < super::page::EVER)
    }

    /// The wait that is over because so much has passed without a jump.
    pub(super) fn outlasted(&self, stood: i64) -> Option<(i64, Tid)> {
        let waits = self.waits.iter().filter(|(_, wait)| !wait.fired && stood - wait.since >= wait.length);
        let next = waits.map(|(tid, wait)| (wait.limit.deadline, wait.order, *tid)).min();
        next.map(|(deadline, _, tid)| (deadline, tid))
    }

    /// Ends a wait: its time is over.
    pub(super) fn fire(&mut self, tid: Tid) {
        if let Some(wait) = self.waits.get_mut(&tid) {
            wait.fired = true;
            interrupt(tid);
        }
    }

    /// A thread stands where its call returns. Tells whether that was one of these waits.
    pub(super) fn returned(&mut self, time: &Time, tid: Tid) -> io::Result<bool> {
        let Some(wait) = self.waits.remove(&tid) else { return Ok(false) };
        let mut registers = Registers::of(tid)?;
        let (result, now) = (registers.result(), time.now());
        let interrupted = is_interrupted(result);
        if let Some(entry) = &wait.registers {
            registers.restore_call(entry);
        }
        let left = (wait.limit.deadline - now).max(0);
        if interrupted && wait.fired {
            registers.set_result(wait.limit.over);
            for set in wait.limit.sets.into_iter().filter(|set| *set != 0) {
                write_memory(tid, set, &vec![0; wait.limit.set_size])?;
            }
        } else if interrupted {
            // With a limit, none of these calls goes on behind a handler.
            if matches!(result, RESTART | RESTART_BLOCK) {
                registers.set_result(RESTART_NO_HANDLER);
            }
            let number = wait.registers.map_or(0, |entry| entry.number());
            self.kept.insert(tid, (registers.place(), number, wait.limit.deadline));
        }
        registers.set(tid)?;
        if let Some((address, format)) = wait.limit.left
            && (!wait.limit.left_if_interrupted || (interrupted && !wait.fired))
        {
            let left = if wait.fired && interrupted { 0 } else { left };
            says_left(tid, address, format, left);
        }
        Ok(true)
    }

    /// A thread stands where it was interrupted, in a wait that was found under way.
    pub(super) fn stopped(&mut self, tid: Tid) -> io::Result<()> {
        let Some(wait) = self.waits.get(&tid).filter(|wait| wait.registers.is_none()) else { return Ok(()) };
        let mut registers = Registers::of(tid)?;
        if wait.fired && is_interrupted(registers.result()) {
            registers.set_result(wait.limit.over);
            registers.set(tid)?;
        }
        self.waits.remove(&tid);
        Ok(())
    }
}

fn is_interrupted(result: i64) -> bool {
    (RESTART_BLOCK..=RESTART).contains(&result) || result == -i64::from(libc::EINTR)
}

fn says_left(tid: Tid, address: u64, format: Format, left: i64) {
    // The kernel does not mind either where this cannot be written.
    let _ = write_memory(tid, address, &format.bytes(left));
}
