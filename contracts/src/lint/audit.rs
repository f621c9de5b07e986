//! Rules of an audit: each must be able to refuse a line, and each column must be read.

use crate::finding::Finding;
use crate::model::{Audit, AuditRule, Base, Contract, Output, Term};
use crate::relations::{Relation, quote, relations};
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
    standing(contract, audit, findings);
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

/// Every standing rule must prepare against the stores and the clock, and only read.
fn standing(contract: &Contract, audit: &Audit, findings: &mut Vec<Finding>) {
    let relations = relations(contract);
    let stores: Vec<&Relation> = relations.iter().filter(|r| contract.stores.contains_key(&r.name)).collect();
    let table = |relation: &&Relation| {
        let columns: Vec<String> = relation.columns.iter().map(|column| quote(column)).collect();
        format!("CREATE TABLE {} ({});", quote(&relation.name), columns.join(", "))
    };
    let schema: String = stores.iter().map(table).chain(["CREATE TABLE clock (now);".to_owned()]).collect();
    for rule in &audit.standing {
        let prepared = rusqlite::Connection::open_in_memory().and_then(|connection| {
            connection.execute_batch(&schema)?;
            Ok(connection.prepare(&rule.sql)?.readonly() && super::is_query(&rule.sql))
        });
        let message = match prepared {
            Ok(true) => continue,
            Ok(false) => "this is no query: it reads rows that should not stand".to_owned(),
            Err(error) => format!("this SQL does not prepare against the stores and `clock`: {error}"),
        };
        let at = format!("audit.{}", rule.name);
        findings.push(Finding::error("sql/prepare", at, rule.sql_span.clone(), message));
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
