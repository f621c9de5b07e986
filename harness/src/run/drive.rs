//! The event loop: workers go on until nothing is left to wait for. Faults strike here, effects are answered here, and
//! where workers take turns the seed picks whose turn it is.

use std::time::Duration;

use nack_cases::FaultKind;
use nack_contracts::Value;
use nack_reports::BecauseKind;

use super::case::CaseRun;
use super::silence::Silence;
use super::tasks::{State, Task};
use crate::judge::Outcome;
use crate::session::{Directive, Event, Killed, Lost, Point, Seen};

impl CaseRun<'_> {
    /// Lets workers go on until each of `until` is over or held.
    pub(super) fn drive(&mut self, until: &[String], barrier: Option<&str>) {
        let mut silence = Silence::default();
        while !until.iter().all(|worker| self.tasks.get(worker).is_none_or(Task::rests)) {
            if !self.wake() && !self.unblock(until) {
                return;
            }
            if !self.tasks.values().any(|task| task.state == State::Running) {
                continue;
            }
            // Where blocking cannot be seen, a worker that says nothing while another is held may be waiting for it.
            let waits = |task: &Task| matches!(task.state, State::Held | State::AtBarrier);
            let by_time =
                self.session.concurrent() && self.tasks.iter().any(|(w, task)| waits(task) && !until.contains(w));
            let barrier_waits =
                self.session.concurrent() && self.tasks.values().any(|task| task.state == State::AtBarrier);
            let waits = by_time || barrier_waits;
            let patience = if waits { silence.next(self.freed_after) } else { self.longest() };
            match self.session.next(patience) {
                Some((worker, event)) if self.events < super::MOST_EVENTS => {
                    self.events += 1;
                    silence = Silence::default();
                    self.handle(&worker, event, barrier);
                }
                Some((worker, _)) => {
                    self.broken.get_or_insert(format!("worker {worker} asks and asks and never ends its call"));
                    self.end_all("it never ended");
                    return;
                }
                None if waits && silence.goes_on(patience, self.patience, self.works()) => {}
                None if waits && self.free_by_time(until) => silence = Silence::default(),
                None => {
                    self.silence();
                    return;
                }
            }
        }
    }

    /// Whether a worker that runs is seen to have work to do, so that it waits for nobody.
    fn works(&self) -> bool {
        let mut running = self.tasks.iter().filter(|(_, task)| task.state == State::Running);
        running.any(|(worker, _)| self.session.seen(worker) == Seen::Works)
    }

    /// How long the workers that run may be silent.
    fn longest(&self) -> Duration {
        let running = |state: &State| *state == State::Running;
        let mut running = self.tasks.iter().filter(|(_, task)| running(&task.state)).map(|(worker, _)| worker);
        if running.any(|worker| self.session.waits_in_vain(worker)) { self.wait } else { self.patience }
    }

    /// Resumes workers that may go on: all of them where they run at once, else one that the seed picks.
    pub(super) fn wake(&mut self) -> bool {
        if !self.session.concurrent() && self.tasks.values().any(|task| task.state == State::Running) {
            return true;
        }
        let mut ready: Vec<String> = self
            .tasks
            .iter()
            .filter(|(_, task)| matches!(task.state, State::Ready(_) | State::Fresh(_)))
            .map(|(worker, _)| worker.clone())
            .collect();
        if !self.session.concurrent() && ready.len() > 1 {
            ready = vec![ready.swap_remove(self.random.usize(..ready.len()))];
        }
        for worker in &ready {
            let Some(task) = self.tasks.get_mut(worker) else { continue };
            match std::mem::replace(&mut task.state, State::Running) {
                State::Fresh(watch) if watch.lost == Some(Lost::Request) && !self.session.cuts_connections() => {
                    task.struck = true;
                    self.strike("caller", format!("loses its request to {worker} on the way"));
                    self.done(worker, Outcome::Nothing("its request was lost".to_owned()));
                }
                State::Fresh(watch) => {
                    if let Err(error) = self.session.call(worker, &task.call.name, &task.call.args, watch) {
                        task.state = State::Done(Outcome::Nothing(error.0.clone()));
                        task.judged = true;
                        self.trouble(BecauseKind::Start, error.0);
                    } else {
                        self.by_hand.extend(self.session.by_hand(worker));
                    }
                }
                State::Ready(directive) => self.session.resume(worker, directive),
                other => task.state = other,
            }
        }
        self.tasks.values().any(|task| task.state == State::Running)
    }

    /// Nobody runs and nobody may go on. Opens the barrier, lets a held call go, or tells a blocked one to try again.
    fn unblock(&mut self, until: &[String]) -> bool {
        let in_state = |wanted: fn(&State) -> bool, run: &Self| -> Vec<String> {
            run.tasks.iter().filter(|(_, task)| wanted(&task.state)).map(|(worker, _)| worker.clone()).collect()
        };
        let waiting = in_state(|state| *state == State::AtBarrier, self);
        if !waiting.is_empty() {
            self.barrier_met = true;
            self.note("harness", format!("the barrier opens for {}", waiting.join(", ")));
            for worker in waiting {
                self.set(&worker, State::Ready(Directive::Continue));
            }
            return true;
        }
        let blocked = in_state(|state| matches!(state, State::Blocked(_)), self);
        let Some(first) = blocked.first() else { return false };
        if let Some(holder) = in_state(|state| *state == State::Held, self).first()
            && !until.contains(holder)
        {
            self.note("harness", format!("{first} is blocked by {holder}, which is let go"));
            self.let_go(&holder.clone());
            return true;
        }
        // A lock is worth another try only if something has happened since.
        let moved =
            |run: &Self, worker: &str| matches!(run.tasks[worker].state, State::Blocked(since) if since < run.events);
        let retry = blocked.iter().find(|worker| moved(self, worker)).cloned();
        match retry {
            Some(worker) => self.set(&worker, State::Ready(Directive::Continue)),
            None => self.set(first, State::Ready(Directive::GiveUp)),
        }
        true
    }

    /// A silence that a held worker may have caused: it is let go, and the timeline says why. False: nobody is held.
    fn free_by_time(&mut self, until: &[String]) -> bool {
        if self.tasks.values().any(|task| task.state == State::AtBarrier) {
            return self.unblock(until);
        }
        let held = self.tasks.iter().find(|(worker, task)| task.state == State::Held && !until.contains(worker));
        let Some(holder) = held.map(|(worker, _)| worker.clone()) else { return false };
        self.note("harness", format!("no word for {} ms: {holder} is freed by time", self.freed_after.as_millis()));
        self.let_go(&holder);
        true
    }

    /// Lets a held worker go on; a stopped one is continued first.
    pub(super) fn let_go(&mut self, worker: &str) {
        let Some(task) = self.tasks.get_mut(worker).filter(|task| task.state == State::Held) else { return };
        let stopped = std::mem::take(&mut task.stopped);
        task.state = State::Ready(Directive::Continue);
        if stopped && !self.session.cont(worker) {
            self.trouble(BecauseKind::Unsupported, format!("{worker} could not be continued"));
        }
    }

    pub(super) fn set(&mut self, worker: &str, state: State) {
        if let Some(task) = self.tasks.get_mut(worker) {
            task.state = state;
        }
    }

    pub(super) fn handle(&mut self, worker: &str, event: Event, barrier: Option<&str>) {
        let task = self.tasks.get(worker);
        if !task.is_some_and(|task| task.state == State::Running) {
            // A worker may not leave between two calls either, unless it was sent a signal.
            if let (Event::Died(how), false) = (event, task.is_some_and(|task| task.signalled)) {
                self.hear(worker);
                self.broken.get_or_insert_with(|| format!("worker {worker} left though nobody ended it: {how}"));
                if self.tasks.get(worker).is_some_and(|task| task.outcome().is_none()) {
                    self.done(worker, Outcome::Nothing(format!("it left: {how}")));
                }
            }
            return;
        }
        match event {
            Event::Point(point) => self.reached(worker, &point, barrier),
            Event::Effect { name, columns } => self.effect(worker, &name, columns),
            Event::Reaches(effect) => self.reaches(worker, &effect),
            Event::Ended => self.ended(worker, Outcome::Unobserved),
            Event::Blocked => {
                let now = self.events;
                self.set(worker, State::Blocked(now));
            }
            Event::Reply(Value::Null) => self.ended(worker, Outcome::Reply("nothing".into())),
            Event::Reply(value) => self.ended(worker, Outcome::Reply(value)),
            Event::Error { name, definite, text } => self.ended(worker, Outcome::Error { name, definite, text }),
            Event::Died(how) if self.tasks.get(worker).is_some_and(|task| task.signalled) => {
                self.done(worker, Outcome::Nothing(format!("it ended: {how}")));
            }
            Event::Died(how) => {
                self.hear(worker);
                self.broken.get_or_insert_with(|| format!("worker {worker} died on its own: {how}"));
                self.done(worker, Outcome::Nothing(format!("it died: {how}")));
            }
        }
    }

    /// A call came to its end, and its caller hears of it unless the answer is lost.
    fn ended(&mut self, worker: &str, outcome: Outcome) {
        // One that lives on is heard at the end.
        if !self.session.alive().iter().any(|living| living == worker) {
            self.hear(worker);
        }
        let Some(task) = self.tasks.get_mut(worker).filter(|task| task.loses_answer()) else {
            return self.done(worker, outcome);
        };
        task.struck = true;
        self.strike("caller", format!("never hears from {worker}: {outcome}"));
        self.done(worker, Outcome::Nothing("its answer was lost".to_owned()));
    }

    pub(super) fn reached(&mut self, worker: &str, point: &Point, barrier: Option<&str>) {
        let lane = format!("worker {worker}");
        match point {
            Point::Checkpoint(name) => self.note(&lane, format!("reaches {name}")),
            Point::Statement(sql) => self.note(&lane, format!("before {sql}")),
            Point::BeforeEffect(name) => self.note(&lane, format!("before {name}")),
            Point::AfterEffect(name) => self.note(&lane, format!("after {name}")),
        }
        let Some(task) = self.tasks.get_mut(worker) else { return };
        let fault = task.strikes(point);
        let Some(fault) = fault else {
            let at_barrier = matches!((point, barrier), (Point::Checkpoint(name), Some(barrier)) if name == barrier);
            task.state = if at_barrier { State::AtBarrier } else { State::Ready(Directive::Continue) };
            return;
        };
        self.struck_at = Some(slug(point));
        match fault {
            FaultKind::Raise => {
                self.strike(&lane, "an error is raised here".to_owned());
                self.set(worker, State::Ready(Directive::Raise));
            }
            FaultKind::Storage(kind) => {
                self.strike(&lane, format!("from here on its store is {kind:?}").to_lowercase());
                self.set(worker, State::Ready(Directive::Storage(kind)));
            }
            FaultKind::Hold => {
                self.strike(&lane, "is held here".to_owned());
                self.set(worker, State::Held);
            }
            FaultKind::Stop => {
                let stopped = self.session.stop(worker);
                if !stopped {
                    self.trouble(BecauseKind::Unsupported, format!("{worker} could not be stopped"));
                }
                self.strike(&lane, "is stopped here".to_owned());
                if let Some(task) = self.tasks.get_mut(worker) {
                    (task.state, task.stopped) = (State::Held, stopped);
                }
            }
            // It strikes at no point of the call, but at its end.
            FaultKind::Lost => self.set(worker, State::Ready(Directive::Continue)),
            FaultKind::Kill => {
                let killed = self.kill(worker);
                if !killed.proven {
                    self.trouble(BecauseKind::NotFired, format!("the kill of {worker} proves nothing: {}", killed.how));
                }
                self.strike(&lane, killed.how);
                self.done(worker, Outcome::Nothing("killed".to_owned()));
            }
        }
    }

    /// Ends a worker without farewell and follows its store to the copy, if there is one.
    pub(super) fn kill(&mut self, worker: &str) -> Killed {
        let killed = self.session.kill(worker);
        if let Some(path) = &killed.store {
            self.store.moved_to(path.clone());
        }
        self.gone_with(worker);
        killed
    }

    /// Whoever shares a process with a killed worker is killed with it.
    fn gone_with(&mut self, worker: &str) {
        let living = self.session.alive();
        let begun = |state: &State| !matches!(state, State::Fresh(_) | State::Done(_));
        let gone = |(name, task): &(&String, &Task)| *name != worker && begun(&task.state) && !living.contains(name);
        let gone: Vec<String> = self.tasks.iter().filter(gone).map(|(name, _)| name.clone()).collect();
        for other in gone {
            self.done(&other, Outcome::Nothing(format!("killed with {worker}")));
            if let Some(task) = self.tasks.get_mut(&other) {
                task.gone = true;
            }
        }
    }

    pub(super) fn done(&mut self, worker: &str, outcome: Outcome) {
        let Some(task) = self.tasks.get_mut(worker) else { return };
        let words = format!("{} ends: {outcome}", task.call.name);
        self.observed.unobserved |= outcome == Outcome::Unobserved;
        task.state = State::Done(outcome);
        let row = task.reply_row(self.observed.replies.len() + 1);
        self.observed.replies.extend(row);
        if let Some(stray) = self.session.said(worker).stray.last() {
            let words = format!("{worker} wrote among its messages what is none: {stray}");
            if !self.notes.contains(&words) {
                self.notes.push(words);
            }
        }
        self.note(&format!("worker {worker}"), words);
    }

    /// A deadline passed. Whoever wrote where only messages belong said garbage; whoever wrote nothing was silent.
    fn silence(&mut self) {
        let running = self.tasks.iter().filter(|(_, task)| task.state == State::Running);
        let running: Vec<(String, String)> =
            running.map(|(worker, task)| (worker.clone(), task.call.name.clone())).collect();
        let names: Vec<String> = running.iter().map(|(worker, call)| format!("{worker} in {call}")).collect();
        let seconds = self.longest().as_secs_f64();
        for (worker, call) in &running {
            if self.session.waits_in_vain(worker) {
                let words =
                    format!("worker {worker} still waited in {call}, {seconds} s into an answer that never comes");
                self.broken.get_or_insert(words);
            }
            self.hear(worker);
            if let Some(stray) = self.session.said(worker).stray.last().cloned() {
                let words = format!(
                    "worker {worker} answered {call} with garbage, and with nothing else for {seconds} s: {stray}"
                );
                self.broken.get_or_insert(words);
            }
        }
        if self.broken.is_none() {
            self.trouble(BecauseKind::Silence, format!("no word for {seconds} s from {}", names.join(", ")));
        }
        self.end_all("silence");
    }

    /// Ends every worker; no reply of theirs is judged.
    fn end_all(&mut self, why: &str) {
        for worker in self.session.alive() {
            self.kill(&worker);
        }
        for task in self.tasks.values_mut().filter(|task| task.outcome().is_none()) {
            task.state = State::Done(Outcome::Nothing(why.to_owned()));
            task.judged = true;
        }
    }

    /// Keeps what a worker said last.
    pub(super) fn hear(&mut self, worker: &str) {
        let said = self.session.said(worker);
        let lines = said.stray.into_iter().map(|line| format!("{worker} wrote among its messages: {line}"));
        for line in lines.chain(said.stderr.into_iter().map(|line| format!("{worker}: {line}"))) {
            if !self.said.contains(&line) {
                self.said.push(line);
            }
        }
    }
}

/// A point as it stands in a case's name: `update-outbox`, `before-send`.
fn slug(point: &Point) -> String {
    let words = match point {
        Point::Checkpoint(name) => name.clone(),
        Point::Statement(sql) => {
            sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').take(2).collect::<Vec<_>>().join("-")
        }
        Point::BeforeEffect(name) => format!("before-{name}"),
        Point::AfterEffect(name) => format!("after-{name}"),
    };
    words.to_lowercase().replace('_', "-").trim_matches('-').to_owned()
}
