//! Rules of an audit: each must be able to refuse a line, and each column must be read.

use crate::finding::Finding;
use crate::model::{AuditRule, Base, Contract, Output, Term};
use crate::value::Value;

pub(super) fn lint(contract: &Contract, findings: &mut Vec<Finding>) {
    let Some(audit) = &contract.audit else { return };
    for rule in &audit.rules {
        if !can_refuse(contract, rule) {
            let message = "no line can break this rule: every row gives what `found` says";
            findings.push(Finding::error("audit/vacuous", format!("audit.{}", rule.name), rule.span.clone(), message));
        }
        if contract.tables[&rule.table].inputs.iter().all(|input| !rule.given.contains_key(input)) {
            let message = "this rule gives its table no input, so no row can be told from another";
            findings.push(Finding::error("audit/blind", format!("audit.{}", rule.name), rule.span.clone(), message));
        }
    }
    for (name, ty) in &audit.columns {
        let read = audit.rules.iter().any(|rule| rule.columns().any(|column| column == name));
        if !read && *name != audit.key && Some(name) != audit.time.as_ref() && !audit.begins.contains_key(name) {
            let message = format!("no rule reads the column `{name}`");
            findings.push(Finding::error("audit/unused", "audit", audit.span.clone(), message));
        }
        if audit.time.as_ref() == Some(name) && ty.base != Base::Time {
            let message = format!("`{name}` says when, so it is of type `time`");
            findings.push(Finding::error("audit/time", "audit", audit.span.clone(), message));
        }
    }
    if audit.columns.get(&audit.key).is_some_and(|ty| ty.nullable) {
        let message = format!("`{}` names whose line it is, so it cannot be blank", audit.key);
        findings.push(Finding::error("audit/key", "audit", audit.span.clone(), message));
    }
}

/// A rule whose `found` is a plain word refuses only if some row gives another.
fn can_refuse(contract: &Contract, rule: &AuditRule) -> bool {
    let table = &contract.tables[&rule.table];
    table.outputs.iter().enumerate().any(|(column, output)| {
        let domain = &contract.domains[output];
        let gives_other = |word: &Value| {
            let class = domain.find(word).map(|(class, _)| class);
            table.rows.iter().any(|row| match &row.outputs[column].gives {
                Output::Class(given) => Some(*given) != class,
                Output::Error(_) | Output::Never(_) => true,
                Output::Nothing => false,
            })
        };
        match rule.found.get(output) {
            Some(Term::Word(word)) => gives_other(word),
            Some(Term::Column { .. }) => true,
            None => false,
        }
    })
}
