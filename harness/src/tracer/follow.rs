//! The loop: every thread of every process below the first one, from stop to stop. At most one call on the store is in
//! flight, and whoever comes meanwhile waits at its entry, so the log has the order of the effects.

use std::collections::{HashMap, HashSet, VecDeque};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

use super::clock::{Clock, Taken};
use super::filter;
use super::record::{Pending, Record};
use super::sys::{self, Change, Entry, Resume, Tid, Unseen};
use super::thread;

/// How long what the program left behind may go on after its end.
const LEFT_FOR: Duration = Duration::from_millis(200);
/// How long a call on the store may take to return before its thread is killed inside it.
const RETURNS_WITHIN: Duration = Duration::from_secs(1);
/// How long killed processes may take to vanish. Whatever is left then ends with the tracer.
const VANISHES_WITHIN: Duration = Duration::from_secs(2);

/// The stop that tells of a group's stop, or of a new thread.
const EVENT_STOP: i32 = 128;
/// A stop at a call's return.
const AT_RETURN: i32 = libc::SIGTRAP | 0x80;

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Exited(i32),
    Killed(i32),
}

#[derive(Debug, Default)]
enum Thread {
    /// It runs, or its next stop is on its way.
    #[default]
    Runs,
    /// It stands at the entry of a call until the one in flight has returned.
    Waits(Entry),
    /// It is inside a call that matters at its return.
    Inside(Box<Pending>),
}

/// A run that is followed.
pub(super) struct Follow<'a> {
    record: &'a mut Record,
    clock: Option<Clock>,
    first: Tid,
    threads: HashMap<Tid, Thread>,
    flight: Option<Tid>,
    queue: VecDeque<Tid>,
    /// After how many operations everything is killed.
    kill_at: Option<u64>,
    /// Whether the first process became the program.
    pub(super) began: bool,
    ended: Option<Ended>,
    killed: bool,
    /// The processes that were killed. A second SIGKILL would throw a thread out of its last stop.
    slain: HashSet<Tid>,
}

impl<'a> Follow<'a> {
    pub(super) fn new(record: &'a mut Record, first: Tid, kill_at: Option<u64>, clock: Option<Clock>) -> Follow<'a> {
        let threads = HashMap::from([(first, Thread::Runs)]);
        let (flight, queue) = (None, VecDeque::new());
        Follow {
            record,
            clock,
            first,
            threads,
            flight,
            queue,
            kill_at,
            began: false,
            ended: None,
            killed: false,
            slain: HashSet::new(),
        }
    }

    /// Follows until nothing is left. A hang-up among the signals asks to end it all at once. Returns how the program
    /// ended, and whether everything vanished.
    pub(super) fn run(&mut self, signals: &OwnedFd) -> (Option<Ended>, bool) {
        let (mut hung_up, mut deadline) = (false, None::<Instant>);
        loop {
            let mut happened = false;
            loop {
                match sys::next_change() {
                    Ok(Some((tid, change))) => {
                        happened = true;
                        self.change(tid, change);
                    }
                    Ok(None) => break,
                    // There is nobody left to wait for.
                    Err(_) => return (self.ended, true),
                }
            }
            if hung_up && !self.killed && self.flight.is_none() {
                self.kill();
            }
            let now = Instant::now();
            match deadline {
                None if self.killed => deadline = Some(now + VANISHES_WITHIN),
                None if hung_up => deadline = Some(now + RETURNS_WITHIN),
                None if self.ended.is_some() => deadline = Some(now + LEFT_FOR),
                Some(over) if now >= over && self.killed => return (self.ended, false),
                Some(over) if now >= over => {
                    self.kill();
                    deadline = Some(now + VANISHES_WITHIN);
                }
                _ => {}
            }
            if self.killed {
                // Forking may have been faster.
                self.kill();
            }
            let left = deadline.map(|over| over.saturating_duration_since(now));
            let left = left.into_iter().chain(self.turn(happened)).min().map(timespec);
            // An interrupted wait is a short one.
            let _ = poll(&mut [PollFd::new(signals, PollFlags::IN)], left.as_ref());
            while let Some(signal) = sys::next_signal(signals) {
                hung_up |= signal == libc::SIGHUP;
            }
        }
    }

    /// Lets virtual time go on if it may; after how long to ask again.
    fn turn(&mut self, happened: bool) -> Option<Duration> {
        let clock = self.clock.as_mut().filter(|_| !self.killed)?;
        let look = clock.turn(self.threads.keys().copied(), happened);
        clock.unsupported.drain(..).for_each(|what| self.record.unsupported(what));
        look
    }

    /// Kills every process. Their threads report their ends.
    fn kill(&mut self) {
        self.killed = true;
        // One that is gone already needs no killing.
        for process in self.threads.keys().filter_map(|tid| thread::process(*tid).ok()) {
            if self.slain.insert(process)
                && let Some(pid) = Pid::from_raw(process)
            {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    fn change(&mut self, tid: Tid, change: Change) {
        match change {
            Change::Exited(code) => self.gone(tid, Ended::Exited(code)),
            Change::Killed(signal) => self.gone(tid, Ended::Killed(signal)),
            Change::Stopped(stop) => {
                // A new thread is met by its own first stop. What its parent says of it may come when it has died.
                self.threads.entry(tid).or_default();
                self.stopped(tid, stop & 0xff, stop >> 8);
            }
        }
    }

    fn gone(&mut self, tid: Tid, how: Ended) {
        // A thread that was killed at the entry of a call never made it. One that was killed inside said at its last
        // stop what it did.
        self.threads.remove(&tid);
        self.record.gone(tid);
        if let Some(clock) = &mut self.clock {
            clock.gone(tid);
        }
        if tid == self.first {
            self.ended = Some(how);
        }
        self.landed(tid);
    }

    fn stopped(&mut self, tid: Tid, signal: i32, event: i32) {
        if let Some(clock) = &mut self.clock {
            clock.moves(tid);
        }
        match event {
            libc::PTRACE_EVENT_SECCOMP => match sys::entry(tid) {
                Ok(entry) => self.trapped(tid, entry),
                Err(error) => self.blind(tid, error),
            },
            libc::PTRACE_EVENT_EXEC => {
                // The process's other threads are gone, and this one has the first's number, whose end nobody reports.
                self.began |= tid == self.first;
                self.threads.insert(tid, Thread::Runs);
                if let Some(clock) = &mut self.clock {
                    clock.executed(tid);
                }
                sys::resume(tid, Resume::On(0));
                self.landed(tid);
            }
            // Its last stop: a call that it was killed in has come to its end, and shows in the register.
            libc::PTRACE_EVENT_EXIT => {
                if let Ok(result) = sys::result_register(tid) {
                    self.returns(tid, result);
                }
                sys::resume(tid, Resume::On(0));
            }
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                // Whoever was killed in it has the kernel end what it made, too.
                if let Some(clock) = &mut self.clock
                    && let Ok(child) = sys::newborn(tid)
                    && !self.threads.contains_key(&child)
                {
                    clock.born(child);
                }
                sys::resume(tid, Resume::On(0));
            }
            EVENT_STOP if signal == libc::SIGTRAP => {
                if let Some(clock) = &mut self.clock {
                    clock.interrupted(tid);
                }
                sys::resume(tid, Resume::On(0));
            }
            EVENT_STOP => {
                if let Some(clock) = &mut self.clock {
                    clock.halts(tid);
                }
                sys::resume(tid, Resume::Listen);
            }
            0 if signal == AT_RETURN && self.clock.as_mut().is_some_and(|clock| clock.returned(tid)) => self.go_on(tid),
            0 if signal == AT_RETURN => match sys::returned(tid) {
                Ok(result) => {
                    self.returns(tid, result);
                    self.go_on(tid);
                }
                Err(error) => self.blind(tid, error),
            },
            _ => {
                if let Some(clock) = &mut self.clock {
                    clock.signalled(tid, signal);
                }
                sys::resume(tid, Resume::On(signal));
            }
        }
    }

    /// A thread stands at the entry of a call that stops it.
    fn trapped(&mut self, tid: Tid, entry: Entry) {
        let native = entry.arch == filter::ARCH;
        let taken = self.clock.as_mut().filter(|_| native).map_or(Taken::NotOurs, |clock| clock.enter(tid, &entry));
        match taken {
            Taken::Goes(how) => sys::resume(tid, how),
            Taken::NotOurs if !self.record.minds(&entry) => sys::resume(tid, Resume::On(0)),
            Taken::NotOurs if self.flight.is_some() => {
                self.threads.insert(tid, Thread::Waits(entry));
                self.queue.push_back(tid);
            }
            Taken::NotOurs => self.enter(tid, &entry),
        }
    }

    fn enter(&mut self, tid: Tid, entry: &Entry) {
        let before = self.record.ops;
        let how = match self.record.entry(tid, entry) {
            Some(pending) => {
                if pending.alone {
                    self.flight = Some(tid);
                }
                self.threads.insert(tid, Thread::Inside(Box::new(pending)));
                Resume::UntilReturn
            }
            None => {
                self.threads.insert(tid, Thread::Runs);
                Resume::On(0)
            }
        };
        // A send is an operation from its entry on, and a close may have been noticed.
        if self.record.ops == before || !self.is_over() {
            sys::resume(tid, how);
        }
    }

    fn returns(&mut self, tid: Tid, result: i64) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        if let Thread::Inside(pending) = std::mem::take(thread) {
            self.record.returned(tid, *pending, result);
            if !self.is_over() {
                self.landed(tid);
            }
        }
    }

    fn go_on(&mut self, tid: Tid) {
        if !self.killed {
            sys::resume(tid, Resume::On(0));
        }
    }

    /// Whether this was the last operation, and everything is killed.
    fn is_over(&mut self) -> bool {
        let over = self.record.lost.is_some() || self.kill_at.is_some_and(|at| self.record.ops >= at);
        if over && !self.killed {
            self.kill();
        }
        over
    }

    /// The call in flight is over if it was this thread's: the next may begin.
    fn landed(&mut self, tid: Tid) {
        if self.flight == Some(tid) {
            self.flight = None;
        }
        while self.flight.is_none() {
            let Some(next) = self.queue.pop_front() else { return };
            match self.threads.get(&next) {
                Some(&Thread::Waits(entry)) => self.enter(next, &entry),
                // It died while it waited.
                _ => continue,
            }
        }
    }

    /// What a thread is doing cannot be seen. If it was killed meanwhile it is on its way to its last stop, where it must
    /// not be sent on before it was asked.
    fn blind(&mut self, tid: Tid, error: Unseen) {
        if let Unseen::Refused(error) = error {
            self.record.broken("a stopped call cannot be seen", error);
            sys::resume(tid, Resume::On(0));
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs() as i64, tv_nsec: i64::from(duration.subsec_nanos()) }
}
