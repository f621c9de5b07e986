//! Decision tables: every combination of inputs must meet exactly one row, and `other` must not reach success.

use std::collections::HashMap;

use crate::finding::Finding;
use crate::model::{Contract, Output, Table};
use crate::regions::{Limit, Region, covered, gaps, mergeable, overlapping};

/// More findings of one rule than this say nothing new.
const SHOWN: usize = 20;

pub(super) fn lint(contract: &Contract, table: &Table, findings: &mut Vec<Finding>) {
    let view = View { contract, table, at: format!("table.{}", table.name) };
    let rows: Vec<Region> = table
        .rows
        .iter()
        .map(|row| Region { columns: row.inputs.iter().map(|cell| cell.classes.iter().copied().collect()).collect() })
        .collect();
    let sizes: Vec<usize> = (0..table.inputs.len()).map(|column| contract.input_classes(table, column).len()).collect();
    view.gaps(&sizes, &rows, findings);
    view.overlaps(&rows, findings);
    view.unreachable(&rows, findings);
    view.mergeable(&rows, findings);
    view.success(findings);
    view.never_gives(findings);
}

struct View<'a> {
    contract: &'a Contract,
    table: &'a Table,
    at: String,
}

impl View<'_> {
    /// A region in words: the columns that it restricts.
    fn words(&self, region: &Region) -> String {
        let mut parts = Vec::new();
        for (column, classes) in region.columns.iter().enumerate() {
            let names = self.contract.input_classes(self.table, column);
            if classes.len() < names.len() {
                let chosen: Vec<&str> = classes.iter().map(|class| names[class]).collect();
                parts.push(format!("{} = {}", self.table.inputs[column], chosen.join(" or ")));
            }
        }
        if parts.is_empty() { "any input".to_owned() } else { parts.join(", ") }
    }

    /// One input of a region, as values.
    fn witness(&self, region: &Region) -> String {
        let point = region.first_point().unwrap_or_default();
        let value = |(column, class): (usize, &usize)| {
            let name = &self.table.inputs[column];
            match self.contract.domains.get(name).filter(|_| self.table.set.is_none()) {
                Some(domain) => match domain.classes[*class].samples.first() {
                    Some(sample) => format!("{name} = {}", sample.node.value()),
                    None => format!("{name} = {}", domain.classes[*class].name),
                },
                None => format!("{name} = {}", self.contract.input_classes(self.table, column)[*class]),
            }
        };
        point.iter().enumerate().map(value).collect::<Vec<_>>().join(", ")
    }

    fn gaps(&self, sizes: &[usize], rows: &[Region], findings: &mut Vec<Finding>) {
        let found = gaps(sizes, rows, Limit::default());
        for region in found.regions.iter().take(SHOWN) {
            let message = format!("no row says what happens for {}", self.words(region));
            findings.push(
                Finding::error("table/gap", &self.at, self.table.span.clone(), message)
                    .label(format!("for example {}", self.witness(region)))
                    .help("add a row for it, or widen one; a blank cell is a bug of the rules, not freedom"),
            );
        }
        let more = found.regions.len().saturating_sub(SHOWN);
        if more > 0 || !found.complete {
            let message = match found.complete {
                true => format!("{more} more uncovered regions"),
                false => "the search for gaps was cut short: this table is too tangled to be read whole".to_owned(),
            };
            findings.push(Finding::error("table/gap", &self.at, self.table.span.clone(), message));
        }
    }

    fn overlaps(&self, rows: &[Region], findings: &mut Vec<Finding>) {
        let mut shown = 0;
        let mut more = 0;
        for overlap in overlapping(rows) {
            let (first, second) = (&self.table.rows[overlap.first], &self.table.rows[overlap.second]);
            if shown == SHOWN {
                more += 1;
                continue;
            }
            shown += 1;
            let same = first.outputs.iter().zip(&second.outputs).all(|(a, b)| a.gives == b.gives);
            let (rule, what) = if same {
                ("table/duplicate", "say the same twice")
            } else {
                ("table/conflict", "contradict each other")
            };
            let message = format!("`{}` and `{}` {what} for {}", first.id, second.id, self.words(&overlap.shared));
            findings.push(
                Finding::error(rule, format!("{}.{}", self.at, second.id), second.span.clone(), message)
                    .label(format!("for example {}", self.witness(&overlap.shared)))
                    .also(first.span.clone(), "this row covers it, too")
                    .help("exactly one row may cover an input: narrow one of the two"),
            );
        }
        if more > 0 {
            let message = format!("{more} more pairs of rows overlap");
            findings.push(Finding::error("table/conflict", &self.at, self.table.span.clone(), message));
        }
    }

    fn unreachable(&self, rows: &[Region], findings: &mut Vec<Finding>) {
        let idle: Vec<usize> = (0..rows.len()).filter(|row| rows[*row].is_empty()).collect();
        for index in &idle {
            let row = &self.table.rows[*index];
            let message = format!("`{}` can never fire: one of its cells is empty", row.id);
            findings.push(Finding::error(
                "table/unreachable",
                format!("{}.{}", self.at, row.id),
                row.span.clone(),
                message,
            ));
        }
        let repeated = covered(rows, Limit::default().work);
        for index in repeated.rows.into_iter().filter(|index| !idle.contains(index)) {
            let row = &self.table.rows[index];
            let message = format!("`{}` is there for nothing: the other rows cover all of it", row.id);
            findings.push(Finding::error(
                "table/unreachable",
                format!("{}.{}", self.at, row.id),
                row.span.clone(),
                message,
            ));
        }
    }

    fn mergeable(&self, rows: &[Region], findings: &mut Vec<Finding>) {
        let mut kinds: HashMap<Vec<&Output>, usize> = HashMap::new();
        let outputs: Vec<usize> = self
            .table
            .rows
            .iter()
            .map(|row| {
                let next = kinds.len();
                *kinds.entry(row.outputs.iter().map(|cell| &cell.gives).collect()).or_insert(next)
            })
            .collect();
        for pair in mergeable(rows, &outputs).into_iter().take(SHOWN) {
            let (first, second) = (&self.table.rows[pair.first], &self.table.rows[pair.second]);
            let message = format!(
                "`{}` and `{}` differ in `{}` only and could be one row",
                first.id, second.id, self.table.inputs[pair.column]
            );
            let at = format!("{}.{}", self.at, second.id);
            findings.push(
                Finding::error("table/mergeable", at, second.span.clone(), message)
                    .also(first.span.clone(), "with this one")
                    .advice(),
            );
        }
    }

    /// The class that stands for any other value must fail closed.
    fn success(&self, findings: &mut Vec<Finding>) {
        if self.table.set.is_some() {
            return;
        }
        for row in &self.table.rows {
            let reaches = self.table.outputs.iter().zip(&row.outputs).any(|(output, cell)| {
                let success = self.table.success.get(output);
                matches!((&cell.gives, success), (Output::Class(class), Some(success)) if success.contains(class))
            });
            if !reaches {
                continue;
            }
            for (column, cell) in self.table.inputs.iter().zip(&row.inputs) {
                let domain = &self.contract.domains[column];
                let Some(other) = domain.otherwise.filter(|other| cell.classes.contains(other)) else { continue };
                let class = &domain.classes[other].name;
                let message =
                    format!("`{}` reaches success from `{column}` = `{class}`, which is any value not named", row.id);
                findings.push(
                    Finding::error("table/open-success", format!("{}.{}", self.at, row.id), cell.span.clone(), message)
                        .help("an unknown value must fail closed: name the values that may succeed"),
                );
            }
        }
    }

    /// A row that never occurs has no other outputs to speak of.
    fn never_gives(&self, findings: &mut Vec<Finding>) {
        for row in self.table.rows.iter().filter(|row| row.never()) {
            if row.outputs.iter().any(|cell| matches!(cell.gives, Output::Class(_) | Output::Error(_))) {
                let message = format!("`{}` never occurs, and yet one of its cells gives something", row.id);
                let at = format!("{}.{}", self.at, row.id);
                findings.push(Finding::error("table/never", at, row.span.clone(), message));
            }
        }
    }
}
