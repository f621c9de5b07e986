//! Scenarios: which rows and samples become cases, and what each case does and judges.

use indexmap::IndexMap;

use super::names::pair;
use super::steps::Strictness;
use super::{At, Diff, Direction};
use crate::model::{Contract, Scenario, Spanned, Vary};

impl Diff<'_> {
    pub(super) fn scenarios(&mut self) {
        // A sentence names a rule as well as its content does; whatever else differs is told then.
        let same = |a: &Scenario, b: &Scenario| {
            a.why == b.why || self.trial(|trial| trial.scenario(a, b, &At::both("", &a.span, &b.span)))
        };
        let pairs = pair(&self.base.scenarios, &self.head.scenarios, |scenario| &scenario.name, same);
        for (old, new) in pairs.both {
            let at = At::both(format!("scenario.{}", new.name), &old.span, &new.span);
            if old.name != new.name {
                self.names.scenarios.add(&old.name, &new.name);
                self.renamed("scenario", &at, &old.name, &new.name);
            }
            self.scenario(old, new, &at);
            self.reworded(&at, &old.why, &new.why);
        }
        for old in pairs.gone {
            let at = At::gone(format!("scenario.{}", old.name), &old.span);
            self.weak("scenario", &at, format!("its cases are gone: {}", old.why));
        }
        for new in pairs.new {
            let at = At::new(format!("scenario.{}", new.name), &new.span);
            self.strong("scenario", &at, format!("its cases are new: {}", new.why));
        }
    }

    fn scenario(&mut self, old: &Scenario, new: &Scenario, at: &At) {
        self.bound(old, new, at);
        let columns = |scenario: &Scenario| -> IndexMap<String, Vec<String>> {
            scenario.keep.iter().map(|(column, keep)| (column.clone(), words(keep))).collect()
        };
        let before = columns(old)
            .into_iter()
            .map(|(column, classes)| {
                let domain = column.rsplit('.').next().unwrap_or(&column);
                let classes = classes.iter().map(|class| self.names.class(domain, class)).collect();
                (self.names.column(&column), classes)
            })
            .collect();
        self.kept("where", at, &before, &columns(new), |contract, column| {
            let domain = column.rsplit('.').next().unwrap_or(column);
            contract.domains.get(domain).map(|d| d.classes.iter().map(|class| class.name.clone()).collect())
        });
        self.only(old, new, at);
        let breadth = |vary: Vary| [Vary::None, Vary::One, Vary::All].iter().position(|v| *v == vary);
        match breadth(new.vary).cmp(&breadth(old.vary)) {
            std::cmp::Ordering::Less => self.weak("vary", at, "fewer samples become cases"),
            std::cmp::Ordering::Greater => self.strong("vary", at, "more samples become cases"),
            std::cmp::Ordering::Equal => {}
        }
        self.needs(at, &old.needs, &new.needs);
        let lookups = |scenario: &Scenario, diff: Option<&Diff<'_>>| -> Vec<String> {
            let mut out: Vec<String> = scenario
                .lookup
                .iter()
                .map(|(table, values)| {
                    let table = diff.map_or_else(|| table.clone(), |d| d.names.tables.of(table));
                    let values = values.item.iter().map(|value| super::steps::plain(value, diff.map(|d| &d.names)));
                    format!("{table}: {}", values.map(|value| value.to_json()).collect::<Vec<_>>().join(","))
                })
                .collect();
            out.sort();
            out
        };
        self.equal("lookup", at, lookups(old, Some(self)) == lookups(new, None), "what is looked up");
        for (part, strictness, told) in super::steps::compare(self, old, new) {
            match strictness {
                Strictness::Same => {}
                Strictness::Stricter => self.strong(part, at, told),
                Strictness::Laxer => self.weak(part, at, told),
                Strictness::Other => self.equal(part, at, false, &told),
            }
        }
    }

    fn bound(&mut self, old: &Scenario, new: &Scenario, at: &At) {
        let named = |alias: Option<&String>, name: String| match alias {
            Some(alias) => format!("{alias} = {name}"),
            None => name,
        };
        let mapped = |name: &str| {
            if self.base.tables.contains_key(name) { self.names.tables.of(name) } else { self.names.domains.of(name) }
        };
        let before: Vec<String> = old.bind.iter().map(|b| named(b.alias.as_ref(), mapped(&b.name))).collect();
        let after: Vec<String> = new.bind.iter().map(|b| named(b.alias.as_ref(), b.name.clone())).collect();
        self.members("bind", at, &before, &after, Direction::Strengthened, "in what is bound,");
    }

    /// Which rows of a bound table are kept, by what they say and not by their names.
    fn only(&mut self, old: &Scenario, new: &Scenario, at: &At) {
        let rows = |scenario: &Scenario| -> IndexMap<String, Vec<String>> {
            scenario.only.iter().map(|(alias, rows)| (alias.clone(), words(rows))).collect()
        };
        let called = |row: &String| match self.names.rows.get(row) {
            Some(now) if !now.is_empty() => now.clone(),
            _ => vec![row.clone()],
        };
        let before = rows(old)
            .into_iter()
            .map(|(alias, rows)| (self.names.tables.of(&alias), rows.iter().flat_map(called).collect()))
            .collect();
        let all = |contract: &Contract, alias: &str| {
            let bound = new.bind.iter().find(|b| b.alias.as_deref().unwrap_or(&b.name) == alias)?;
            Some(contract.tables.get(&bound.name)?.rows.iter().map(|row| row.id.clone()).collect())
        };
        self.kept("only", at, &before, &rows(new), all);
    }

    /// What is kept of each column; of one that is not named, everything.
    fn kept(
        &mut self,
        part: &'static str,
        at: &At,
        old: &IndexMap<String, Vec<String>>,
        new: &IndexMap<String, Vec<String>>,
        all: impl Fn(&Contract, &str) -> Option<Vec<String>>,
    ) {
        let columns: Vec<&String> = old.keys().chain(new.keys().filter(|column| !old.contains_key(*column))).collect();
        for column in columns {
            let everything = all(self.head, column).unwrap_or_default();
            let before = old.get(column).unwrap_or(&everything).clone();
            let after = new.get(column).unwrap_or(&everything).clone();
            self.members(part, at, &before, &after, Direction::Strengthened, &format!("of `{column}`, the kept"));
        }
    }
}

fn words(list: &Spanned<Vec<Spanned<String>>>) -> Vec<String> {
    list.item.iter().map(|word| word.item.clone()).collect()
}
