//! What is struck from outside, on a subject that passes no checkpoints. It can be stopped at its write: the harness
//! takes the write lock of the store, and a call that goes on to write waits there. And when its answer begins to
//! come it has written, which the session tells.

use std::any::Any;
use std::collections::BTreeMap;
use std::time::Instant;

use nack_cases::{At, Call, Case, FaultKind, Step};
use nack_contracts::model::{self, Contract};
use nack_reports::BecauseKind;

use super::case::CaseRun;
use super::tasks::State;
use crate::adapter::Adapter;
use crate::session::{Point, Seen};

/// So often a call must be seen to sleep before it is taken to stand still. A waiter wakes now and then, and where
/// the machine is busy it is long seen awake.
const LOOKS: u32 = 3;

/// Where calls have come to while nobody may write.
struct Stopped {
    /// While it lives, nobody may.
    lock: Box<dyn Any>,
    /// What the last looks have shown of each call that has not ended.
    seen: BTreeMap<String, Seen>,
}

impl CaseRun<'_> {
    /// If the fault of a call stands at its write, the call begins and is struck there.
    pub(super) fn strike_at_write(&mut self, call: &Call) {
        let Some(At::Checkpoint(point)) = call.fault.as_ref().map(|fault| &fault.at) else { return };
        if !self.target.adapter.outside() || !at_write(&self.contract.calls[&call.name], point) {
            return;
        }
        let Some(stopped) = self.stop_writes(std::slice::from_ref(&call.worker)) else { return };
        if stopped.seen.get(&call.worker) == Some(&Seen::Sleeps) {
            self.reached(&call.worker, &Point::Checkpoint(point.clone()), None);
        } else if let Some(task) = self.tasks.get_mut(&call.worker).filter(|task| task.outcome().is_some()) {
            // Whatever it said, it said it because nobody could write.
            task.judged = true;
        }
        self.allow_writes(stopped.lock);
    }

    /// If the barrier of these calls stands at their writes, they begin and meet there.
    pub(super) fn meet_at_write(&mut self, workers: &[String], barrier: &str) {
        let call_of = |worker: &String| self.tasks.get(worker).map(|task| &self.contract.calls[&task.call.name]);
        if !self.target.adapter.outside() || !workers.iter().filter_map(call_of).all(|call| at_write(call, barrier)) {
            return;
        }
        let Some(stopped) = self.stop_writes(workers) else { return };
        match workers.iter().find(|worker| stopped.seen.get(*worker) != Some(&Seen::Sleeps)) {
            None => {
                for worker in workers {
                    self.note(&format!("worker {worker}"), format!("stands at its write, past {barrier}"));
                    self.set(worker, State::AtBarrier);
                }
            }
            Some(absent) => {
                let (kind, why) = match stopped.seen.get(absent) {
                    Some(Seen::Untaken) => (
                        BecauseKind::Checkpoint,
                        "is taken up by nobody while another stands at its write, so calls are served one after \
                         another; `workers = \"servers\"` gives each a server",
                    ),
                    Some(_) => (BecauseKind::NotFired, "was still at work when all were to stand at their writes"),
                    None => (BecauseKind::Checkpoint, "ended while nobody could write, so it did not wait to write"),
                };
                self.trouble(kind, format!("calls did not meet at {barrier}: that of {absent} {why}"));
            }
        }
        self.allow_writes(stopped.lock);
    }

    /// Calls that start together each look before the first of them writes: what is not held together shows then, and
    /// not by luck.
    pub(super) fn look_together(&mut self, workers: &[String]) {
        if !self.target.adapter.outside() || workers.len() < 2 {
            return;
        }
        if let Some(stopped) = self.stop_writes(workers) {
            self.allow_writes(stopped.lock);
        }
    }

    /// Begins these calls while nobody may write, and lets them go on until each has ended or stands still.
    fn stop_writes(&mut self, workers: &[String]) -> Option<Stopped> {
        // What a worker writes when it starts is none of the call. If it cannot be started, the call will say so.
        workers.iter().try_for_each(|worker| self.session.start(worker)).ok()?;
        let lock = match self.store.lock() {
            Ok(lock) => lock,
            Err(error) => {
                self.trouble(BecauseKind::NotFired, format!("the store could not be locked: {error}"));
                return None;
            }
        };
        self.session.stand_still(true);
        self.note("harness", "takes the write lock of the store: whoever goes on to write waits".to_owned());
        self.wake();
        let deadline = Instant::now() + self.at_write_after * 10;
        let (mut patience, mut looks) = (self.at_write_after, Looks::default());
        loop {
            let running: Vec<&String> = workers.iter().filter(|worker| self.is_running(worker)).collect();
            let seen: BTreeMap<_, _> =
                running.into_iter().map(|worker| (worker.clone(), looks.verdict(worker))).collect();
            if !seen.values().any(|seen| *seen == Seen::Works) || Instant::now() >= deadline {
                return Some(Stopped { lock, seen });
            }
            if let Some((worker, event)) = self.session.next(patience) {
                (patience, looks) = (self.at_write_after, Looks::default());
                self.events += 1;
                self.handle(&worker, event, None);
            } else {
                patience = self.at_write_after / 20;
                seen.keys().for_each(|worker| looks.look(worker, self.session.seen(worker)));
            }
        }
    }

    fn allow_writes(&mut self, lock: Box<dyn Any>) {
        drop(lock);
        self.session.stand_still(false);
        self.note("harness", "gives the write lock back".to_owned());
    }

    fn is_running(&self, worker: &str) -> bool {
        self.tasks.get(worker).is_some_and(|task| task.state == State::Running)
    }
}

/// How often each call was seen to sleep, taken up and not.
#[derive(Default)]
struct Looks(BTreeMap<String, (u32, u32)>);

impl Looks {
    fn look(&mut self, worker: &str, seen: Seen) {
        let (asleep, untaken) = self.0.entry(worker.to_owned()).or_default();
        match seen {
            Seen::Works => {}
            Seen::Untaken => *untaken += 1,
            Seen::Sleeps => *asleep += 1,
        }
    }

    fn verdict(&self, worker: &str) -> Seen {
        match self.0.get(worker) {
            Some((LOOKS.., _)) => Seen::Sleeps,
            Some((_, LOOKS..)) => Seen::Untaken,
            _ => Seen::Works,
        }
    }
}

/// Whether a call that stands at its write has passed this checkpoint, and has written nothing since.
fn at_write(call: &model::Call, point: &str) -> bool {
    let place = |point: &str| call.checkpoints.iter().position(|known| known == point);
    let before = call.between.as_ref().and_then(|(before, _)| place(before));
    place(point).is_some_and(|place| before.is_some_and(|before| place <= before))
}

/// What can be reached from outside of a subject.
struct Reached<'a> {
    contract: &'a Contract,
    /// The effects that the harness receives itself.
    received: Vec<String>,
    hears_answers: bool,
}

impl Reached<'_> {
    /// Whether this checkpoint lies just before or just after an effect of a call that the harness receives itself.
    fn at_wire(&self, call: &model::Call, point: &str) -> bool {
        let between = |effect: &String| self.contract.effects[effect].between.as_ref();
        let mut effects = call.effects.iter().filter(|effect| self.received.contains(effect)).filter_map(between);
        effects.any(|(before, after)| before == point || after == point)
    }

    /// Whether a call whose answer begins to come has just passed this checkpoint.
    fn at_answer(&self, call: &model::Call, point: &str) -> bool {
        self.hears_answers && call.between.as_ref().is_some_and(|(_, after)| after == point)
    }
}

/// Why a case cannot be given to a subject that passes no checkpoints, if one of its own cannot be met from outside.
pub(crate) fn beyond(contract: &Contract, adapter: &dyn Adapter, case: &Case) -> Option<String> {
    let received = adapter.answers().into_keys().collect();
    let reached = Reached { contract, received, hears_answers: adapter.hears_answers() };
    case.steps.iter().find_map(|step| match step {
        Step::Call(call) => fault_beyond(&reached, call, false),
        Step::Parallel { calls, barrier } => {
            let beyond = |call: &Call| {
                let (point, spec) = (barrier.as_deref()?, &contract.calls[&call.name]);
                let meets = at_write(spec, point) || reached.at_answer(spec, point) || reached.at_wire(spec, point);
                (!meets).then(|| unmet(point))
            };
            calls.iter().find_map(|call| beyond(call).or_else(|| fault_beyond(&reached, call, true)))
        }
        _ => None,
    })
}

fn fault_beyond(reached: &Reached<'_>, call: &Call, with_others: bool) -> Option<String> {
    let fault = call.fault.as_ref()?;
    let At::Checkpoint(point) = &fault.at else { return None };
    let spec = &reached.contract.calls[&call.name];
    match fault.by {
        FaultKind::Kill | FaultKind::Hold | FaultKind::Stop if reached.at_wire(spec, point) => None,
        FaultKind::Kill | FaultKind::Hold if reached.at_answer(spec, point) => None,
        FaultKind::Kill if at_write(spec, point) && !with_others => None,
        FaultKind::Kill | FaultKind::Hold if at_write(spec, point) => {
            Some(format!("{}, and whoever is held at its write holds every other writer", unpassed(point)))
        }
        FaultKind::Raise => Some(format!("{}, so no error can be raised there", unpassed(point))),
        _ => Some(unmet(point)),
    }
}

fn unmet(point: &str) -> String {
    format!("{}, and it cannot be met from outside", unpassed(point))
}

fn unpassed(point: &str) -> String {
    format!("the subject passes no checkpoint {point}")
}
