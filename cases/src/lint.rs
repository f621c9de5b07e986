//! Rules that need the cases: every row is tried, and every rule is defended by a mutant that some case kills.

use std::collections::HashSet;

use nack_contracts::lint::{apply_accepts, lint};
use nack_contracts::model::{CheckName, Contract, Mutant, Table};
use nack_contracts::{Finding, suggest};

use crate::case::Case;
use crate::expand::expand_all;

/// Every finding of a contract that reads, with what it accepts taken away.
#[must_use]
pub fn check(contract: &Contract) -> Vec<Finding> {
    let mut findings = lint(contract);
    match expand_all(contract) {
        Ok(cases) => {
            uncovered_rows(contract, &cases, &mut findings);
            mutants(contract, &cases, &mut findings);
            undefended(contract, &cases, &mut findings);
        }
        Err(broken) => findings.extend(broken),
    }
    apply_accepts(contract, findings)
}

/// Whether a case's name is `prefix`, or stands below it.
#[must_use]
pub fn below(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The tables whose rows cases must try: not those that are looked up, nor those that only judge logs.
fn tried_by_cases(contract: &Contract) -> impl Iterator<Item = &Table> {
    contract.tables.values().filter(|table| table.set.is_none() && !contract.only_audits(&table.name))
}

fn uncovered_rows(contract: &Contract, cases: &[Case], findings: &mut Vec<Finding>) {
    let tried: HashSet<&str> = cases.iter().flat_map(|case| case.rows.iter().map(String::as_str)).collect();
    for table in tried_by_cases(contract) {
        for row in table.rows.iter().filter(|row| !row.never()) {
            let name = format!("{}.{}", table.name, row.id);
            if !tried.contains(name.as_str()) {
                let message = format!("no case tries the row `{}`", row.id);
                findings.push(
                    Finding::error("table/no-case", format!("table.{name}"), row.span.clone(), message)
                        .help("bind the table in a scenario, or say `{ _never = \"why\" }`"),
                );
            }
        }
    }
}

fn mutants(contract: &Contract, cases: &[Case], findings: &mut Vec<Finding>) {
    for mutant in &contract.mutants {
        let at = format!("mutant.{}", mutant.name);
        for entry in &mutant.killed_by {
            if !cases.iter().any(|case| below(&case.name, &entry.item)) {
                let message = format!("there is no case `{}`", entry.item);
                let known = suggest(&entry.item, cases.iter().map(|case| case.name.as_str()));
                let known = if known.starts_with("did") { known } else { "`nack list` shows them".to_owned() };
                findings.push(Finding::error("mutant/no-case", &at, entry.span.clone(), message).help(known));
            }
        }
        for check in &mutant.by {
            for need in needs_of(contract, &check.item) {
                if !mutant.needs.contains(need) {
                    let message = format!("`{}` needs `{need}`, which this mutant does not", check.item);
                    findings.push(
                        Finding::error("mutant/needs", &at, check.span.clone(), message)
                            .help(format!("add `needs = [\"{need}\"]` to the mutant")),
                    );
                }
            }
        }
    }
}

fn needs_of<'c>(contract: &'c Contract, check: &CheckName) -> &'c [String] {
    match check {
        CheckName::Invariant(name) => {
            let invariant = contract.invariants.iter().find(|invariant| invariant.name == *name);
            invariant.map_or(&[], |invariant| &invariant.needs)
        }
        _ => &[],
    }
}

/// Rows, scenarios, invariants and gates that no mutant stands for: nothing shows that they can refuse anybody.
fn undefended(contract: &Contract, cases: &[Case], findings: &mut Vec<Finding>) {
    let killing: Vec<&Case> = cases
        .iter()
        .filter(|case| {
            let entries = contract.mutants.iter().flat_map(|mutant: &Mutant| &mutant.killed_by);
            entries.into_iter().any(|entry| below(&case.name, &entry.item))
        })
        .collect();
    for scenario in &contract.scenarios {
        if !killing.iter().any(|case| case.scenario == scenario.name) {
            let message = format!("no mutant is killed by the scenario `{}`", scenario.name);
            let at = format!("scenario.{}", scenario.name);
            findings.push(Finding::error("scenario/undefended", at, scenario.span.clone(), message));
        }
    }
    let by: HashSet<&CheckName> = contract.mutants.iter().flat_map(|m| m.by.iter().map(|check| &check.item)).collect();
    let rules =
        contract.invariants.iter().map(|i| (CheckName::Invariant(i.name.clone()), &i.span, "invariant", &i.name));
    let gates = contract.gates.iter().map(|g| (CheckName::Gate(g.name.clone()), &g.span, "gate", &g.name));
    for (check, span, kind, name) in rules.chain(gates) {
        if !by.contains(&check) {
            let message = format!("no mutant is killed by `{check}`");
            findings.push(Finding::error("rule/undefended", format!("{kind}.{name}"), span.clone(), message));
        }
    }
    let rows: HashSet<&str> = killing.iter().flat_map(|case| case.rows.iter().map(String::as_str)).collect();
    for table in tried_by_cases(contract) {
        for row in table.rows.iter().filter(|row| !row.never()) {
            let name = format!("{}.{}", table.name, row.id);
            let excused = table.undefended.get(&row.id);
            match (rows.contains(name.as_str()), excused) {
                (false, None) => {
                    let message = format!("no mutant is killed by a case of the row `{}`", row.id);
                    findings.push(
                        Finding::error("table/undefended", format!("table.{name}"), row.span.clone(), message)
                            .help(format!("add a mutant, or say why not: undefended = {{ {} = \"…\" }}", row.id)),
                    );
                }
                (true, Some(excuse)) => {
                    let message = format!("`{}` is said to be undefended, and a mutant defends it", row.id);
                    findings.push(Finding::error(
                        "table/undefended",
                        format!("table.{name}"),
                        excuse.span.clone(),
                        message,
                    ));
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("outbox/deliver/a", "outbox/deliver/a", true)]
    #[case("outbox/deliver/a/does=null", "outbox/deliver/a", true)]
    #[case("outbox/deliver/ab", "outbox/deliver/a", false)]
    fn a_prefix_ends_at_a_slash(#[case] name: &str, #[case] prefix: &str, #[case] below: bool) {
        assert_eq!(super::below(name, prefix), below);
    }
}
