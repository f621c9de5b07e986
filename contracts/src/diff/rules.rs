//! Invariants, gates and mutants: what holds in every case, and what must convict which defect.

use super::names::pair;
use super::sql::words;
use super::{At, Diff, Direction, sorted};
use crate::model::{CheckName, Gate, Invariant, Mutant};
use crate::value::Value;

impl Diff<'_> {
    pub(super) fn invariants(&mut self) {
        let same = |a: &Invariant, b: &Invariant| self.statement(a) == words(&b.sql);
        let pairs = pair(&self.base.invariants, &self.head.invariants, |invariant| &invariant.name, same);
        for (old, new) in pairs.both {
            let at = At::both(format!("invariant.{}", new.name), &old.span, &new.span);
            if old.name != new.name {
                self.names.invariants.add(&old.name, &new.name);
                self.renamed("invariant", &at, &old.name, &new.name);
            }
            let same = self.statement(old) == words(&new.sql);
            self.equal("sql", &At::both(at.at.clone(), &old.sql_span, &new.sql_span), same, "its SQL");
            self.needs(&at, &old.needs, &new.needs);
            self.reworded(&at, &old.why, &new.why);
        }
        for old in pairs.gone {
            let at = At::gone(format!("invariant.{}", old.name), &old.span);
            self.weak("invariant", &at, format!("the invariant is gone: {}", old.why));
        }
        for new in pairs.new {
            let at = At::new(format!("invariant.{}", new.name), &new.span);
            self.strong("invariant", &at, format!("the invariant is new: {}", new.why));
        }
    }

    /// An old invariant's words under the new names of the relations.
    fn statement(&self, old: &Invariant) -> Vec<String> {
        let relation = |word: String| self.names.relation(&word);
        words(&old.sql).into_iter().map(relation).collect()
    }

    /// Another sentence for the same rule refuses as much.
    pub(super) fn reworded(&mut self, at: &At, old: &str, new: &str) {
        if old != new {
            self.neutral("why", at, format!("its sentence is another: {new}"));
        }
    }

    pub(super) fn gates(&mut self) {
        let same = |a: &Gate, b: &Gate| self.trial(|trial| trial.gate(a, b, &At::both("", &a.span, &b.span)));
        let pairs = pair(&self.base.gates, &self.head.gates, |gate| &gate.name, same);
        for (old, new) in pairs.both {
            let at = At::both(format!("gate.{}", new.name), &old.span, &new.span);
            if old.name != new.name {
                self.names.gates.add(&old.name, &new.name);
                self.renamed("gate", &at, &old.name, &new.name);
            }
            self.gate(old, new, &at);
            self.reworded(&at, &old.why, &new.why);
        }
        for old in pairs.gone {
            self.weak(
                "gate",
                &At::gone(format!("gate.{}", old.name), &old.span),
                format!("the gate is gone: {}", old.why),
            );
        }
        for new in pairs.new {
            self.strong(
                "gate",
                &At::new(format!("gate.{}", new.name), &new.span),
                format!("the gate is new: {}", new.why),
            );
        }
    }

    fn gate(&mut self, old: &Gate, new: &Gate, at: &At) {
        self.equal("store", at, self.names.stores.of(&old.store) == new.store, "its store");
        // Fewer columns are more often equal, so they refuse more.
        self.members("unique", at, &old.unique, &new.unique, Direction::Weakened, "among what must differ together,");
        let rows = |gate: &Gate| -> Vec<Value> { gate.rows.iter().map(|row| sorted(&row.value())).collect() };
        self.equal("rows", at, rows(old) == rows(new), "the rows that are tried");
    }

    pub(super) fn mutants(&mut self) {
        let same = |a: &Mutant, b: &Mutant| self.trial(|trial| trial.mutant(a, b, &At::both("", &a.span, &b.span)));
        let pairs = pair(
            &self.base.mutants,
            &self.head.mutants,
            |mutant| &mutant.name,
            |a, b| a.defect == b.defect && same(a, b),
        );
        for (old, new) in pairs.both {
            let at = At::both(format!("mutant.{}", new.name), &old.span, &new.span);
            if old.name != new.name {
                self.renamed("mutant", &at, &old.name, &new.name);
            }
            self.mutant(old, new, &at);
            self.reworded(&at, &old.defect, &new.defect);
        }
        for old in pairs.gone {
            let at = At::gone(format!("mutant.{}", old.name), &old.span);
            self.weak("mutant", &at, format!("the defect need no longer be convicted: {}", old.defect));
        }
        for new in pairs.new {
            let at = At::new(format!("mutant.{}", new.name), &new.span);
            self.strong("mutant", &at, format!("the defect must be convicted: {}", new.defect));
        }
    }

    fn mutant(&mut self, old: &Mutant, new: &Mutant, at: &At) {
        // An entry asks for a kill below it: a narrower one asks for more.
        for entry in &old.killed_by {
            if !new.killed_by.iter().any(|now| self.below(&entry.item, &now.item)) {
                self.weak("killed-by", at, format!("`{}` need not kill it now", entry.item));
            }
        }
        for entry in &new.killed_by {
            if !old
                .killed_by
                .iter()
                .any(|was| self.below(&was.item, &entry.item) && !self.broader(&was.item, &entry.item))
            {
                self.strong("killed-by", at, format!("`{}` must kill it now", entry.item));
            }
        }
        let check = |check: &CheckName| match check {
            CheckName::Invariant(name) => CheckName::Invariant(self.names.invariants.of(name)),
            CheckName::Gate(name) => CheckName::Gate(self.names.gates.of(name)),
            other => other.clone(),
        };
        let before: Vec<String> = old.by.iter().map(|by| check(&by.item).to_string()).collect();
        let after: Vec<String> = new.by.iter().map(|by| by.item.to_string()).collect();
        self.members("by", at, &before, &after, Direction::Strengthened, "to kill it, the check");
        self.needs(at, &old.needs, &new.needs);
    }

    /// Whether an old name of cases, under the new names, is `new` or above it.
    fn below(&self, old: &str, new: &str) -> bool {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.split('/').collect(), new.split('/').collect());
        old.len() <= new.len() && old.iter().zip(&new).enumerate().all(|(level, (a, b))| self.segment(level, a, b))
    }

    /// Whether the new name has more below it than the old one.
    fn broader(&self, old: &str, new: &str) -> bool {
        new.split('/').count() < old.split('/').count()
    }

    /// Whether one part of a case's name says the same: contract, scenario, rows, samples.
    fn segment(&self, level: usize, old: &str, new: &str) -> bool {
        match level {
            _ if old == new => true,
            // A contract under a new name is compared only if it is the same otherwise.
            0 => old == self.base.name && new == self.head.name,
            1 => self.names.scenarios.of(old) == new,
            _ => match (old.split_once('='), new.split_once('=')) {
                (Some((column, label)), Some((called, now))) => {
                    let domain = column.rsplit('.').next().unwrap_or(column);
                    self.names.column(column) == called && self.names.label(domain, label) == now
                }
                (None, None) => {
                    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('+').collect(), new.split('+').collect());
                    let row = |(a, b): (&&str, &&str)| {
                        // A bound domain gives a row a sample, by its label.
                        self.names.row(a, b) || self.names.labels.values().any(|labels| labels.of(a) == **b)
                    };
                    old.len() == new.len() && old.iter().zip(&new).all(row)
                }
                _ => level == 2 && self.names.gates.of(old) == new,
            },
        }
    }
}
