//! Rules made fast: each becomes one array of outcomes, indexed by the classes of what a line says. What a line does not
//! tell is a class of its own there, and so is what no class holds, so that a partial log is judged as far as it goes.

use std::sync::Arc;

use nack_contracts::model::{Audit, AuditRule, Base, Contract, Of, Output, Row, Table, Term};

use crate::AuditError;
use crate::classify::Classifier;
use crate::layout::Layout;
use crate::tally::Tally;

/// The most cells that the array of one rule may have.
const MOST_CELLS: usize = 1 << 20;

/// What a line comes to by one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is what the row says, or what one of the rows that may apply says.
    Held(usize),
    /// It is not.
    Broken(usize),
    /// It shows that lines are missing.
    Incomplete(usize),
}

/// A class that is computed once a line: of a column's value, plus a number, in a domain.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) column: usize,
    pub(crate) plus: i64,
    pub(crate) domain: String,
    pub(crate) classifier: Classifier,
}

/// What an entity's history carries from one line to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Carry {
    /// The class of a slot.
    Class(usize),
    /// The number of a column.
    Number(usize),
    /// The hash of a column's text.
    Hash(usize),
}

/// One input or output of a rule.
#[derive(Clone, Debug)]
pub(crate) enum Axis {
    /// Known before any line: a plain word, or a column that the log lacks.
    Fixed(u8),
    /// A slot of this line.
    Slot(usize),
    /// The class that the line before carried.
    Before { carry: usize, unknown: u8 },
    /// How much a number grew since then; a time, in whole seconds.
    Since { carry: usize, plus: i64, divisor: i64, classifier: Classifier },
    /// Whether a text is the same as then.
    Same { carry: usize, yes: u8, no: u8, unknown: u8 },
}

/// A rule as it is applied.
#[derive(Clone, Debug)]
pub(crate) struct RulePlan {
    pub(crate) index: usize,
    pub(crate) when: Vec<(usize, u64)>,
    pub(crate) axes: Vec<(Axis, usize)>,
    pub(crate) cells: Vec<Outcome>,
    pub(crate) in_order: bool,
}

/// A column of the log that is read.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// Its place among the log's own.
    pub(crate) at: usize,
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
}

/// What a column must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Int,
    Time,
    /// A word of a closed vocabulary, whose slot tells it.
    Word(usize),
    /// Anything, since its domain has a class for it.
    Open,
}

/// How a log is judged.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) contract: Arc<Contract>,
    pub(crate) layout: Layout,
    pub(crate) columns: Vec<Column>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) carries: Vec<Carry>,
    pub(crate) rules: Vec<RulePlan>,
    /// Rules that this log cannot be held against, and why.
    pub(crate) idle: Vec<(usize, String)>,
    pub(crate) key: usize,
    pub(crate) time: Option<usize>,
    /// Where the time is among what is carried.
    pub(crate) time_carry: Option<usize>,
    pub(crate) begins: Vec<(usize, u64)>,
}

impl Plan {
    /// Of a contract that has an `[audit]`, for a log of this layout, and of its rules only those `wanted`.
    ///
    /// # Errors
    /// A rule that is too large to be made into an array.
    pub fn new(contract: Arc<Contract>, layout: Layout, wanted: &dyn Fn(&str) -> bool) -> Result<Plan, AuditError> {
        let audit = contract.audit.clone().expect("only a contract with an audit is planned");
        let columns = layout.columns.iter().map(|(name, at)| {
            let ty = &audit.columns[name];
            let kind = match &ty.base {
                Base::Int => Kind::Int,
                Base::Time => Kind::Time,
                // Filled in below, where slots are made.
                Base::Domain(_) => Kind::Open,
                _ => Kind::Text,
            };
            Column { name: name.clone(), at: *at, kind, nullable: ty.nullable }
        });
        let columns: Vec<Column> = columns.collect();
        let place = |name: &str| columns.iter().position(|column| column.name == name);
        let (key, time) = (place(&audit.key).unwrap_or_default(), audit.time.as_deref().and_then(place));
        let mut plan = Plan {
            slots: Vec::new(),
            carries: Vec::new(),
            rules: Vec::new(),
            idle: Vec::new(),
            key,
            time,
            time_carry: None,
            begins: Vec::new(),
            columns,
            layout,
            contract: Arc::clone(&contract),
        };
        plan.words(&audit);
        for (index, rule) in audit.rules.iter().enumerate().filter(|(_, rule)| wanted(&rule.name)) {
            plan.add(&audit, index, rule)?;
        }
        if plan.in_order() {
            plan.time_carry = plan.time.map(|time| plan.carry(Carry::Number(time)));
            for (column, classes) in &audit.begins {
                if let Some(slot) = plan.own_slot(&audit, column) {
                    plan.begins.push((slot, mask(classes)));
                }
            }
        }
        Ok(plan)
    }

    /// Whether any rule looks at the line before.
    pub(crate) fn in_order(&self) -> bool {
        self.rules.iter().any(|rule| rule.in_order)
    }

    pub(crate) fn audit(&self) -> &Audit {
        self.contract.audit.as_ref().expect("only a contract with an audit is planned")
    }

    pub(crate) fn table(&self, rule: usize) -> &Table {
        &self.contract.tables[&self.audit().rules[rule].table]
    }

    /// A tally with room for every rule of the plan.
    pub(crate) fn tally(&self) -> Tally {
        let rows = |rule: &RulePlan| vec![crate::tally::Seen::default(); self.table(rule.index).rows.len() + 1];
        Tally {
            cells: self.rules.iter().map(|rule| vec![0; rule.cells.len()]).collect(),
            broken: self.rules.iter().map(rows).collect(),
            incomplete: self.rules.iter().map(rows).collect(),
            ..Tally::default()
        }
    }

    /// Closed vocabularies are looked up for every line, whether a rule reads them or not.
    fn words(&mut self, audit: &Audit) {
        for at in 0..self.columns.len() {
            let Base::Domain(domain) = &audit.columns[&self.columns[at].name].base else { continue };
            if self.contract.domains[domain].otherwise.is_none() {
                let slot = self.slot(at, 0, domain);
                self.columns[at].kind = Kind::Word(slot);
            }
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Of a domain's classes by what a column holds: its words are spelled as those of its own domain are.
    fn classifier(&self, column: Option<usize>, domain: &str) -> Classifier {
        let base = column.map(|at| &self.audit().columns[&self.columns[at].name].base);
        let spelled = match base {
            Some(Base::Domain(own)) => self.layout.words.get(own),
            _ => None,
        };
        Classifier::new(&self.contract.domains[domain], spelled)
    }

    fn slot(&mut self, column: usize, plus: i64, domain: &str) -> usize {
        let same = |slot: &Slot| slot.column == column && slot.plus == plus && slot.domain == domain;
        self.slots.iter().position(same).unwrap_or_else(|| {
            let classifier = self.classifier(Some(column), domain);
            self.slots.push(Slot { column, plus, domain: domain.to_owned(), classifier });
            self.slots.len() - 1
        })
    }

    /// The slot of a column in its own domain.
    fn own_slot(&mut self, audit: &Audit, column: &str) -> Option<usize> {
        let Base::Domain(domain) = &audit.columns[column].base else { return None };
        let at = self.place(column)?;
        Some(self.slot(at, 0, domain))
    }

    fn carry(&mut self, wanted: Carry) -> usize {
        self.carries.iter().position(|carry| *carry == wanted).unwrap_or_else(|| {
            self.carries.push(wanted);
            self.carries.len() - 1
        })
    }

    fn axis(&mut self, audit: &Audit, term: Option<&Term>, domain: &str) -> Axis {
        let classifier = self.classifier(None, domain);
        let unknown = classifier.unknown();
        let (of, column, plus) = match term {
            None => return Axis::Fixed(unknown),
            Some(Term::Word(value)) => {
                let class = self.contract.domains[domain].find(value).and_then(|(class, _)| u8::try_from(class).ok());
                return Axis::Fixed(class.unwrap_or(classifier.outside()));
            }
            Some(Term::Column { of, column, plus }) => (*of, column, *plus),
        };
        let Some(at) = self.place(column) else { return Axis::Fixed(unknown) };
        match of {
            Of::Line => Axis::Slot(self.slot(at, plus, domain)),
            Of::Before => {
                let slot = self.slot(at, plus, domain);
                Axis::Before { carry: self.carry(Carry::Class(slot)), unknown }
            }
            Of::Since => {
                let divisor = if audit.columns[column].base == Base::Time { 1000 } else { 1 };
                Axis::Since { carry: self.carry(Carry::Number(at)), plus, divisor, classifier }
            }
            Of::Same => {
                let (yes, no) = (classifier.bool(true), classifier.bool(false));
                Axis::Same { carry: self.carry(Carry::Hash(at)), yes, no, unknown }
            }
        }
    }

    fn add(&mut self, audit: &Audit, index: usize, rule: &AuditRule) -> Result<(), AuditError> {
        let missing: Vec<&str> = rule.columns().filter(|column| self.place(column).is_none()).collect();
        let without = |missing: &[&str]| format!("the log has no column for {}", missing.join(", "));
        let needed: Vec<&str> =
            rule.when.keys().map(String::as_str).filter(|column| missing.contains(column)).collect();
        if !needed.is_empty() {
            self.idle.push((index, without(&needed)));
            return Ok(());
        }
        let contract = Arc::clone(&self.contract);
        let table = &contract.tables[&rule.table];
        let mut axes = Vec::new();
        let mut sizes = Vec::new();
        for (name, term) in table
            .inputs
            .iter()
            .map(|name| (name, rule.given.get(name)))
            .chain(table.outputs.iter().map(|name| (name, rule.found.get(name))))
        {
            let axis = self.axis(audit, term, name);
            let size = usize::from(self.classifier(None, name).classes()) + 2;
            axes.push(axis);
            sizes.push(size);
        }
        let cells: usize = sizes.iter().product();
        if cells > MOST_CELLS || sizes.iter().any(|size| *size > 250) {
            let message = format!("the rule `{}` has too many combinations to be audited", rule.name);
            return Err(AuditError::Usage(message));
        }
        let judge = Judge { rule, table };
        let mut codes = vec![0; sizes.len()];
        let outcomes: Vec<Outcome> = (0..cells)
            .map(|cell| {
                let mut rest = cell;
                for (code, size) in codes.iter_mut().zip(&sizes) {
                    (*code, rest) = (rest % size, rest / size);
                }
                judge.outcome(&codes, &sizes)
            })
            .collect();
        if !reaches_broken(&axes, &sizes, &outcomes) {
            self.idle
                .push((index, if missing.is_empty() { "no line can break it".to_owned() } else { without(&missing) }));
            return Ok(());
        }
        let when = rule
            .when
            .iter()
            .filter_map(|(column, classes)| Some((self.own_slot(audit, column)?, mask(classes))))
            .collect();
        let strides = (0..sizes.len()).map(|axis| sizes[..axis].iter().product());
        let axes = axes.into_iter().zip(strides).collect();
        self.rules.push(RulePlan { index, when, axes, cells: outcomes, in_order: rule.in_order() });
        Ok(())
    }
}

/// Whether any line of this log can break the rule, given what is fixed.
fn reaches_broken(axes: &[Axis], sizes: &[usize], outcomes: &[Outcome]) -> bool {
    (0..outcomes.len()).any(|cell| {
        let mut rest = cell;
        let reachable = axes.iter().zip(sizes).all(|(axis, size)| {
            let code = rest % size;
            rest /= size;
            match axis {
                Axis::Fixed(fixed) => usize::from(*fixed) == code,
                // A value in no class breaks any rule, so it says nothing about this one.
                _ => code + 1 < *size,
            }
        });
        reachable && matches!(outcomes[cell], Outcome::Broken(_))
    })
}

/// Classes as bits.
fn mask(classes: &[usize]) -> u64 {
    classes.iter().filter(|class| **class < 64).fold(0, |mask, class| mask | 1 << class)
}

/// Whether a row that applies shows that lines are missing.
pub(crate) fn shows_loss(rule: &AuditRule, table: &Table, row: &Row) -> bool {
    rule.incomplete.iter().any(|(output, classes)| {
        let at = table.outputs.iter().position(|name| name == output);
        at.is_some_and(|at| matches!(&row.outputs[at].gives, Output::Class(class) if classes.contains(class)))
    })
}

struct Judge<'a> {
    rule: &'a AuditRule,
    table: &'a Table,
}

impl Judge<'_> {
    /// What a line of these classes comes to: by every row that may apply, in favour of the line.
    fn outcome(&self, codes: &[usize], sizes: &[usize]) -> Outcome {
        let inputs = self.table.inputs.len();
        let (given, found) = codes.split_at(inputs);
        let unknown = |axis: usize, code: usize| code + 2 == sizes[axis];
        let mut broken = None;
        let mut incomplete = None;
        for (index, row) in self.table.rows.iter().enumerate() {
            let applies = row
                .inputs
                .iter()
                .enumerate()
                .all(|(axis, cell)| unknown(axis, given[axis]) || cell.classes.contains(&given[axis]));
            if !applies {
                continue;
            }
            let held = row.outputs.iter().enumerate().all(|(at, cell)| match &cell.gives {
                Output::Class(class) => unknown(inputs + at, found[at]) || *class == found[at],
                Output::Nothing => true,
                Output::Error(_) | Output::Never(_) => false,
            });
            if held {
                return Outcome::Held(index);
            }
            if shows_loss(self.rule, self.table, row) {
                incomplete.get_or_insert(index);
            } else {
                broken.get_or_insert(index);
            }
        }
        match (incomplete, broken) {
            (Some(row), _) => Outcome::Incomplete(row),
            (None, Some(row)) => Outcome::Broken(row),
            // No row: a value that no class holds.
            (None, None) => Outcome::Broken(self.table.rows.len()),
        }
    }
}
