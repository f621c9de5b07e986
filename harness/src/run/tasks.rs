//! The calls that are under way in a case, one a worker, and what each of them waits for.

use std::collections::BTreeMap;

use nack_cases::{Action, Answer, Answers, At, Call, FaultKind, NetFault};
use nack_contracts::{Map, Value};

use crate::judge::Outcome;
use crate::session::{Directive, Lost, Point, Watch};

/// What a call waits for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    /// It has not begun; these points are watched.
    Fresh(Watch),
    /// It may go on with this.
    Ready(Directive),
    /// It runs; its next event will come.
    Running,
    /// It is held until released.
    Held,
    /// It waits at the barrier for the others.
    AtBarrier,
    /// It waits for a lock since the run was this many events old.
    Blocked(u64),
    /// It is over.
    Done(Outcome),
}

/// One call under way.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) call: Call,
    pub(super) state: State,
    /// Whether its own fault has struck.
    pub(super) struck: bool,
    /// Whether its process is stopped while it is held.
    pub(super) stopped: bool,
    /// Whether it was sent a signal, so that its end is no surprise.
    pub(super) signalled: bool,
    /// Whether it was killed with another worker, so that it has no reply to judge.
    pub(super) gone: bool,
    /// Points passed so far, of those a fault at `*` counts.
    points: u32,
    /// Answers used so far, by effect.
    used: BTreeMap<String, usize>,
    /// Whether its reply was judged.
    pub(super) judged: bool,
}

impl Task {
    /// A call that has not begun. `turns`: workers take turns at every point.
    pub(super) fn new(call: Call, barrier: Option<&str>, turns: bool) -> Task {
        let state = State::Fresh(watch(&call, barrier, turns));
        Task {
            call,
            state,
            struck: false,
            stopped: false,
            signalled: false,
            gone: false,
            points: 0,
            used: BTreeMap::new(),
            judged: false,
        }
    }

    pub(super) fn outcome(&self) -> Option<&Outcome> {
        match &self.state {
            State::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    pub(super) fn rests(&self) -> bool {
        matches!(self.state, State::Done(_) | State::Held)
    }

    /// Whether this call's fault strikes at a point that it has just reached.
    pub(super) fn strikes(&mut self, point: &Point) -> Option<FaultKind> {
        let fault = self.call.fault.as_ref()?;
        let here = match (&fault.at, point) {
            (At::Checkpoint(wanted), Point::Checkpoint(name)) => wanted == name,
            (At::Nth(n), Point::Statement(_) | Point::BeforeEffect(_) | Point::AfterEffect(_)) => {
                self.points += 1;
                self.points == *n
            }
            _ => false,
        };
        if !here || self.struck {
            return None;
        }
        self.struck = true;
        Some(fault.by)
    }

    /// Whether its caller loses the answer.
    pub(super) fn loses_answer(&self) -> bool {
        self.call.fault.as_ref().is_some_and(|fault| fault.by == FaultKind::Lost)
    }

    /// The next scripted answer for a use of an effect.
    pub(super) fn answer(&mut self, effect: &str, id: Option<&Value>) -> Option<Answer> {
        match self.call.answers.get(effect)? {
            Answers::InOrder(answers) => {
                let used = self.used.entry(effect.to_owned()).or_default();
                *used += 1;
                answers.get(*used - 1).cloned()
            }
            Answers::ById { ids, otherwise } => {
                let id = match id {
                    Some(Value::Text(text)) => text.clone(),
                    Some(other) => other.to_json(),
                    None => String::new(),
                };
                ids.get(&id).or(otherwise.as_ref()).cloned()
            }
        }
    }

    /// The next scripted answer for a use of an effect, if that is to turn the use away before anything was read.
    pub(super) fn turns_away(&mut self, effect: &str) -> Option<Answer> {
        let unread = |answer: &&Answer| answer.does == Action::Net(NetFault::ResetBefore);
        match self.call.answers.get(effect)? {
            Answers::InOrder(answers) => {
                let used = self.used.entry(effect.to_owned()).or_default();
                let answer = answers.get(*used).filter(unread)?;
                *used += 1;
                Some(answer.clone())
            }
            Answers::ById { otherwise, .. } => otherwise.as_ref().filter(unread).cloned(),
        }
    }

    /// The end of the call as a row of the relation `reply`.
    pub(super) fn reply_row(&self, n: usize) -> Option<Map> {
        let outcome = self.outcome()?;
        let value = match outcome {
            Outcome::Reply(value) => value.clone(),
            Outcome::Unobserved | Outcome::Error { .. } | Outcome::Nothing(_) => Value::Null,
        };
        let word = if matches!(value, Value::Text(_)) { value.clone() } else { Value::Null };
        Some(Map::from([
            ("n".to_owned(), Value::Int(n as i64)),
            ("worker".to_owned(), self.call.worker.as_str().into()),
            ("call".to_owned(), self.call.name.as_str().into()),
            ("outcome".to_owned(), outcome.word().into()),
            ("word".to_owned(), word),
            ("value".to_owned(), value),
        ]))
    }
}

/// The points that the runner wants to hear of: those its fault or a barrier names, and all where workers take turns.
/// And where the answer is lost.
fn watch(call: &Call, barrier: Option<&str>, turns: bool) -> Watch {
    let fault = call.fault.as_ref().map(|fault| &fault.at);
    let everywhere = turns || matches!(fault, Some(At::Everywhere | At::Nth(_)));
    let checkpoint = match fault {
        Some(At::Checkpoint(point)) => Some(point.clone()),
        _ => barrier.map(String::from),
    };
    let lost = match fault {
        Some(At::Request) => Some(Lost::Request),
        Some(At::Reply) => Some(Lost::Reply),
        _ => None,
    };
    let absent = call.answers.iter().filter_map(|(effect, script)| Some((effect.clone(), absent(script)?)));
    Watch { everywhere, checkpoint, lost, absent: absent.collect() }
}

/// In which way nobody is behind an effect, if that is all that its script says. One who is not there cannot choose
/// by what is asked, nor be there for the next use.
fn absent(script: &Answers) -> Option<NetFault> {
    let of = |answer: &Answer| match answer.does {
        Action::Net(fault @ (NetFault::Refused | NetFault::Unreachable | NetFault::NoName)) => Some(fault),
        _ => None,
    };
    let first = of(script.all().next()?)?;
    script.all().all(|answer| of(answer) == Some(first)).then_some(first)
}

/// Why a script cannot be played before the request is read, if it is to be.
pub(crate) fn unknowable(script: &Answers) -> Option<&'static str> {
    let unread = |answer: &Answer| {
        matches!(
            answer.does,
            Action::Net(NetFault::Refused | NetFault::Unreachable | NetFault::NoName | NetFault::ResetBefore)
        )
    };
    if !script.all().any(unread) || absent(script).is_some() {
        return None;
    }
    let resets = |answer: &Answer| answer.does == Action::Net(NetFault::ResetBefore);
    match script {
        Answers::InOrder(answers) if answers.iter().all(|answer| resets(answer) || !unread(answer)) => None,
        Answers::ById { ids, otherwise } if ids.values().chain(otherwise).all(resets) => None,
        Answers::InOrder(_) => Some("for the whole of a call the outside is there, or it is not"),
        Answers::ById { .. } => Some("who reads nothing of a request cannot choose by what it asks"),
    }
}
