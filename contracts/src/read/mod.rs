//! From the file's tree to the model. Reading collects as many findings as it can before it gives up, and a contract
//! that was read refers to nothing that does not exist.

mod audit;
mod domains;
mod observed;
mod rules;
mod section;
mod tables;

use indexmap::IndexMap;

use crate::finding::{Finding, suggest};
use crate::model::{ADAPTER_CAPABILITIES, Accept, Capability, Contract, Durability, Param, Resolved};
use crate::node::{Field, Fields, Kind, Node};
use crate::source::{Source, Span};
use crate::value::Value;
use section::{Findings, Section, is_name};

impl Contract {
    /// Reads a contract, with some of its parameters overridden.
    ///
    /// # Errors
    /// Every finding that keeps the file from being a contract.
    pub fn read(source: Source, overrides: &IndexMap<String, i64>) -> Result<Contract, Vec<Finding>> {
        let fields = Node::parse(&source.text)?;
        let mut findings = Findings::default();
        let contract = read(&source, &fields, overrides, &mut findings);
        if findings.0.is_empty() {
            Ok(contract)
        } else {
            findings.0.sort_by_key(|finding| (finding.span().start, finding.rule));
            findings.0.dedup();
            Err(findings.0)
        }
    }
}

fn read(source: &Source, fields: &Fields, overrides: &IndexMap<String, i64>, findings: &mut Findings) -> Contract {
    let top = Section::new("contract", 0..0, fields);
    match top.int("format", findings) {
        Some(1) => {}
        Some(other) => {
            let span = top.node("format").map_or(0..0, |node| node.span.clone());
            findings.error(
                "format/version",
                "contract",
                &span,
                format!("format {other} is unknown; this nack reads 1"),
            );
        }
        None => findings.error("format/missing", "contract", &(0..0), "`format = 1` is missing"),
    }
    let name = top.required("name", findings);
    let name_span = top.node("name").map_or(0..0, |node| node.span.clone());
    if !name.is_empty() && !is_name(&name) {
        findings.error("format/name", "contract", &name_span, "a name is made of a-z, 0-9, - and _");
    }
    let params = params(&top, overrides, findings);
    let capabilities = capabilities(&top, findings);
    let domains = domains::read(&top, &params, &capabilities, findings);
    let words = observed::Words { domains: &domains, capabilities: &capabilities };
    let mut contract = Contract {
        source: source.clone(),
        name,
        name_span,
        version: top.int("version", findings).unwrap_or(1),
        title: top.required("title", findings),
        owner: top.required("owner", findings),
        durability: durability(&top, findings),
        banned: top.strings("banned", findings).iter().map(|word| word.to_lowercase()).collect(),
        limits: top.strings("limits", findings),
        resolved: resolved(&top, findings),
        accepts: accepts(&top, findings),
        stores: observed::stores(&top, &words, findings),
        effects: observed::effects(&top, &words, findings),
        calls: IndexMap::new(),
        tables: tables::read(&top, &domains, &capabilities, findings),
        scenarios: Vec::new(),
        invariants: Vec::new(),
        gates: Vec::new(),
        mutants: Vec::new(),
        audit: None,
        params,
        capabilities: capabilities.clone(),
        domains: domains.clone(),
    };
    contract.calls = observed::calls(&top, &words, &contract.effects, findings);
    rules::read(&top, &mut contract, findings);
    contract.audit = audit::read(&top, &contract, findings);
    top.finish(findings);
    contract
}

fn params(top: &Section<'_>, overrides: &IndexMap<String, i64>, findings: &mut Findings) -> IndexMap<String, Param> {
    let mut params = IndexMap::new();
    for (name, field) in top.map("param", findings) {
        check_name(name, "param", field, true, findings);
        match field.value.value() {
            Value::Int(default) => {
                let value = overrides.get(name).copied().unwrap_or(default);
                params.insert(name.clone(), Param { value, span: field.key.clone() });
            }
            _ => findings.error("format/type", "param", &field.value.span, "a parameter is an integer"),
        }
    }
    for name in overrides.keys().filter(|name| !params.contains_key(*name)) {
        let message = format!("the binding overrides `{name}`, which is no parameter of this contract");
        let known = suggest(name, params.keys().map(String::as_str));
        findings.0.push(Finding::error("format/reference", "param", 0..0, message).help(known));
    }
    params
}

fn capabilities(top: &Section<'_>, findings: &mut Findings) -> IndexMap<String, Capability> {
    let mut out = IndexMap::new();
    for (name, field) in top.map("capability", findings) {
        let at = format!("capability.{name}");
        check_name(name, &at, field, false, findings);
        let (why, from) = match &field.value.kind {
            Kind::Map(_) => {
                let Some(section) = Section::of(&at, &field.value, findings) else { continue };
                let read = (section.required("why", findings), section.text("from", findings));
                section.finish(findings);
                read
            }
            _ => (field.value.text().unwrap_or_default().to_owned(), None),
        };
        if why.trim().is_empty() {
            findings.error(
                "format/missing",
                &at,
                &field.key,
                "a capability needs the sentence that says what it means",
            );
        }
        let from_adapter = match from.as_deref() {
            None | Some("subject") => false,
            Some("adapter") => true,
            Some(_) => {
                findings.error("format/value", &at, &field.value.span, "`from` is \"subject\" or \"adapter\"");
                false
            }
        };
        if from_adapter != ADAPTER_CAPABILITIES.contains(&name.as_str()) {
            let message = if from_adapter {
                format!("a harness cannot derive `{name}`; it derives {}", ADAPTER_CAPABILITIES.join(", "))
            } else {
                format!("`{name}` is derived by the harness: write `{{ why = \"…\", from = \"adapter\" }}`")
            };
            findings.error("capability/adapter", &at, &field.key, message);
        }
        out.insert(name.clone(), Capability { why, from_adapter, span: field.key.clone() });
    }
    out
}

fn durability(top: &Section<'_>, findings: &mut Findings) -> Durability {
    match top.text("durability", findings).as_deref() {
        None | Some("kill") => Durability::Kill,
        Some("power") => Durability::Power,
        Some(_) => {
            let span = top.node("durability").map_or(0..0, |node| node.span.clone());
            findings.error("format/value", "contract", &span, "`durability` is \"kill\" or \"power\"");
            Durability::Kill
        }
    }
}

fn resolved(top: &Section<'_>, findings: &mut Findings) -> Vec<Resolved> {
    let mut out = Vec::new();
    for node in top.items("resolved", findings) {
        let Some(section) = Section::of("resolved", node, findings) else { continue };
        out.push(Resolved {
            question: section.required("question", findings),
            choice: section.required("choice", findings),
            why: section.required("why", findings),
        });
        section.finish(findings);
    }
    out
}

fn accepts(top: &Section<'_>, findings: &mut Findings) -> Vec<Accept> {
    let mut out = Vec::new();
    for node in top.items("accept", findings) {
        let Some(section) = Section::of("accept", node, findings) else { continue };
        let accept = Accept {
            rule: section.required("rule", findings),
            at: section.required("at", findings),
            date: section.text("date", findings),
            why: section.required("why", findings),
            span: section.head(),
        };
        match &accept.date {
            Some(date) if !is_date(date) => {
                let span = section.node("date").map_or(section.head(), |node| node.span.clone());
                findings.error("format/value", "accept", &span, "a date is written \"YYYY-MM-DD\"");
            }
            None if accept.of_a_change() => {
                let message = "a weakening is accepted on a day: `date` is missing";
                findings.0.push(
                    Finding::error("format/missing", "accept", section.head(), message)
                        .help("add `date = \"YYYY-MM-DD\"` to this section"),
                );
            }
            _ => {}
        }
        out.push(accept);
        section.finish(findings);
    }
    out
}

/// A day of the calendar, as `YYYY-MM-DD`.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |part: &str, digits: usize, most: u32| {
        let number = (part.len() == digits && part.bytes().all(|b| b.is_ascii_digit())).then(|| part.parse().ok());
        number.flatten().is_some_and(|number: u32| (1..=most).contains(&number))
    };
    matches!(parts[..], [year, month, day] if number(year, 4, 9999) && number(month, 2, 12) && number(day, 2, 31))
}

/// A name that stands as `$name` may not hold a `-`, which would read as a subtraction.
fn check_name(name: &str, at: &str, field: &Field, referred: bool, findings: &mut Findings) {
    if !is_name(name) {
        findings.error("format/name", at, &field.key, "a name is made of a-z, 0-9, - and _");
    } else if referred && name.contains('-') {
        findings.error("format/name", at, &field.key, "this name is used as `$name`, so it cannot hold a `-`");
    }
}

/// Capabilities that exist.
fn known_capabilities(
    names: Vec<crate::model::Spanned<String>>,
    at: &str,
    known: &IndexMap<String, Capability>,
    findings: &mut Findings,
) -> Vec<String> {
    for name in &names {
        known_name(&name.item, &name.span, "capability", at, known.keys().map(String::as_str), findings);
    }
    names.into_iter().map(|name| name.item).collect()
}

/// Reports a name that does not exist, with what would be near. True if it exists.
fn known_name<'a>(
    name: &str,
    span: &Span,
    what: &str,
    at: &str,
    known: impl IntoIterator<Item = &'a str>,
    findings: &mut Findings,
) -> bool {
    let known: Vec<&str> = known.into_iter().collect();
    if known.contains(&name) {
        return true;
    }
    let message = format!("there is no {what} `{name}`");
    findings.0.push(Finding::error("format/reference", at, span.clone(), message).help(suggest(name, known)));
    false
}
