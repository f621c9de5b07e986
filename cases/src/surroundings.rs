//! What lies around a subject and decides which cases it has: its capabilities, and the answers that its outside has
//! for one word of the contract. A deployment may answer `transient` with 503 and with 429; each is a sample.

use std::borrow::Cow;

use indexmap::IndexMap;
use nack_contracts::model::{Contract, Sample};
use nack_contracts::{Kind, Value};

use crate::bind::{Combination, Is};
use crate::case::{Action, Call, Step};

/// What lies around a subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// What the subject and its adapter can do.
    pub capabilities: Vec<String>,
    /// How many answers the outside has, by effect and then by word. Where that is more than one, they are samples
    /// of the word's class, labelled `WORD`, `WORD-2`, `WORD-3`.
    pub answers: IndexMap<String, IndexMap<String, usize>>,
}

impl Surroundings {
    /// Those of a subject with these capabilities, whose outside has one answer for each word.
    #[must_use]
    pub fn of(capabilities: Vec<String>) -> Surroundings {
        Surroundings { capabilities, answers: IndexMap::new() }
    }

    /// The contract with a sample for each further answer, right behind that of its word.
    pub(crate) fn widen<'c>(&self, contract: &'c Contract) -> Cow<'c, Contract> {
        let mut wide = Cow::Borrowed(contract);
        for (effect, words) in &self.answers {
            for domain in contract.effects.get(effect).into_iter().flat_map(|effect| &effect.answers) {
                for (word, count) in words.iter().filter(|(_, count)| **count > 1) {
                    if has(contract, domain, word) && !has(&wide, domain, &numbered(word, *count)) {
                        add(wide.to_mut(), domain, word, *count);
                    }
                }
            }
        }
        wide
    }
}

fn has(contract: &Contract, domain: &str, label: &str) -> bool {
    contract.domains[domain].classes.iter().any(|class| class.samples.iter().any(|sample| sample.label == label))
}

fn numbered(word: &str, n: usize) -> String {
    format!("{word}-{n}")
}

fn add(contract: &mut Contract, domain: &str, word: &str, count: usize) {
    let Some(domain) = contract.domains.get_mut(domain) else { return };
    for class in &mut domain.classes {
        let of_word = |sample: &Sample| matches!(&sample.node.kind, Kind::Value(Value::Text(text)) if text == word);
        if let Some(place) = class.samples.iter().position(of_word) {
            let known = class.samples[place].clone();
            let further = (2..=count).map(|n| Sample { label: numbered(word, n), ..known.clone() });
            class.samples.splice(place + 1..place + 1, further);
        }
    }
}

/// Says in each answer of a case which sample of its word it is: the one that the case chose for a column of the
/// effect's domains, wherever that word is played.
pub(crate) fn spell(
    contract: &Contract,
    combination: &Combination,
    samples: &IndexMap<String, String>,
    steps: &mut [Step],
) {
    let calls = steps.iter_mut().flat_map(|step| match step {
        Step::Call(call) => std::slice::from_mut(call.as_mut()),
        Step::Parallel { calls, .. } => calls.as_mut_slice(),
        _ => &mut [],
    });
    for Call { answers, .. } in calls {
        for (effect, script) in answers {
            let domains = &contract.effects[effect].answers;
            let chosen = combination.columns.iter().filter(|(_, column)| domains.contains(&column.domain));
            let chosen = chosen.filter_map(|(name, column)| match &column.is {
                Is::Input(_) => samples.get(name),
                Is::Chosen(_, label) => Some(label),
                Is::Output(_) => None,
            });
            let chosen: Vec<&String> = chosen.collect();
            for answer in script.all_mut() {
                let Action::Return(Value::Text(word)) = &answer.does else { continue };
                let is_of = |label: &&&String| {
                    let number = label.strip_prefix(word.as_str()).and_then(|rest| rest.strip_prefix('-'));
                    number.is_some_and(|number| number.parse::<usize>().is_ok())
                };
                if let Some(label) = chosen.iter().find(is_of) {
                    answer.sample = (*label).clone();
                }
            }
        }
    }
}
