//! A whole run as a report: contracts with their digests, subjects, counts, and what the run does not show.

use indexmap::IndexMap;
use nack_cases::{Case, FaultKind};
use nack_reports::{CaseReport, ContractInfo, Counts, Exit, Proof, Report, Verdict, uncovered};

use crate::target::Target;

/// Builds the report of a run. `exit` is computed from the cases and the proof; `required` cases that did not count
/// make it inconclusive.
#[must_use]
pub fn report(
    targets: &[Target],
    cases: Vec<CaseReport>,
    proof: Option<Proof>,
    seed: u64,
    required: &dyn Fn(&CaseReport) -> bool,
) -> Report {
    let mut contracts: IndexMap<String, ContractInfo> = IndexMap::new();
    for target in targets {
        contracts.entry(target.digest.clone()).or_insert_with(|| ContractInfo {
            name: target.contract.name.clone(),
            version: target.contract.version,
            digest: target.digest.clone(),
            file: target.contract.source.file.clone(),
            overrides: target.overrides.clone(),
        });
    }
    let exit = cases.iter().map(|case| exit_of(case, required)).fold(Exit::Held, Exit::and);
    let exit = proof.as_ref().map_or(exit, |proof| exit.and(crate::prove::exit_of(proof)));
    Report {
        format: 1,
        nack: env!("CARGO_PKG_VERSION").to_owned(),
        seed,
        shard: None,
        contracts: contracts.into_values().collect(),
        subjects: targets.iter().map(Target::info).collect(),
        counts: Counts::of(&cases),
        closing: closing(targets, &cases),
        cases,
        proof,
        exit: exit.code(),
        elapsed_ms: 0,
    }
}

fn exit_of(case: &CaseReport, required: &dyn Fn(&CaseReport) -> bool) -> Exit {
    if case.verdict == Verdict::NotCovered && required(case) { Exit::Inconclusive } else { case.exit() }
}

/// Whether a case was run on this target in which the caller never has its answer.
fn loses_answers(target: &Target, cases: &[CaseReport]) -> bool {
    let loses = |case: &&Case| crate::run::faults(case).any(|fault| fault.by == FaultKind::Lost);
    let ran = |name: &str| {
        let here = |case: &&CaseReport| case.subject == target.subject && case.name == name;
        cases.iter().find(here).is_some_and(|case| case.verdict != Verdict::NotCovered)
    };
    target.cases.iter().filter(loses).any(|case| ran(&case.name))
}

/// What a green run does not show: limits of the contracts, what was not covered, and how kills were done.
fn closing(targets: &[Target], cases: &[CaseReport]) -> Vec<String> {
    let mut out: Vec<String> = uncovered(&Counts::of(cases)).into_iter().collect();
    let ran = |adapter: &str| targets.iter().any(|target| target.adapter.kind() == adapter);
    if ran("in-process") {
        out.push(
            "in-process kills are kills by copy: the store is judged as it was at that moment, but no process died"
                .to_owned(),
        );
    }
    let untold = |target: &Target| target.adapter.kind() != "in-process" && target.stores.kind() == "sqlite";
    if targets.iter().any(untold) {
        out.push(
            "SQLite does not tell transactions apart from outside: changes of one transaction are judged one by one"
                .to_owned(),
        );
    }
    if targets.iter().any(|target| target.adapter.kind() != "http" && loses_answers(target, cases)) {
        out.push("a lost request or answer is one that nack threw away: no connection was cut".to_owned());
    }
    for target in targets {
        let of_target = |case: &&CaseReport| case.subject == target.subject && case.verdict == Verdict::Fail;
        let unseen = target.adapter.unseen(cases.iter().any(|case| of_target(&case)));
        out.extend(unseen.into_iter().map(|line| format!("{}: {line}", target.subject)));
    }
    out.push("loss of power is not tried: a missing fsync would not be seen".to_owned());
    let mut seen = Vec::new();
    for target in targets
        .iter()
        .filter(|target| cases.iter().any(|case| case.name.starts_with(&format!("{}/", target.contract.name))))
    {
        for limit in &target.contract.limits {
            let line = format!("{}: {limit}", target.contract.name);
            if !seen.contains(&line) {
                seen.push(line.clone());
                out.push(line);
            }
        }
    }
    out
}
