//! Words: everything that is declared is used, and no closed vocabulary holds a banned look-alike.

use std::collections::HashSet;

use crate::finding::Finding;
use crate::model::{Base, Contract, Output, Type};
use crate::node::{Kind, Node};
use crate::value::Value;

pub(super) fn lint(contract: &Contract, findings: &mut Vec<Finding>) {
    unused_domains(contract, findings);
    unused_outputs(contract, findings);
    unused_capabilities(contract, findings);
    params(contract, findings);
    banned(contract, findings);
}

fn domains_of<'a>(types: impl Iterator<Item = &'a Type>) -> impl Iterator<Item = &'a str> {
    types.filter_map(|ty| match &ty.base {
        Base::Domain(domain) => Some(domain.as_str()),
        _ => None,
    })
}

/// The domains whose words a subject may show: store columns, effect columns, replies and words inside replies.
fn shown(contract: &Contract) -> HashSet<&str> {
    let mut out: HashSet<&str> = HashSet::new();
    out.extend(contract.stores.values().flat_map(|store| domains_of(store.columns.values())));
    out.extend(contract.effects.values().flat_map(|effect| domains_of(effect.columns.values())));
    for call in contract.calls.values() {
        if let Some(Base::Domain(domain)) = &call.reply {
            out.insert(domain);
        }
        out.extend(call.words.values().map(String::as_str));
    }
    out
}

fn unused_domains(contract: &Contract, findings: &mut Vec<Finding>) {
    let mut used = shown(contract);
    used.extend(contract.effects.values().flat_map(|effect| effect.answers.iter().map(String::as_str)));
    used.extend(contract.calls.values().flat_map(|call| domains_of(call.args.values())));
    for table in contract.tables.values() {
        used.extend(table.inputs.iter().filter(|_| table.set.is_none()).map(String::as_str));
        used.extend(table.outputs.iter().map(String::as_str));
        used.extend(table.set.as_deref());
    }
    used.extend(contract.scenarios.iter().flat_map(|scenario| scenario.bind.iter().map(|bound| bound.name.as_str())));
    for (name, domain) in contract.domains.iter().filter(|(name, _)| !used.contains(name.as_str())) {
        let message = format!("nothing uses the domain `{name}`");
        findings.push(Finding::error("domain/unused", format!("domain.{name}"), domain.span.clone(), message));
    }
}

/// A class that an output's own table could give and that no table does: either a rule is missing or a word is.
fn unused_outputs(contract: &Contract, findings: &mut Vec<Finding>) {
    let outputs: HashSet<&str> =
        contract.tables.values().flat_map(|table| table.outputs.iter().map(String::as_str)).collect();
    for (name, domain) in contract.domains.iter().filter(|(name, _)| outputs.contains(name.as_str())) {
        let mut given: HashSet<usize> = HashSet::new();
        let mut read = false;
        for table in contract.tables.values() {
            read |= table.inputs.contains(name) && table.set.is_none();
            let column = table.outputs.iter().position(|output| output == name);
            for cell in column.into_iter().flat_map(|column| table.rows.iter().map(move |row| &row.outputs[column])) {
                if let Output::Class(class) = cell.gives {
                    given.insert(class);
                }
            }
        }
        // A domain that is an input somewhere, or a vocabulary of its own, has classes for other ends as well.
        if read || domain.like || shown(contract).contains(name.as_str()) {
            continue;
        }
        for (index, class) in domain.classes.iter().enumerate().filter(|(index, _)| !given.contains(index)) {
            if domain.otherwise == Some(index) {
                continue;
            }
            let message = format!("no row of any table gives `{name}` = `{}`", class.name);
            let finding =
                Finding::error("domain/output-unused", format!("domain.{name}"), domain.span.clone(), message);
            findings.push(finding.advice());
        }
    }
}

fn unused_capabilities(contract: &Contract, findings: &mut Vec<Finding>) {
    let samples = contract.domains.values().flat_map(|domain| &domain.classes).flat_map(|class| &class.samples);
    let lists = contract
        .stores
        .values()
        .flat_map(|store| store.needs.values())
        .chain(contract.calls.values().map(|call| &call.needs))
        .chain(contract.tables.values().flat_map(|table| table.needs.values()))
        .chain(contract.scenarios.iter().map(|scenario| &scenario.needs))
        .chain(contract.invariants.iter().map(|invariant| &invariant.needs))
        .chain(contract.mutants.iter().map(|mutant| &mutant.needs))
        .chain(samples.map(|sample| &sample.needs));
    let mut used: HashSet<&str> = lists.flatten().map(String::as_str).collect();
    let steps = || contract.scenarios.iter().flat_map(|scenario| &scenario.steps);
    for (key, capability) in [
        ("after", "backoff"),
        ("advance", "clock"),
        ("_raise", "values"),
        ("_net", "http"),
        ("_http", "http"),
        ("_signal", "process"),
    ] {
        if steps().any(|step| has_key(step, key)) {
            used.insert(capability);
        }
    }
    for (name, capability) in contract.capabilities.iter().filter(|(name, _)| !used.contains(name.as_str())) {
        let message = format!("nothing needs the capability `{name}`");
        findings.push(Finding::error(
            "capability/unused",
            format!("capability.{name}"),
            capability.span.clone(),
            message,
        ));
    }
}

fn has_key(node: &Node, key: &str) -> bool {
    match &node.kind {
        Kind::Map(fields) => fields.contains_key(key) || fields.values().any(|field| has_key(&field.value, key)),
        Kind::List(items) => items.iter().any(|item| has_key(item, key)),
        _ => false,
    }
}

fn params(contract: &Contract, findings: &mut Vec<Finding>) {
    // Ranges and samples are filled in while the contract is read, so their text tells what they named.
    let text = &contract.source.text;
    for (name, param) in &contract.params {
        let at = format!("param.{name}");
        let used = text.match_indices(&format!("${name}")).any(|(start, found)| {
            !text[start + found.len()..].starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        });
        if !used {
            let message = format!("nothing uses the parameter `{name}`");
            findings.push(Finding::error("param/unused", &at, param.span.clone(), message));
        }
        if contract.domains.contains_key(name) {
            let message = format!("the parameter `{name}` has the name of a column, so `${name}` would be two things");
            findings.push(Finding::error("param/shadows", &at, param.span.clone(), message));
        }
    }
}

fn banned(contract: &Contract, findings: &mut Vec<Finding>) {
    for name in shown(contract) {
        let domain = &contract.domains[name];
        for (_, class) in domain.classes.iter().enumerate().filter(|(index, _)| domain.otherwise != Some(*index)) {
            for sample in &class.samples {
                let Value::Text(text) = sample.node.value() else { continue };
                if contract.banned.contains(&text.trim().to_lowercase()) {
                    let message = format!("`{text}` is a banned look-alike, and `{name}` makes a word of it");
                    let span = sample.node.span.clone();
                    findings.push(Finding::error("word/banned", format!("domain.{name}"), span, message));
                }
            }
        }
    }
}
