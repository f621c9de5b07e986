//! The lines of a history as queries see them: blanks as NULL, words as classes, each beside the line before it.

use std::collections::BTreeSet;

use super::{Emitter, OUTSIDE};
use crate::classify::Classifier;
use crate::plan::{Axis, Carry, Column, Kind, RulePlan, Slot};

impl Emitter<'_> {
    /// The column of the order: the one that is named, else the time.
    pub(super) fn order(&self) -> String {
        match (&self.warehouse.order, self.plan.time) {
            (Some(_), _) => self.name("n"),
            (None, Some(time)) => self.name(&self.plan.columns[time].name),
            (None, None) => self.name(&self.plan.columns[self.plan.key].name),
        }
    }

    /// The table's columns by the contract's names, blanks as NULL.
    pub(super) fn source(&self) -> String {
        let mut columns: Vec<String> = self.plan.columns.iter().map(|column| self.source_column(column)).collect();
        if let Some(order) = &self.warehouse.order {
            columns.insert(0, format!("{} AS {}", self.name(order), self.name("n")));
        }
        let table: Vec<String> = self.warehouse.table.split('.').map(|part| self.name(part)).collect();
        format!("source AS (\n  SELECT {}\n  FROM {}\n)", columns.join(",\n         "), table.join("."))
    }

    pub(super) fn source_column(&self, column: &Column) -> String {
        let (own, name) = (self.name(&self.plan.layout.names[column.at]), self.name(&column.name));
        match column.kind {
            Kind::Int | Kind::Time => format!("{own} AS {name}"),
            _ => format!("NULLIF(CAST({own} AS {}), '') AS {name}", self.dialect.text_type()),
        }
    }

    /// Why a line cannot be judged, as (condition, reason).
    pub(super) fn flaws(&self) -> Vec<(String, String)> {
        let mut out = Vec::new();
        for column in &self.plan.columns {
            let name = self.name(&column.name);
            if !column.nullable && column.kind != Kind::Open {
                out.push((format!("{name} IS NULL"), format!("blank {}", column.name)));
            }
        }
        for column in &self.plan.columns {
            if let Kind::Word(slot) = column.kind {
                let slot = &self.plan.slots[slot];
                let words: Vec<String> = slot.classifier.words().map(|(word, _)| self.text(word)).collect();
                let name = self.name(&column.name);
                let told = if column.nullable { format!("{name} IS NOT NULL AND ") } else { String::new() };
                let condition = format!("{told}{name} NOT IN ({})", words.join(", "));
                out.push((condition, format!("unknown-word {}", column.name)));
            }
        }
        out
    }

    pub(super) fn unreadable(&self) -> String {
        let cases: Vec<String> = self
            .flaws()
            .iter()
            .map(|(condition, reason)| format!("WHEN {condition} THEN {}", self.text(reason)))
            .collect();
        let any: Vec<String> = self.flaws().into_iter().map(|(condition, _)| format!("({condition})")).collect();
        format!(
            "{}WITH {}\nSELECT 'lines' AS {}, CASE {} END AS {}, source.*\nFROM source\nWHERE {}",
            self.comment("lines", "A line that cannot be judged is counted apart, and no query below looks at it."),
            self.source(),
            self.name("rule"),
            cases.join("\n       "),
            self.name("row"),
            any.join("\n   OR "),
        )
    }

    /// The lines that can be judged, with the classes that `rules` look at; those of a beginning, if there are none.
    pub(super) fn line(&self, rules: &[&RulePlan]) -> String {
        let any: Vec<String> = self.flaws().into_iter().map(|(condition, _)| format!("({condition})")).collect();
        let used = self.used(rules);
        let slots = used.slots.iter().map(|slot| {
            let value = self.slot(&self.plan.slots[*slot]);
            format!(",\n         {value} AS {}", self.name(&self.slot_name(*slot)))
        });
        let slots: String = slots.collect();
        format!("line AS (\n  SELECT source.*{slots}\n  FROM source\n  WHERE NOT ({})\n)", any.join(" OR "))
    }

    pub(super) fn used(&self, rules: &[&RulePlan]) -> Used {
        let mut used = Used { slots: BTreeSet::new(), carries: BTreeSet::new() };
        if rules.is_empty() {
            used.slots.extend(self.plan.begins.iter().map(|(slot, _)| *slot));
        }
        for rule in rules {
            used.slots.extend(rule.when.iter().map(|(slot, _)| *slot));
            for (axis, _) in &rule.axes {
                match axis {
                    Axis::Fixed(_) => {}
                    Axis::Slot(slot) => used.slots.extend([*slot]),
                    Axis::Before { carry, .. } | Axis::Since { carry, .. } | Axis::Same { carry, .. } => {
                        used.carries.extend([*carry]);
                    }
                }
            }
        }
        for carry in &used.carries {
            if let Carry::Class(slot) = &self.plan.carries[*carry] {
                used.slots.extend([*slot]);
            }
        }
        used
    }

    /// What a line says of a column, in the words of a domain.
    pub(super) fn slot_name(&self, slot: usize) -> String {
        let slot = &self.plan.slots[slot];
        let plus = match slot.plus {
            0 => String::new(),
            plus if plus < 0 => format!("_minus_{}", -plus),
            plus => format!("_plus_{plus}"),
        };
        format!("{}_of_{}{plus}", slot.domain, self.plan.columns[slot.column].name)
    }

    pub(super) fn slot(&self, slot: &Slot) -> String {
        let column = &self.plan.columns[slot.column];
        let name = self.name(&column.name);
        let value = match slot.plus {
            0 => name,
            plus if plus < 0 => format!("{name} - {}", -plus),
            plus => format!("{name} + {plus}"),
        };
        let number = matches!(column.kind, Kind::Int | Kind::Time);
        let plain = slot.plus == 0 && !number && self.spells_classes(slot);
        if plain { value } else { self.class(&value, number, column.nullable, &slot.classifier, &slot.domain) }
    }

    /// Whether a column's words are the names of the classes, so that nothing is to be told apart.
    pub(super) fn spells_classes(&self, slot: &Slot) -> bool {
        let classes = &self.plan.contract.domains[&slot.domain].classes;
        let mut words = slot.classifier.words();
        slot.classifier.otherwise().is_none() && words.all(|(word, class)| classes[usize::from(class)].name == word)
    }

    /// Whether a line may not tell a slot.
    pub(super) fn may_be_untold(&self, slot: usize) -> bool {
        let slot = &self.plan.slots[slot];
        let column = &self.plan.columns[slot.column];
        slot.classifier.null_class().is_none() && (column.nullable || column.kind == Kind::Open)
    }

    /// Whether what is carried may be blank.
    pub(super) fn may_be_blank(&self, carry: usize) -> bool {
        match &self.plan.carries[carry] {
            Carry::Class(slot) => self.may_be_untold(*slot),
            Carry::Number(column) | Carry::Hash(column) => self.plan.columns[*column].nullable,
        }
    }

    /// The class of a value in a domain.
    pub(super) fn class(
        &self,
        value: &str,
        number: bool,
        nullable: bool,
        classifier: &Classifier,
        domain: &str,
    ) -> String {
        let classes = &self.plan.contract.domains[domain].classes;
        let class = |code: u8| self.text(&classes[usize::from(code)].name);
        let mut whens = Vec::new();
        match classifier.null_class() {
            None if nullable => whens.push(format!("WHEN {value} IS NULL THEN NULL")),
            Some(null) if Some(null) != classifier.otherwise() => {
                whens.push(format!("WHEN {value} IS NULL THEN {}", class(null)));
            }
            _ => {}
        }
        for (low, high, code) in classifier.ranges() {
            let both = match (*low, *high) {
                (low, high) if low == high => format!("{value} = {low}"),
                (i64::MIN, i64::MAX) => "1 = 1".to_owned(),
                (i64::MIN, high) => format!("{value} <= {high}"),
                (low, i64::MAX) => format!("{value} >= {low}"),
                (low, high) => format!("{value} BETWEEN {low} AND {high}"),
            };
            whens.push(format!("WHEN {both} THEN {}", class(*code)));
        }
        for code in 0..classifier.classes() {
            let of_class =
                classifier.words().filter(|(_, other)| *other == code && classifier.otherwise() != Some(code));
            let words: Vec<String> =
                of_class.map(|(word, _)| if number { word.to_owned() } else { self.text(word) }).collect();
            if !words.is_empty() {
                whens.push(format!("WHEN {} THEN {}", one_of(value, &words), class(code)));
            }
        }
        let rest = classifier.otherwise().map_or_else(|| self.text(OUTSIDE), class);
        format!("CASE {} ELSE {rest} END", whens.join(" "))
    }

    /// Each line beside the one before it of the same key. A line that is older than that is left out.
    pub(super) fn before(&self, rules: &[&RulePlan]) -> String {
        let key = self.name(&self.plan.columns[self.plan.key].name);
        let window = format!("(PARTITION BY {key} ORDER BY {})", self.order());
        let lags: Vec<String> = self
            .used(rules)
            .carries
            .iter()
            .map(|carry| {
                let name = self.carried(&self.plan.carries[*carry]);
                format!(",\n         LAG({0}) OVER w AS {1}", self.name(&name), self.name(&format!("before_{name}")))
            })
            .collect();
        let from = if self.may_go_back() { "forward" } else { "line" };
        let before = format!(
            "before AS (\n  SELECT {from}.*, ROW_NUMBER() OVER w AS {}{}\n  FROM {from}\n  WINDOW w AS {window}\n)",
            self.name("nth"),
            lags.join("")
        );
        if self.may_go_back() { format!("{},\n{before}", self.forward()) } else { before }
    }

    /// Whether the order and the time are two columns that may disagree.
    pub(super) fn may_go_back(&self) -> bool {
        self.warehouse.order.is_some() && self.plan.time.is_some()
    }

    pub(super) fn forward(&self) -> String {
        let Some(time) = self.plan.time else { return String::new() };
        let (key, time) = (self.name(&self.plan.columns[self.plan.key].name), self.name(&self.plan.columns[time].name));
        let (latest, order) = (self.name("latest"), self.order());
        let time = self.dialect.seconds(&time, self.plan.layout.unit);
        format!(
            "aged AS (\n  SELECT line.*, MAX({time}) OVER (PARTITION BY {key} ORDER BY {order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS {latest}\n  FROM line\n),\n\
             forward AS (\n  SELECT aged.*\n  FROM aged\n  WHERE {latest} IS NULL OR {time} >= {latest}\n)"
        )
    }

    pub(super) fn carried(&self, carry: &Carry) -> String {
        match carry {
            Carry::Class(slot) => self.slot_name(*slot),
            Carry::Number(column) | Carry::Hash(column) => self.plan.columns[*column].name.clone(),
        }
    }

    pub(super) fn axis(&self, axis: &Axis, domain: &str) -> Told {
        let before = |carry: usize| self.name(&format!("before_{}", self.carried(&self.plan.carries[carry])));
        let now = |carry: usize| self.name(&self.carried(&self.plan.carries[carry]));
        match axis {
            Axis::Fixed(code) => Told::Fixed(*code),
            Axis::Slot(slot) => Told::Says(self.name(&self.slot_name(*slot)), self.may_be_untold(*slot)),
            Axis::Before { carry, .. } => Told::Says(before(*carry), self.may_be_blank(*carry)),
            Axis::Since { carry, plus, classifier, .. } => {
                let is_time = self.plan.time_carry == Some(*carry);
                let grown = if is_time {
                    self.dialect.between(&before(*carry), &now(*carry), self.plan.layout.unit)
                } else {
                    format!("({} - {})", now(*carry), before(*carry))
                };
                let grown = if *plus == 0 { grown } else { format!("({grown} + {plus})") };
                let blank = self.may_be_blank(*carry);
                Told::Says(self.class(&grown, true, blank, classifier, domain), blank)
            }
            Axis::Same { carry, .. } => {
                let (was, is) = (before(*carry), now(*carry));
                let blank = self.may_be_blank(*carry);
                let untold =
                    if blank { format!("WHEN {was} IS NULL OR {is} IS NULL THEN NULL ") } else { String::new() };
                Told::Says(format!("CASE {untold}WHEN {was} = {is} THEN 'true' ELSE 'false' END"), blank)
            }
        }
    }
}

/// What a rule is told of one input or output.
pub(super) enum Told {
    /// Known before any line.
    Fixed(u8),
    /// By an expression, which may be NULL where the line does not tell.
    Says(String, bool),
}

/// What rules read of a line, and of the one before it.
pub(super) struct Used {
    slots: BTreeSet<usize>,
    carries: BTreeSet<usize>,
}

/// Whether a value is one of some.
pub(super) fn one_of(value: &str, words: &[String]) -> String {
    match words {
        [word] => format!("{value} = {word}"),
        _ => format!("{value} IN ({})", words.join(", ")),
    }
}
