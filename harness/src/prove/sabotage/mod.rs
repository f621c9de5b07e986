//! Sabotage: a set-up that works is falsified behind its subject's back, and at least one case must turn red. What stays
//! green shows where the set-up is blind.

mod kinds;
mod session;
mod store;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use nack_cases::{Case, Step};
use nack_contracts::Contract;
use nack_contracts::model::Base;
use nack_reports::{CaseReport, Proof, SabotageFate, SabotageReport, Verdict};

pub(crate) use kinds::Sabotage;
pub(crate) use session::Tampered;
pub(crate) use store::{after, bare, before};

use crate::run::{Options, run_cases, run_sabotaged};
use crate::target::Target;

/// How many cases run at once until one turns red.
const BATCH: usize = 8;

/// Falsifies each set-up in each way. Only the cases that `wanted` names count.
pub(super) fn judge(
    targets: &[Target],
    wanted: &dyn Fn(&str) -> bool,
    scratch: &Path,
    options: &Options,
    proof: &mut Proof,
) {
    for (home, target) in targets.iter().enumerate() {
        let given = |case: &usize| {
            let case = &target.cases[*case];
            wanted(&case.name) && target.not_covered(case).is_none()
        };
        let cases: Vec<usize> = (0..target.cases.len()).filter(given).collect();
        if cases.is_empty() {
            continue;
        }
        let folder = scratch.join(format!("sabotage-{home}"));
        let mut saboteur = Saboteur { targets, home, cases, folder, options, healthy: HashMap::new() };
        for kind in Sabotage::ALL {
            if options.cancel.load(Ordering::Relaxed) {
                return;
            }
            proof.sabotage.push(saboteur.tries(kind));
        }
    }
}

/// Who falsifies one set-up.
struct Saboteur<'a> {
    targets: &'a [Target],
    home: usize,
    cases: Vec<usize>,
    folder: PathBuf,
    options: &'a Options,
    /// What became of a case without sabotage, of those that were asked for.
    healthy: HashMap<usize, CaseReport>,
}

impl Saboteur<'_> {
    fn target(&self) -> &Target {
        &self.targets[self.home]
    }

    fn tries(&mut self, kind: Sabotage) -> SabotageReport {
        let target = self.target();
        let mut report = SabotageReport {
            subject: target.subject.clone(),
            contract: target.contract.name.clone(),
            kind: kind.name().to_owned(),
            what: kind.what().to_owned(),
            fate: SabotageFate::Blind,
            by: None,
            why: None,
        };
        if let Some(why) = inapplicable(kind, target) {
            (report.fate, report.why) = (SabotageFate::Inapplicable, Some(why));
            return report;
        }
        let cases: Vec<usize> = self.cases.iter().copied().filter(|case| touches(kind, &target.cases[*case])).collect();
        for batch in cases.chunks(BATCH) {
            let selection: Vec<(usize, usize)> = batch.iter().map(|case| (self.home, *case)).collect();
            let reports = run_sabotaged(self.targets, &selection, &self.folder, self.options, kind);
            for (case, red) in batch.iter().zip(reports).filter(|(_, report)| report.verdict == Verdict::Fail) {
                // Red without sabotage is no answer to it.
                if self.healthy(*case).verdict == Verdict::Pass {
                    (report.fate, report.by) = (SabotageFate::Convicted, Some(red.name));
                    return report;
                }
            }
        }
        report.why = Some(self.likely(kind, &cases));
        report
    }

    fn healthy(&mut self, case: usize) -> &CaseReport {
        let (targets, home) = (self.targets, self.home);
        let run = || run_cases(targets, &[(home, case)], &self.folder, self.options).remove(0);
        self.healthy.entry(case).or_insert_with(run)
    }

    /// The likely reason that nothing turned red.
    fn likely(&mut self, kind: Sabotage, cases: &[usize]) -> String {
        let Some(first) = cases.first() else { return "no case that could notice it can be given".to_owned() };
        if let Some(because) = &self.healthy(*first).because {
            return format!("the set-up does not work even without it: {}", because.detail);
        }
        let has = |name: &str| self.target().capabilities.iter().any(|have| have == name);
        let likely = match kind {
            Sabotage::RowFlipped | Sabotage::TerminalReopened | Sabotage::CommitLost => {
                "does the observe query read the tables, or does it return a constant?"
            }
            Sabotage::AnswerSwapped | Sabotage::DeliveryDoubled | Sabotage::DeliverySwallowed if !has("http") => {
                "is the downstream bound?"
            }
            Sabotage::AnswerSwapped | Sabotage::DeliveryDoubled | Sabotage::DeliverySwallowed => {
                "does the subject reach the downstream at all?"
            }
            Sabotage::ReplyChanged | Sabotage::ResultsReordered | Sabotage::StatusReplaced => {
                "does the binding say what a reply means?"
            }
            Sabotage::IndexDropped => "does the gate's store name the subject's own table?",
            Sabotage::TimeMoved => "does the subject take its time from the harness?",
        };
        format!("none of {} cases turns red that passes without it: {likely}", cases.len())
    }
}

/// Why a kind of sabotage cannot be done to a subject of this contract.
fn inapplicable(kind: Sabotage, target: &Target) -> Option<String> {
    let contract = &target.contract;
    let structured = contract.calls.values().any(|call| call.reply == Some(Base::Any));
    let why = match kind {
        Sabotage::AnswerSwapped | Sabotage::DeliveryDoubled | Sabotage::DeliverySwallowed
            if contract.effects.is_empty() =>
        {
            "the contract has no effect"
        }
        Sabotage::AnswerSwapped
            if !contract.effects.keys().any(|effect| session::plain_answers(contract, effect).len() > 1) =>
        {
            "the outside has one answer only"
        }
        Sabotage::ResultsReordered if !structured => "no reply of the contract is a list",
        Sabotage::StatusReplaced if !contract.calls.values().any(|call| call.words.contains_key("http")) => {
            "no reply of the contract has an HTTP status"
        }
        Sabotage::IndexDropped if contract.gates.is_empty() => "the contract has no gate",
        Sabotage::TerminalReopened if !has_terminal(contract) => "no store of the contract holds a word of success",
        Sabotage::TimeMoved if !tells_time(contract) => "nothing in the contract depends on the clock",
        Sabotage::TimeMoved if !target.capabilities.iter().any(|have| have == "clock") => {
            "the subject's clock cannot be moved"
        }
        Sabotage::ReplyChanged if contract.calls.values().all(|call| call.reply.is_none()) => {
            "no call of the contract has a reply"
        }
        _ => return None,
    };
    Some(why.to_owned())
}

fn has_terminal(contract: &Contract) -> bool {
    let domains = contract.stores.values().flat_map(|store| store.columns.values());
    domains.filter_map(|ty| if let Base::Domain(domain) = &ty.base { Some(domain) } else { None }).any(|domain| {
        let vocabulary = &contract.domains[domain];
        store::success_words(contract).any(|word| vocabulary.find(&word).is_some_and(|(class, _)| class != 0))
    })
}

fn tells_time(contract: &Contract) -> bool {
    contract.stores.values().flat_map(|store| store.columns.values()).any(|ty| ty.base == Base::Time)
}

/// Whether a case could notice.
fn touches(kind: Sabotage, case: &Case) -> bool {
    match kind {
        Sabotage::IndexDropped => case.gate.is_some(),
        _ => case.steps.iter().any(|step| matches!(step, Step::Call(_) | Step::Parallel { .. })),
    }
}
