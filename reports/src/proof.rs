//! The proof that the gate can fail, as part of the result model: null subjects, mutants, and cells of the tables.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Because, Place};

/// The proof that the gate can fail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Cases that no null subject fails: they can convict nobody.
    pub vacuous: Vec<String>,
    /// How each null subject fared.
    pub nulls: Vec<Null>,
    /// Every mutant, and what killed it.
    pub mutants: Vec<MutantReport>,
    /// Every changed cell, and what noticed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellReport>,
    /// Every way in which a set-up was falsified, and what noticed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sabotage: Vec<SabotageReport>,
}

impl Proof {
    /// Whether nothing was proved at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mutants.is_empty() && self.nulls.is_empty() && self.cells.is_empty() && self.sabotage.is_empty()
    }
}

/// A null subject and how many cases refused it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Null {
    /// Its name.
    pub name: String,
    /// The contract.
    pub contract: String,
    /// How many cases it failed.
    pub refused: usize,
    /// Of how many.
    pub cases: usize,
}

/// One mutant and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MutantReport {
    /// `contract/mutant`.
    pub name: String,
    /// The defect in words.
    pub defect: String,
    /// What became of it.
    pub fate: Fate,
    /// One entry for each of the contract's `killed_by`.
    pub kills: Vec<Kill>,
    /// The other cases that turned red, of those that take the first sample of everything: what would still see the
    /// defect if the cases that must kill it were gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_seen_by: Vec<String>,
    /// Why it is not covered, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<Because>,
    /// Where the mutant stands in its contract.
    pub source: Place,
}

/// What became of a mutant.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Every entry of its `killed_by` killed it by the named check.
    Killed,
    /// At least one did not.
    Survived,
    /// No reference can be given it.
    NotCovered,
}

/// One entry of a mutant's `killed_by`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kill {
    /// The case or prefix that must kill.
    pub expected: String,
    /// The case that did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub killed_by: Option<String>,
    /// The checks that had to fail.
    pub by: Vec<String>,
    /// What happened instead, if it was no kill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
}

/// One cell of a table, changed, and what noticed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellReport {
    /// `contract/table.T/ROW/…`, or `contract/domain.D/…` for a boundary.
    pub name: String,
    /// What was changed, in words.
    pub what: String,
    /// What became of it.
    pub fate: CellFate,
    /// The case that turned red, or the rule of the linter that refuses the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What happened instead, if nothing noticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// Where the cell stands in its contract.
    pub source: Place,
}

/// What became of a changed cell.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CellFate {
    /// Something noticed.
    Defended,
    /// Nothing did: the cell could say anything.
    Undefended,
    /// There was nothing to notice: no case expects anything else than before.
    Equivalent,
    /// No reference can be given the cases that read it.
    NotCovered,
}

/// One way in which a set-up was falsified behind its subject's back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SabotageReport {
    /// The subject.
    pub subject: String,
    /// The contract it is held to.
    pub contract: String,
    /// The kind, such as `commit-lost`.
    pub kind: String,
    /// What was done, in words.
    pub what: String,
    /// What became of it.
    pub fate: SabotageFate,
    /// The case that turned red.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why it does not apply, or the likely reason that nothing turned red.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What became of a sabotage.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SabotageFate {
    /// A case that passes without it turned red.
    Convicted,
    /// Nothing turned red: the set-up is blind to it.
    Blind,
    /// The contract or the subject has nothing that it could be done to.
    Inapplicable,
}
