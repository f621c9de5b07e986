//! The one trait behind every adapter: a session carries the messages of one case between the runner and the
//! workers of a subject. It decides nothing; what an event means, and what comes next, is the runner's business.

use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;
use nack_cases::{Answer, NetFault, Signal, StorageFault};
use nack_contracts::{Map, Value};

/// A place where a worker can be stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// A checkpoint that the subject declared.
    Checkpoint(String),
    /// Just before a statement (or traced call) of the store; what it is, for people.
    Statement(String),
    /// Just before an effect.
    BeforeEffect(String),
    /// Just after an effect's answer arrived.
    AfterEffect(String),
}

/// What a worker did next. Every event but `Reply`, `Ended`, `Error` and `Died` leaves it waiting for a [`Directive`].
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It reached a point that the call's [`Watch`] asked for.
    Point(Point),
    /// It reaches for this effect over a wire, and nothing of what it sends was read. It may be turned away here.
    Reaches(String),
    /// It calls the outside and waits for the answer.
    Effect {
        /// The effect's name in the contract.
        name: String,
        /// Its columns.
        columns: Map,
    },
    /// It waits for a lock that another worker holds.
    Blocked,
    /// Its call ended with a value.
    Reply(Value),
    /// Its call ended well, and nothing tells with which value.
    Ended,
    /// Its call ended with an error that reached the caller.
    Error {
        /// The error's name in the contract's words.
        name: String,
        /// Whether the subject knows that nothing happened.
        definite: bool,
        /// The error's text.
        text: Vec<u8>,
    },
    /// It is gone, though nobody killed it: how, and what it said last.
    Died(String),
}

/// What a waiting worker is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Directive {
    /// Go on (at `Blocked`: try again).
    Continue,
    /// At a point: fail here with an injected error.
    Raise,
    /// At a point: from here to the end of the call every write of the store fails so.
    Storage(StorageFault),
    /// At an effect, or where one is reached for: this is what the outside does.
    Answer(Answer),
    /// At `Blocked`: nobody will let go, so fail with the store's own error.
    GiveUp,
}

/// Which points of a call the runner wants to hear of, and where its caller loses the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Every statement and both sides of every effect.
    pub everywhere: bool,
    /// One named checkpoint.
    pub checkpoint: Option<String>,
    /// A session that cuts connections does so here, and then ends the call with an indefinite error. Any other lets
    /// the call end as it does, and the runner throws that end away, be it a reply or an error.
    pub lost: Option<Lost>,
    /// The effects behind which nobody is during this call, and in which way. Only a session with a wire hears of any.
    pub absent: IndexMap<String, NetFault>,
}

/// Where the caller of a call loses the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// It hangs up as soon as its request is sent.
    Request,
    /// The answer is sent and never reaches it.
    Reply,
}

/// What a worker is seen to do about its call, from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It works.
    Works,
    /// It sleeps, and nobody has taken the call up.
    Untaken,
    /// It sleeps, for a lock or whatever else; or nobody can see it, and it has long said nothing.
    Sleeps,
}

/// How a worker was ended, and where its store now is, if it moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Killed {
    /// In words, for the timeline.
    pub how: String,
    /// The copy that is judged from here on, for workers that cannot really be killed.
    pub store: Option<PathBuf>,
    /// Whether it ended by this kill and by nothing else, and said nothing more. Otherwise a kill that a case is
    /// about has proved nothing.
    pub proven: bool,
}

/// What a worker said outside the conversation, the last lines of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Since its call began, where only messages belong: each line, and why it is none.
    pub stray: Vec<String>,
    /// Where programs talk to people.
    pub stderr: Vec<String>,
}

/// A worker or a store that would not start. The case is inconclusive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub String);

/// All workers of one subject during one case.
pub trait Session {
    /// Begins a call on a worker, starting the worker if it does not live.
    ///
    /// # Errors
    /// When the worker cannot be started.
    fn call(&mut self, worker: &str, call: &str, args: &Map, watch: Watch) -> Result<(), StartError>;

    /// Makes a worker ready for its calls now, so that what it does when it starts is over before the first. Where
    /// there is nothing to start it says nothing.
    ///
    /// # Errors
    /// When the worker cannot be started.
    fn start(&mut self, _worker: &str) -> Result<(), StartError> {
        Ok(())
    }

    /// What a worker is seen to do about a call that has no end yet.
    fn seen(&self, _worker: &str) -> Seen {
        Seen::Sleeps
    }

    /// The line by which a person repeats the last call of a worker in a shell, if there is one.
    fn by_hand(&self, _worker: &str) -> Option<String> {
        None
    }

    /// The next event of any worker that runs, or `None` after `patience` without one.
    fn next(&mut self, patience: Duration) -> Option<(String, Event)>;

    /// Lets a waiting worker go on.
    fn resume(&mut self, worker: &str, directive: Directive);

    /// Ends a worker without farewell, wherever it is.
    fn kill(&mut self, worker: &str) -> Killed;

    /// Ends every worker without farewell; the next call starts anew on the same store.
    fn disconnect(&mut self) {
        for worker in self.alive() {
            self.kill(&worker);
        }
    }

    /// The workers that live, in a stable order.
    fn alive(&self) -> Vec<String>;

    /// Whether resumed workers run at the same time. Where they do not, the runner picks the one that goes on.
    fn concurrent(&self) -> bool;

    /// Whether calls go over a connection that it can cut. Where they do not, the runner throws requests and answers
    /// away itself.
    fn cuts_connections(&self) -> bool {
        false
    }

    /// Whether a worker waits for an answer that never comes, though it may come a byte at a time.
    fn waits_in_vain(&self, _worker: &str) -> bool {
        false
    }

    /// The harness itself begins to hold what workers may wait for, or lets go of it: meanwhile no time passes for them.
    fn stand_still(&mut self, _stands: bool) {}

    /// Why nothing that a worker did can be judged, if a condition of the case was not kept for it.
    fn uncontrolled(&mut self) -> Option<String> {
        None
    }

    /// Which changes were committed together, as far as the store tells: for each transaction the history rows it
    /// wrote, as (table, row). `None` where the store does not tell.
    fn transactions(&self) -> Option<Vec<Vec<(String, i64)>>>;

    /// Sends a worker a signal; whether it could be sent.
    fn signal(&mut self, _worker: &str, _signal: Signal) -> bool {
        false
    }

    /// Stops a worker wherever it is, as SIGSTOP does; whether it could.
    fn stop(&mut self, _worker: &str) -> bool {
        false
    }

    /// Lets a stopped worker go on, as SIGCONT does; whether it could. What it waits for is still to be answered.
    fn cont(&mut self, _worker: &str) -> bool {
        false
    }

    /// What a worker said last, dead or alive. A worker that missed a deadline and has stray lines said garbage;
    /// one without was silent.
    fn said(&self, _worker: &str) -> Said {
        Said::default()
    }

    /// Ends every worker in good order, and says what of theirs had to be ended besides.
    fn finish(&mut self) -> Vec<String> {
        self.disconnect();
        Vec::new()
    }
}
