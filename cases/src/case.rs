//! The concrete case: everything a run needs to try one thing, and nothing that it would have to look up.
//! It is plain data, stored before it runs and replayed from there.

use indexmap::IndexMap;
use nack_contracts::{Map, Value};
use serde::{Deserialize, Serialize};

/// One named thing to try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// `contract/scenario/rows/column=label…`, stable under added rows and samples.
    pub name: String,
    /// The contract's name.
    pub contract: String,
    /// The scenario or gate it came from.
    pub scenario: String,
    /// The bound rows as `table.row`, in order of binding.
    pub rows: Vec<String>,
    /// The chosen sample of each input, as column → label.
    pub samples: IndexMap<String, String>,
    /// The requirement's sentence.
    pub why: String,
    /// Where the requirement stands.
    pub source: Place,
    /// Where each bound row stands.
    pub row_places: Vec<Place>,
    /// Capabilities that the subject must have.
    pub needs: Vec<String>,
    /// Rows of each store before the first step, in order of insertion.
    pub given: IndexMap<String, Vec<Map>>,
    /// What is done and judged, in order.
    pub steps: Vec<Step>,
    /// Set for a gate: the case then has no steps.
    pub gate: Option<String>,
}

/// A place in a contract's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file's name as it was given.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
}

/// One step of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// One call.
    Call(Box<Call>),
    /// Calls that start together.
    Parallel {
        /// The calls, each on a worker of its own or in turn on one.
        calls: Vec<Call>,
        /// Each waits at this checkpoint for the others, or until they are blocked.
        barrier: Option<String>,
    },
    /// Lets a held or stopped call go on to its end.
    Release {
        /// The worker.
        worker: String,
        /// What its call must reply.
        reply: Option<Matcher>,
    },
    /// Moves the clock.
    Advance {
        /// By so many seconds; negative is back.
        seconds: i64,
        /// Of this worker only.
        worker: Option<String>,
    },
    /// Every worker is ended without farewell and started afresh at its next call.
    Reconnect,
    /// Judges what is durable and what the outside saw: one of these alternatives must hold.
    Expect(Vec<IndexMap<String, Expected>>),
}

/// One call of a subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The call's name.
    pub name: String,
    /// The worker it is made on.
    pub worker: String,
    /// Its arguments, defaults filled in.
    pub args: Map,
    /// What the outside does when this call uses an effect.
    pub answers: IndexMap<String, Answers>,
    /// What it must reply.
    pub reply: Option<Matcher>,
    /// What is done to it.
    pub fault: Option<Fault>,
    /// Seconds that pass before it.
    pub after: Option<i64>,
}

/// The script of one effect during one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answers {
    /// One use after another.
    InOrder(Vec<Answer>),
    /// By the effect's id.
    ById {
        /// The answers, by id.
        ids: IndexMap<String, Answer>,
        /// The answer for any other id.
        otherwise: Option<Answer>,
    },
}

impl From<Action> for Answer {
    /// An answer that no contract scripts.
    fn from(does: Action) -> Answer {
        Answer { class: String::new(), sample: String::new(), does }
    }
}

impl Answers {
    /// Every answer of the script.
    pub fn all(&self) -> impl Iterator<Item = &Answer> {
        let (in_order, by_id) = match self {
            Answers::InOrder(answers) => (Some(answers), None),
            Answers::ById { ids, otherwise } => (None, Some(ids.values().chain(otherwise))),
        };
        in_order.into_iter().flatten().chain(by_id.into_iter().flatten())
    }

    /// Every answer of the script, to be changed.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut Answer> {
        let (in_order, by_id) = match self {
            Answers::InOrder(answers) => (Some(answers), None),
            Answers::ById { ids, otherwise } => (None, Some(ids.values_mut().chain(otherwise))),
        };
        in_order.into_iter().flatten().chain(by_id.into_iter().flatten())
    }
}

/// One scripted answer: its class and sample in the effect's domains, and what it does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The class, which SQL sees as `answer`.
    pub class: String,
    /// The label, which SQL sees as `sample`.
    pub sample: String,
    /// What the outside does.
    pub does: Action,
}

/// What the outside does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Returns a value.
    Return(Value),
    /// Raises an error in the worker.
    Raise {
        /// Which one.
        kind: RaiseKind,
        /// Its text, which may be no text at all.
        text: Vec<u8>,
    },
    /// Fails on the wire.
    Net(NetFault),
    /// Answers over HTTP.
    Http {
        /// The status code.
        status: u16,
        /// The body.
        body: Vec<u8>,
        /// Further headers.
        headers: IndexMap<String, String>,
    },
    /// Sends the worker a signal during the effect.
    Signal(Signal),
    /// Does what the value says and loses the answer.
    Lost(Value),
}

/// An error raised inside the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RaiseKind {
    /// No complete answer in time.
    Timeout,
    /// The connection broke.
    Connection,
    /// Any other error.
    Error,
    /// A keyboard interrupt.
    Interrupt,
    /// A cancelled task.
    Cancelled,
    /// An exit request.
    SystemExit,
}

/// A failure on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetFault {
    /// Nobody listens.
    Refused,
    /// No route.
    Unreachable,
    /// The name does not resolve.
    NoName,
    /// Reset before the request was read.
    ResetBefore,
    /// Reset after the request was read.
    ResetAfter,
    /// The body ends early.
    BodyCut,
    /// No answer, ever.
    Hang,
    /// An answer of which a byte comes now and then.
    Drip,
}

/// A signal sent to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Signal {
    /// SIGINT.
    Int,
    /// SIGTERM.
    Term,
}

/// What is done to a call, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Where it strikes.
    pub at: At,
    /// What it is.
    pub by: FaultKind,
}

/// Where a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum At {
    /// At a named checkpoint.
    Checkpoint(String),
    /// At every statement of the store and around each effect: the whole case once a point.
    Everywhere,
    /// At the n-th of those points only, counted from 1; for replay.
    Nth(u32),
    /// When the caller has sent its request, and before any answer.
    Request,
    /// When the answer was sent, and before it reached the caller.
    Reply,
}

/// The kinds of fault that a contract can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// An injected error.
    Raise,
    /// The worker ends without farewell.
    Kill,
    /// It waits there until released.
    Hold,
    /// SIGSTOP until released.
    Stop,
    /// Writes of the store fail from there to the end of the call.
    Storage(StorageFault),
    /// The caller never has its answer: it hung up at the request, or the reply was lost on its way.
    Lost,
}

/// How a store fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StorageFault {
    /// Another connection has it.
    Busy,
    /// No space left.
    Full,
    /// An I/O error.
    Io,
}

/// An expected value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matcher {
    /// This value, with its type.
    Exactly(Value),
    /// An error of this name, or `any`.
    Error(String),
    /// Anything, also an error.
    Any,
    /// A value of this type.
    Type(ValueType),
    /// One of these.
    OneOf(Vec<Matcher>),
    /// None of these; an error meets it.
    Not(Vec<Matcher>),
    /// A list of as many items.
    List(Vec<Matcher>),
    /// An object of exactly these keys.
    Map(IndexMap<String, Matcher>),
}

/// A type that a matcher can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueType {
    /// Text that is not empty.
    String,
    /// An integer.
    Int,
    /// True or false.
    Bool,
    /// A list.
    List,
    /// An object.
    Object,
}

/// What a relation must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Exactly these rows.
    pub rows: Option<Rows>,
    /// At least these rows.
    pub has: Option<Rows>,
    /// No row like one of these.
    pub none: Vec<RowPattern>,
    /// At least so many rows.
    pub at_least: Option<u64>,
    /// At most so many rows.
    pub at_most: Option<u64>,
    /// One value of this column in all rows.
    pub same: Option<String>,
}

/// The columns that are compared, and what each must be.
pub type RowPattern = IndexMap<String, Matcher>;

/// A set of expected rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rows {
    /// So many, whatever they say.
    Count(u64),
    /// Those that were seeded, column by column.
    Given,
    /// These, in the relation's own order where it has one.
    These(Vec<RowPattern>),
    /// These, in any order.
    Unordered(Vec<RowPattern>),
}
