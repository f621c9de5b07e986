//! Scenarios, invariants, gates and mutants: what is tried and what must hold.

use indexmap::IndexMap;

use super::section::{Findings, Section, is_name};
use super::{known_capabilities, known_name};
use crate::model::{Bound, CheckName, Contract, Gate, Invariant, Mutant, Scenario, Spanned, Vary};
use crate::node::{Kind, Node};

pub(super) fn read(top: &Section<'_>, contract: &mut Contract, findings: &mut Findings) {
    each(top, "scenario", findings, |section, findings| {
        let scenario = scenario(section, contract, findings);
        contract.scenarios.push(scenario);
    });
    each(top, "invariant", findings, |section, findings| {
        let sql_span = section.node("sql").map_or(0..0, |node| node.span.clone());
        contract.invariants.push(Invariant {
            name: name(section, findings),
            why: section.required("why", findings),
            sql: section.required("sql", findings),
            sql_span,
            needs: needs(section, contract, findings),
            span: section.head(),
        });
    });
    each(top, "gate", findings, |section, findings| {
        let gate = gate(section, contract, findings);
        contract.gates.push(gate);
    });
    each(top, "mutant", findings, |section, findings| {
        let mutant = mutant(section, contract, findings);
        contract.mutants.push(mutant);
    });
    twice("scenario", contract.scenarios.iter().map(|s| (&s.name, &s.span)), findings);
    twice("invariant", contract.invariants.iter().map(|i| (&i.name, &i.span)), findings);
    twice("gate", contract.gates.iter().map(|g| (&g.name, &g.span)), findings);
    twice("mutant", contract.mutants.iter().map(|m| (&m.name, &m.span)), findings);
}

fn each(top: &Section<'_>, key: &str, findings: &mut Findings, mut read: impl FnMut(&Section<'_>, &mut Findings)) {
    for node in top.items(key, findings) {
        let named = node.fields().and_then(|fields| fields.get("name")).and_then(|field| field.value.text());
        let at = format!("{key}.{}", named.unwrap_or("?"));
        if let Some(section) = Section::of(at, node, findings) {
            read(&section, findings);
            section.finish(findings);
        }
    }
}

fn twice<'a>(
    what: &str,
    names: impl Iterator<Item = (&'a String, &'a std::ops::Range<usize>)>,
    findings: &mut Findings,
) {
    let mut seen: IndexMap<&str, ()> = IndexMap::new();
    for (name, span) in names {
        if seen.insert(name, ()).is_some() {
            findings.error("format/name", &format!("{what}.{name}"), span, format!("there are two {what}s `{name}`"));
        }
    }
}

pub(super) fn name(section: &Section<'_>, findings: &mut Findings) -> String {
    let name = section.required("name", findings);
    if !name.is_empty() && !is_name(&name) {
        let span = section.node("name").map_or(section.head(), |node| node.span.clone());
        findings.error("format/name", &section.at, &span, "a name is made of a-z, 0-9, - and _");
    }
    name
}

fn needs(section: &Section<'_>, contract: &Contract, findings: &mut Findings) -> Vec<String> {
    known_capabilities(section.texts("needs", findings), &section.at, &contract.capabilities, findings)
}

fn scenario(section: &Section<'_>, contract: &Contract, findings: &mut Findings) -> Scenario {
    let at = section.at.as_str();
    let bind = bind(section, contract, findings);
    let aliases: Vec<&str> = bind.iter().map(|bound| bound.alias.as_deref().unwrap_or(&bound.name)).collect();
    let mut only = IndexMap::new();
    for (alias, rows) in section.lists("only", findings) {
        if known_name(&alias.item, &alias.span, "bound table", at, aliases.iter().copied(), findings) {
            let bound = bind.iter().find(|b| b.alias.as_deref().unwrap_or(&b.name) == alias.item);
            if let Some(table) = bound.and_then(|bound| contract.tables.get(&bound.name)) {
                let ids: Vec<&str> = table.rows.iter().map(|row| row.id.as_str()).collect();
                for row in &rows {
                    known_name(&row.item, &row.span, "row", at, ids.iter().copied(), findings);
                }
            }
        }
        only.insert(alias.item, Spanned { item: rows, span: alias.span });
    }
    let mut keep = IndexMap::new();
    for (column, classes) in section.lists("where", findings) {
        keep.insert(column.item, Spanned { item: classes, span: column.span });
    }
    let vary = match section.text("vary", findings).as_deref() {
        None | Some("one") => Vary::One,
        Some("all") => Vary::All,
        Some("none") => Vary::None,
        Some(_) => {
            let span = section.node("vary").map_or(section.head(), |node| node.span.clone());
            findings.error("format/value", at, &span, "`vary` is \"one\", \"all\" or \"none\"");
            Vary::One
        }
    };
    let mut lookup = IndexMap::new();
    for (table, field) in section.map("lookup", findings) {
        let sets = contract.tables.values().filter(|table| table.set.is_some()).map(|table| table.name.as_str());
        known_name(table, &field.key, "set table", at, sets, findings);
        match &field.value.kind {
            Kind::List(items) => {
                lookup.insert(table.clone(), Spanned { item: items.clone(), span: field.key.clone() });
            }
            _ => findings.error("format/type", at, &field.value.span, "a lookup takes a list of values"),
        }
    }
    let given = section.map("given", findings).clone();
    for (store, field) in &given {
        known_name(store, &field.key, "store", at, contract.stores.keys().map(String::as_str), findings);
    }
    let steps = section.items("steps", findings).to_vec();
    if steps.is_empty() {
        findings.error("format/missing", at, &section.head(), "a scenario has steps");
    }
    Scenario {
        name: name(section, findings),
        why: section.required("why", findings),
        bind,
        keep,
        only,
        vary,
        lookup,
        needs: needs(section, contract, findings),
        given,
        steps,
        span: section.head(),
    }
}

fn bind(section: &Section<'_>, contract: &Contract, findings: &mut Findings) -> Vec<Bound> {
    let at = section.at.as_str();
    let mut out: Vec<Bound> = Vec::new();
    let mut add = |alias: Option<String>, node: &Node, findings: &mut Findings| {
        let name = node.text().unwrap_or_default();
        let tables = contract.tables.values().filter(|table| table.set.is_none()).map(|table| table.name.as_str());
        let known = tables.chain(contract.domains.keys().map(String::as_str));
        if known_name(name, &node.span, "table or domain", at, known, findings) {
            out.push(Bound { alias, name: name.to_owned(), span: node.span.clone() });
        }
    };
    match section.node("bind").map(|node| &node.kind) {
        None => {}
        Some(Kind::List(items)) => items.iter().for_each(|item| add(None, item, findings)),
        Some(Kind::Map(fields)) => {
            for (alias, field) in fields {
                if !is_name(alias) || alias.contains('-') {
                    findings.error(
                        "format/name",
                        at,
                        &field.key,
                        "an alias is used as `$alias.column`: a-z, 0-9 and _",
                    );
                }
                add(Some(alias.clone()), &field.value, findings);
            }
        }
        Some(_) => {
            let span = section.node("bind").map_or(section.head(), |node| node.span.clone());
            findings.error("format/type", at, &span, "`bind` is a list of tables and domains, or a table alias = name");
        }
    }
    out
}

fn gate(section: &Section<'_>, contract: &Contract, findings: &mut Findings) -> Gate {
    let at = section.at.as_str();
    let store = section.required("store", findings);
    let mut unique = Vec::new();
    if let Some(node) = section.node("store")
        && known_name(&store, &node.span, "store", at, contract.stores.keys().map(String::as_str), findings)
    {
        let columns = &contract.stores[&store].columns;
        for column in section.texts("unique", findings) {
            known_name(&column.item, &column.span, "column", at, columns.keys().map(String::as_str), findings);
            unique.push(column.item);
        }
        for row in section.items("rows", findings) {
            for (column, field) in row.fields().into_iter().flatten() {
                known_name(column, &field.key, "column", at, columns.keys().map(String::as_str), findings);
            }
        }
    }
    section.field("unique");
    let rows = section.items("rows", findings).to_vec();
    if unique.is_empty() || rows.len() < 2 {
        findings.error("format/missing", at, &section.head(), "a gate has `unique` columns and at least two `rows`");
    }
    Gate {
        name: name(section, findings),
        why: section.required("why", findings),
        store,
        unique,
        rows,
        span: section.head(),
    }
}

fn mutant(section: &Section<'_>, contract: &Contract, findings: &mut Findings) -> Mutant {
    let at = section.at.as_str();
    let killed_by = section.texts("killed_by", findings);
    let by = match section.node("by") {
        Some(node) if node.text().is_some() => {
            section.text("by", findings).into_iter().map(|item| Spanned { item, span: node.span.clone() }).collect()
        }
        Some(_) => section.texts("by", findings),
        None => Vec::new(),
    };
    if killed_by.is_empty() || by.is_empty() {
        let message =
            "a mutant names the cases that must kill it (`killed_by`) and the check that must not hold (`by`)";
        findings.error("format/missing", at, &section.head(), message);
    }
    let invariants = || contract.invariants.iter().map(|invariant| format!("invariant:{}", invariant.name));
    let gates = || contract.gates.iter().map(|gate| format!("gate:{}", gate.name));
    let known: Vec<String> =
        ["reply", "expect", "vocabulary"].map(String::from).into_iter().chain(invariants()).chain(gates()).collect();
    let mut checks = Vec::new();
    for check in by {
        let known = known.iter().map(String::as_str);
        if known_name(&check.item, &check.span, "check", at, known, findings)
            && let Ok(item) = check.item.parse::<CheckName>()
        {
            checks.push(Spanned { item, span: check.span });
        }
    }
    Mutant {
        name: name(section, findings),
        defect: section.required("defect", findings),
        killed_by,
        by: checks,
        needs: needs(section, contract, findings),
        span: section.head(),
    }
}
