//! A subject bound to a contract and ready to be judged: hello checked, tables made once, cases expanded.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use nack_cases::{At, Call, Case, Step, Surroundings, expand};
use nack_contracts::freeze::digest;
use nack_contracts::model::CheckName;
use nack_contracts::{Contract, Finding, suggest};
use nack_reports::{Because, BecauseKind, SubjectInfo};

use crate::adapter::{Adapter, Setting};
use crate::clock::Clock;
use crate::session::StartError;
use crate::store::{StoreError, Stores};

/// Why a subject cannot be judged at all.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The subject says something that its contract does not know.
    #[error("subject {subject}: {message}")]
    Hello {
        /// The subject's name.
        subject: String,
        /// What is wrong, and its mend.
        message: String,
    },
    /// The contract gives no cases.
    #[error("contract {0} is broken; `nack check` says where")]
    Contract(String, Vec<Finding>),
    /// The subject's store could not be made, or does not fit the contract.
    #[error("subject {subject}: {error}")]
    Store {
        /// The subject's name.
        subject: String,
        /// Why.
        error: StoreError,
    },
    /// The subject, which says no hello, could not be started to see whether it can be.
    #[error("subject {subject}: {error}")]
    Start {
        /// The subject's name.
        subject: String,
        /// Why.
        error: StartError,
    },
}

/// A subject under a contract.
pub struct Target {
    /// The subject's name.
    pub subject: String,
    /// The contract.
    pub contract: Arc<Contract>,
    /// Every case, in file order.
    pub cases: Vec<Case>,
    /// What the subject and its adapter can do.
    pub capabilities: Vec<String>,
    /// The contract's digest.
    pub digest: String,
    /// Parameters of the contract that a binding sets otherwise.
    pub overrides: IndexMap<String, i64>,
    pub(crate) adapter: Arc<dyn Adapter>,
    pub(crate) stores: Box<dyn Stores>,
}

impl Target {
    /// Binds a subject to a contract. `scratch` is a folder that outlives the target; a prepared store is kept there.
    ///
    /// # Errors
    /// A hello that the contract does not know, a store that cannot be made, or a contract without cases.
    pub fn load(
        subject: &str,
        contract: Arc<Contract>,
        adapter: Arc<dyn Adapter>,
        scratch: &Path,
    ) -> Result<Target, LoadError> {
        let mut capabilities = capabilities(subject, &contract, adapter.as_ref())?;
        let name = format!("{subject}-{}", contract.name).replace('/', "-");
        let tables = adapter.tables();
        let stores = tables.prepare(&contract, &capabilities, scratch, &name);
        let in_store = |error: StoreError| LoadError::Store { subject: subject.to_owned(), error };
        let stores = stores.map_err(in_store)?;
        if adapter.outside() {
            let folder = scratch.join(format!("{name}-start"));
            started_once(&contract, adapter.as_ref(), stores.as_ref(), &folder).map_err(|error| match error {
                Unstarted::Store(error) => in_store(error),
                Unstarted::Subject(error) => LoadError::Start { subject: subject.to_owned(), error },
            })?;
        }
        let from_store = |name: &str| match name {
            "history" => stores.keeps_history(),
            "text-ids" => !tables.mapping.maps_ids(),
            _ => false,
        };
        capabilities.extend(contract.capabilities.keys().filter(|name| from_store(name)).cloned());
        let known = contract.capabilities.keys();
        let capabilities: Vec<String> = known.filter(|name| capabilities.contains(name)).cloned().collect();
        let surroundings = Surroundings { capabilities, answers: adapter.answers() };
        let cases = expand(&contract, &surroundings)
            .map_err(|findings| LoadError::Contract(contract.name.clone(), findings))?;
        let digest = digest(&contract);
        Ok(Target {
            subject: subject.to_owned(),
            cases,
            capabilities: surroundings.capabilities,
            digest,
            overrides: IndexMap::new(),
            adapter,
            stores,
            contract,
        })
    }

    /// What decides which cases it has.
    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings { capabilities: self.capabilities.clone(), answers: self.adapter.answers() }
    }

    /// How a report names this subject.
    #[must_use]
    pub fn info(&self) -> SubjectInfo {
        SubjectInfo {
            name: self.subject.clone(),
            contract: self.contract.name.clone(),
            adapter: self.adapter.kind().to_owned(),
            store: self.stores.kind().to_owned(),
            capabilities: self.capabilities.clone(),
        }
    }

    /// Why this subject cannot be given a case, if it cannot.
    #[must_use]
    pub fn not_covered(&self, case: &Case) -> Option<Because> {
        if let Some(missing) = case.needs.iter().find(|need| !self.capabilities.contains(need)) {
            let why = self.contract.capabilities.get(missing).map_or("", |capability| capability.why.as_str());
            let kind = if missing == "clock" { BecauseKind::Clock } else { BecauseKind::Capability };
            return Some(Because { kind, detail: format!("{missing}: {why}") });
        }
        if !self.adapter.statements() {
            let detail = match crate::run::statement_fault(case) {
                Some(At::Everywhere) => {
                    "the subject does not tell of its statements, so no fault can stand at each of them"
                }
                Some(_) => "the subject does not tell of its statements, so its store cannot be made to fail",
                None => "",
            };
            if !detail.is_empty() {
                return Some(Because { kind: BecauseKind::Unsupported, detail: detail.to_owned() });
            }
        }
        if self.adapter.outside() {
            return self.beyond(case);
        }
        let declared = &self.adapter.hello().checkpoints;
        let missing = checkpoints(case).into_iter().find(|point| !declared.contains(point))?;
        Some(Because { kind: BecauseKind::Checkpoint, detail: format!("the subject passes no checkpoint {missing}") })
    }

    /// Why a case asks more of a subject than can be done to it from outside, if it does.
    fn beyond(&self, case: &Case) -> Option<Because> {
        let because = |kind, detail| Some(Because { kind, detail });
        let waits = calls(case).any(|call| call.after.is_some());
        if waits && !self.moves_clock() && self.capabilities.iter().any(|name| name == "backoff") {
            let detail = "a row waits before it is tried again, and the subject's clock cannot be moved".to_owned();
            return because(BecauseKind::Clock, detail);
        }
        for call in calls(case) {
            let unknowable = call.answers.values().find_map(crate::run::unknowable).map(str::to_owned);
            if let Some(detail) = unknowable.or_else(|| self.adapter.not_given(&self.contract, call)) {
                return because(BecauseKind::Unsupported, detail);
            }
        }
        let detail = crate::run::beyond(&self.contract, self.adapter.as_ref(), case)?;
        because(BecauseKind::Checkpoint, detail)
    }

    /// Whether steps can move the subject's clock.
    pub(crate) fn moves_clock(&self) -> bool {
        self.adapter.provides().contains(&"clock")
    }

    /// Why this subject cannot be given a check, if it cannot.
    #[must_use]
    pub(crate) fn check_not_covered(&self, check: &CheckName) -> Option<String> {
        let CheckName::Invariant(name) = check else { return None };
        let invariant = self.contract.invariants.iter().find(|invariant| invariant.name == *name)?;
        invariant.needs.iter().find(|need| !self.capabilities.contains(need)).cloned()
    }
}

/// Why a subject was not started once.
enum Unstarted {
    Store(StoreError),
    Subject(StartError),
}

/// Starts a subject that says no hello on an empty store, and ends it: one that will not start is told of once, and
/// not by every case.
fn started_once(
    contract: &Contract,
    adapter: &dyn Adapter,
    stores: &dyn Stores,
    folder: &Path,
) -> Result<(), Unstarted> {
    std::fs::create_dir_all(folder).map_err(|error| Unstarted::Store(error.into()))?;
    let base = adapter.clock_base();
    let store = stores.empty(folder, base).map_err(Unstarted::Store)?;
    let (words, clock) = (Arc::clone(store.translation()), Arc::new(Clock::from(base)));
    let setting = Setting { contract, store: store.address(), words, clock, folder };
    let mut session = adapter.session(&setting).map_err(Unstarted::Subject)?;
    let started = session.start("main").map_err(Unstarted::Subject);
    session.finish();
    started
}

/// The calls of a case, in order.
fn calls(case: &Case) -> impl Iterator<Item = &Call> {
    case.steps.iter().flat_map(|step| match step {
        Step::Call(call) => std::slice::from_ref(call.as_ref()),
        Step::Parallel { calls, .. } => calls.as_slice(),
        _ => &[],
    })
}

/// The checkpoints that a case needs its subject to pass.
fn checkpoints(case: &Case) -> Vec<String> {
    let of_call = |call: &Call| match &call.fault {
        Some(fault) => match &fault.at {
            At::Checkpoint(point) => Some(point.clone()),
            At::Everywhere | At::Nth(_) | At::Request | At::Reply => None,
        },
        None => None,
    };
    let mut out = Vec::new();
    for step in &case.steps {
        match step {
            Step::Call(call) => out.extend(of_call(call)),
            Step::Parallel { calls, barrier } => {
                out.extend(calls.iter().filter_map(of_call));
                out.extend(barrier.clone());
            }
            _ => {}
        }
    }
    out
}

fn capabilities(subject: &str, contract: &Contract, adapter: &dyn Adapter) -> Result<Vec<String>, LoadError> {
    let hello = adapter.hello();
    let wrong = |message: String| LoadError::Hello { subject: subject.to_owned(), message };
    let own = || contract.capabilities.iter().filter(|(_, capability)| !capability.from_adapter).map(|(name, _)| name);
    for name in &hello.capabilities {
        match contract.capabilities.get(name) {
            Some(capability) if capability.from_adapter => {
                return Err(wrong(format!("it declares `{name}`, which only the harness can derive; leave it out")));
            }
            Some(_) => {}
            None => {
                let known = suggest(name, own().map(String::as_str));
                let message =
                    format!("it declares the capability `{name}`, which {} does not know; {known}", contract.name);
                return Err(wrong(message));
            }
        }
    }
    let known: Vec<&str> =
        contract.calls.values().flat_map(|call| call.checkpoints.iter().map(String::as_str)).collect();
    for point in &hello.checkpoints {
        if !known.contains(&point.as_str()) {
            let known = suggest(point, known.iter().copied());
            let message =
                format!("it declares the checkpoint `{point}`, which {} does not know; {known}", contract.name);
            return Err(wrong(message));
        }
    }
    let has = |name: &String| hello.capabilities.contains(name) || adapter.provides().contains(&name.as_str());
    Ok(contract.capabilities.keys().filter(|name| has(name)).cloned().collect())
}
