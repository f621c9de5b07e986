//! Virtual time for a traced tree: what it asks of the time is answered here, what it waits for is over when nothing in
//! it can run and nothing is owed to it from outside. Then time jumps to the next limit, and one waiter goes on.

mod asleep;
mod borrowed;
mod calls;
mod page;
mod peers;
mod receives;
mod rules;
mod run;
mod timers;
mod vdso;
mod waits;

use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

pub use self::page::VirtualClock;
pub(super) use self::rules::RULES;

use self::calls::{Instead, Limit, Time, Timed};
use self::page::Doing;
use self::peers::Peers;
use self::receives::Receives;
use self::timers::Timers;
use self::waits::{Due, Waits};
use super::registers::{Registers, write_memory};
use super::sys::{Entry, Resume, Tid};

/// How long nothing must have happened before it is asked whether all sleep. It doubles as long as nothing does.
const FIRST_LOOK: Duration = Duration::from_micros(50);
const LAST_LOOK: Duration = Duration::from_millis(2);

/// How much passes with each look at the clock.
const TICK: i64 = 1_000;
/// The most that passes with one.
const LARGEST_TICK: i64 = 1_000_000;
/// After how many looks in a row from one place a tick is twice as long: whoever does nothing but look waits.
const PATIENCE: u32 = 512;

/// What is to happen to a thread that stands at the entry of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It goes on so.
    Goes(Resume),
    /// The call has nothing to do with time.
    NotOurs,
}

/// Time as one tracer keeps it.
#[derive(Debug)]
pub(super) struct Clock {
    time: Time,
    waits: Waits,
    timers: Timers,
    receives: Receives,
    peers: Peers,
    /// How much has passed without a jump: by looks at the clock, and while an answer was owed.
    stood: i64,
    /// Since when all sleep and an answer is owed.
    standing: Option<Instant>,
    look: Duration,
    /// Who looked at the clock last, from where, and how often in a row.
    looker: (Tid, (u64, u64), u32),
    /// Threads that are stopped with their group.
    halted: HashSet<Tid>,
    /// Threads that have not stopped for the first time.
    born: HashSet<Tid>,
    /// What could not be followed.
    pub(super) unsupported: Vec<String>,
}

impl Clock {
    pub(super) fn new(clock: VirtualClock, worker: usize) -> Clock {
        Clock {
            time: Time { clock, worker },
            waits: Waits::default(),
            timers: Timers::default(),
            receives: Receives::default(),
            peers: Peers::default(),
            stood: 0,
            standing: None,
            look: FIRST_LOOK,
            looker: (0, (0, 0), 0),
            halted: HashSet::new(),
            born: HashSet::new(),
            unsupported: Vec::new(),
        }
    }

    /// A thread has become a program: it is to ask the kernel for the time.
    pub(super) fn executed(&mut self, tid: Tid) {
        if let Err(error) = vdso::hide(tid) {
            self.unseen("the program's start", &error);
        }
        self.waits.forget(tid);
        self.waits.retain(asleep::lives);
        self.timers.forget(tid, false);
    }

    pub(super) fn gone(&mut self, tid: Tid) {
        self.moves(tid);
        self.waits.forget(tid);
        self.timers.forget(tid, true);
    }

    /// There is a new thread, which has not stopped for the first time yet.
    pub(super) fn born(&mut self, tid: Tid) {
        self.born.insert(tid);
    }

    /// A thread stops with its group.
    pub(super) fn halts(&mut self, tid: Tid) {
        self.halted.insert(tid);
    }

    /// A thread stops for another reason, so it does not stand still any more.
    pub(super) fn moves(&mut self, tid: Tid) {
        self.halted.remove(&tid);
        self.born.remove(&tid);
    }

    /// A signal reaches a thread.
    pub(super) fn signalled(&mut self, tid: Tid, signal: i32) {
        if asleep::handles(tid, signal) {
            self.waits.handled(tid);
        }
    }

    /// A thread stands at the entry of a call.
    pub(super) fn enter(&mut self, tid: Tid, entry: &Entry) -> Taken {
        self.peers.note(tid, entry);
        match self.taken(tid, entry) {
            Ok(taken) => taken,
            // The kernel finds the same, and tells the program.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EFAULT | libc::EBADF | libc::EINVAL)) => {
                Taken::NotOurs
            }
            Err(error) => {
                self.unseen(rules::name(entry.number).unwrap_or("call"), &error);
                Taken::NotOurs
            }
        }
    }

    fn taken(&mut self, tid: Tid, entry: &Entry) -> io::Result<Taken> {
        if let Some(what) = rules::unfollowed(entry) {
            self.say(format!("a limit of time that is not understood ({what})"));
            return Ok(Taken::NotOurs);
        }
        let order = self.waits.order();
        let answered = match self.receives.answer(tid, entry)? {
            None => self.timers.answer(&self.time, (order, self.stood), tid, entry)?,
            answered => answered,
        };
        if let Some(result) = answered {
            let mut registers = Registers::of(tid)?;
            registers.skip(result);
            registers.set(tid)?;
            return Ok(Taken::Goes(Resume::On(0)));
        }
        match calls::read(&self.time, tid, entry)? {
            None => Ok(Taken::NotOurs),
            Some(Timed::Asks { writes, result }) => {
                let mut registers = Registers::of(tid)?;
                let written = writes.iter().try_for_each(|(address, bytes)| write_memory(tid, *address, bytes));
                registers.skip(if written.is_ok() { result } else { -i64::from(libc::EFAULT) });
                registers.set(tid)?;
                self.tick(tid, registers.place());
                Ok(Taken::Goes(Resume::On(0)))
            }
            Some(Timed::Waits(limit)) => {
                self.looker.2 = 0;
                let ticker = asleep::is_ticker(tid);
                self.waits.enter(tid, limit, Registers::of(tid)?, (self.time.now(), self.stood, ticker))?;
                Ok(Taken::Goes(Resume::UntilReturn))
            }
        }
    }

    fn tick(&mut self, tid: Tid, place: (u64, u64)) {
        let (looker, from, times) = self.looker;
        let times = if (looker, from) == (tid, place) { times.saturating_add(1) } else { 0 };
        self.looker = (tid, place, times);
        let tick = (TICK << (times / PATIENCE).min(10)).min(LARGEST_TICK);
        self.stood += tick;
        self.time.clock.tick(tick);
    }

    /// A thread stands where its call returns. Tells whether it waited here.
    pub(super) fn returned(&mut self, tid: Tid) -> bool {
        let returned = self.waits.returned(&self.time, tid);
        returned.unwrap_or_else(|error| {
            // A thread that was killed has nothing to return to.
            if error.raw_os_error() != Some(libc::ESRCH) {
                self.unseen("the end of a wait", &error);
            }
            true
        })
    }

    /// A thread was interrupted.
    pub(super) fn interrupted(&mut self, tid: Tid) {
        // One that was killed meanwhile does not wait any more.
        let _ = self.waits.stopped(tid);
    }

    /// Lets time go on if it may. Tells after how long without anything happening it is to be asked again.
    pub(super) fn turn(&mut self, threads: impl Iterator<Item = Tid>, happened: bool) -> Option<Duration> {
        self.outlasted();
        if happened {
            self.look = FIRST_LOOK;
            return Some(self.works(self.look));
        }
        let looked_after = self.look;
        self.look = (self.look * 2).min(LAST_LOOK);
        self.born.retain(|tid| asleep::lives(*tid));
        if self.waits.on_their_way() || !self.born.is_empty() {
            return Some(self.works(looked_after));
        }
        let threads: Vec<Tid> = threads.filter(|tid| !self.halted.contains(tid)).collect();
        let Some(looks) = asleep::all(&threads) else {
            return Some(self.works(looked_after));
        };
        self.receives.look(&looks, &mut self.waits, &self.time, self.stood);
        let (clock, worker) = (&self.time.clock, self.time.worker);
        let next = self.next();
        let until = clock.passed_when(worker, next.map_or(page::EVER, |((due, _), _)| due));
        let is_due = until <= clock.passed_nanos();
        let reachable = is_due || until <= clock.horizon().min(page::EVER - 1);
        let owed = self.peers.owe(&looks, &self.waits);
        let doing = match clock.is_held(worker) {
            true => Doing::Nothing,
            false if owed => Doing::IsOwed,
            false => Doing::Sleeps(until),
        };
        clock.does(worker, doing);
        let kept = if is_due { Doing::Nothing } else { clock.kept_by(worker, until) };
        match (doing, kept, next) {
            (Doing::Sleeps(_), Doing::Nothing, Some((at, who))) if reachable => {
                self.look = FIRST_LOOK;
                self.jump(at, who);
            }
            (Doing::Nothing, ..) | (Doing::Sleeps(_), Doing::Works, _) => self.standing = None,
            _ => {
                let now = Instant::now();
                let stood = self.standing.replace(now).map_or(Duration::ZERO, |since| now - since);
                self.stood = self.stood.saturating_add(page::nanos(stood));
            }
        }
        Some(self.look)
    }

    /// Something of this worker may run: nobody's time is to pass it by.
    fn works(&mut self, look: Duration) -> Duration {
        self.standing = None;
        self.time.clock.does(self.time.worker, Doing::Works);
        look
    }

    /// Time comes to where somebody waits for it.
    fn jump(&mut self, at: Due, who: Option<Tid>) {
        self.standing = None;
        self.time.clock.does(self.time.worker, Doing::Works);
        self.time.reach(at.0);
        match who {
            Some(tid) => self.waits.fire(tid),
            None => {
                let order = self.waits.order();
                self.timers.fire(at, (order, self.stood));
            }
        }
    }

    /// What comes next, and which thread waits for it; none for a timer.
    fn next(&self) -> Option<(Due, Option<Tid>)> {
        let wait = self.waits.next(self.time.now()).map(|(due, tid)| (due, Some(tid)));
        let timer = self.timers.next().map(|due| (due, None));
        wait.into_iter().chain(timer).min()
    }

    /// Ends what has waited so long although time did not jump.
    fn outlasted(&mut self) {
        while let Some((deadline, tid)) = self.waits.outlasted(self.stood) {
            self.time.reach(deadline);
            self.waits.fire(tid);
        }
        while let Some(at) = self.timers.outlasted(self.stood) {
            self.time.reach(at.0);
            let order = self.waits.order();
            self.timers.fire(at, (order, self.stood));
        }
    }

    fn unseen(&mut self, what: &str, error: &io::Error) {
        self.say(format!("the memory of the subject cannot be read or written ({what}: {error})"));
    }

    fn say(&mut self, what: String) {
        self.unsupported.push(what);
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.time.clock.does(self.time.worker, Doing::Nothing);
    }
}

/// A receive that ends without anything received.
fn receive_limit(deadline: i64, fd: i32) -> Limit {
    Limit { reads: vec![fd], ..Limit::new(deadline, Instead::AsItIs, -i64::from(libc::EAGAIN)) }
}
