//! Cells: each cell of each table is changed, and something must notice. First the reference, which does what the
//! unchanged table says and must now turn a case red; then `nack check`; and for a change that only allows more, a
//! mutant that survives. A cell that nothing defends could say anything.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nack_cases::{Case, below, check, expand};
use nack_contracts::model::Mutant;
use nack_contracts::{Contract, Severity, Variation, variations};
use nack_reports::{CellFate, CellReport, Place, Proof, Verdict};

use super::References;
use super::mutants::kills_by;
use crate::run::{Options, run_cases};
use crate::target::{LoadError, Target};

/// How many cases of one change run at once. Most changes fall to the first.
const BATCH: usize = 3;

pub(super) fn judge(
    contracts: &[Arc<Contract>],
    references: References<'_>,
    wanted: &dyn Fn(&str) -> bool,
    scratch: &Path,
    options: &Options,
    proof: &mut Proof,
) -> Result<(), LoadError> {
    // Making a change and asking the linter of it take time, too: an interrupt is not to wait for them.
    let cancelled = || options.cancel.load(Ordering::Relaxed);
    for contract in contracts {
        let Some(adapter) = references(&contract.name, None) else { continue };
        let mut target = Target::load("cells", Arc::clone(contract), adapter, scratch)?;
        let before: HashMap<String, Case> = target.cases.drain(..).map(|case| (case.name.clone(), case)).collect();
        let said: HashSet<String> = before.values().map(said_by).collect();
        let varied = variations(contract);
        let mut changes: Vec<Change<'_>> = varied
            .iter()
            .filter(|variation| wanted(&format!("{}/{}", contract.name, variation.name)))
            .take_while(|_| !cancelled())
            .map(|variation| Change::new(&mut target, &before, &said, variation))
            .collect();
        while try_next(&target, &mut changes, &scratch.join("cells"), options) {}
        for change in changes.iter_mut().filter(|change| change.report.fate == CellFate::Undefended) {
            if cancelled() {
                break;
            }
            change.ask_check();
            change.ask_mutants(&target, references, scratch, options)?;
        }
        if cancelled() {
            // Of a change that was not tried to its end nothing is known.
            break;
        }
        proof.cells.extend(changes.into_iter().map(|change| change.report));
    }
    Ok(())
}

/// One change, and the cases that read the changed cell, as indices into the target's cases.
struct Change<'v> {
    variation: &'v Variation,
    report: CellReport,
    cases: Vec<usize>,
    tried: usize,
    running: usize,
}

impl<'v> Change<'v> {
    fn new(
        target: &mut Target,
        before: &HashMap<String, Case>,
        said: &HashSet<String>,
        variation: &'v Variation,
    ) -> Change<'v> {
        let contract = &target.contract;
        let report = CellReport {
            name: format!("{}/{}", contract.name, variation.name),
            what: variation.what.clone(),
            fate: CellFate::Undefended,
            by: None,
            instead: Some("no case reads it".to_owned()),
            source: Place { file: contract.source.file.clone(), line: contract.source.line(variation.span.start) },
        };
        let mut change = Change { variation, report, cases: Vec::new(), tried: 0, running: 0 };
        change.find_cases(target, before, said);
        change
    }

    fn find_cases(&mut self, target: &mut Target, before: &HashMap<String, Case>, said: &HashSet<String>) {
        let Ok(cases) = expand(&self.variation.contract, &target.surroundings()) else {
            return self.defended("check: the scenarios no longer fit".to_owned());
        };
        let (mut missing, mut alike) = (None, false);
        for case in cases {
            if before.get(&case.name).is_some_and(|before| *before == case) {
                continue;
            }
            if said.contains(&said_by(&case)) {
                alike = true;
            } else if let Some(because) = target.not_covered(&case) {
                missing = Some(because.detail);
            } else {
                self.cases.push(target.cases.len());
                target.cases.push(case);
            }
        }
        if !self.cases.is_empty() {
            return;
        }
        if let Some(detail) = missing {
            (self.report.fate, self.report.instead) = (CellFate::NotCovered, Some(detail));
        } else if self.only_audits(&target.contract) {
            let detail = "only the lines of a log reach it: `nack audit` judges by it, and no case can";
            (self.report.fate, self.report.instead) = (CellFate::NotCovered, Some(detail.to_owned()));
        } else if alike {
            self.report.fate = CellFate::Equivalent;
            self.report.instead = Some("every case that reads it expects what another case expects already".to_owned());
        }
    }

    /// Whether no case can be about what was changed: a table that only judges logs, or a domain of such tables alone.
    fn only_audits(&self, contract: &Contract) -> bool {
        let place = self.variation.name.split('/').next().unwrap_or_default();
        match (place.strip_prefix("table."), place.strip_prefix("domain.")) {
            (Some(table), _) => contract.only_audits(table),
            (None, Some(domain)) => {
                let mut of = { contract.tables.values() }.filter(|table| table.inputs.iter().any(|of| of == domain));
                of.clone().next().is_some() && of.all(|table| contract.only_audits(&table.name))
            }
            (None, None) => false,
        }
    }

    fn open(&self) -> bool {
        self.report.fate == CellFate::Undefended && self.tried < self.cases.len()
    }

    fn defended(&mut self, by: String) {
        (self.report.fate, self.report.by, self.report.instead) = (CellFate::Defended, Some(by), None);
    }

    /// A change that the linter refuses cannot pass a review by itself.
    fn ask_check(&mut self) {
        let findings = check(&self.variation.contract);
        if let Some(finding) = findings.iter().find(|finding| finding.severity == Severity::Error) {
            self.defended(format!("check: {}", finding.rule));
        }
    }

    /// A change that allows more than before turns nothing red that is right, but sets something free that is wrong.
    fn ask_mutants(
        &mut self,
        target: &Target,
        references: References<'_>,
        scratch: &Path,
        options: &Options,
    ) -> Result<(), LoadError> {
        let contract = &target.contract;
        for mutant in &contract.mutants {
            let selection: Vec<Case> = self
                .cases
                .iter()
                .map(|case| &target.cases[*case])
                .filter(|case| mutant.killed_by.iter().any(|entry| below(&case.name, &entry.item)))
                .cloned()
                .collect();
            if self.report.fate != CellFate::Undefended || selection.is_empty() {
                continue;
            }
            let Some(adapter) = references(&contract.name, Some(&mutant.name)) else { continue };
            let folder = scratch.join(format!("{}-{}", self.report.name.replace('/', "-"), mutant.name));
            std::fs::create_dir_all(&folder)
                .map_err(|error| LoadError::Store { subject: mutant.name.clone(), error: error.into() })?;
            let mut wrong = Target::load("cells", Arc::clone(contract), adapter, &folder)?;
            wrong.cases = selection;
            if survives(&wrong, mutant, scratch, options) {
                self.defended(format!("mutant: {} survives", mutant.name));
            }
        }
        Ok(())
    }
}

fn survives(target: &Target, mutant: &Mutant, scratch: &Path, options: &Options) -> bool {
    let by: Vec<String> = mutant.by.iter().map(|check| check.item.to_string()).collect();
    let selection: Vec<(usize, usize)> = (0..target.cases.len()).map(|case| (0, case)).collect();
    let reports = run_cases(std::slice::from_ref(target), &selection, &scratch.join("cells"), options);
    !reports.iter().any(|report| kills_by(report, &by))
}

/// What a case does and expects, whatever its name and its rows are.
fn said_by(case: &Case) -> String {
    serde_json::to_string(&(&case.given, &case.steps)).unwrap_or_default()
}

/// Runs the next cases of every open change; whether there were any.
fn try_next(target: &Target, changes: &mut [Change<'_>], scratch: &Path, options: &Options) -> bool {
    let mut selection = Vec::new();
    for change in changes.iter_mut() {
        change.running = if change.open() { BATCH.min(change.cases.len() - change.tried) } else { 0 };
        selection.extend(change.cases[change.tried..][..change.running].iter().map(|case| (0, *case)));
        change.tried += change.running;
    }
    if selection.is_empty() || options.cancel.load(Ordering::Relaxed) {
        return false;
    }
    let mut reports = run_cases(std::slice::from_ref(target), &selection, scratch, options).into_iter();
    for change in changes.iter_mut().filter(|change| change.running > 0) {
        let ran: Vec<_> = reports.by_ref().take(change.running).collect();
        change.report.instead = Some(format!("none of {} cases that read it turns red", change.tried));
        if let Some(red) = ran.into_iter().find(|report| report.verdict == Verdict::Fail) {
            change.defended(red.name);
        }
    }
    true
}
