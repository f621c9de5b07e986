//! The contract as data: what FORMAT 1 can say, resolved as far as it can be without choosing a case.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::node::{Fields, Node};
use crate::source::{Source, Span};
use crate::value::Value;

mod audit;
mod rules;

pub use audit::{Audit, AuditRule, Of, Standing, Term};
pub use rules::{Bound, CheckName, Gate, Invariant, Mutant, Scenario, Spanned, Vary};

/// A frozen contract.
#[derive(Clone, Debug)]
pub struct Contract {
    /// The file it was read from.
    pub source: Source,
    /// Begins every case name.
    pub name: String,
    /// Where the name stands.
    pub name_span: Span,
    /// The contract's own number.
    pub version: i64,
    /// What it promises, in a sentence.
    pub title: String,
    /// Who answers for it in operation.
    pub owner: String,
    /// What an acknowledged change survives.
    pub durability: Durability,
    /// Look-alikes that must not appear, folded to lower case.
    pub banned: Vec<String>,
    /// What a green run does not show.
    pub limits: Vec<String>,
    /// What a case may need.
    pub capabilities: IndexMap<String, Capability>,
    /// Numbers that a deployment chooses, with overrides applied.
    pub params: IndexMap<String, Param>,
    /// Holes of the source, and how they were closed.
    pub resolved: Vec<Resolved>,
    /// Findings taken on purpose.
    pub accepts: Vec<Accept>,
    /// What the harness reads back.
    pub stores: IndexMap<String, Store>,
    /// Calls to the outside.
    pub effects: IndexMap<String, Effect>,
    /// What a subject can be asked.
    pub calls: IndexMap<String, Call>,
    /// Closed vocabularies, as classes of samples.
    pub domains: IndexMap<String, Domain>,
    /// The decision tables.
    pub tables: IndexMap<String, Table>,
    /// How tables become cases.
    pub scenarios: Vec<Scenario>,
    /// What holds in every case.
    pub invariants: Vec<Invariant>,
    /// What the store's schema must refuse.
    pub gates: Vec<Gate>,
    /// Deliberate defects.
    pub mutants: Vec<Mutant>,
    /// How logs of it are judged, if it says so.
    pub audit: Option<Audit>,
}

/// What an acknowledged change survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// The death of the process.
    Kill,
    /// The loss of power.
    Power,
}

/// What a case may need of a subject or of the way it is reached.
#[derive(Clone, Debug)]
pub struct Capability {
    /// What it means.
    pub why: String,
    /// Whether the harness derives it; else the subject declares it.
    pub from_adapter: bool,
    /// Where it stands.
    pub span: Span,
}

/// The capabilities that a harness can derive.
pub const ADAPTER_CAPABILITIES: [&str; 7] = ["http", "history", "values", "process", "raw", "text-ids", "clock"];

/// A number that a deployment chooses.
#[derive(Clone, Debug)]
pub struct Param {
    /// The value in force.
    pub value: i64,
    /// Where its default stands.
    pub span: Span,
}

/// A hole of the source and how it was closed.
#[derive(Clone, Debug, Serialize)]
pub struct Resolved {
    /// What was open.
    pub question: String,
    /// What was chosen.
    pub choice: String,
    /// Why.
    pub why: String,
}

/// A lint finding, or a weakening, taken on purpose.
#[derive(Clone, Debug)]
pub struct Accept {
    /// The rule's id.
    pub rule: String,
    /// The finding's part of the contract.
    pub at: String,
    /// The day it was taken, as `YYYY-MM-DD`; a weakening has one.
    pub date: Option<String>,
    /// Why it is taken.
    pub why: String,
    /// Where it stands.
    pub span: Span,
}

impl Accept {
    /// Whether it is about a change of the contract, and so nothing that a linter could find.
    #[must_use]
    pub fn of_a_change(&self) -> bool {
        self.rule.starts_with(WEAKENED)
    }
}

/// What the rules of weakenings begin with.
pub const WEAKENED: &str = "weakened/";

/// The type of a column, an argument or a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// What it is.
    pub base: Base,
    /// Whether null is allowed.
    pub nullable: bool,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// An identifier.
    Id,
    /// Text, or bytes.
    Text,
    /// An integer.
    Int,
    /// True or false.
    Bool,
    /// Whole seconds from the start of the case.
    Time,
    /// Anything.
    Any,
    /// A closed vocabulary.
    Domain(String),
}

/// A relation that the harness seeds and reads back.
#[derive(Clone, Debug)]
pub struct Store {
    /// Its columns.
    pub columns: IndexMap<String, Type>,
    /// The columns that name a row; may be empty.
    pub key: Vec<String>,
    /// Values for a given row that leaves a column out.
    pub default: Fields,
    /// A column that a subject lacks is neither seeded nor judged.
    pub needs: IndexMap<String, Vec<String>>,
    /// Where it stands.
    pub span: Span,
}

/// A call to the outside.
#[derive(Clone, Debug)]
pub struct Effect {
    /// Its columns.
    pub columns: IndexMap<String, Type>,
    /// The column that names the thing sent.
    pub id: String,
    /// The domains its answers come from.
    pub answers: Vec<String>,
    /// The checkpoints just before and just after it.
    pub between: Option<(String, String)>,
    /// Where it stands.
    pub span: Span,
}

/// The points of every call, besides its checkpoints: where its caller can lose the answer.
pub const CALLER_POINTS: [&str; 2] = ["request", "reply"];

/// What a subject can be asked.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its arguments.
    pub args: IndexMap<String, Type>,
    /// Arguments that may be left out.
    pub default: Fields,
    /// What it replies, if that is judged at all.
    pub reply: Option<Base>,
    /// Closed words inside a structured reply, as key → domain.
    pub words: IndexMap<String, String>,
    /// The errors it may end in; `any` is every error.
    pub errors: Vec<String>,
    /// The effects it may use.
    pub effects: Vec<String>,
    /// The checkpoints it passes, in this order.
    pub checkpoints: Vec<String>,
    /// The checkpoints just before and just after its write, where an adapter without checkpoints can stop it: at the
    /// write while the harness holds the store's write lock, and when the answer begins to come. A call that is stopped
    /// at the first has passed those that stand before it in `checkpoints`.
    pub between: Option<(String, String)>,
    /// Capabilities it needs.
    pub needs: Vec<String>,
    /// Where it stands.
    pub span: Span,
}

/// A closed vocabulary: classes of samples.
#[derive(Clone, Debug)]
pub struct Domain {
    /// Its name, which is also a column's.
    pub name: String,
    /// Its classes, in the order values, ranges, class, other.
    pub classes: Vec<Class>,
    /// The class that stands for any value not named.
    pub otherwise: Option<usize>,
    /// Whether it has the classes of another domain under its own name.
    pub like: bool,
    /// Where it stands.
    pub span: Span,
}

/// A class of a domain.
#[derive(Clone, Debug)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Its samples; the first is the base.
    pub samples: Vec<Sample>,
    /// The integers it holds, if it is a range: lowest and highest, either open.
    pub range: Option<(Option<i64>, Option<i64>)>,
    /// Where it stands.
    pub span: Span,
}

/// A labelled sample of a class.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Its label, unique in the domain.
    pub label: String,
    /// Its value; `$slot` may be open in it.
    pub node: Node,
    /// Capabilities that a case with it needs.
    pub needs: Vec<String>,
}

impl Domain {
    /// The class of this name.
    #[must_use]
    pub fn class(&self, name: &str) -> Option<usize> {
        self.classes.iter().position(|class| class.name == name)
    }

    /// The class and sample that hold this value: a sample equal to it, or a range around it.
    #[must_use]
    pub fn find(&self, value: &Value) -> Option<(usize, String)> {
        for (index, class) in self.classes.iter().enumerate() {
            if let Some(sample) = class.samples.iter().find(|sample| sample.node.value() == *value) {
                return Some((index, sample.label.clone()));
            }
        }
        let int = value.as_int()?;
        let holds = |class: &Class| {
            class.range.is_some_and(|(low, high)| low.is_none_or(|low| low <= int) && high.is_none_or(|h| int <= h))
        };
        self.classes.iter().position(holds).map(|index| (index, int.to_string()))
    }
}

/// A decision table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its inputs: names of domains, or, for a `set` table, of the values of that domain.
    pub inputs: Vec<String>,
    /// Its outputs: names of domains.
    pub outputs: Vec<String>,
    /// The domain whose set of values is looked up here.
    pub set: Option<String>,
    /// Its rows.
    pub rows: Vec<Row>,
    /// The outputs that no `otherwise` class may reach.
    pub success: IndexMap<String, Vec<usize>>,
    /// Capabilities that the cases of a row need.
    pub needs: IndexMap<String, Vec<String>>,
    /// Rows that no mutant defends, and why.
    pub undefended: IndexMap<String, Undefended>,
    /// Where it stands.
    pub span: Span,
}

/// Why a row is not defended by a mutant.
#[derive(Clone, Debug)]
pub struct Undefended {
    /// The reason.
    pub why: String,
    /// Where it stands.
    pub span: Span,
}

/// The class names of a `set` table's inputs.
pub const SET_CLASSES: [&str; 2] = ["some", "none"];

/// A row of a decision table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub id: String,
    /// The whole row's place.
    pub span: Span,
    /// The classes each input may have, as ascending indices.
    pub inputs: Vec<InputCell>,
    /// What it gives.
    pub outputs: Vec<OutputCell>,
}

/// An input cell.
#[derive(Clone, Debug)]
pub struct InputCell {
    /// Indices of classes, ascending.
    pub classes: Vec<usize>,
    /// Where it stands.
    pub span: Span,
}

/// An output cell.
#[derive(Clone, Debug)]
pub struct OutputCell {
    /// What it gives.
    pub gives: Output,
    /// Where it stands.
    pub span: Span,
}

/// What an output cell gives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Output {
    /// A class of the output's domain.
    Class(usize),
    /// An error of this name, or `any`.
    Error(String),
    /// It has no meaning here.
    Nothing,
    /// The row cannot occur.
    Never(String),
}

impl Row {
    /// Whether the row is there only to be covered.
    #[must_use]
    pub fn never(&self) -> bool {
        self.outputs.iter().any(|cell| matches!(cell.gives, Output::Never(_)))
    }
}

impl Contract {
    /// The parameters in force, as name → value.
    #[must_use]
    pub fn param_values(&self) -> IndexMap<String, i64> {
        self.params.iter().map(|(name, param)| (name.clone(), param.value)).collect()
    }

    /// Whether a table judges lines of a log, and no case.
    #[must_use]
    pub fn only_audits(&self, table: &str) -> bool {
        let audits = self.audit.iter().flat_map(|audit| &audit.rules).any(|rule| rule.table == table);
        audits && !self.scenarios.iter().flat_map(|scenario| &scenario.bind).any(|bound| bound.name == table)
    }

    /// The class names of a table's input column.
    #[must_use]
    pub fn input_classes(&self, table: &Table, column: usize) -> Vec<&str> {
        if table.set.is_some() {
            return SET_CLASSES.to_vec();
        }
        self.domains[&table.inputs[column]].classes.iter().map(|class| class.name.as_str()).collect()
    }
}
