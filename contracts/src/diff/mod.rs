//! What a change of a contract does to it: strengthened, weakened, renamed or neutral, decided by what the contract
//! refuses and not by its text. Order, layout and split rows mean nothing; names mean only what they name.
//!
//! The rule behind every verdict: a change is weaker if it may let a subject pass that was refused before. What cannot
//! be compared, such as another SQL text, may do so and counts as weaker, until somebody accepts it by name and date.

mod domains;
mod names;
mod observed;
mod points;
mod rules;
mod scenarios;
mod sql;
mod steps;
mod tables;

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use indexmap::IndexMap;
use serde::Serialize;

use crate::finding::Finding;
use crate::model::{Accept, Contract, Param};
use crate::node::{Node, plain};
use crate::source::Span;
use crate::value::{Map, Value};
use names::Names;
use observed::param_now;

/// What a change does to a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// A subject may pass that was refused before.
    Weakened,
    /// It refuses what it did not refuse before, and nothing less.
    Strengthened,
    /// It says the same under another name.
    Renamed,
    /// It refuses as much as before.
    Neutral,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Direction::Weakened => "weakened",
            Direction::Strengthened => "strengthened",
            Direction::Renamed => "renamed",
            Direction::Neutral => "neutral",
        })
    }
}

/// One change between two versions of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What it does.
    pub direction: Direction,
    /// `direction/part`, such as `weakened/success`; with `at` it is what an acceptance names.
    pub rule: String,
    /// The part of the contract, as a dotted path such as `table.decide.other`.
    pub at: String,
    /// What changed, in one sentence.
    pub what: String,
    /// Where it stood.
    pub base: Option<Span>,
    /// Where it stands.
    pub head: Option<Span>,
    /// Why it is accepted, if it is.
    pub accepted: Option<Accepted>,
}

/// Why a weakening is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Accepted {
    /// The day it was accepted.
    pub date: String,
    /// The reason.
    pub why: String,
}

impl Change {
    /// Whether it weakens the contract and nobody has accepted that.
    #[must_use]
    pub fn refuses(&self) -> bool {
        self.direction == Direction::Weakened && self.accepted.is_none()
    }
}

/// Every change from `base` to `head`, which must have no findings: first by direction, then by place. Parameters are
/// compared by themselves; everything else is compared with those of `base` in force.
#[must_use]
pub fn diff(base: &Contract, head: &Contract) -> Vec<Change> {
    let aligned = align(base, head);
    let mut diff = Diff { base, head: &aligned, written: head, names: Names::default(), out: Vec::new() };
    diff.top();
    diff.params(base, head);
    diff.capabilities();
    diff.domains();
    diff.stores();
    diff.effects();
    diff.calls();
    diff.tables();
    diff.scenarios();
    diff.invariants();
    diff.gates();
    diff.mutants();
    diff.accepts();
    let mut out = diff.out;
    let mut seen = HashSet::new();
    out.retain(|change| seen.insert((change.rule.clone(), change.at.clone(), change.what.clone())));
    accept(base, head, &mut out);
    sort(&mut out);
    out
}

/// The change that a whole contract is to those that compare folders: gone, or new.
#[must_use]
pub fn whole(contract: &Contract, direction: Direction) -> Change {
    let (what, base, head) = match direction {
        Direction::Weakened => ("is gone, and with it every case", Some(contract.name_span.clone()), None),
        _ => ("is new", None, Some(contract.name_span.clone())),
    };
    Change {
        direction,
        rule: format!("{direction}/contract"),
        at: format!("contract.{}", contract.name),
        what: format!("the contract `{}` {what}", contract.name),
        base,
        head,
        accepted: None,
    }
}

/// Whether two contracts differ in nothing but their name.
#[must_use]
pub fn same_but_for_the_name(a: &Contract, b: &Contract) -> bool {
    let tree = |contract: &Contract| -> Map {
        let text = contract.source.text.replace(&format!("\"{}/", contract.name), "\"/");
        let mut tree = Node::parse(&text).map(|fields| plain(&fields)).unwrap_or_default();
        tree.shift_remove("name");
        tree
    };
    tree(a) == tree(b)
}

/// Marks what `head` accepts. What `base` held already was accepted for another change, and accepts nothing new.
pub fn accept(base: &Contract, head: &Contract, changes: &mut [Change]) {
    let fresh: Vec<(&Accept, &String)> = fresh(base, head).filter_map(|a| Some((a, a.date.as_ref()?))).collect();
    for change in changes.iter_mut().filter(|change| change.direction == Direction::Weakened) {
        let hit = fresh.iter().find(|(accept, _)| accept.rule == change.rule && accept.at == change.at);
        if let Some((accept, date)) = hit {
            change.accepted = Some(Accepted { date: (*date).clone(), why: accept.why.clone() });
        }
    }
}

/// New acceptances of weakenings that none of the changes is: they would hide what comes next.
#[must_use]
pub fn unused(base: &Contract, head: &Contract, changes: &[Change]) -> Vec<Finding> {
    fresh(base, head)
        .filter(|accept| accept.of_a_change())
        .filter(|accept| !changes.iter().any(|change| change.rule == accept.rule && change.at == accept.at))
        .map(|accept| {
            let message = format!("no change is `{}` at `{}`", accept.rule, accept.at);
            Finding::error("accept/unused", "accept", accept.span.clone(), message)
                .help("take this acceptance out, or give it the rule and the place that `nack diff` names")
        })
        .collect()
}

fn fresh<'a>(base: &'a Contract, head: &'a Contract) -> impl Iterator<Item = &'a Accept> {
    let known = |accept: &Accept| {
        let same = |old: &Accept| {
            old.rule == accept.rule && old.at == accept.at && old.date == accept.date && old.why == accept.why
        };
        base.accepts.iter().any(same)
    };
    head.accepts.iter().filter(move |accept| !known(accept))
}

/// Puts changes into the order in which they are read: the weakest first.
pub fn sort(changes: &mut [Change]) {
    changes.sort_by(|a, b| (a.direction, &a.at, &a.rule, &a.what).cmp(&(b.direction, &b.at, &b.rule, &b.what)));
}

/// `head` with the parameters of `base`, so that one changed number does not show in every boundary.
fn align(base: &Contract, head: &Contract) -> Contract {
    let own = |(name, old): (&String, &Param)| {
        let called = param_now(base, head, name)?;
        (head.params[called].value != old.value).then(|| (called.to_owned(), old.value))
    };
    let overrides: IndexMap<String, i64> = base.params.iter().filter_map(own).collect();
    if overrides.is_empty() {
        return head.clone();
    }
    // With numbers that do not go together with the rest, every boundary shows after all.
    Contract::read(head.source.clone(), &overrides).unwrap_or_else(|_| head.clone())
}

/// The comparison while it is made: later parts are read under the names that earlier ones found.
struct Diff<'a> {
    base: &'a Contract,
    head: &'a Contract,
    /// The newer contract with its own parameters: it names the samples at the ends of ranges.
    written: &'a Contract,
    names: Names,
    out: Vec<Change>,
}

/// Where a change lies.
#[derive(Clone)]
struct At {
    at: String,
    base: Option<Span>,
    head: Option<Span>,
}

impl At {
    fn both(at: impl Into<String>, base: &Span, head: &Span) -> At {
        At { at: at.into(), base: Some(base.clone()), head: Some(head.clone()) }
    }

    fn gone(at: impl Into<String>, base: &Span) -> At {
        At { at: at.into(), base: Some(base.clone()), head: None }
    }

    fn new(at: impl Into<String>, head: &Span) -> At {
        At { at: at.into(), base: None, head: Some(head.clone()) }
    }

    fn part(&self, part: &str) -> At {
        At { at: format!("{}.{part}", self.at), ..self.clone() }
    }
}

impl Diff<'_> {
    fn say(&mut self, direction: Direction, part: &str, at: &At, what: impl Into<String>) {
        let At { at, base, head } = at.clone();
        let rule = format!("{direction}/{part}");
        self.out.push(Change { direction, rule, at, what: what.into(), base, head, accepted: None });
    }

    fn weak(&mut self, part: &str, at: &At, what: impl Into<String>) {
        self.say(Direction::Weakened, part, at, what);
    }

    fn strong(&mut self, part: &str, at: &At, what: impl Into<String>) {
        self.say(Direction::Strengthened, part, at, what);
    }

    fn neutral(&mut self, part: &str, at: &At, what: impl Into<String>) {
        self.say(Direction::Neutral, part, at, what);
    }

    fn renamed(&mut self, part: &str, at: &At, old: &str, new: &str) {
        self.say(Direction::Renamed, part, at, format!("`{old}` is called `{new}` now"));
    }

    /// Whether a comparison finds nothing that weakens or strengthens.
    fn trial(&self, compare: impl FnOnce(&mut Diff<'_>)) -> bool {
        let mut trial = Diff { names: self.names.clone(), out: Vec::new(), ..*self };
        compare(&mut trial);
        trial.out.iter().all(|change| matches!(change.direction, Direction::Renamed | Direction::Neutral))
    }

    /// Compares two sets of words, of which each more is this, and each less the opposite.
    fn members(&mut self, part: &str, at: &At, base: &[String], head: &[String], more: Direction, what: &str) {
        let less = if more == Direction::Weakened { Direction::Strengthened } else { Direction::Weakened };
        let (base, head): (BTreeSet<&String>, BTreeSet<&String>) = (base.iter().collect(), head.iter().collect());
        for word in head.difference(&base) {
            self.say(more, part, at, format!("{what} `{word}` is new"));
        }
        for word in base.difference(&head) {
            self.say(less, part, at, format!("{what} `{word}` is gone"));
        }
    }

    /// A capability that is newly needed leaves subjects without it uncovered.
    fn needs(&mut self, at: &At, base: &[String], head: &[String]) {
        let base: Vec<String> = base.iter().map(|need| self.names.capabilities.of(need)).collect();
        self.members("needs", at, &base, head, Direction::Weakened, "the needed capability");
    }

    /// Something that either is equal or cannot be compared.
    fn equal(&mut self, part: &str, at: &At, same: bool, what: &str) {
        if !same {
            self.weak(part, at, format!("{what} is another now, and that it refuses as much cannot be shown"));
        }
    }
}

/// A map's keys in one order, however they were written.
fn sorted(value: &Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.iter().map(sorted).collect()),
        Value::Map(map) => {
            let mut fields: Vec<(String, Value)> = map.iter().map(|(key, v)| (key.clone(), sorted(v))).collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Map(fields.into_iter().collect())
        }
        scalar => scalar.clone(),
    }
}
