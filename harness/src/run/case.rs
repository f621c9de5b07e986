//! One case, run once on a fresh store: its steps in order, and every check it makes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nack_cases::{Call, Case, FaultKind, Matcher, Step, matcher_words};
use nack_contracts::model::{CheckName, Contract};
use nack_reports::{Because, BecauseKind, Check, Moment};

use super::seeding::unseen;
use super::tasks::{State, Task};
use crate::adapter::Setting;
use crate::clock::Clock;
use crate::judge::{Evidence, Miss, Observed, Outcome, expectation, outcome_meets};
use crate::prove::sabotage::{self, Sabotage, Tampered};
use crate::session::Session;
use crate::store::{Store, StoreError, hide_passwords};
use crate::target::Target;

/// What a case run once came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ran {
    pub(crate) checks: Vec<Check>,
    /// Why the subject failed by no check: it broke the protocol.
    pub(crate) broken: Option<String>,
    /// Why the run does not count.
    pub(crate) trouble: Option<Because>,
    /// Why the case was not even begun: a value that the store cannot hold.
    pub(crate) unheld: Option<Because>,
    pub(crate) timeline: Vec<Moment>,
    pub(crate) notes: Vec<String>,
    /// What the subject said last.
    pub(crate) said: Vec<String>,
    /// The calls as lines for a shell.
    pub(crate) by_hand: Vec<String>,
    /// Where the last fault struck, as it stands in a case's name.
    pub(crate) struck_at: Option<String>,
    /// Whether every fault of the case struck.
    pub(crate) all_struck: bool,
    /// What was observed by its end.
    pub(crate) observed: Observed,
}

impl Ran {
    pub(crate) fn failed(&self) -> bool {
        self.broken.is_some() || self.checks.iter().any(|check| check.held == Some(false))
    }

    /// Whatever it shows, no password of a store is in it.
    fn without_passwords(mut self) -> Ran {
        let checks = self.checks.iter_mut().flat_map(|c| [&mut c.words, &mut c.expected, &mut c.observed]);
        let texts = checks.chain(&mut self.broken).chain(self.trouble.as_mut().map(|because| &mut because.detail));
        let texts = texts.chain(self.timeline.iter_mut().map(|moment| &mut moment.what));
        for text in texts.chain(&mut self.notes).chain(&mut self.said).chain(&mut self.by_hand) {
            *text = hide_passwords(text);
        }
        self
    }
}

/// A case while it runs.
pub(super) struct CaseRun<'a> {
    pub(super) target: &'a Target,
    pub(super) contract: &'a Contract,
    pub(super) case: &'a Case,
    pub(super) store: Box<dyn Store + 'a>,
    pub(super) session: Box<dyn Session>,
    pub(super) clock: Arc<Clock>,
    pub(super) random: fastrand::Rng,
    pub(super) patience: Duration,
    /// How long a worker may be silent on an answer that never comes.
    pub(super) wait: Duration,
    pub(super) freed_after: Duration,
    pub(super) at_write_after: Duration,
    pub(super) tasks: BTreeMap<String, Task>,
    pub(super) observed: Observed,
    evidence: &'a Evidence<'a>,
    sabotage: Option<Sabotage>,
    checks: Vec<Check>,
    pub(super) broken: Option<String>,
    troubled: Option<Because>,
    pub(super) unscripted: Option<String>,
    timeline: Vec<Moment>,
    pub(super) notes: Vec<String>,
    pub(super) said: Vec<String>,
    pub(super) by_hand: Vec<String>,
    pub(super) events: u64,
    pub(super) barrier_met: bool,
    pub(super) struck_at: Option<String>,
    unstruck: Option<String>,
}

/// How a case is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) seed: u64,
    /// What is done behind the subject's back, to prove that it would be seen.
    pub(crate) sabotage: Option<Sabotage>,
    pub(crate) patience: Duration,
    /// Deadlines that a binding sets are multiplied by this.
    pub(crate) scale: f64,
    /// After so much silence a held worker is let go, where blocking cannot be seen.
    pub(crate) freed_after: Duration,
    /// After so much silence a call that is not to write stands at its write.
    pub(crate) at_write_after: Duration,
}

/// Runs a case once in `folder`, which must be empty.
pub(crate) fn run_once(target: &Target, case: &Case, evidence: &Evidence<'_>, folder: &Path, how: How) -> Ran {
    run_shown(target, case, evidence, folder, how).without_passwords()
}

fn run_shown(target: &Target, case: &Case, evidence: &Evidence<'_>, folder: &Path, how: How) -> Ran {
    let start = |detail: String| Ran {
        trouble: Some(Because { kind: BecauseKind::Start, detail }),
        all_struck: true,
        ..Ran::default()
    };
    let base = target.adapter.clock_base();
    if let Some(gate) = &case.gate {
        return match target.stores.empty(folder, base) {
            Ok(store) => {
                if how.sabotage == Some(Sabotage::IndexDropped)
                    && let Err(error) = sabotage::bare(&target.contract, store.as_ref())
                {
                    return start(error.to_string());
                }
                try_gate(target, case, gate, store.as_ref())
            }
            Err(error) => start(error.to_string()),
        };
    }
    let (store, durable) = match target.stores.seeded(folder, base, &case.given) {
        Ok(seeded) => seeded,
        Err(error @ StoreError::CannotHold(_)) => {
            let unheld = Some(Because { kind: BecauseKind::Unsupported, detail: error.to_string() });
            return Ran { unheld, ..Ran::default() };
        }
        Err(error) => return start(format!("the given rows could not be stored: {error}")),
    };
    if let Some(unseen) = unseen(&case.given, &durable.stores) {
        return start(format!("the store does not read back as it was seeded: {unseen}"));
    }
    let clock = Arc::new(Clock::from(base));
    let words = Arc::clone(store.translation());
    let contract = target.contract.as_ref();
    let setting = Setting { contract, store: store.address(), words, clock: Arc::clone(&clock), folder };
    let session = match target.adapter.session(&setting) {
        Ok(session) => session,
        Err(error) => return start(error.0),
    };
    let session: Box<dyn Session> = match how.sabotage {
        Some(kind) => Box::new(Tampered::new(session, kind, &target.contract)),
        None => session,
    };
    let observed = Observed {
        given: durable.stores.clone(),
        durable,
        effects: target.contract.effects.keys().map(|name| (name.clone(), Vec::new())).collect(),
        replies: Vec::new(),
        unobserved: false,
    };
    let run = CaseRun {
        target,
        contract: &target.contract,
        case,
        store,
        session,
        clock,
        random: fastrand::Rng::with_seed(how.seed),
        patience: how.patience,
        wait: target.adapter.wait().map_or(how.patience, |wait| wait.mul_f64(how.scale)),
        freed_after: how.freed_after,
        at_write_after: how.at_write_after,
        tasks: BTreeMap::new(),
        observed,
        evidence,
        sabotage: how.sabotage,
        checks: Vec::new(),
        broken: None,
        troubled: None,
        unscripted: None,
        timeline: Vec::new(),
        notes: Vec::new(),
        said: Vec::new(),
        by_hand: Vec::new(),
        events: 0,
        barrier_met: false,
        struck_at: None,
        unstruck: None,
    };
    run.run()
}

fn try_gate(target: &Target, case: &Case, name: &str, store: &dyn Store) -> Ran {
    let mut ran = Ran { all_struck: true, ..Ran::default() };
    let check = |held: bool, words: String| Check {
        name: CheckName::Gate(name.to_owned()).to_string(),
        held: Some(held),
        expected: if held { String::new() } else { "the store itself refuses a duplicate".to_owned() },
        observed: words.clone(),
        words,
    };
    let Some(gate) = target.contract.gates.iter().find(|gate| gate.name == name) else {
        ran.broken = Some(format!("the contract has no gate {name}"));
        return ran;
    };
    let rows = case.given.get(&gate.store).map_or(&[][..], Vec::as_slice);
    match store.gate(gate, rows) {
        Ok(None) => ran.checks.push(check(true, String::new())),
        Ok(Some(wrong)) => ran.checks.push(check(false, wrong)),
        Err(error) => ran.trouble = Some(Because { kind: BecauseKind::Start, detail: error.to_string() }),
    }
    ran
}

impl CaseRun<'_> {
    fn run(mut self) -> Ran {
        let case = self.case;
        for step in &case.steps {
            // Without a subject and its store there is nothing to judge.
            if self.troubled.as_ref().is_some_and(|because| because.kind == BecauseKind::Start) {
                break;
            }
            match step {
                Step::Call(call) => self.call(call),
                Step::Parallel { calls, barrier } => self.parallel(calls, barrier.as_deref()),
                Step::Release { worker, reply } => self.release(worker, reply.as_ref()),
                Step::Advance { seconds, worker } => {
                    self.clock.advance(*seconds, worker.as_deref());
                    let whose =
                        worker.as_ref().map_or("the clock".to_owned(), |worker| format!("the clock of {worker}"));
                    self.note("harness", format!("{whose} moves {seconds} s"));
                }
                Step::Reconnect => self.reconnect(),
                Step::Expect(alternatives) => self.expect(alternatives),
            }
        }
        self.settle();
        for worker in self.session.alive() {
            self.hear(&worker);
        }
        let left = self.session.finish();
        if let Some(why) = self.session.uncontrolled() {
            self.trouble(BecauseKind::Clock, why);
        }
        if !left.is_empty() {
            self.notes.push(format!("it left processes behind, which were ended: {}", left.join(", ")));
        }
        let all_struck = self.unstruck.is_none();
        if let Some(what) = self.unstruck.take() {
            self.trouble(BecauseKind::NotFired, what);
        }
        Ran {
            all_struck,
            checks: self.checks,
            broken: self.broken,
            trouble: self.troubled,
            unheld: None,
            timeline: self.timeline,
            notes: self.notes,
            said: self.said,
            by_hand: self.by_hand,
            struck_at: self.struck_at,
            observed: self.observed,
        }
    }

    fn begin(&mut self, call: &Call, barrier: Option<&str>, turns: bool) {
        if let Some(seconds) = call.after.filter(|_| self.target.moves_clock()) {
            self.clock.advance(seconds, None);
        }
        self.note("caller", format!("{} on {}", words_of_call(call), call.worker));
        self.retire(&call.worker);
        self.tamper(true);
        let task = Task::new(call.clone(), barrier, turns);
        if let State::Fresh(watch) = &task.state {
            for (effect, fault) in watch.absent.clone() {
                self.note(&effect, format!("nobody is there for {}: {fault:?}", call.worker).to_lowercase());
            }
        }
        self.tasks.insert(call.worker.clone(), task);
    }

    fn call(&mut self, call: &Call) {
        self.begin(call, None, false);
        self.strike_at_write(call);
        self.drive(std::slice::from_ref(&call.worker), None);
        self.tamper(false);
        self.judge(&call.worker, call.reply.as_ref());
    }

    /// Calls that start together. Several on one worker follow each other.
    fn parallel(&mut self, calls: &[Call], barrier: Option<&str>) {
        let mut queues: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
        for call in calls.iter().rev() {
            queues.entry(&call.worker).or_default().push(call);
        }
        self.barrier_met = barrier.is_none();
        let turns = barrier.is_none();
        while queues.values().any(|queue| !queue.is_empty()) {
            let round: Vec<&Call> = queues.values_mut().filter_map(Vec::pop).collect();
            let mut workers = Vec::new();
            for call in round {
                self.begin(call, barrier, turns);
                workers.push(call.worker.clone());
            }
            match barrier {
                Some(barrier) => self.meet_at_write(&workers, barrier),
                None => self.look_together(&workers),
            }
            self.drive(&workers, barrier);
            self.tamper(false);
            for worker in &workers {
                let reply = self.tasks.get(worker).and_then(|task| task.call.reply.clone());
                self.judge(worker, reply.as_ref());
            }
        }
        if let Some(barrier) = barrier.filter(|_| !self.barrier_met) {
            self.trouble(BecauseKind::NotFired, format!("no call reached {barrier}, where they were to meet"));
        }
    }

    fn release(&mut self, worker: &str, reply: Option<&Matcher>) {
        if self.tasks.get(worker).is_some_and(|task| task.state == State::Held) {
            self.let_go(worker);
            self.note("harness", format!("{worker} is let go"));
        }
        self.drive(&[worker.to_owned()], None);
        if let Some(task) = self.tasks.get_mut(worker) {
            task.judged = false;
        }
        self.judge(worker, reply);
    }

    fn reconnect(&mut self) {
        self.settle();
        self.session.disconnect();
        self.tasks.clear();
        self.note("harness", "every worker is ended and starts afresh at its next call".to_owned());
    }

    /// Calls that are still held when their worker ends are killed; a fault that never struck is noted.
    fn settle(&mut self) {
        for worker in self.tasks.keys().cloned().collect::<Vec<_>>() {
            if self.tasks[&worker].outcome().is_none() {
                let how = self.kill(&worker).how;
                self.note(&format!("worker {worker}"), how);
                self.done(&worker, Outcome::Nothing("killed".to_owned()));
            }
            self.retire(&worker);
        }
    }

    /// A worker's last call is over: did its fault strike?
    fn retire(&mut self, worker: &str) {
        let Some(task) = self.tasks.remove(worker) else { return };
        if let Some(fault) = &task.call.fault
            && !task.struck
        {
            let what = format!("{:?} at {} never struck {}", fault.by, place(&fault.at), task.call.name);
            self.unstruck.get_or_insert(what);
        }
    }

    fn judge(&mut self, worker: &str, reply: Option<&Matcher>) {
        let Some(task) = self.tasks.get_mut(worker) else { return };
        let Some(outcome) = task.outcome().cloned() else { return };
        if task.judged || task.gone {
            return;
        }
        task.judged = true;
        let fault = task.call.fault.as_ref().filter(|_| task.struck).map(|fault| fault.by);
        let signalled = task.signalled;
        if matches!(fault, Some(FaultKind::Kill | FaultKind::Lost)) || outcome == Outcome::Unobserved {
            return;
        }
        let call = task.call.name.clone();
        let held = match reply {
            Some(matcher) => outcome_meets(matcher, &outcome),
            // An error that was asked for is no surprise.
            None if signalled || matches!(fault, Some(FaultKind::Raise | FaultKind::Storage(_))) => true,
            None => outcome.word() == "acknowledged",
        };
        let expected = reply.map_or("a reply".to_owned(), matcher_words);
        let miss = (!held).then(|| Miss {
            words: format!("{call} on {worker} replied {outcome}, expected {expected}"),
            expected: format!("reply: {expected}"),
            observed: format!("reply: {outcome}"),
        });
        self.check(&CheckName::Reply, miss);
    }

    /// What sabotage does to the store and the clock around a call. What it cannot do leaves the case as it is.
    pub(super) fn tamper(&mut self, before: bool) {
        let Some(kind) = self.sabotage else { return };
        if before && kind == Sabotage::TimeMoved {
            self.clock.advance(86_400, None);
        }
        let tamper = if before { sabotage::before } else { sabotage::after };
        if let Err(error) = tamper(kind, self.contract, self.store.as_ref()) {
            self.notes.push(format!("sabotage could not be done: {error}"));
        }
    }

    fn expect(&mut self, alternatives: &[indexmap::IndexMap<String, nack_cases::Expected>]) {
        let transactions = self.session.transactions();
        match self.store.read(transactions.as_deref()) {
            Ok(snapshot) => self.observed.durable = snapshot,
            Err(error) => {
                self.trouble(BecauseKind::Start, format!("the store could not be read back: {error}"));
                return;
            }
        }
        self.note("store", "is read back through a fresh connection".to_owned());
        let miss = expectation(alternatives, &self.observed).err();
        let miss = match self.unscripted.take() {
            Some(words) => Some(match miss {
                Some(miss) => Miss { words: format!("{words}; {}", miss.words), ..miss },
                None => Miss { expected: "no further use".to_owned(), observed: words.clone(), words },
            }),
            None => miss,
        };
        self.check(&CheckName::Expect, miss);
        let stray = self.observed.stray_word(self.contract).map(|words| Miss {
            expected: "a word of the closed vocabulary".to_owned(),
            observed: words.clone(),
            words,
        });
        self.check(&CheckName::Vocabulary, stray);
        self.rules();
    }

    fn rules(&mut self) {
        if let Err(error) = self.evidence.load(&self.observed) {
            self.trouble(BecauseKind::Start, format!("the relations could not be loaded: {error}"));
            return;
        }
        let contract = self.contract;
        for invariant in &contract.invariants {
            let name = CheckName::Invariant(invariant.name.clone());
            let missing = self.target.check_not_covered(&name).or_else(|| {
                let lost =
                    self.observed.durable.history.is_none() && invariant.needs.iter().any(|need| need == "history");
                lost.then(|| "history: the triggers that catch it are gone".to_owned())
            });
            if let Some(missing) = missing {
                let words = format!("not covered: {missing}");
                self.push(Check {
                    name: name.to_string(),
                    held: None,
                    words,
                    expected: String::new(),
                    observed: String::new(),
                });
                continue;
            }
            match self.evidence.violations(invariant) {
                Ok(rows) if rows.is_empty() => self.check(&name, None),
                Ok(rows) => {
                    let rows: Vec<String> =
                        rows.into_iter().map(|row| nack_contracts::Value::Map(row).to_string()).collect();
                    self.check(
                        &name,
                        Some(Miss {
                            words: invariant.why.clone(),
                            expected: "no row breaks it".to_owned(),
                            observed: format!("broken by {}", rows.join(", ")),
                        }),
                    );
                }
                Err(error) => self.trouble(BecauseKind::Start, format!("{name}: {error}")),
            }
        }
    }

    fn check(&mut self, name: &CheckName, miss: Option<Miss>) {
        let (held, miss) = match miss {
            None => (true, Miss { words: String::new(), expected: String::new(), observed: String::new() }),
            Some(miss) => (false, miss),
        };
        if !held {
            self.note("harness", format!("{name} does not hold"));
        }
        self.push(Check {
            name: name.to_string(),
            held: Some(held),
            words: miss.words,
            expected: miss.expected,
            observed: miss.observed,
        });
    }

    /// Checks that held are listed once.
    fn push(&mut self, check: Check) {
        if check.held == Some(false) || !self.checks.contains(&check) {
            self.checks.push(check);
        }
    }

    pub(super) fn note(&mut self, lane: &str, what: String) {
        self.timeline.push(Moment { lane: lane.to_owned(), what, fault: false });
    }

    pub(super) fn strike(&mut self, lane: &str, what: String) {
        self.timeline.push(Moment { lane: lane.to_owned(), what, fault: true });
    }

    pub(super) fn trouble(&mut self, kind: BecauseKind, detail: String) {
        self.troubled.get_or_insert(Because { kind, detail });
    }
}

/// A place in words.
pub(super) fn place(at: &nack_cases::At) -> String {
    match at {
        nack_cases::At::Checkpoint(point) => point.clone(),
        nack_cases::At::Everywhere => "*".to_owned(),
        nack_cases::At::Nth(n) => format!("point {n}"),
        nack_cases::At::Request => "request".to_owned(),
        nack_cases::At::Reply => "reply".to_owned(),
    }
}

fn words_of_call(call: &Call) -> String {
    let args: Vec<String> = call.args.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("calls {}({})", call.name, args.join(", "))
}
