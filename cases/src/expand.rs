//! From a contract to its cases: pure, in file order, the same cases under the same names for the same input.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use nack_contracts::model::{Contract, Output, Scenario, Vary};
use nack_contracts::template::{Unknown, fill};
use nack_contracts::{Field, Fields, Finding, Kind, Map, Node, Span, Value, plain, suggest};

use crate::bind::{Column, Combination, Is, combinations};
use crate::case::{Action, Call, Case, FaultKind, Place, Step};
use crate::steps::step;
use crate::surroundings::{Surroundings, spell};

/// Every case of a contract, for a subject in these surroundings. Capabilities choose the base sample of each input
/// (the first that the subject can be given) and nothing else: a case that the subject cannot be given stays in the
/// list. Further answers of its outside are further samples, and so further cases.
///
/// # Errors
/// Every finding in the scenarios and gates.
pub fn expand(contract: &Contract, surroundings: &Surroundings) -> Result<Vec<Case>, Vec<Finding>> {
    let contract = &*surroundings.widen(contract);
    let mut cases = Vec::new();
    let mut findings = Vec::new();
    for scenario in &contract.scenarios {
        let expander = Expander { contract, scenario, capabilities: &surroundings.capabilities };
        if let Err(found) = expander.cases(&mut cases) {
            findings.extend(found);
        }
    }
    for gate in &contract.gates {
        match gate_case(contract, gate) {
            Ok(case) => cases.push(case),
            Err(finding) => findings.push(Finding { at: format!("gate.{}", gate.name), ..finding }),
        }
    }
    findings.extend(twins(contract, &cases));
    let mut seen = HashSet::new();
    findings.retain(|finding: &Finding| seen.insert((finding.span().start, finding.message.clone())));
    if findings.is_empty() { Ok(cases) } else { Err(findings) }
}

/// Every case for a subject that can be given everything: the names that `killed_by` and people use.
///
/// # Errors
/// As [`expand`].
pub fn expand_all(contract: &Contract) -> Result<Vec<Case>, Vec<Finding>> {
    let everything: Vec<String> = contract.capabilities.keys().cloned().collect();
    expand(contract, &Surroundings::of(everything))
}

fn twins(contract: &Contract, cases: &[Case]) -> Vec<Finding> {
    let mut seen: HashMap<&str, &Case> = HashMap::new();
    let mut out = Vec::new();
    for case in cases {
        if let Some(first) = seen.insert(&case.name, case) {
            let span = contract.scenarios.iter().find(|s| s.name == case.scenario).map_or(0..0, |s| s.span.clone());
            let message = format!("two cases are called `{}` (scenario `{}` gives one too)", case.name, first.scenario);
            out.push(Finding::error("scenario/name-twice", format!("scenario.{}", case.scenario), span, message));
        }
    }
    out
}

struct Expander<'a> {
    contract: &'a Contract,
    scenario: &'a Scenario,
    capabilities: &'a [String],
}

/// The chosen sample of each input, as indices into its candidates.
type Choice = Vec<usize>;

impl Expander<'_> {
    fn cases(&self, out: &mut Vec<Case>) -> Result<(), Vec<Finding>> {
        let named = |finding: Finding| Finding { at: format!("scenario.{}", self.scenario.name), ..finding };
        let combinations = combinations(self.contract, self.scenario).map_err(|finding| vec![named(finding)])?;
        let before = out.len();
        let mut findings = Vec::new();
        for combination in combinations {
            let inputs: Vec<(&String, Vec<(usize, usize)>)> = combination
                .columns
                .iter()
                .filter_map(|(name, column)| match &column.is {
                    Is::Input(classes) => Some((name, self.candidates(column, classes))),
                    _ => None,
                })
                .collect();
            let base: Choice = inputs.iter().map(|(name, samples)| self.base(&combination, name, samples)).collect();
            for choice in self.choices(&inputs, &base) {
                match self.case(&combination, &inputs, &base, &choice) {
                    Ok(case) => out.push(case),
                    Err(finding) => findings.push(named(finding)),
                }
            }
        }
        if out.len() == before && findings.is_empty() {
            let message = "nothing that this scenario binds goes together, so it has no case";
            findings.push(named(Finding::error("scenario/empty", "", self.scenario.span.clone(), message)));
        }
        if findings.is_empty() { Ok(()) } else { Err(findings) }
    }

    /// All samples of these classes, in order, as (class, sample).
    fn candidates(&self, column: &Column, classes: &[usize]) -> Vec<(usize, usize)> {
        let domain = &self.contract.domains[&column.domain];
        classes.iter().flat_map(|class| (0..domain.classes[*class].samples.len()).map(|s| (*class, s))).collect()
    }

    fn base(&self, combination: &Combination, name: &str, samples: &[(usize, usize)]) -> usize {
        let domain = &self.contract.domains[&combination.columns[name].domain];
        let given = |(class, sample): &(usize, usize)| {
            domain.classes[*class].samples[*sample].needs.iter().all(|need| self.capabilities.contains(need))
        };
        samples.iter().position(given).unwrap_or(0)
    }

    fn choices(&self, inputs: &[(&String, Vec<(usize, usize)>)], base: &Choice) -> Vec<Choice> {
        let mut out = vec![base.clone()];
        match self.scenario.vary {
            Vary::None => {}
            Vary::One => {
                for (input, (_, samples)) in inputs.iter().enumerate() {
                    for sample in (0..samples.len()).filter(|sample| *sample != base[input]) {
                        let mut choice = base.clone();
                        choice[input] = sample;
                        out.push(choice);
                    }
                }
            }
            Vary::All => {
                out = vec![Vec::new()];
                for (input, (_, samples)) in inputs.iter().enumerate() {
                    let first = base[input];
                    let order: Vec<usize> =
                        std::iter::once(first).chain((0..samples.len()).filter(|s| *s != first)).collect();
                    let longer = |choice: &Choice, sample: &usize| [choice.as_slice(), &[*sample]].concat();
                    out = out
                        .iter()
                        .flat_map(|choice| order.iter().map(|s| longer(choice, s)).collect::<Vec<_>>())
                        .collect();
                }
            }
        }
        out
    }

    fn case(
        &self,
        combination: &Combination,
        inputs: &[(&String, Vec<(usize, usize)>)],
        base: &Choice,
        choice: &Choice,
    ) -> Result<Case, Finding> {
        let contract = self.contract;
        let scenario = self.scenario;
        let mut name = format!("{}/{}", contract.name, scenario.name);
        if !combination.rows.is_empty() {
            name.push('/');
            name.push_str(&combination.rows.iter().map(|row| row.row.as_str()).collect::<Vec<_>>().join("+"));
        }
        let mut samples = IndexMap::new();
        let mut needs: Vec<String> = scenario.needs.clone();
        needs.extend(combination.rows.iter().flat_map(|row| row.needs.iter().cloned()));
        for (input, (column, candidates)) in inputs.iter().enumerate() {
            let (class, sample) = candidates[choice[input]];
            let sample = &contract.domains[&combination.columns[*column].domain].classes[class].samples[sample];
            samples.insert((*column).clone(), sample.label.clone());
            needs.extend(sample.needs.iter().cloned());
            if choice[input] != base[input] {
                name.push_str(&format!("/{column}={}", sample.label));
            }
        }
        let lookup = |name: &str| self.value(combination, &samples, name);
        let mut given = IndexMap::new();
        for (store, field) in &scenario.given {
            given.insert(store.clone(), given_rows(contract, store, &field.value, &lookup)?);
        }
        let list = Node::new(Kind::List(scenario.steps.clone()), scenario.span.clone());
        let Kind::List(steps) = fill(&list, Unknown::Refuse, &lookup)?.kind else {
            unreachable!("a list stays a list")
        };
        let mut steps: Vec<Step> = steps.iter().map(|node| step(contract, node)).collect::<Result<_, _>>()?;
        spell(contract, combination, &samples, &mut steps);
        held(&steps, scenario)?;
        silent(contract, &steps, scenario)?;
        for step in &steps {
            needs_of(contract, step, &mut needs);
        }
        let mut seen = HashSet::new();
        needs.retain(|need| seen.insert(need.clone()));
        if let Some(missing) = needs.iter().find(|need| !contract.capabilities.contains_key(*need)) {
            let message =
                format!("this scenario needs the capability `{missing}`, which the contract does not declare");
            return Err(Finding::error("capability/missing", "scenario", scenario.span.clone(), message));
        }
        let place = |span: &Span| Place { file: contract.source.file.clone(), line: contract.source.line(span.start) };
        Ok(Case {
            name,
            contract: contract.name.clone(),
            scenario: scenario.name.clone(),
            rows: combination.rows.iter().map(|row| format!("{}.{}", row.table, row.row)).collect(),
            samples,
            why: scenario.why.clone(),
            source: place(&scenario.span),
            row_places: combination.rows.iter().map(|row| place(&row.span)).collect(),
            needs,
            given,
            steps,
            gate: None,
        })
    }

    /// What `$name` stands for in this case.
    fn value(&self, combination: &Combination, samples: &IndexMap<String, String>, name: &str) -> Result<Kind, String> {
        if let Some(param) = self.contract.params.get(name) {
            return Ok(Kind::Value(Value::Int(param.value)));
        }
        let Some(column) = combination.columns.get(name) else {
            let known = combination.columns.keys().chain(self.contract.params.keys()).map(String::as_str);
            return Err(format!("`${name}` is neither a bound column nor a parameter; {}", suggest(name, known)));
        };
        let domain = &self.contract.domains[&column.domain];
        let labelled = |label: &str| domain.classes.iter().flat_map(|class| &class.samples).find(|s| s.label == label);
        let sample = match &column.is {
            Is::Input(_) => samples.get(name).and_then(|label| labelled(label)),
            Is::Chosen(_, label) => labelled(label),
            Is::Output(Output::Class(class)) => match domain.classes[*class].samples.as_slice() {
                [sample] => Some(sample),
                many => {
                    return Err(format!(
                        "`${name}` is the class `{}` of {} samples, not one value",
                        domain.classes[*class].name,
                        many.len()
                    ));
                }
            },
            Is::Output(Output::Error(error)) => {
                let field = Field { key: 0..0, value: Node::new(Kind::Value(error.as_str().into()), 0..0) };
                return Ok(Kind::Map(Fields::from_iter([("_error".to_owned(), field)])));
            }
            Is::Output(Output::Nothing) => {
                return Err(format!("`${name}` has no meaning in this row: its cell is \"-\""));
            }
            Is::Output(Output::Never(_)) => return Err(format!("`${name}` stands in a row that never occurs")),
        };
        let sample = sample.ok_or_else(|| format!("`${name}` has no sample"))?;
        let in_sample = |inner: &str| match (inner, &column.slot) {
            ("slot", Some(slot)) => Ok(Kind::Value(slot.as_str().into())),
            _ => Err(format!("`${inner}` cannot stand in a sample that is used here")),
        };
        fill(&sample.node, Unknown::Refuse, &in_sample).map(|node| node.kind).map_err(|finding| finding.message)
    }
}

type Names<'a> = &'a dyn Fn(&str) -> Result<Kind, String>;

/// The given rows of a store, defaults filled in.
fn given_rows(contract: &Contract, store: &str, node: &Node, lookup: Names<'_>) -> Result<Vec<Map>, Finding> {
    let spec = &contract.stores[store];
    let Kind::List(items) = fill(node, Unknown::Refuse, lookup)?.kind else {
        return Err(broken(node, "given rows are a list".to_owned()));
    };
    let default = Node::new(Kind::Map(spec.default.clone()), node.span.clone());
    let params = |name: &str| match contract.params.get(name) {
        Some(param) => Ok(Kind::Value(Value::Int(param.value))),
        None => Err(format!("`${name}` is no parameter")),
    };
    let default = fill(&default, Unknown::Refuse, &params)?;
    let mut rows = Vec::with_capacity(items.len());
    for item in &items {
        let fields = item.fields().ok_or_else(|| broken(item, "a given row is a table".to_owned()))?;
        let mut row = default.fields().cloned().unwrap_or_default();
        for (column, field) in fields {
            if !spec.columns.contains_key(column) {
                let known = suggest(column, spec.columns.keys().map(String::as_str));
                let place = Node::new(Kind::Absent, field.key.clone());
                return Err(broken(&place, format!("`{store}` has no column `{column}`")).help(known));
            }
            row.insert(column.clone(), field.clone());
        }
        let row = plain(&row);
        // The store's own order of columns, so that a seed does not depend on how a row was written.
        rows.push(spec.columns.keys().filter_map(|c| Some((c.clone(), row.get(c)?.clone()))).collect());
    }
    Ok(rows)
}

fn gate_case(contract: &Contract, gate: &nack_contracts::model::Gate) -> Result<Case, Finding> {
    let rows = Node::new(Kind::List(gate.rows.clone()), gate.span.clone());
    let nothing = |name: &str| Err(format!("`${name}` cannot stand in a gate"));
    let given = IndexMap::from([(gate.store.clone(), given_rows(contract, &gate.store, &rows, &nothing)?)]);
    Ok(Case {
        name: format!("{}/gate/{}", contract.name, gate.name),
        contract: contract.name.clone(),
        scenario: "gate".to_owned(),
        rows: Vec::new(),
        samples: IndexMap::new(),
        why: gate.why.clone(),
        source: Place { file: contract.source.file.clone(), line: contract.source.line(gate.span.start) },
        row_places: Vec::new(),
        needs: Vec::new(),
        given,
        steps: Vec::new(),
        gate: Some(gate.name.clone()),
    })
}

/// What steps need, besides what the contract says of rows and samples.
fn needs_of(contract: &Contract, step: &Step, needs: &mut Vec<String>) {
    match step {
        Step::Call(call) => call_needs(contract, call, needs),
        Step::Parallel { calls, .. } => calls.iter().for_each(|call| call_needs(contract, call, needs)),
        Step::Advance { .. } => needs.push("clock".to_owned()),
        Step::Release { .. } | Step::Reconnect | Step::Expect(_) => {}
    }
}

fn call_needs(contract: &Contract, call: &Call, needs: &mut Vec<String>) {
    needs.extend(contract.calls[&call.name].needs.iter().cloned());
    if call.fault.as_ref().is_some_and(|fault| fault.by == FaultKind::Stop) {
        needs.push("process".to_owned());
    }
    for answers in call.answers.values() {
        for answer in answers.all() {
            match answer.does {
                Action::Raise { .. } => needs.push("values".to_owned()),
                Action::Net(_) | Action::Http { .. } => needs.push("http".to_owned()),
                Action::Signal(_) => needs.push("process".to_owned()),
                Action::Return(_) | Action::Lost(_) => {}
            }
        }
    }
}

/// A release needs a call that is held.
fn held(steps: &[Step], scenario: &Scenario) -> Result<(), Finding> {
    let mut held: HashSet<&str> = HashSet::new();
    for step in steps {
        match step {
            Step::Call(call) => {
                let holds = |fault: &crate::case::Fault| matches!(fault.by, FaultKind::Hold | FaultKind::Stop);
                if call.fault.as_ref().is_some_and(holds) {
                    held.insert(&call.worker);
                }
            }
            Step::Release { worker, .. } if !held.remove(worker.as_str()) => {
                let message = format!("`release = \"{worker}\"`, but no call of that worker is held then");
                return Err(Finding::error("scenario/release", "scenario", scenario.span.clone(), message));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The last step judges, and leaves no store and no effect unmentioned.
fn silent(contract: &Contract, steps: &[Step], scenario: &Scenario) -> Result<(), Finding> {
    let Some(Step::Expect(alternatives)) = steps.last() else {
        let message = "the last step must be an `expect`";
        return Err(Finding::error("scenario/last-expect", "scenario", scenario.span.clone(), message));
    };
    if let [relations] = alternatives.as_slice() {
        let all = contract.stores.keys().chain(contract.effects.keys());
        if let Some(missing) = all.into_iter().find(|name| !relations.contains_key(*name)) {
            let message = format!("the last `expect` says nothing about `{missing}`");
            let finding = Finding::error("scenario/last-expect", "scenario", scenario.span.clone(), message);
            return Err(finding.help(format!("add `{missing} = 0`, or what it must hold")));
        }
    }
    Ok(())
}

fn broken(node: &Node, message: String) -> Finding {
    Finding::error("scenario/given", "scenario", node.span.clone(), message)
}
