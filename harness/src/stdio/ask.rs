//! What a subject waits for in the middle of a call, stage by stage: a point, or an effect with its two sides. Pure,
//! so that what a directive leads to can be read, and tested, in one place.

use std::time::{Duration, Instant};

use nack_cases::{Action, RaiseKind};
use nack_contracts::{Map, Value};
use rustix::process::Signal;

use super::message::{Octets, Passed, Raised};
use crate::session::{Directive, Event, Point};

/// How long a signal may take to show an effect, before the effect it fell into ends as one that timed out.
const SIGNALLED_WITHIN: Duration = Duration::from_millis(500);

/// A request of the subject that is not yet answered.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) id: Value,
    pub(super) stage: Stage,
}

/// What the outside answered.
pub(super) type Answer = Result<Value, Raised>;

/// Where a request stands. An effect that is watched passes through three stages, each told to the runner.
#[derive(Debug)]
pub(super) enum Stage {
    /// At a checkpoint or before a statement.
    At(Point),
    /// Just before an effect.
    Before { name: String, columns: Map },
    /// The effect itself.
    Outside { name: String, columns: Map, watched: bool },
    /// Just after the effect: its answer is withheld.
    After { name: String, answer: Answer },
    /// A signal was sent into the effect.
    Signalled { until: Instant },
}

/// What a directive leads to.
#[derive(Debug)]
pub(super) enum Next {
    /// The point is passed.
    Pass(Passed),
    /// The point fails.
    Inject,
    /// The effect ends.
    Answer(Answer),
    /// The request goes on waiting.
    Wait(Stage),
    /// The process gets a signal and the request goes on waiting.
    Signal(Signal, Stage),
}

impl Stage {
    /// The first stage of an effect.
    pub(super) fn effect(name: String, columns: Map, watched: bool) -> Stage {
        if watched { Stage::Before { name, columns } } else { Stage::Outside { name, columns, watched } }
    }

    /// What the runner is told of it.
    pub(super) fn event(&self) -> Option<Event> {
        match self {
            Stage::At(point) => Some(Event::Point(point.clone())),
            Stage::Before { name, .. } => Some(Event::Point(Point::BeforeEffect(name.clone()))),
            Stage::Outside { name, columns, .. } => {
                Some(Event::Effect { name: name.clone(), columns: columns.clone() })
            }
            Stage::After { name, .. } => Some(Event::Point(Point::AfterEffect(name.clone()))),
            Stage::Signalled { .. } => None,
        }
    }

    /// Follows the runner's directive.
    pub(super) fn follow(self, directive: Directive) -> Next {
        match (self, directive) {
            (Stage::At(_), Directive::Raise) => Next::Inject,
            (Stage::At(_), Directive::Storage(fault)) => Next::Pass(Passed { storage: Some(fault) }),
            (Stage::At(_), _) => Next::Pass(Passed::default()),
            (Stage::Before { .. } | Stage::After { .. }, Directive::Raise) => {
                Next::Answer(Err(raised(RaiseKind::Error, "an injected error")))
            }
            (Stage::Before { .. } | Stage::After { .. }, Directive::Storage(_)) => {
                let text = "over stdio a failing store begins at a checkpoint or statement, not at an effect";
                Next::Answer(Err(raised(RaiseKind::Error, text)))
            }
            (Stage::Before { name, columns }, _) => Next::Wait(Stage::Outside { name, columns, watched: true }),
            (Stage::Outside { .. }, Directive::Answer(nack_cases::Answer { does: Action::Signal(signal), .. })) => {
                let until = Instant::now() + SIGNALLED_WITHIN;
                Next::Signal(in_terms_of_the_system(signal), Stage::Signalled { until })
            }
            (Stage::Outside { name, watched: true, .. }, directive) => {
                Next::Wait(Stage::After { name, answer: played(directive) })
            }
            (Stage::Outside { .. }, directive) => Next::Answer(played(directive)),
            (Stage::After { answer, .. }, _) => Next::Answer(answer),
            (stage @ Stage::Signalled { .. }, _) => Next::Wait(stage),
        }
    }

    /// Whether a signal had its time and showed no effect.
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Stage::Signalled { until } if Instant::now() >= *until)
    }
}

/// How an effect ends that a signal fell into and did not end.
pub(super) fn unanswered() -> Answer {
    Err(raised(RaiseKind::Timeout, "no answer came after the signal"))
}

/// What the outside does, as far as a function can do it.
fn played(directive: Directive) -> Answer {
    let Directive::Answer(answer) = directive else {
        return Err(raised(RaiseKind::Error, "no answer is scripted for this use"));
    };
    match answer.does {
        Action::Return(value) => Ok(value),
        Action::Raise { kind, text } => Err(Raised { kind, text: Octets(text) }),
        Action::Lost(_) => Err(raised(RaiseKind::Connection, "the answer was lost")),
        Action::Net(_) | Action::Http { .. } | Action::Signal(_) => {
            Err(raised(RaiseKind::Error, "this answer needs a wire"))
        }
    }
}

fn raised(kind: RaiseKind, text: &str) -> Raised {
    Raised { kind, text: Octets(text.as_bytes().to_vec()) }
}

/// A contract's signal as the system's.
pub(super) fn in_terms_of_the_system(signal: nack_cases::Signal) -> Signal {
    match signal {
        nack_cases::Signal::Int => Signal::INT,
        nack_cases::Signal::Term => Signal::TERM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken() -> Directive {
        Directive::Answer(Action::Return("taken".into()).into())
    }

    #[test]
    fn an_effect_that_nobody_watches_ends_with_its_answer() {
        let stage = Stage::effect("send".into(), Map::new(), false);
        assert!(matches!(stage.event(), Some(Event::Effect { .. })));
        assert!(matches!(stage.follow(taken()), Next::Answer(Ok(Value::Text(text))) if text == "taken"));
    }

    #[test]
    fn a_watched_effect_stops_before_and_after_with_its_answer_withheld() {
        let stage = Stage::effect("send".into(), Map::new(), true);
        assert_eq!(stage.event(), Some(Event::Point(Point::BeforeEffect("send".into()))));
        let Next::Wait(stage) = stage.follow(Directive::Continue) else { panic!("it goes on to the effect") };
        assert!(matches!(stage.event(), Some(Event::Effect { .. })));
        let Next::Wait(stage) = stage.follow(taken()) else { panic!("it goes on to the point after") };
        assert_eq!(stage.event(), Some(Event::Point(Point::AfterEffect("send".into()))));
        assert!(matches!(stage.follow(Directive::Continue), Next::Answer(Ok(_))));
    }

    #[test]
    fn an_effect_without_a_scripted_answer_fails_plainly() {
        let next = Stage::effect("send".into(), Map::new(), false).follow(Directive::Continue);
        assert!(matches!(next, Next::Answer(Err(Raised { kind: RaiseKind::Error, .. }))), "{next:?}");
    }

    #[test]
    fn a_signal_keeps_the_effect_open_until_its_time_is_over() {
        let directive = Directive::Answer(Action::Signal(nack_cases::Signal::Term).into());
        let Next::Signal(Signal::TERM, stage) = Stage::effect("send".into(), Map::new(), false).follow(directive)
        else {
            panic!("the signal is sent")
        };
        assert!(!stage.is_over() && stage.event().is_none());
    }
}
