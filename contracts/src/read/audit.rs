//! Audits: the columns of a log, and the tables that its lines are held against.

use indexmap::IndexMap;

use super::known_name;
use super::observed::Words;
use super::section::{Findings, Section, text_of};
use crate::finding::Finding;
use crate::model::{Audit, AuditRule, Base, Contract, Domain, Of, Standing, Term, Type};
use crate::node::{Kind, Node};
use crate::source::Span;
use crate::template::Expression;

pub(super) fn read(top: &Section<'_>, contract: &Contract, findings: &mut Findings) -> Option<Audit> {
    let node = top.node("audit")?;
    let section = Section::of("audit", node, findings)?;
    let words = Words { domains: &contract.domains, capabilities: &contract.capabilities };
    let columns = words.types(&section, "columns", findings);
    let mut audit = Audit {
        why: section.required("why", findings),
        key: section.required("key", findings),
        time: section.text("time", findings),
        also: IndexMap::new(),
        begins: IndexMap::new(),
        rules: Vec::new(),
        standing: Vec::new(),
        span: section.head(),
        columns,
    };
    let known = |name: &str, span: &Span, findings: &mut Findings| {
        known_name(name, span, "column", "audit", audit.columns.keys().map(String::as_str), findings)
    };
    for key in ["key", "time"] {
        if let Some(node) = section.node(key) {
            known(node.text().unwrap_or_default(), &node.span, findings);
        }
    }
    for (column, names) in section.lists("also", findings) {
        known(&column.item, &column.span, findings);
        audit.also.insert(column.item, names.into_iter().map(|name| name.item).collect());
    }
    let reader = Reader { contract, columns: &audit.columns };
    audit.begins = reader.classes(&section, "begins", findings);
    for node in section.items("rule", findings) {
        let named = node.fields().and_then(|fields| fields.get("name")).and_then(|field| field.value.text());
        let at = format!("audit.{}", named.unwrap_or("?"));
        let Some(section) = Section::of(at, node, findings) else { continue };
        if let Some(rule) = reader.rule(&section, findings) {
            if audit.rules.iter().any(|other| other.name == rule.name) {
                findings.error("format/name", &section.at, &rule.span, format!("there are two rules `{}`", rule.name));
            }
            audit.rules.push(rule);
        }
        section.finish(findings);
    }
    for node in section.items("standing", findings) {
        let named = node.fields().and_then(|fields| fields.get("name")).and_then(|field| field.value.text());
        let at = format!("audit.{}", named.unwrap_or("?"));
        let Some(section) = Section::of(at, node, findings) else { continue };
        audit.standing.push(Standing {
            name: super::rules::name(&section, findings),
            why: section.required("why", findings),
            sql: section.required("sql", findings),
            sql_span: section.node("sql").map_or(0..0, |node| node.span.clone()),
            span: section.head(),
        });
        section.finish(findings);
    }
    section.finish(findings);
    Some(audit)
}

struct Reader<'a> {
    contract: &'a Contract,
    columns: &'a IndexMap<String, Type>,
}

impl Reader<'_> {
    fn rule(&self, section: &Section<'_>, findings: &mut Findings) -> Option<AuditRule> {
        let (name, why) = (super::rules::name(section, findings), section.required("why", findings));
        let table = section.required("table", findings);
        let when = self.classes(section, "when", findings);
        let tables = self.contract.tables.values().filter(|table| table.set.is_none()).map(|t| t.name.as_str());
        let span = section.node("table").map_or(section.head(), |node| node.span.clone());
        for key in ["given", "found", "incomplete"] {
            section.field(key);
        }
        if !known_name(&table, &span, "table", &section.at, tables, findings) {
            return None;
        }
        let judge = &self.contract.tables[&table];
        let given = self.terms(section, "given", &judge.inputs, findings);
        let found = self.terms(section, "found", &judge.outputs, findings);
        if found.is_empty() {
            findings.error(
                "format/missing",
                &section.at,
                &section.head(),
                "say in `found` what the table's row must give",
            );
        }
        let mut incomplete = IndexMap::new();
        for (output, classes) in section.lists("incomplete", findings) {
            let outputs = judge.outputs.iter().map(String::as_str);
            if known_name(&output.item, &output.span, "output", &section.at, outputs, findings) {
                let domain = &self.contract.domains[&output.item];
                incomplete.insert(output.item, named(domain, classes, &section.at, findings));
            }
        }
        Some(AuditRule { name, why, table, when, given, found, incomplete, span: section.head() })
    }

    /// Columns of which only some classes are meant.
    fn classes(&self, section: &Section<'_>, key: &str, findings: &mut Findings) -> IndexMap<String, Vec<usize>> {
        let mut out = IndexMap::new();
        for (column, classes) in section.lists(key, findings) {
            let columns = self.columns.keys().map(String::as_str);
            if !known_name(&column.item, &column.span, "column", &section.at, columns, findings) {
                continue;
            }
            let Base::Domain(domain) = &self.columns[&column.item].base else {
                let message = format!("`{}` is no column of words, so it has no classes", column.item);
                findings.error("format/type", &section.at, &column.span, message);
                continue;
            };
            let domain = &self.contract.domains[domain];
            out.insert(column.item, named(domain, classes, &section.at, findings));
        }
        out
    }

    fn terms(
        &self,
        section: &Section<'_>,
        key: &str,
        known: &[String],
        findings: &mut Findings,
    ) -> IndexMap<String, Term> {
        let mut out = IndexMap::new();
        for (name, field) in section.map(key, findings) {
            let what = if key == "given" { "input" } else { "output" };
            if known_name(name, &field.key, what, &section.at, known.iter().map(String::as_str), findings)
                && let Some(term) = self.term(&field.value, &section.at, findings)
            {
                out.insert(name.clone(), term);
            }
        }
        out
    }

    fn term(&self, node: &Node, at: &str, findings: &mut Findings) -> Option<Term> {
        let Kind::Template(text) = &node.kind else {
            text_of(node, at, findings)?;
            return Some(Term::Word(node.value()));
        };
        let read = Expression::parse(text).filter(|expression| !expression.negative);
        let Some(Expression { name, plus, .. }) = read else {
            let message = "a term is a value, `$column`, `$before.column`, `$since.column` or `$same.column`";
            findings
                .0
                .push(Finding::error("audit/term", at, node.span.clone(), message).help("`+ N` or `- N` may follow"));
            return None;
        };
        let (of, column) = match name.split_once('.') {
            None => (Of::Line, name),
            Some(("before", column)) => (Of::Before, column),
            Some(("since", column)) => (Of::Since, column),
            Some(("same", column)) => (Of::Same, column),
            Some((other, _)) => {
                known_name(other, &node.span, "relation to the line before", at, ["before", "since", "same"], findings);
                return None;
            }
        };
        let columns = self.columns.keys().map(String::as_str);
        if !known_name(column, &node.span, "column", at, columns, findings) {
            return None;
        }
        let number = matches!(self.columns[column].base, Base::Int | Base::Time);
        if (of == Of::Since || plus.is_some()) && !number || of == Of::Same && plus.is_some() {
            findings.error("format/type", at, &node.span, format!("`{text}` is no number"));
            return None;
        }
        Some(Term::Column { of, column: column.to_owned(), plus: plus.unwrap_or(0) })
    }
}

fn named(domain: &Domain, names: Vec<crate::model::Spanned<String>>, at: &str, findings: &mut Findings) -> Vec<usize> {
    let mut out = Vec::new();
    for name in names {
        let known = domain.classes.iter().map(|class| class.name.as_str());
        if known_name(&name.item, &name.span, "class", at, known, findings) {
            out.extend(domain.class(&name.item));
        }
    }
    out
}
