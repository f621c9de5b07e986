//! What a walk is made of: every beginning and every call that the cases of a contract know, simplest first, so that a
//! shrunk walk is a simple one. Expectations are left behind: a walk is judged by what holds in every case.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use nack_cases::{Answers, At, Call, Case, Fault, FaultKind, Matcher, Place, Step};
use nack_contracts::{Contract, Map};

use crate::target::Target;

/// An answer may be used more often than its case does, since a walk makes more calls.
const USES: usize = 6;

/// The beginnings and the steps that walks choose from.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    givens: Vec<IndexMap<String, Vec<Map>>>,
    steps: Vec<Step>,
}

impl Vocabulary {
    /// What these targets, which are of one contract, can all be given.
    pub(super) fn of(targets: &[&Target]) -> Vocabulary {
        let Some(first) = targets.first() else { return Vocabulary::default() };
        let fits =
            |case: &&Case| case.gate.is_none() && targets.iter().all(|target| target.not_covered(case).is_none());
        let cases: Vec<&Case> = first.cases.iter().filter(fits).collect();
        let mut givens: Vec<_> = cases.iter().map(|case| case.given.clone()).collect();
        let mut steps: Vec<Step> = cases.iter().flat_map(|case| &case.steps).flat_map(pieces).collect();
        answer_all(&first.contract, &mut steps);
        steps.push(Step::Reconnect);
        distinct(&mut givens);
        distinct(&mut steps);
        givens.sort_by_key(|given| given.values().map(Vec::len).sum::<usize>());
        steps.sort_by_key(|step| match step {
            Step::Call(call) => usize::from(call.fault.is_some()),
            _ => 2,
        });
        Vocabulary { givens, steps }
    }

    /// How many beginnings there are, and how many steps.
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.givens.len(), self.steps.len())
    }

    /// The walk of these choices as a case.
    pub(super) fn case(&self, contract: &Contract, given: usize, steps: &[usize]) -> Case {
        let mut steps: Vec<Step> = steps.iter().map(|step| self.steps[*step].clone()).collect();
        steps.push(Step::Reconnect);
        steps.push(Step::Expect(vec![IndexMap::new()]));
        Case {
            name: format!("{}/{}", contract.name, super::SCENARIO),
            contract: contract.name.clone(),
            scenario: super::SCENARIO.to_owned(),
            rows: Vec::new(),
            samples: IndexMap::new(),
            why: "What holds in every case holds in any order of calls, answers, crashes and restarts.".to_owned(),
            source: Place { file: contract.source.file.clone(), line: contract.source.line(contract.name_span.start) },
            row_places: Vec::new(),
            needs: Vec::new(),
            given: self.givens.get(given).cloned().unwrap_or_default(),
            steps,
            gate: None,
        }
    }
}

/// The calls and moves of the clock in a step, each on its own: calls that started together follow each other.
fn pieces(step: &Step) -> Vec<Step> {
    let plain = |call: &Call| {
        let mut call = call.clone();
        // A walk does not know what is right here, only what is never right.
        call.reply = Some(Matcher::Any);
        call.answers.values_mut().for_each(repeat);
        // A call that is held waits for a release, and a point of `*` is a case of its own.
        let stays = |fault: &Fault| {
            matches!(fault.at, At::Checkpoint(_)) && !matches!(fault.by, FaultKind::Hold | FaultKind::Stop)
        };
        call.fault = call.fault.filter(stays);
        Step::Call(Box::new(call))
    };
    match step {
        Step::Call(call) => vec![plain(call)],
        Step::Parallel { calls, .. } => calls.iter().map(plain).collect(),
        Step::Advance { .. } => vec![step.clone()],
        Step::Release { .. } | Step::Reconnect | Step::Expect(_) => Vec::new(),
    }
}

fn repeat(answers: &mut Answers) {
    match answers {
        Answers::InOrder(list) => {
            let once = list.clone();
            for _ in 1..USES {
                list.extend(once.iter().cloned());
            }
        }
        Answers::ById { ids, otherwise } => {
            let any = ids.values().next().cloned();
            *otherwise = otherwise.take().or(any);
        }
    }
}

/// A call that used no effect in its case may use one in a walk: it gets the answers that such a call has elsewhere.
fn answer_all(contract: &Contract, steps: &mut [Step]) {
    let mut usual: HashMap<String, Answers> = HashMap::new();
    for step in steps.iter() {
        if let Step::Call(call) = step {
            for (effect, answers) in call.answers.iter().filter(|(_, answers)| !is_empty(answers)) {
                usual.entry(effect.clone()).or_insert_with(|| answers.clone());
            }
        }
    }
    for step in steps {
        if let Step::Call(call) = step {
            for effect in &contract.calls[&call.name].effects {
                if let Some(answers) = usual.get(effect)
                    && call.answers.get(effect).is_none_or(is_empty)
                {
                    call.answers.insert(effect.clone(), answers.clone());
                }
            }
        }
    }
}

fn is_empty(answers: &Answers) -> bool {
    matches!(answers, Answers::InOrder(list) if list.is_empty())
}

fn distinct<T: serde::Serialize>(items: &mut Vec<T>) {
    let mut seen = HashSet::new();
    items.retain(|item| seen.insert(serde_json::to_string(item).unwrap_or_default()));
}
