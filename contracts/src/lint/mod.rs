//! The linter: what a contract that reads can still get wrong. Rule ids are stable, so that `[[accept]]` can name them.

mod audit;
mod tables;
mod words;

use crate::finding::{Finding, Severity};
use crate::model::Contract;

/// Every rule that needs no case: tables, words, and SQL. Findings stand in the file's order.
#[must_use]
pub fn lint(contract: &Contract) -> Vec<Finding> {
    let mut findings = Vec::new();
    for table in contract.tables.values() {
        tables::lint(contract, table, &mut findings);
    }
    words::lint(contract, &mut findings);
    audit::lint(contract, &mut findings);
    sql(contract, &mut findings);
    findings.sort_by_key(|finding| (finding.span().start, finding.rule));
    findings
}

/// Takes away what the contract accepts on purpose. An acceptance that hits nothing is an error: it hides what comes next.
#[must_use]
pub fn apply_accepts(contract: &Contract, findings: Vec<Finding>) -> Vec<Finding> {
    let mut used = vec![false; contract.accepts.len()];
    let mut out: Vec<Finding> = findings
        .into_iter()
        .filter(|finding| {
            let hit = |accept: &crate::model::Accept| accept.rule == finding.rule && accept.at == finding.at;
            let hits: Vec<usize> = (0..used.len()).filter(|index| hit(&contract.accepts[*index])).collect();
            hits.iter().for_each(|index| used[*index] = true);
            hits.is_empty()
        })
        .collect();
    for (accept, _) in contract.accepts.iter().zip(&used).filter(|(accept, used)| !**used && !accept.of_a_change()) {
        let message = format!("nothing is found by `{}` at `{}`", accept.rule, accept.at);
        out.push(
            Finding::error("accept/unused", "accept", accept.span.clone(), message)
                .help("take this acceptance out, or give it the rule and the place that a finding names"),
        );
    }
    out.sort_by_key(|finding| (finding.span().start, finding.rule));
    out
}

/// Whether any finding refuses the contract.
#[must_use]
pub fn refuses(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Error)
}

/// Whether a statement reads and does nothing else: ATTACH and PRAGMA count as reading for SQLite.
fn is_query(sql: &str) -> bool {
    let word = sql.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    matches!(word.as_str(), "SELECT" | "WITH" | "VALUES")
}

/// Every invariant must prepare against the relations, and only read.
fn sql(contract: &Contract, findings: &mut Vec<Finding>) {
    let prepared = rusqlite::Connection::open_in_memory().and_then(|connection| {
        connection.execute_batch(&crate::relations::schema(contract))?;
        Ok(connection)
    });
    let connection = match prepared {
        Ok(connection) => connection,
        Err(error) => {
            let message = format!("the relations cannot be made: {error}");
            findings.push(Finding::error("sql/relations", "contract", contract.name_span.clone(), message));
            return;
        }
    };
    for invariant in &contract.invariants {
        let at = format!("invariant.{}", invariant.name);
        let broken = match connection.prepare(&invariant.sql) {
            Ok(statement) if !statement.readonly() || !is_query(&invariant.sql) => {
                Some("this is no query: an invariant reads rows that break it".to_owned())
            }
            Ok(_) => None,
            Err(error) => Some(format!("this SQL does not prepare against the contract's relations: {error}")),
        };
        if let Some(message) = broken {
            let names: Vec<String> = crate::relations::relations(contract)
                .iter()
                .map(|relation| format!("{}({})", relation.name, relation.columns.join(", ")))
                .collect();
            findings.push(
                Finding::error("sql/prepare", at, invariant.sql_span.clone(), message)
                    .help(format!("the relations are {}", names.join("; "))),
            );
        }
    }
}
