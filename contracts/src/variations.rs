//! A contract with one cell changed: what a gate must notice, if that cell is defended by any case at all. Each expected
//! output becomes another value, each row is dropped or takes a neighbour's class, each boundary moves by one.

use std::collections::BTreeSet;

use crate::model::{Class, Contract, Output, Sample, Table};
use crate::node::{Kind, Node};
use crate::source::Span;
use crate::value::Value;

/// A contract with one cell changed.
#[derive(Clone, Debug)]
pub struct Variation {
    /// `table.T/ROW/COLUMN=CLASS` and the like, unique in its contract.
    pub name: String,
    /// What was changed, in words.
    pub what: String,
    /// Where the cell stands.
    pub span: Span,
    /// The changed contract.
    pub contract: Contract,
}

/// Every way to change one cell of a contract's tables or one boundary of its ranges. A change that leaves the same
/// decisions for every input is left out.
#[must_use]
pub fn variations(contract: &Contract) -> Vec<Variation> {
    let mut out = Vec::new();
    for table in contract.tables.values() {
        outputs(contract, table, &mut out);
        if table.set.is_none() {
            widened(contract, table, &mut out);
        }
        dropped(contract, table, &mut out);
    }
    moved(contract, &mut out);
    out
}

fn outputs(contract: &Contract, table: &Table, out: &mut Vec<Variation>) {
    for (r, row) in table.rows.iter().enumerate().filter(|(_, row)| !row.never()) {
        for (o, cell) in row.outputs.iter().enumerate() {
            let (column, is) = (&table.outputs[o], cell_words(contract, table, o, &cell.gives));
            if cell.gives == Output::Nothing {
                continue;
            }
            for class in (0..contract.domains[column].classes.len()).map(Output::Class) {
                if class == cell.gives {
                    continue;
                }
                let other = cell_words(contract, table, o, &class);
                let mut changed = contract.clone();
                changed.tables[&table.name].rows[r].outputs[o].gives = class;
                out.push(Variation {
                    name: format!("table.{}/{}/{column}={other}", table.name, row.id),
                    what: format!("{column} of row `{}` is {other} instead of {is}", row.id),
                    span: cell.span.clone(),
                    contract: changed,
                });
            }
        }
    }
}

fn cell_words(contract: &Contract, table: &Table, column: usize, output: &Output) -> String {
    match output {
        Output::Class(class) => contract.domains[&table.outputs[column]].classes[*class].name.clone(),
        Output::Error(name) => format!("error-{name}"),
        Output::Nothing | Output::Never(_) => "nothing".to_owned(),
    }
}

/// A row takes over the class next to one of its own, where another row decides otherwise.
fn widened(contract: &Contract, table: &Table, out: &mut Vec<Variation>) {
    for (r, row) in table.rows.iter().enumerate().filter(|(_, row)| !row.never()) {
        for (i, cell) in row.inputs.iter().enumerate() {
            let names = contract.input_classes(table, i);
            let beside = |class: &usize| {
                !cell.classes.contains(class)
                    && (cell.classes.contains(&(class + 1)) || (*class > 0 && cell.classes.contains(&(class - 1))))
            };
            for class in (0..names.len()).filter(beside) {
                let taken = |other: &crate::model::Row| {
                    let meets = |(j, theirs): (usize, &crate::model::InputCell)| {
                        if j == i {
                            theirs.classes.contains(&class)
                        } else {
                            theirs.classes.iter().any(|c| row.inputs[j].classes.contains(c))
                        }
                    };
                    let decides_alike = other.outputs.iter().zip(&row.outputs).all(|(a, b)| a.gives == b.gives);
                    other.inputs.iter().enumerate().all(meets) && !decides_alike && !other.never()
                };
                if !table.rows.iter().any(taken) {
                    continue;
                }
                let mut changed = contract.clone();
                // In front, so that a scenario that tries one sample of each input tries this one.
                changed.tables[&table.name].rows[r].inputs[i].classes.insert(0, class);
                out.push(Variation {
                    name: format!("table.{}/{}/{}+{}", table.name, row.id, table.inputs[i], names[class]),
                    what: format!("row `{}` also takes {} = {}", row.id, table.inputs[i], names[class]),
                    span: cell.span.clone(),
                    contract: changed,
                });
            }
        }
    }
}

fn dropped(contract: &Contract, table: &Table, out: &mut Vec<Variation>) {
    for (r, row) in table.rows.iter().enumerate() {
        let mut changed = contract.clone();
        changed.tables[&table.name].rows.remove(r);
        out.push(Variation {
            name: format!("table.{}/{}/dropped", table.name, row.id),
            what: format!("row `{}` is gone", row.id),
            span: row.span.clone(),
            contract: changed,
        });
    }
}

/// The boundary between two touching ranges moves by one, either way.
fn moved(contract: &Contract, out: &mut Vec<Variation>) {
    for (name, domain) in &contract.domains {
        for low in 0..domain.classes.len().saturating_sub(1) {
            let (below, above) = (&domain.classes[low], &domain.classes[low + 1]);
            let (Some((start, Some(end))), Some((Some(_), stop))) = (below.range, above.range) else { continue };
            if !told_apart(contract, name, low) {
                continue;
            }
            for (by, word) in [(-1, "down"), (1, "up")] {
                let edge = end + by;
                if start.is_some_and(|start| start > edge) || stop.is_some_and(|stop| edge + 1 > stop) {
                    continue;
                }
                let numbers: BTreeSet<i64> = [below, above].into_iter().flat_map(numbers).collect();
                let mut changed = contract.clone();
                let classes = &mut changed.domains[name].classes;
                resample(&mut classes[low], (start, Some(edge)), &numbers);
                resample(&mut classes[low + 1], (Some(edge + 1), stop), &numbers);
                out.push(Variation {
                    name: format!("domain.{name}/{}-{}/{word}", below.name, above.name),
                    what: format!("the boundary between {} and {} of {name} is one {word}", below.name, above.name),
                    span: below.span.clone(),
                    contract: changed,
                });
            }
        }
    }
}

/// Whether any row decides otherwise for one of two neighbouring classes than for the other.
fn told_apart(contract: &Contract, domain: &str, low: usize) -> bool {
    let splits = |table: &Table| {
        let column = table.inputs.iter().position(|input| input == domain).filter(|_| table.set.is_none());
        column.is_some_and(|column| {
            let holds = |row: &crate::model::Row, class| row.inputs[column].classes.contains(&class);
            table.rows.iter().any(|row| holds(row, low) != holds(row, low + 1))
        })
    };
    contract.tables.values().any(splits)
}

fn numbers(class: &Class) -> impl Iterator<Item = i64> {
    class.samples.iter().filter_map(|sample| sample.node.value().as_int())
}

/// A range with other ends: both are sampled, and every number that either neighbour had, where it now belongs.
fn resample(class: &mut Class, range: (Option<i64>, Option<i64>), had: &BTreeSet<i64>) {
    let (low, high) = range;
    let holds = |number: i64| low.is_none_or(|low| low <= number) && high.is_none_or(|high| number <= high);
    let ends = [low.or(high.map(|high| high - 1)), high.or(low.map(|low| low + 1))].into_iter().flatten();
    let mut samples: Vec<i64> = ends.collect();
    samples.extend(had.iter().copied().filter(|number| holds(*number)));
    let needs = class.samples.first().map(|sample| sample.needs.clone()).unwrap_or_default();
    let mut seen = BTreeSet::new();
    samples.retain(|number| seen.insert(*number));
    let node = |number: i64| Node::new(Kind::Value(Value::Int(number)), class.span.clone());
    let sample = |number: i64| Sample { label: number.to_string(), node: node(number), needs: needs.clone() };
    class.samples = samples.into_iter().map(sample).collect();
    class.range = Some(range);
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::source::Source;

    const CONTRACT: &str = r#"
format = 1
name = "t"
version = 1
title = "t"
owner = "o"
[domain.kind]
values = ["a", "b", "c"]
[domain.n]
ranges = { low = "1..=4", high = "5.." }
[domain.next]
values = ["x", "y"]
[table.t]
inputs = ["kind", "n"]
outputs = ["next"]
rows = [
  ["one", "a", "*", "x"],
  ["two", ["b", "c"], "low", "x"],
  ["three", ["b", "c"], "high", "y"],
]
"#;

    fn names() -> Vec<String> {
        let contract = Contract::read(Source::new("t.toml", CONTRACT), &IndexMap::new()).expect("it reads");
        variations(&contract).into_iter().map(|variation| variation.name).collect()
    }

    #[test]
    fn every_cell_is_changed_and_what_changes_no_decision_is_left_out() {
        let expected = [
            "table.t/one/next=y",
            "table.t/two/next=y",
            "table.t/three/next=x",
            // b is not taken by `one` from `two`, which decides alike for low, but from `three`.
            "table.t/one/kind+b",
            "table.t/two/n+high",
            "table.t/three/kind+a",
            "table.t/three/n+low",
            "table.t/one/dropped",
            "table.t/two/dropped",
            "table.t/three/dropped",
            "domain.n/low-high/down",
            "domain.n/low-high/up",
        ];
        assert_eq!(names(), expected);
    }

    #[test]
    fn a_moved_boundary_samples_its_new_ends_and_loses_no_number() {
        let contract = Contract::read(Source::new("t.toml", CONTRACT), &IndexMap::new()).expect("it reads");
        let up =
            variations(&contract).into_iter().find(|variation| variation.name.ends_with("/up")).expect("it is there");
        let of = |class: usize| numbers(&up.contract.domains["n"].classes[class]).collect::<Vec<_>>();
        assert_eq!((of(0), of(1)), (vec![1, 5, 4], vec![6, 7]));
        assert_eq!(up.contract.domains["n"].classes[0].range, Some((Some(1), Some(5))));
    }
}
