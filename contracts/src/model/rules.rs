//! What is tried and what must hold: scenarios, invariants, gates, and the mutants that defend them.

use std::fmt;
use std::str::FromStr;

use indexmap::IndexMap;

use crate::node::{Fields, Node};
use crate::source::Span;

/// How many samples of a scenario's inputs become cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vary {
    /// Each other sample alone.
    One,
    /// The product of all.
    All,
    /// Only the base.
    None,
}

/// A scenario: one case for each combination of rows and each sample.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// The requirement's sentence.
    pub why: String,
    /// The tables and domains it binds.
    pub bind: Vec<Bound>,
    /// Columns of which only some classes are kept.
    pub keep: IndexMap<String, Spanned<Vec<Spanned<String>>>>,
    /// Bound tables of which only some rows are kept, by alias.
    pub only: IndexMap<String, Spanned<Vec<Spanned<String>>>>,
    /// How samples vary.
    pub vary: Vary,
    /// Set tables that are looked up: table → the values, as templates.
    pub lookup: IndexMap<String, Spanned<Vec<Node>>>,
    /// Capabilities it needs.
    pub needs: Vec<String>,
    /// The given rows, as templates, by store.
    pub given: Fields,
    /// The steps, as templates.
    pub steps: Vec<Node>,
    /// Where it stands.
    pub span: Span,
}

/// Something with its place.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    /// The thing.
    pub item: T,
    /// Where it stands.
    pub span: Span,
}

/// A table or domain that a scenario binds.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The prefix of its columns, if it has one.
    pub alias: Option<String>,
    /// The table's or domain's name.
    pub name: String,
    /// Where it stands.
    pub span: Span,
}

/// A rule that holds in every case: its query must return no row.
#[derive(Clone, Debug)]
pub struct Invariant {
    /// Its name.
    pub name: String,
    /// The rule's sentence.
    pub why: String,
    /// The query.
    pub sql: String,
    /// Where the query stands.
    pub sql_span: Span,
    /// Capabilities it needs.
    pub needs: Vec<String>,
    /// Where it stands.
    pub span: Span,
}

/// A uniqueness that the store's own schema must enforce.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Its name.
    pub name: String,
    /// The rule's sentence.
    pub why: String,
    /// The store.
    pub store: String,
    /// The columns of the unique index.
    pub unique: Vec<String>,
    /// Rows of which exactly the last must be refused.
    pub rows: Vec<Node>,
    /// Where it stands.
    pub span: Span,
}

/// A deliberate defect, and the cases that must convict it.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// Its name.
    pub name: String,
    /// The defect in words.
    pub defect: String,
    /// Cases or prefixes; each must turn red.
    pub killed_by: Vec<Spanned<String>>,
    /// The checks that must not hold there, all of them.
    pub by: Vec<Spanned<CheckName>>,
    /// Capabilities without which the defect cannot be had or seen.
    pub needs: Vec<String>,
    /// Where it stands.
    pub span: Span,
}

/// The name of a check of a case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckName {
    /// What a call replied.
    Reply,
    /// What is durable and what the outside saw.
    Expect,
    /// The closed words.
    Vocabulary,
    /// A rule in SQL.
    Invariant(String),
    /// A rule of the schema.
    Gate(String),
}

impl fmt::Display for CheckName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckName::Reply => f.write_str("reply"),
            CheckName::Expect => f.write_str("expect"),
            CheckName::Vocabulary => f.write_str("vocabulary"),
            CheckName::Invariant(name) => write!(f, "invariant:{name}"),
            CheckName::Gate(name) => write!(f, "gate:{name}"),
        }
    }
}

impl FromStr for CheckName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "reply" => CheckName::Reply,
            "expect" => CheckName::Expect,
            "vocabulary" => CheckName::Vocabulary,
            _ => match text.split_once(':') {
                Some(("invariant", name)) => CheckName::Invariant(name.to_owned()),
                Some(("gate", name)) => CheckName::Gate(name.to_owned()),
                _ => return Err(()),
            },
        })
    }
}
