//! Binding: which rows of which tables go together in one case, and what each column then may be.

use indexmap::IndexMap;
use nack_contracts::model::{Bound, Contract, Output, SET_CLASSES, Scenario, Table};
use nack_contracts::template::{Unknown, fill};
use nack_contracts::{Finding, Kind, Span, suggest};

/// One combination of rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Combination {
    /// The bound rows, in order of binding.
    pub(crate) rows: Vec<BoundRow>,
    /// What each column may be, by its full name (`column`, or `alias.column`).
    pub(crate) columns: IndexMap<String, Column>,
}

/// A bound row, or a bound sample of a domain.
#[derive(Clone, Debug)]
pub(crate) struct BoundRow {
    pub(crate) table: String,
    pub(crate) row: String,
    pub(crate) span: Span,
    pub(crate) needs: Vec<String>,
}

/// What a column may be in a combination.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) domain: String,
    /// The alias it is bound under, which `$slot` stands for in its samples.
    pub(crate) slot: Option<String>,
    pub(crate) is: Is,
}

/// The state of a column.
#[derive(Clone, Debug)]
pub(crate) enum Is {
    /// An input that may be any sample of these classes.
    Input(Vec<usize>),
    /// One sample of a bound domain: class and label.
    Chosen(usize, String),
    /// What a row gives.
    Output(Output),
}

/// All combinations of a scenario, in file order.
pub(crate) fn combinations(contract: &Contract, scenario: &Scenario) -> Result<Vec<Combination>, Finding> {
    let mut out = vec![Combination::default()];
    for bound in &scenario.bind {
        out = match contract.tables.get(&bound.name) {
            Some(table) => bind_table(scenario, bound, table, &out)?,
            None => bind_domain(contract, bound, &out)?,
        };
    }
    for (column, keep) in &scenario.keep {
        let Some(domain) = out.first().and_then(|first| first.columns.get(column)).map(|known| &known.domain) else {
            let known = out.first().map(|first| first.columns.keys().map(String::as_str).collect::<Vec<_>>());
            let message = format!("`where` names `{column}`, which nothing here binds");
            return Err(broken(&keep.span, message).help(suggest(column, known.unwrap_or_default())));
        };
        let domain = &contract.domains[domain];
        let mut classes = Vec::new();
        for name in &keep.item {
            let known = domain.classes.iter().map(|class| class.name.as_str());
            let class = domain.class(&name.item).ok_or_else(|| {
                broken(&name.span, format!("`{column}` has no class `{}`", name.item)).help(suggest(&name.item, known))
            })?;
            classes.push(class);
        }
        out.retain_mut(|combination| match combination.columns.get_mut(column).map(|column| &mut column.is) {
            Some(Is::Input(may)) => {
                may.retain(|class| classes.contains(class));
                !may.is_empty()
            }
            Some(Is::Chosen(class, _)) => classes.contains(class),
            Some(Is::Output(Output::Class(class))) => classes.contains(class),
            _ => false,
        });
    }
    for combination in &mut out {
        look_up(contract, scenario, combination)?;
    }
    Ok(out)
}

fn bind_table(
    scenario: &Scenario,
    bound: &Bound,
    table: &Table,
    before: &[Combination],
) -> Result<Vec<Combination>, Finding> {
    let only = scenario.only.get(bound.alias.as_deref().unwrap_or(&bound.name));
    let kept = |id: &str| only.is_none_or(|only| only.item.iter().any(|row| row.item == id));
    let mut out = Vec::new();
    for combination in before {
        for row in table.rows.iter().filter(|row| !row.never() && kept(&row.id)) {
            let mut next = combination.clone();
            let mut agrees = true;
            for (name, cell) in table.inputs.iter().zip(&row.inputs) {
                agrees &= next.join(bound, name, Is::Input(cell.classes.clone()))?;
            }
            for (name, cell) in table.outputs.iter().zip(&row.outputs) {
                agrees &= next.join(bound, name, Is::Output(cell.gives.clone()))?;
            }
            if agrees {
                let needs = table.needs.get(&row.id).cloned().unwrap_or_default();
                next.rows.push(BoundRow {
                    table: table.name.clone(),
                    row: row.id.clone(),
                    span: row.span.clone(),
                    needs,
                });
                out.push(next);
            }
        }
    }
    Ok(out)
}

fn bind_domain(contract: &Contract, bound: &Bound, before: &[Combination]) -> Result<Vec<Combination>, Finding> {
    let domain = &contract.domains[&bound.name];
    let mut out = Vec::new();
    for combination in before {
        for (index, class) in domain.classes.iter().enumerate() {
            for sample in &class.samples {
                let mut next = combination.clone();
                if next.join(bound, &domain.name, Is::Chosen(index, sample.label.clone()))? {
                    next.rows.push(BoundRow {
                        table: domain.name.clone(),
                        row: sample.label.clone(),
                        span: sample.node.span.clone(),
                        needs: sample.needs.clone(),
                    });
                    out.push(next);
                }
            }
        }
    }
    Ok(out)
}

impl Combination {
    /// Adds a column, or holds it against what an earlier table or domain says of it. False: they disagree.
    fn join(&mut self, bound: &Bound, name: &str, is: Is) -> Result<bool, Finding> {
        let full = match &bound.alias {
            Some(alias) => format!("{alias}.{name}"),
            None => name.to_owned(),
        };
        let Some(known) = self.columns.get_mut(&full) else {
            self.columns.insert(full, Column { domain: name.to_owned(), slot: bound.alias.clone(), is });
            return Ok(true);
        };
        Ok(match (&mut known.is, is) {
            (Is::Input(may), Is::Input(here)) => {
                may.retain(|class| here.contains(class));
                !may.is_empty()
            }
            (Is::Chosen(class, _) | Is::Output(Output::Class(class)), Is::Input(here)) => here.contains(class),
            (Is::Output(_), Is::Input(_)) => false,
            (Is::Input(may), Is::Chosen(class, label)) => {
                let agrees = may.contains(&class);
                known.is = Is::Chosen(class, label);
                agrees
            }
            (Is::Output(Output::Class(given)), Is::Chosen(class, _)) => *given == class,
            (_, Is::Output(_)) | (_, Is::Chosen(..)) => {
                let message = format!("`{full}` is given twice: by `{}` and by something bound before it", bound.name);
                return Err(broken(&bound.span, message));
            }
        })
    }
}

/// Finds the row of each `set` table for the values at hand and adds what it gives.
fn look_up(contract: &Contract, scenario: &Scenario, combination: &mut Combination) -> Result<(), Finding> {
    for (name, values) in &scenario.lookup {
        let table = &contract.tables[name];
        // Reading has checked that a looked-up table is a `set` table.
        let domain = &contract.domains[table.set.as_deref().unwrap_or_default()];
        let mut present = vec![false; domain.classes.len()];
        for node in &values.item {
            let value = fill(node, Unknown::Refuse, &|column| {
                let class = match combination.columns.get(column).map(|column| (&column.is, &column.domain)) {
                    Some((Is::Output(Output::Class(class)) | Is::Chosen(class, _), domain)) => {
                        &contract.domains[domain].classes[*class]
                    }
                    _ => return Err(format!("`${column}` has no single value to look up")),
                };
                Ok(Kind::Value(class.name.as_str().into()))
            })?;
            let class = value
                .text()
                .and_then(|text| domain.class(text))
                .ok_or_else(|| broken(&node.span, format!("{} is no value of `{}`", value.value(), domain.name)))?;
            present[class] = true;
        }
        let fits = |row: &&nack_contracts::model::Row| {
            row.inputs.iter().zip(&present).all(|(cell, some)| {
                let wanted = if *some { SET_CLASSES[0] } else { SET_CLASSES[1] };
                cell.classes.iter().any(|class| SET_CLASSES[*class] == wanted)
            })
        };
        let row = table
            .rows
            .iter()
            .find(fits)
            .ok_or_else(|| broken(&values.span, format!("no row of `{name}` fits what is looked up")))?;
        for (output, cell) in table.outputs.iter().zip(&row.outputs) {
            let column = Column { domain: output.clone(), slot: None, is: Is::Output(cell.gives.clone()) };
            if combination.columns.insert(output.clone(), column).is_some() {
                return Err(broken(
                    &values.span,
                    format!("`{output}` is given twice: by `{name}` and by a bound table"),
                ));
            }
        }
    }
    Ok(())
}

fn broken(span: &Span, message: String) -> Finding {
    Finding::error("scenario/bind", "scenario", span.clone(), message)
}
