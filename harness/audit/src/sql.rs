//! The same rules as SQL, for histories that live in a warehouse larger than one machine: one file, a query a rule, each
//! returning the rows that break it. What the engine compiles into arrays is spelled out here as CASE and WHERE, from the
//! same plan, so that both judge alike.

mod cond;
mod dialect;
mod lines;

use std::fmt::Write as _;

use nack_contracts::model::{Output, Row, Table};

pub use dialect::Dialect;

use self::cond::{Cond, Verdicts, broken, incomplete};
use self::lines::{Told, one_of};
use crate::plan::{Plan, RulePlan, shows_loss};

/// What no class holds, as the queries say it.
const OUTSIDE: &str = "in no class";

/// Where the history lies.
#[derive(Clone, Debug)]
pub struct Warehouse {
    /// The table, perhaps with its schema: `logs.moves`.
    pub table: String,
    /// The column that gives the order of the lines of one key; without one they stand in the order of their times.
    pub order: Option<String>,
    /// Its SQL.
    pub dialect: Dialect,
}

/// The file of queries.
#[must_use]
pub fn emit(plan: &Plan, warehouse: &Warehouse) -> String {
    let emitter = Emitter { plan, dialect: warehouse.dialect, warehouse };
    let mut out = emitter.head();
    let mut queries = vec![emitter.unreadable()];
    queries.extend(plan.rules.iter().map(|rule| emitter.rule(rule, Lines::Breaking)));
    if plan.in_order() {
        queries.extend(emitter.headless());
        queries.extend(emitter.backward());
        let lossy = plan.rules.iter().filter(|rule| emitter.loses(rule));
        queries.extend(lossy.map(|rule| emitter.rule(rule, Lines::ShowingLoss)));
    }
    for query in queries {
        out.push('\n');
        out.push_str(&query);
        out.push_str(";\n");
    }
    for (index, why) in &plan.idle {
        // Writing to a string cannot fail.
        let _ = write!(out, "\n-- {}: not covered: {why}\n", plan.audit().rules[*index].name);
    }
    out
}

/// Which lines a query returns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    /// Those that break a rule.
    Breaking,
    /// Those that show that others are missing.
    ShowingLoss,
}

struct Emitter<'a> {
    plan: &'a Plan,
    dialect: Dialect,
    warehouse: &'a Warehouse,
}

impl Emitter<'_> {
    fn name(&self, name: &str) -> String {
        self.dialect.name(name)
    }

    fn text(&self, text: &str) -> String {
        self.dialect.text(text)
    }

    fn head(&self) -> String {
        let contract = &self.plan.contract;
        format!(
            "-- {}: {}\n-- Rows of {} that break its rules, for {}. Each query returns none where a rule holds.\n\
             -- Written by nack from {}, {}. An empty text counts as blank.\n",
            contract.name,
            contract.title,
            self.warehouse.table,
            self.dialect,
            contract.source.file,
            &nack_contracts::freeze::digest(contract)[..12],
        )
    }

    fn comment(&self, name: &str, why: &str) -> String {
        format!("-- {name}: {}\n", why.replace('\n', " "))
    }

    /// The inputs and outputs of a rule by what a line says, each under a name of its own.
    fn told(&self, rule: &RulePlan) -> Vec<(String, Told)> {
        let (name, table) = (&self.plan.audit().rules[rule.index].name, self.plan.table(rule.index));
        let columns =
            table.inputs.iter().map(|column| ("", column)).chain(table.outputs.iter().map(|column| ("found_", column)));
        columns
            .zip(&rule.axes)
            .map(|((prefix, column), (axis, _))| (format!("{name}_{prefix}{column}"), self.axis(axis, column)))
            .collect()
    }

    fn verdicts(&self, rule: &RulePlan) -> Verdicts {
        let table = self.plan.table(rule.index);
        let told = self.told(rule);
        let audit = &self.plan.audit().rules[rule.index];
        let holds = |row: &Row| {
            let found = row.outputs.iter().enumerate().map(|(at, cell)| match &cell.gives {
                Output::Class(class) => self.is_one_of(&told[table.inputs.len() + at], &table.outputs[at], &[*class]),
                Output::Nothing => Cond::Always,
                Output::Error(_) | Output::Never(_) => Cond::Never,
            });
            Cond::all(std::iter::once(self.applies(row, table, &told)).chain(found))
        };
        let lossy = |row: &&Row| shows_loss(audit, table, row);
        Verdicts {
            held: Cond::any(table.rows.iter().map(holds)),
            lossy: Cond::any(table.rows.iter().filter(lossy).map(|row| self.applies(row, table, &told))),
        }
    }

    fn loses(&self, rule: &RulePlan) -> bool {
        self.verdicts(rule).lossy != Cond::Never
    }

    fn applies(&self, row: &Row, table: &Table, told: &[(String, Told)]) -> Cond {
        let cells = row.inputs.iter().enumerate();
        Cond::all(cells.map(|(at, cell)| self.is_one_of(&told[at], &table.inputs[at], &cell.classes)))
    }

    /// Whether what is told is of one of these classes, or may be.
    fn is_one_of(&self, (name, told): &(String, Told), domain: &str, classes: &[usize]) -> Cond {
        let domain = &self.plan.contract.domains[domain];
        match told {
            Told::Fixed(code) if usize::from(*code) == domain.classes.len() => Cond::Always,
            Told::Fixed(code) if classes.contains(&usize::from(*code)) => Cond::Always,
            Told::Fixed(_) => Cond::Never,
            Told::Says(..) if classes.len() == domain.classes.len() && domain.otherwise.is_some() => Cond::Always,
            Told::Says(_, untold) => {
                let names: Vec<String> = classes.iter().map(|class| self.text(&domain.classes[*class].name)).collect();
                let (name, is) = (self.name(name), one_of(&self.name(name), &names));
                Cond::If(if *untold { format!("({name} IS NULL OR {is})") } else { is })
            }
        }
    }

    /// The query of one rule: the lines that it is for and of which `wanted` is true.
    fn rule(&self, rule: &RulePlan, wanted: Lines) -> String {
        let audit = &self.plan.audit().rules[rule.index];
        let table = self.plan.table(rule.index);
        // A line that shows a loss is not compared by later rules.
        let earlier: Vec<&RulePlan> = if rule.in_order {
            self.plan
                .rules
                .iter()
                .take_while(|other| other.index != rule.index)
                .filter(|other| other.in_order && self.loses(other))
                .collect()
        } else {
            Vec::new()
        };
        let read: Vec<&RulePlan> = earlier.iter().copied().chain([rule]).collect();
        let mut ctes = vec![self.source(), self.line(&read)];
        if rule.in_order {
            ctes.push(self.before(&read));
        }
        let mut columns = Vec::new();
        for of in &read {
            for (name, told) in self.told(of) {
                if let Told::Says(expression, _) = told {
                    columns.push(format!(",\n         {expression} AS {}", self.name(&name)));
                }
            }
        }
        let from = if rule.in_order { "before" } else { "line" };
        ctes.push(format!("told AS (\n  SELECT {from}.*{}\n  FROM {from}\n)", columns.join("")));
        let when = |of: &RulePlan| {
            let parts = of.when.iter().map(|(slot, mask)| {
                let name = self.name(&self.slot_name(*slot));
                let is = one_of(&name, &self.masked(*slot, *mask));
                Cond::If(if self.may_be_untold(*slot) { format!("({name} IS NOT NULL AND {is})") } else { is })
            });
            Cond::all(parts)
        };
        let mut conditions = vec![when(rule)];
        if rule.in_order {
            conditions.push(Cond::If(format!("{} > 1", self.name("nth"))));
        }
        conditions.extend(earlier.iter().map(|other| Cond::all([when(other), incomplete(self.verdicts(other))]).not()));
        conditions.push(match wanted {
            Lines::Breaking => broken(self.verdicts(rule)),
            Lines::ShowingLoss => incomplete(self.verdicts(rule)),
        });
        let conditions: Vec<String> = conditions.iter().filter(|cond| **cond != Cond::Always).map(Cond::text).collect();
        let told = self.told(rule);
        let rows: Vec<String> = table
            .rows
            .iter()
            .filter(|row| shows_loss(audit, table, row) == (wanted == Lines::ShowingLoss))
            .map(|row| format!("WHEN {} THEN {}", self.applies(row, table, &told).text(), self.text(&row.id)))
            .collect();
        format!(
            "{}WITH {}\nSELECT {} AS {}, CASE {} ELSE 'no-row' END AS {}, {}\nFROM told\nWHERE {}\nORDER BY {}",
            self.comment(&audit.name, &format!("{} ({}, table {})", audit.why, self.place(&audit.span), table.name)),
            ctes.join(",\n"),
            self.text(&audit.name),
            self.name("rule"),
            rows.join("\n       "),
            self.name("row"),
            self.shown(),
            conditions.join("\n  AND "),
            self.order(),
        )
    }

    fn place(&self, span: &nack_contracts::Span) -> String {
        let source = &self.plan.contract.source;
        format!("{}:{}", source.file, source.line(span.start))
    }

    /// The columns that a violating row is shown by.
    fn shown(&self) -> String {
        let order = self.warehouse.order.iter().map(|_| self.name("n"));
        order.chain(self.plan.columns.iter().map(|column| self.name(&column.name))).collect::<Vec<_>>().join(", ")
    }

    /// The classes of a slot that are in a mask.
    fn masked(&self, slot: usize, mask: u64) -> Vec<String> {
        let classes = self.plan.contract.domains[&self.plan.slots[slot].domain].classes.iter().enumerate();
        let names = classes.filter(|(at, _)| mask >> at & 1 == 1).map(|(_, class)| self.text(&class.name));
        names.collect()
    }

    fn headless(&self) -> Option<String> {
        let begins: Vec<String> = self
            .plan
            .begins
            .iter()
            .map(|(slot, mask)| {
                format!(
                    "({0} IS NULL OR {0} NOT IN ({1}))",
                    self.name(&self.slot_name(*slot)),
                    self.masked(*slot, *mask).join(", ")
                )
            })
            .collect();
        (!begins.is_empty()).then(|| {
            format!(
                "{}WITH {},\n{},\n{}\nSELECT 'history' AS {}, 'begins' AS {}, {}\nFROM before\nWHERE {} = 1 AND ({})",
                self.comment(
                    "history",
                    "The first line of a key whose history was cut: what came before is not known."
                ),
                self.source(),
                self.line(&[]),
                self.before(&[]),
                self.name("rule"),
                self.name("row"),
                self.shown(),
                self.name("nth"),
                begins.join(" OR "),
            )
        })
    }

    fn backward(&self) -> Option<String> {
        let time = self.plan.time.filter(|_| self.may_go_back())?;
        let time = self.dialect.seconds(&self.name(&self.plan.columns[time].name), self.plan.layout.unit);
        Some(format!(
            "{}WITH {},\n{},\n{}\nSELECT 'lines' AS {}, 'backward' AS {}, {}\nFROM aged\nWHERE {time} < {}",
            self.comment("lines/backward", "A line that is older than one before it of the same key: the order is not known there, and it is not compared."),
            self.source(),
            self.line(&[]),
            self.forward(),
            self.name("rule"),
            self.name("row"),
            self.shown(),
            self.name("latest"),
        ))
    }
}
