//! Null subjects: one does nothing, one says yes to everything, one fails always. A case that none of them fails can
//! convict nobody.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use nack_contracts::model::Base;
use nack_contracts::relations::quote;
use nack_contracts::{Contract, Map, Value};
use nack_reports::{Null, Proof, Verdict};

use crate::adapter::InProcessAdapter;
use crate::inprocess::Context;
use crate::run::{Options, run_cases};
use crate::subject::{Failure, Hello, Program, Subject};
use crate::target::{LoadError, Target};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nothing,
    Yes,
    Fails,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Nothing => "does-nothing",
            Kind::Yes => "always-yes",
            Kind::Fails => "always-fails",
        }
    }
}

#[derive(Clone)]
struct NullSubject {
    kind: Kind,
    contract: Arc<Contract>,
}

impl Program for NullSubject {
    fn hello(&self) -> Hello {
        let own = self.contract.capabilities.iter().filter(|(_, capability)| !capability.from_adapter);
        let mut checkpoints: Vec<String> =
            self.contract.calls.values().flat_map(|call| call.checkpoints.iter().cloned()).collect();
        checkpoints.sort();
        checkpoints.dedup();
        Hello {
            name: self.kind.name().to_owned(),
            capabilities: own.map(|(name, _)| name.clone()).collect(),
            checkpoints,
        }
    }

    fn setup(&self, store: &rusqlite::Connection) -> rusqlite::Result<()> {
        for (name, spec) in &self.contract.stores {
            let columns: Vec<String> = spec.columns.keys().map(|column| quote(column)).collect();
            store.execute_batch(&format!("CREATE TABLE {} ({})", quote(name), columns.join(", ")))?;
        }
        Ok(())
    }

    fn start(&self, _ctx: &Context) -> Result<Box<dyn Subject>, Failure> {
        Ok(Box::new(self.clone()))
    }
}

impl Subject for NullSubject {
    fn call(&mut self, call: &str, _args: &Map, _ctx: &Context) -> Result<Value, Failure> {
        match self.kind {
            Kind::Nothing => Ok(Value::Null),
            Kind::Fails => Err(Failure::refused("always")),
            Kind::Yes => Ok(match self.contract.calls.get(call).and_then(|call| call.reply.as_ref()) {
                Some(Base::Domain(domain)) => self.contract.domains[domain].classes[0].samples[0].node.value(),
                _ => Value::Bool(true),
            }),
        }
    }
}

pub(super) fn judge(
    references: &[Target],
    wanted: &dyn Fn(&str) -> bool,
    scratch: &Path,
    options: &Options,
    proof: &mut Proof,
) -> Result<(), LoadError> {
    for reference in references {
        let contract = &reference.contract;
        let mut targets = Vec::new();
        for kind in [Kind::Nothing, Kind::Yes, Kind::Fails] {
            let program = Arc::new(NullSubject { kind, contract: Arc::clone(contract) });
            let adapter = Arc::new(InProcessAdapter::new(program));
            targets.push(Target::load(kind.name(), Arc::clone(contract), adapter, scratch)?);
        }
        let cases = |target: &Target| -> Vec<usize> {
            let given = |case: &nack_cases::Case| wanted(&case.name) && target.not_covered(case).is_none();
            (0..target.cases.len()).filter(|case| given(&target.cases[*case])).collect()
        };
        let selection: Vec<(usize, usize)> = targets
            .iter()
            .enumerate()
            .flat_map(|(index, target)| cases(target).into_iter().map(move |case| (index, case)))
            .collect();
        if selection.is_empty() {
            continue;
        }
        let reports = run_cases(&targets, &selection, &scratch.join("nulls"), options);
        let mut refused: HashSet<&str> = HashSet::new();
        for target in &targets {
            let own: Vec<_> = reports.iter().filter(|report| report.subject == target.subject).collect();
            let red: Vec<_> = own.iter().filter(|report| report.verdict == Verdict::Fail).collect();
            refused.extend(red.iter().map(|report| report.name.as_str()));
            proof.nulls.push(Null {
                name: target.subject.clone(),
                contract: contract.name.clone(),
                refused: red.len(),
                cases: own.len(),
            });
        }
        let mut vacuous: Vec<String> = reports
            .iter()
            .filter(|report| !refused.contains(report.name.as_str()))
            .map(|report| report.name.clone())
            .collect();
        vacuous.sort();
        vacuous.dedup();
        proof.vacuous.extend(vacuous);
    }
    Ok(())
}
