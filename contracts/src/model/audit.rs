//! What a log of the contract's own kind looks like, and which tables judge its lines: the part of a contract that
//! needs no subject, only what a subject left behind.

use indexmap::IndexMap;

use super::Type;
use crate::source::Span;
use crate::value::Value;

/// How logs are judged.
///
/// `[audit]` in a contract:
///
/// | key | meaning |
/// | --- | --- |
/// | `why` | what one line of such a log stands for |
/// | `columns` | name = TYPE, as in a store; `?` allows a line to leave it blank. A log may lack any column but `key`: what needs it is then *not covered* |
/// | `also` | column = other names that people give it, for logs that are not mapped |
/// | `key` | the column whose equal values belong together: the history of one thing |
/// | `time` | the column that says when, in the order of which the lines of one key stand |
/// | `begins` | column = classes: a first line of a key that says otherwise comes from a history that was cut |
///
/// `[[audit.rule]]` holds lines against one decision table:
///
/// | key | meaning |
/// | --- | --- |
/// | `name`, `why` | required |
/// | `table` | the table that judges |
/// | `when` | column = classes: only such lines are judged |
/// | `given` | input = TERM. An input that is not given is unknown: a line is then broken only if every row that may apply says so |
/// | `found` | output = TERM: what the line says came of it, to be what the row says |
/// | `incomplete` | output = classes: a row that gives one of these shows that lines are missing. Such a line breaks nothing, is counted apart, and later rules do not compare it with the line before |
///
/// `[[audit.standing]]` is for live stores: `name`, `why`, and `sql` over the stores' relations and `clock`, whose one row
/// holds `now` in epoch seconds, as times are there. It must return no row.
///
/// A TERM is a plain value, or `$column`, `$before.column` (the same in the line before of the same key),
/// `$since.column` (by how much it grew since then), `$same.column` (whether it is the same as then), each with
/// `+ N` or `- N` where it is a number. A rule that looks at the line before judges no first line of a key.
/// A row that gives an error or never occurs is broken by every line that falls to it.
#[derive(Clone, Debug)]
pub struct Audit {
    /// What one line stands for.
    pub why: String,
    /// The columns of a log.
    pub columns: IndexMap<String, Type>,
    /// Other names of columns.
    pub also: IndexMap<String, Vec<String>>,
    /// The column whose equal values belong together.
    pub key: String,
    /// The column that says when.
    pub time: Option<String>,
    /// What the first line of a whole history says, as column → classes of its domain.
    pub begins: IndexMap<String, Vec<usize>>,
    /// What lines are held against.
    pub rules: Vec<AuditRule>,
    /// What must not stand in a live store.
    pub standing: Vec<Standing>,
    /// Where it stands.
    pub span: Span,
}

/// A row that must not stand for long in a live store: its query must return none.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Its name.
    pub name: String,
    /// The rule's sentence.
    pub why: String,
    /// The query, over the stores and `clock`.
    pub sql: String,
    /// Where the query stands.
    pub sql_span: Span,
    /// Where it stands.
    pub span: Span,
}

/// A decision table that judges lines of a log.
#[derive(Clone, Debug)]
pub struct AuditRule {
    /// Its name.
    pub name: String,
    /// The rule's sentence.
    pub why: String,
    /// The table.
    pub table: String,
    /// Which lines it judges, as column → classes of its domain.
    pub when: IndexMap<String, Vec<usize>>,
    /// The table's inputs, by what stands in the line.
    pub given: IndexMap<String, Term>,
    /// The table's outputs, by what stands in the line.
    pub found: IndexMap<String, Term>,
    /// Outputs that show that lines are missing, as output → classes.
    pub incomplete: IndexMap<String, Vec<usize>>,
    /// Where it stands.
    pub span: Span,
}

/// What a rule reads of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A value that stands for itself.
    Word(Value),
    /// Something of a column.
    Column {
        /// What of it.
        of: Of,
        /// The column.
        column: String,
        /// What is added to it.
        plus: i64,
    },
}

/// What a term takes of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Of {
    /// Its value in this line.
    Line,
    /// Its value in the line before of the same key.
    Before,
    /// By how much it grew since the line before.
    Since,
    /// Whether it is the same as in the line before.
    Same,
}

impl AuditRule {
    /// Whether it looks at the line before.
    #[must_use]
    pub fn in_order(&self) -> bool {
        let looks_back = |term: &Term| matches!(term, Term::Column { of, .. } if *of != Of::Line);
        self.given.values().chain(self.found.values()).any(looks_back)
    }

    /// The columns that it reads.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        let terms = self.given.values().chain(self.found.values()).filter_map(|term| match term {
            Term::Column { column, .. } => Some(column.as_str()),
            Term::Word(_) => None,
        });
        terms.chain(self.when.keys().map(String::as_str))
    }
}
