//! The one result model: every output is rendered from it, so their counts agree. Its JSON form is an interface:
//! keys are added, never renamed.

use std::fmt;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::proof::Proof;

/// What became of a case. A case starts as failed and earns its pass.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every check held, and what had to happen did happen.
    Pass,
    /// A check did not hold, or the subject broke the protocol.
    Fail,
    /// What had to happen for the case to count did not happen.
    Inconclusive,
    /// The subject, or this machine, cannot be given this case.
    NotCovered,
    /// It failed as a list of known failures says, with a reason.
    Known,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Inconclusive => "inconclusive",
            Verdict::NotCovered => "not covered",
            Verdict::Known => "known failure",
        })
    }
}

/// Why a case was not covered or inconclusive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Because {
    /// The kind of reason.
    pub kind: BecauseKind,
    /// The reason in words.
    pub detail: String,
}

/// The kinds of reason for a case that did not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BecauseKind {
    /// The subject or its adapter lacks a capability.
    Capability,
    /// The subject passes no such checkpoint.
    Checkpoint,
    /// The clock cannot be moved, or was not controlled.
    Clock,
    /// This machine or adapter cannot do it.
    Unsupported,
    /// Something the case needs is not there.
    Absent,
    /// A fault that should have struck did not.
    NotFired,
    /// A deadline passed in silence.
    Silence,
    /// The subject or its store would not start.
    Start,
    /// A log, or a part of it, cannot be read.
    Unreadable,
    /// It is listed as a known failure, with this reason.
    Known,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "nack report")]
pub struct Report {
    /// The version of this format.
    pub format: u32,
    /// The version of nack.
    pub nack: String,
    /// The seed that chose every order left open.
    pub seed: u64,
    /// The contracts that were run.
    pub contracts: Vec<ContractInfo>,
    /// The subjects they were run on.
    pub subjects: Vec<SubjectInfo>,
    /// Which part of a run this is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// How many cases got which verdict.
    pub counts: Counts,
    /// The cases, in the order of the contracts.
    pub cases: Vec<CaseReport>,
    /// The proof that the gate can fail, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// What this run does not show.
    pub closing: Vec<String>,
    /// The exit code that the run ends with.
    pub exit: u8,
    /// How long the run took, in milliseconds; the only kind of field that differs between equal runs.
    pub elapsed_ms: u64,
}

/// One part of a run: `--shard K/N`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shard {
    /// Which part, from 1.
    pub part: u32,
    /// Of how many.
    pub of: u32,
    /// How many cases all parts have together.
    pub cases: usize,
    /// What was chosen for all parts together, as a digest: parts of two selections make no whole.
    pub selection: String,
    /// The place of each case of this part in the whole, in the order of `cases`.
    pub places: Vec<usize>,
}

/// A contract as it was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContractInfo {
    /// Its name.
    pub name: String,
    /// Its own number.
    pub version: i64,
    /// SHA-256 of its canonical form, parameters included.
    pub digest: String,
    /// The file it was read from.
    pub file: String,
    /// Parameters that a binding overrides.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub overrides: IndexMap<String, i64>,
}

/// A subject as it was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectInfo {
    /// Its name.
    pub name: String,
    /// The contract it was run against.
    pub contract: String,
    /// How it was reached: `in-process`, `stdio`, `command` or `http`.
    pub adapter: String,
    /// Its store, passwords masked.
    pub store: String,
    /// The capabilities it had, its own and its adapter's.
    pub capabilities: Vec<String>,
}

/// How many cases got which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Passed.
    pub pass: usize,
    /// Failed.
    pub fail: usize,
    /// Did not count.
    pub inconclusive: usize,
    /// Could not be given.
    pub not_covered: usize,
    /// Failed as known.
    pub known: usize,
}

impl Counts {
    /// Counts the verdicts of these cases.
    #[must_use]
    pub fn of(cases: &[CaseReport]) -> Counts {
        cases.iter().map(|case| case.verdict).collect()
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> usize {
        self.pass + self.fail + self.inconclusive + self.not_covered + self.known
    }
}

/// One case as it was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseReport {
    /// Its name.
    pub name: String,
    /// The subject it was run on.
    pub subject: String,
    /// What became of it.
    pub verdict: Verdict,
    /// Why it did not count, if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<Because>,
    /// The scenario and rows it stands for, as `scenario table.row table.row`.
    pub rule: String,
    /// The requirement's sentence.
    pub why: String,
    /// Where the requirement stands.
    pub source: Place,
    /// Where the rows stand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Place>,
    /// The sample of each input, as column → label.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub samples: IndexMap<String, String>,
    /// The faults of its steps, as `kill at after_send`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fault: Vec<String>,
    /// How many points a fault at `*` struck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<u32>,
    /// Every check, in the order it was made; equal ones that held once.
    pub checks: Vec<Check>,
    /// How the subject broke the protocol, if it did: it then failed by no check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
    /// What was expected, for the first check that did not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What was seen instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<String>,
    /// What happened, kept for a case that did not pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<Moment>,
    /// What the subject said last, kept for a case that did not pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
    /// What an audit counted for this row of a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
    /// Things to know that change no verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Its calls in order, each as the line that asks the same in a shell, kept for a case that did not pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_hand: Vec<String>,
    /// The command that runs just this again.
    pub replay: String,
    /// How long it took, in microseconds.
    pub elapsed_us: u64,
}

/// A place in a contract's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// One check of a case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// `reply`, `expect`, `invariant:NAME`, `vocabulary` or `gate:NAME`.
    pub name: String,
    /// Whether it held; null if the subject cannot be given it.
    pub held: Option<bool>,
    /// In words: what did not hold, or why it was not made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// What was expected, if it did not hold.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// What was seen, if it did not hold.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub observed: String,
}

impl CaseReport {
    /// What it makes of the run, if it is not required to be covered.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self.verdict {
            Verdict::Fail => Exit::Failed,
            Verdict::Inconclusive => Exit::Inconclusive,
            Verdict::Pass | Verdict::Known | Verdict::NotCovered => Exit::Held,
        }
    }
}

/// What an audit counted for one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// How many lines, or rows of a table, fall to it.
    pub lines: u64,
    /// How many of them it convicts, or could not judge.
    pub broken: u64,
    /// The part of all lines of the audit that these are, from 0 to 1.
    pub share: f64,
    /// The time of the earliest of them, in seconds since 1970, if they tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<f64>,
    /// The time of the latest of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<f64>,
    /// The first of them by their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offenders: Vec<Offender>,
}

/// One line, or row of a table, that an audit convicts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Offender {
    /// Where it stands: `FILE:LINE`, or a table.
    pub place: String,
    /// What it says.
    pub says: String,
}

/// One entry of a timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// Who: `caller`, `worker NAME`, `store`, `harness`, or an effect's name.
    pub lane: String,
    /// What happened.
    pub what: String,
    /// Whether a fault struck here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fault: bool,
}

/// The exit codes, by weight: of several the heaviest is the run's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything required held.
    Held,
    /// A case failed.
    Failed,
    /// Usage, or a contract or binding that is wrong.
    Usage,
    /// Something required did not count.
    Inconclusive,
    /// Nothing matched.
    NothingMatched,
    /// The proof failed.
    ProofFailed,
    /// A fault of nack itself.
    Internal,
    /// Ended by an interrupt.
    Interrupted,
}

impl Exit {
    /// The number that the process ends with.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Exit::Held => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Inconclusive => 3,
            Exit::NothingMatched => 4,
            Exit::ProofFailed => 5,
            Exit::Internal => 70,
            Exit::Interrupted => 130,
        }
    }

    /// The exit of this number; a number that nothing has is a fault of nack.
    #[must_use]
    pub fn of_code(code: u8) -> Exit {
        let all = [
            Exit::Held,
            Exit::Failed,
            Exit::Usage,
            Exit::Inconclusive,
            Exit::NothingMatched,
            Exit::ProofFailed,
            Exit::Interrupted,
        ];
        all.into_iter().find(|exit| exit.code() == code).unwrap_or(Exit::Internal)
    }

    fn weight(self) -> u8 {
        match self {
            Exit::Held => 0,
            Exit::NothingMatched => 1,
            Exit::Inconclusive => 2,
            Exit::ProofFailed => 3,
            Exit::Failed => 4,
            Exit::Usage => 5,
            Exit::Internal => 6,
            Exit::Interrupted => 7,
        }
    }

    /// The heavier of two.
    #[must_use]
    pub fn and(self, other: Exit) -> Exit {
        if other.weight() > self.weight() { other } else { self }
    }
}
