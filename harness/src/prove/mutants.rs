//! Mutants: each deliberate defect must be killed by the cases that its contract names, through the checks it names.
//! A crash, a deadline, an inconclusive case or another check is no kill. Which other cases see a mutant is told beside
//! it: they show how deep its rule is defended, and kill nothing.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use nack_cases::below;
use nack_contracts::model::Mutant;
use nack_reports::{Because, BecauseKind, CaseReport, Fate, Kill, MutantReport, Place, Proof, Verdict};

use super::References;
use crate::run::{Options, run_cases};
use crate::target::{LoadError, Target};

/// The cases of one entry of `killed_by` that the reference can be given.
fn given(target: &Target, entry: &str) -> Vec<usize> {
    let fits = |index: &usize| {
        let case = &target.cases[*index];
        below(&case.name, entry) && target.not_covered(case).is_none()
    };
    (0..target.cases.len()).filter(fits).collect()
}

/// The cases that take the first sample of everything and that the reference can be given.
fn plain(target: &Target) -> BTreeSet<usize> {
    let mut plain: BTreeSet<usize> = BTreeSet::new();
    let names: HashSet<&str> = target.cases.iter().map(|case| case.name.as_str()).collect();
    for (index, case) in target.cases.iter().enumerate() {
        let varied = case.name.match_indices('/').any(|(cut, _)| names.contains(&case.name[..cut]));
        if !varied && target.not_covered(case).is_none() {
            plain.insert(index);
        }
    }
    plain
}

pub(super) fn judge(
    references: &[Target],
    programs: References<'_>,
    wanted: &dyn Fn(&str) -> bool,
    scratch: &Path,
    options: &Options,
    proof: &mut Proof,
) -> Result<(), LoadError> {
    let healthy = healthy(references, scratch, options);
    let mut targets = Vec::new();
    let mut selection = Vec::new();
    let mut plans = Vec::new();
    for (home, reference) in references.iter().enumerate() {
        let plain = plain(reference);
        for mutant in &reference.contract.mutants {
            let name = format!("{}/{}", reference.contract.name, mutant.name);
            if !wanted(&name) && !mutant.killed_by.iter().any(|entry| wanted(&entry.item)) {
                continue;
            }
            let cases: BTreeSet<usize> =
                mutant.killed_by.iter().flat_map(|entry| given(reference, &entry.item)).collect();
            let missing = mutant.needs.iter().find(|need| !reference.capabilities.contains(need));
            let adapter = match missing {
                None if !cases.is_empty() => programs(&reference.contract.name, Some(&mutant.name)),
                _ => None,
            };
            let mut target = None;
            if let Some(adapter) = adapter {
                target = Some(targets.len());
                selection.extend(cases.union(&plain).map(|case| (targets.len(), *case)));
                targets.push(Target::load(
                    &format!("mutant {}", mutant.name),
                    Arc::clone(&reference.contract),
                    adapter,
                    scratch,
                )?);
            }
            plans.push(Plan { home, mutant, name, target, missing: missing.cloned() });
        }
    }
    let reports = run_cases(&targets, &selection, &scratch.join("mutants"), options);
    let mut found: Found<'_> = vec![IndexMap::new(); targets.len()];
    for ((target, _), report) in selection.iter().zip(&reports) {
        found[*target].insert(report.name.as_str(), report);
    }
    for plan in &plans {
        let reference = &references[plan.home];
        proof.mutants.push(plan.report(reference, &found, &healthy));
    }
    Ok(())
}

/// The cases that the references pass, of those that any mutant is given.
fn healthy(references: &[Target], scratch: &Path, options: &Options) -> BTreeSet<String> {
    let mut selection = Vec::new();
    for (home, reference) in references.iter().enumerate() {
        let entries = reference.contract.mutants.iter().flat_map(|mutant| &mutant.killed_by);
        let mut cases = plain(reference);
        cases.extend(entries.flat_map(|entry| given(reference, &entry.item)));
        selection.extend(cases.into_iter().map(|case| (home, case)));
    }
    let reports = run_cases(references, &selection, &scratch.join("healthy"), options);
    reports.into_iter().filter(|report| report.verdict == Verdict::Pass).map(|report| report.name).collect()
}

/// By mutant, the reports of its cases by name, in the contract's order.
type Found<'r> = Vec<IndexMap<&'r str, &'r CaseReport>>;

struct Plan<'a> {
    home: usize,
    mutant: &'a Mutant,
    name: String,
    target: Option<usize>,
    missing: Option<String>,
}

impl Plan<'_> {
    fn report(&self, reference: &Target, found: &Found<'_>, healthy: &BTreeSet<String>) -> MutantReport {
        let by: Vec<String> = self.mutant.by.iter().map(|check| check.item.to_string()).collect();
        let mut kills = Vec::new();
        let mut fate = Fate::NotCovered;
        for entry in &self.mutant.killed_by {
            let cases = given(reference, &entry.item);
            let mut kill = Kill { expected: entry.item.clone(), killed_by: None, by: by.clone(), instead: None };
            if self.missing.is_some() || cases.is_empty() {
                let need = self.missing.clone().unwrap_or_else(|| "what its cases need".to_owned());
                kill.instead = Some(format!("not covered: the reference lacks {need}"));
                kills.push(kill);
                continue;
            }
            let passed =
                cases.iter().map(|case| reference.cases[*case].name.as_str()).filter(|name| healthy.contains(*name));
            let reports: Vec<&CaseReport> = self
                .target
                .into_iter()
                .flat_map(|target| passed.clone().filter_map(move |name| found[target].get(name).copied()))
                .collect();
            kill.killed_by = reports.iter().find(|report| kills_by(report, &by)).map(|report| report.name.clone());
            let killed = kill.killed_by.is_some();
            if !killed {
                kill.instead = Some(self.instead(&reports, passed.count()));
            }
            fate = if !killed || fate == Fate::Survived { Fate::Survived } else { Fate::Killed };
            kills.push(kill);
        }
        let because = (fate == Fate::NotCovered).then(|| Because {
            kind: BecauseKind::Capability,
            detail: self
                .missing
                .clone()
                .unwrap_or_else(|| "no case that must kill it can be given to the reference".to_owned()),
        });
        let contract = &reference.contract;
        MutantReport {
            name: self.name.clone(),
            defect: self.mutant.defect.clone(),
            fate,
            kills,
            also_seen_by: self.others(found, healthy),
            because,
            source: Place { file: contract.source.file.clone(), line: contract.source.line(self.mutant.span.start) },
        }
    }

    /// The cases that turned red without having to.
    fn others(&self, found: &Found<'_>, healthy: &BTreeSet<String>) -> Vec<String> {
        let reports = self.target.into_iter().flat_map(|target| found[target].values());
        let named = |name: &str| self.mutant.killed_by.iter().any(|entry| below(name, &entry.item));
        let red = reports.filter(|report| report.verdict == Verdict::Fail && healthy.contains(&report.name));
        red.filter(|report| !named(&report.name)).map(|report| report.name.clone()).collect()
    }

    fn instead(&self, reports: &[&CaseReport], passed: usize) -> String {
        if self.target.is_none() {
            return "the reference has no such defect".to_owned();
        }
        if passed == 0 {
            return "the reference itself passes none of these cases".to_owned();
        }
        let told: Vec<String> = reports.iter().take(3).map(|report| told(report)).collect();
        told.join("; ")
    }
}

fn told(report: &CaseReport) -> String {
    let red: Vec<&str> = red(report).collect();
    match (&report.broken, &report.because) {
        (Some(broken), _) => format!("{}: {broken}", report.name),
        (None, Some(because)) if red.is_empty() => format!("{}: {}: {}", report.name, report.verdict, because.detail),
        _ if red.is_empty() => format!("{}: {}", report.name, report.verdict),
        _ => format!("{}: red by {}", report.name, red.join(", ")),
    }
}

fn red(report: &CaseReport) -> impl Iterator<Item = &str> {
    report.checks.iter().filter(|check| check.held == Some(false)).map(|check| check.name.as_str())
}

pub(super) fn kills_by(report: &CaseReport, by: &[String]) -> bool {
    report.verdict == Verdict::Fail
        && report.broken.is_none()
        && by.iter().all(|check| red(report).any(|name| name == check))
}
