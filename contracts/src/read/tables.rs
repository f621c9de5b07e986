//! Decision tables: rows of cells, each cell a set of classes (input) or one thing that is given (output).

use indexmap::IndexMap;

use super::section::{Findings, Section, is_name, text_of};
use super::{check_name, known_capabilities, known_name};
use crate::finding::{Finding, suggest};
use crate::model::{Capability, Domain, InputCell, Output, OutputCell, Row, SET_CLASSES, Table, Undefended};
use crate::node::{Kind, Node};

pub(super) fn read(
    top: &Section<'_>,
    domains: &IndexMap<String, Domain>,
    capabilities: &IndexMap<String, Capability>,
    findings: &mut Findings,
) -> IndexMap<String, Table> {
    let mut out = IndexMap::new();
    for (name, field) in top.map("table", findings) {
        let at = format!("table.{name}");
        check_name(name, &at, field, true, findings);
        let Some(section) = Section::of(&at, &field.value, findings) else { continue };
        let set = section.text("set", findings);
        let inputs = match &set {
            Some(domain) => {
                let node = section.node("set").map_or(0..0, |node| node.span.clone());
                known_name(domain, &node, "domain", &at, domains.keys().map(String::as_str), findings);
                domains.get(domain).map_or_else(Vec::new, |d| d.classes.iter().map(|c| c.name.clone()).collect())
            }
            None => columns(&section, "inputs", domains, findings),
        };
        let outputs = columns(&section, "outputs", domains, findings);
        let mut table = Table {
            name: name.clone(),
            inputs,
            outputs,
            set,
            rows: Vec::new(),
            success: IndexMap::new(),
            needs: IndexMap::new(),
            undefended: IndexMap::new(),
            span: field.key.clone(),
        };
        if table.inputs.is_empty() || table.outputs.is_empty() {
            findings.error("format/missing", &at, &field.key, "a table has inputs and outputs");
        }
        let reader = Reader { at: &at, domains };
        for node in section.items("rows", findings) {
            if let Some(row) = reader.row(&table, node, findings) {
                if let Some(twin) = table.rows.iter().find(|other| other.id == row.id) {
                    let finding = Finding::error(
                        "table/row-twice",
                        &at,
                        row.span.clone(),
                        format!("two rows are called `{}`", row.id),
                    );
                    findings.0.push(finding.also(twin.span.clone(), "the first one"));
                }
                table.rows.push(row);
            }
        }
        if table.rows.is_empty() {
            findings.error("format/missing", &at, &field.key, "a table has rows");
        }
        for (column, list) in section.lists("success", findings) {
            if !known_name(
                &column.item,
                &column.span,
                "output",
                &at,
                table.outputs.iter().map(String::as_str),
                findings,
            ) {
                continue;
            }
            let domain = &domains[&column.item];
            let mut classes = Vec::new();
            for value in list {
                let known: Vec<&str> = domain.classes.iter().map(|class| class.name.as_str()).collect();
                if known_name(&value.item, &value.span, "class", &at, known, findings) {
                    classes.extend(domain.class(&value.item));
                }
            }
            table.success.insert(column.item, classes);
        }
        let rows: Vec<String> = table.rows.iter().map(|row| row.id.clone()).collect();
        let rows = || rows.iter().map(String::as_str);
        for (row, list) in section.lists("needs", findings) {
            known_name(&row.item, &row.span, "row", &at, rows(), findings);
            table.needs.insert(row.item, known_capabilities(list, &at, capabilities, findings));
        }
        for (row, field) in section.map("undefended", findings) {
            known_name(row, &field.key, "row", &at, rows(), findings);
            let why = field.value.text().unwrap_or_default().to_owned();
            if why.trim().is_empty() {
                findings.error("format/missing", &at, &field.value.span, "say why no mutant defends this row");
            }
            table.undefended.insert(row.clone(), Undefended { why, span: field.key.clone() });
        }
        section.finish(findings);
        out.insert(name.clone(), table);
    }
    out
}

fn columns(
    section: &Section<'_>,
    key: &str,
    domains: &IndexMap<String, Domain>,
    findings: &mut Findings,
) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for column in section.texts(key, findings) {
        if out.contains(&column.item) {
            findings.error(
                "format/name",
                &section.at,
                &column.span,
                format!("the column `{}` stands twice", column.item),
            );
        } else if known_name(
            &column.item,
            &column.span,
            "domain",
            &section.at,
            domains.keys().map(String::as_str),
            findings,
        ) {
            out.push(column.item);
        }
    }
    out
}

struct Reader<'a> {
    at: &'a str,
    domains: &'a IndexMap<String, Domain>,
}

impl Reader<'_> {
    fn row(&self, table: &Table, node: &Node, findings: &mut Findings) -> Option<Row> {
        let Kind::List(cells) = &node.kind else {
            findings.error("format/type", self.at, &node.span, "a row is a list: its id, then a cell a column");
            return None;
        };
        let wanted = 1 + table.inputs.len() + table.outputs.len();
        if cells.len() != wanted {
            let message = format!(
                "this row has {} cells; the table has {wanted}: an id, then {}, then {}",
                cells.len(),
                table.inputs.join(", "),
                table.outputs.join(", ")
            );
            findings.error("table/cells", self.at, &node.span, message);
            return None;
        }
        let id = text_of(&cells[0], self.at, findings)?;
        if !is_name(&id.item) {
            findings.error("format/name", self.at, &id.span, "a row's id is made of a-z, 0-9, - and _");
        }
        let at = format!("{}.{}", self.at, id.item);
        let (inputs, outputs) = cells[1..].split_at(table.inputs.len());
        let input = |(column, cell): (usize, &Node)| -> InputCell {
            let known: Vec<&str> = match table.set {
                Some(_) => SET_CLASSES.to_vec(),
                None => self.domains[&table.inputs[column]].classes.iter().map(|class| class.name.as_str()).collect(),
            };
            InputCell { classes: classes_of(cell, &known, &at, findings), span: cell.span.clone() }
        };
        let inputs = inputs.iter().enumerate().map(input).collect();
        let mut gives = Vec::with_capacity(outputs.len());
        for (column, cell) in outputs.iter().enumerate() {
            let gives_what = self.output(&table.outputs[column], cell, &at, findings)?;
            gives.push(OutputCell { gives: gives_what, span: cell.span.clone() });
        }
        // A `_never` in one output says it of the whole row; the other cells then have no meaning.
        Some(Row { id: id.item, span: node.span.clone(), inputs, outputs: gives })
    }

    fn output(&self, column: &str, cell: &Node, at: &str, findings: &mut Findings) -> Option<Output> {
        if let Kind::Map(fields) = &cell.kind {
            let one = fields.iter().next().filter(|_| fields.len() == 1);
            return match one.map(|(key, field)| (key.as_str(), field.value.text())) {
                Some(("_error", Some(name))) => Some(Output::Error(name.to_owned())),
                Some(("_never", Some(why))) => Some(Output::Never(why.to_owned())),
                _ => {
                    let message = "an output is a class, `{ _error = \"name\" }`, `{ _never = \"why\" }` or \"-\"";
                    findings.error("table/output", at, &cell.span, message);
                    None
                }
            };
        }
        let name = text_of(cell, at, findings)?;
        let domain = &self.domains[column];
        if let Some(class) = domain.class(&name.item) {
            return Some(Output::Class(class));
        }
        if name.item == "-" {
            return Some(Output::Nothing);
        }
        let known = domain.classes.iter().map(|class| class.name.as_str());
        let message = format!("`{}` is no word of `{column}`", name.item);
        findings.0.push(Finding::error("table/word", at, name.span, message).help(suggest(&name.item, known)));
        None
    }
}

/// The classes of an input cell, as ascending indices.
fn classes_of(cell: &Node, known: &[&str], at: &str, findings: &mut Findings) -> Vec<usize> {
    let mut out = Vec::new();
    let items = match &cell.kind {
        Kind::List(items) => items.as_slice(),
        _ => std::slice::from_ref(cell),
    };
    for item in items {
        let Some(name) = text_of(item, at, findings) else { continue };
        if name.item == "*" && !matches!(cell.kind, Kind::List(_)) {
            return (0..known.len()).collect();
        }
        match known.iter().position(|class| *class == name.item) {
            Some(class) if out.contains(&class) => {
                findings.error(
                    "table/class-twice",
                    at,
                    &name.span,
                    format!("`{}` stands twice in this cell", name.item),
                );
            }
            Some(class) => out.push(class),
            None => {
                let message = format!("`{}` is no class of this column", name.item);
                let finding = Finding::error("table/word", at, name.span, message);
                findings.0.push(finding.help(suggest(&name.item, known.iter().copied())));
            }
        }
    }
    out.sort_unstable();
    out
}
