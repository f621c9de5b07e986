//! Which subjects a run judges: those of a `nack.toml`, else the shipped references, in-process and served.

use std::env;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use nack::adapter::{Adapter, InProcessAdapter};
use nack::binding::{Binding, Bindings, Making, Reach, find};
use nack::command::CommandAdapter;
use nack::process::{Command, START_WITHIN};
use nack::server::HttpAdapter;
use nack::session::StartError;
use nack::stdio::StdioAdapter;
use nack::store::{Place, Setup, StoreError, Tables};
use nack::subject::Program;
use nack::{LoadError, Target};
use nack_contracts::{Contract, Finding, Source, suggest};

use super::load_trouble;
use crate::args::Common;
use crate::trouble::Trouble;
use crate::watch::Scratch;

/// The reference in this process.
pub(super) const REFERENCE: &str = "reference";
/// The same reference as a process of its own, which can really be killed.
const SERVED: &str = "served";

/// The program of the reference for a contract, or of one of its defects, in this process.
pub(super) fn reference(contract: &str, defect: Option<&str>) -> Option<Arc<dyn Adapter>> {
    let program = nack_subjects::reference(contract, defect)?;
    Some(Arc::new(InProcessAdapter::new(program)))
}

/// The `nack.toml` of a run, if it has one.
pub(super) fn bindings(common: &Common) -> Result<Option<Bindings>, Trouble> {
    let path = match &common.config {
        Some(path) => Some(path.clone()),
        None => env::current_dir().ok().and_then(|folder| find(&folder)),
    };
    path.map(|path| Bindings::read(&path)).transpose().map_err(|(source, finding)| found(&source, *finding))
}

fn found(source: &Source, finding: Finding) -> Trouble {
    Trouble::findings(source, vec![finding])
}

/// Every subject that a run may judge, ready to be judged.
pub(super) fn targets(
    contracts: &[Arc<Contract>],
    common: &Common,
    defect: Option<&str>,
    scratch: &Scratch,
) -> Result<Vec<Target>, Trouble> {
    match bindings(common)? {
        Some(bindings) if defect.is_none() => bound(contracts, &bindings, common, scratch),
        Some(_) => {
            Err(Trouble::Usage("--defect is of the shipped references, and this run has a nack.toml".to_owned()))
        }
        None => shipped(contracts, common, defect, scratch.path()),
    }
}

/// Refuses a subject that does not exist.
fn chosen<'a>(common: &Common, names: impl Iterator<Item = &'a str>) -> Result<(), Trouble> {
    let Some(wanted) = common.subject.as_deref() else { return Ok(()) };
    let names: Vec<&str> = names.collect();
    if names.contains(&wanted) {
        return Ok(());
    }
    Err(Trouble::Usage(format!("there is no subject `{wanted}`; {}", suggest(wanted, names))))
}

fn shipped(
    contracts: &[Arc<Contract>],
    common: &Common,
    defect: Option<&str>,
    scratch: &Path,
) -> Result<Vec<Target>, Trouble> {
    chosen(common, [REFERENCE, SERVED].into_iter())?;
    let wanted = |name: &str| common.subject.as_deref().is_none_or(|subject| subject == name);
    let mut targets = Vec::new();
    for contract in contracts {
        let Some(program) = nack_subjects::reference(&contract.name, defect) else { continue };
        let mut add = |name: &str, adapter: Arc<dyn Adapter>| -> Result<(), Trouble> {
            let target = Target::load(name, Arc::clone(contract), adapter, scratch);
            targets.push(target.map_err(|error| load_trouble(error, contracts))?);
            Ok(())
        };
        if wanted(REFERENCE) {
            add(REFERENCE, Arc::new(InProcessAdapter::new(Arc::clone(&program))))?;
        }
        if wanted(SERVED) {
            add(SERVED, served(contract, program, defect)?)?;
        }
    }
    if targets.is_empty() {
        let names: Vec<&str> = contracts.iter().map(|contract| contract.name.as_str()).collect();
        let what =
            defect.map_or("no reference".to_owned(), |defect| format!("no reference with the defect `{defect}`"));
        return Err(Trouble::Usage(format!("{what} ships for {}", names.join(", "))));
    }
    Ok(targets)
}

fn served(contract: &Contract, program: Arc<dyn Program>, defect: Option<&str>) -> Result<Arc<dyn Adapter>, Trouble> {
    let this = env::current_exe().map_err(|error| Trouble::File(format!("nack cannot find itself: {error}")))?;
    let mut argv = vec![this.display().to_string(), "serve".to_owned(), contract.name.clone()];
    argv.extend(defect.into_iter().flat_map(|defect| ["--defect".to_owned(), defect.to_owned()]));
    let folder = env::current_dir().map_err(|error| Trouble::File(format!("the current folder is gone: {error}")))?;
    let adapter = StdioAdapter::new(Command::new(argv, folder), Tables::sqlite(Setup::Program(program)), contract);
    Ok(Arc::new(adapter.map_err(|error| Trouble::Start(format!("the served reference: {error}")))?))
}

fn bound(
    contracts: &[Arc<Contract>],
    bindings: &Bindings,
    common: &Common,
    scratch: &Scratch,
) -> Result<Vec<Target>, Trouble> {
    chosen(common, bindings.subjects.iter().map(|subject| subject.name.as_str()))?;
    let mut targets = Vec::new();
    for binding in &bindings.subjects {
        if common.subject.as_deref().is_some_and(|wanted| wanted != binding.name) {
            continue;
        }
        let contract = contract_of(contracts, bindings, binding)?;
        if let Place::Postgres(url) = &binding.place {
            scratch.watch_server(url);
        }
        let adapter = reach(bindings, binding, &contract, common)?;
        let target = Target::load(&binding.name, contract, adapter, scratch.path());
        let mut target = target.map_err(|error| match error {
            LoadError::Hello { message, .. } => {
                let at = format!("subject.{}", binding.name);
                let finding = Finding::error("binding/hello", at, binding.span.clone(), message);
                let help = match binding.reach {
                    Reach::Stdio { .. } => "mend what the program answers to hello",
                    Reach::Command { .. } | Reach::Http(_) => "mend `capabilities`",
                };
                found(&bindings.source, finding.help(help))
            }
            LoadError::Start { error, .. } => {
                let help = match binding.reach {
                    Reach::Command { .. } => "the program of each call is started in the folder of this file",
                    Reach::Stdio { .. } | Reach::Http(_) => {
                        "`command` is started in the folder of this file, stays in the foreground, and `ready` says \
                         how it is known to be ready"
                    }
                };
                unstarted(bindings, binding, &error, help)
            }
            LoadError::Store { error: StoreError::Binding { key, message, help }, .. } => {
                let at = format!("subject.{}.{key}", binding.name);
                let span = binding.keys.get(&key).unwrap_or(&binding.span).clone();
                found(&bindings.source, Finding::error("binding/store", at, span, message).help(help))
            }
            LoadError::Store { error, .. } => {
                let key = if matches!(error, StoreError::Unreachable(_)) { "store" } else { "setup" };
                let line = bindings.source.line(binding.keys.get(key).unwrap_or(&binding.span).start);
                Trouble::Start(format!("{}:{line}: subject {}: {error}", bindings.source.file, binding.name))
            }
            other => load_trouble(other, contracts),
        })?;
        target.overrides.clone_from(&binding.params);
        targets.push(target);
    }
    Ok(targets)
}

/// The way to a subject of a `nack.toml`.
fn reach(
    bindings: &Bindings,
    binding: &Binding,
    contract: &Contract,
    common: &Common,
) -> Result<Arc<dyn Adapter>, Trouble> {
    let setup = match &binding.setup {
        Making::File(file) => Setup::File(bindings.folder.join(file)),
        Making::Command(argv) => Setup::Command(argv.clone(), binding.folder.clone()),
    };
    let tables = Tables { place: binding.place.clone(), setup, mapping: binding.mapping.clone() };
    binding.fits(contract).map_err(|finding| found(&bindings.source, *finding))?;
    // Never less than usual: an interpreter takes its time to start, however little a case is given.
    let start_within = START_WITHIN.mul_f64(common.deadline_scale.max(1.0));
    match &binding.reach {
        Reach::Stdio { command } => {
            let mut command = binding.command(command.clone());
            command.start_within = start_within;
            let help = "`command` is started in the folder of this file, and answers hello at once";
            let adapter = StdioAdapter::new(command, tables, contract);
            let adapter = adapter.map_err(|error| unstarted(bindings, binding, &error, help))?;
            agrees(bindings, binding, &adapter)?;
            Ok(Arc::new(adapter))
        }
        Reach::Http(server) => {
            let adapter = HttpAdapter::new(binding, server, tables, contract, start_within);
            Ok(Arc::new(adapter.map_err(|finding| found(&bindings.source, *finding))?))
        }
        Reach::Command { calls } => {
            let adapter = CommandAdapter::new(binding, calls, tables, contract);
            Ok(Arc::new(adapter.map_err(|finding| found(&bindings.source, *finding))?))
        }
    }
}

/// A subject that would not start.
fn unstarted(bindings: &Bindings, binding: &Binding, error: &StartError, help: &str) -> Trouble {
    let (file, line) = (&bindings.source.file, bindings.source.line(binding.span.start));
    Trouble::Start(format!("{file}:{line}: subject {}: {error}\n  = help: {help}", binding.name))
}

fn contract_of(contracts: &[Arc<Contract>], bindings: &Bindings, binding: &Binding) -> Result<Arc<Contract>, Trouble> {
    let at = format!("subject.{}", binding.name);
    let Some(contract) = contracts.iter().find(|contract| contract.name == binding.contract) else {
        let known = suggest(&binding.contract, contracts.iter().map(|contract| contract.name.as_str()));
        let message = format!("there is no contract `{}`", binding.contract);
        let finding = Finding::error("binding/contract", at, binding.span.clone(), message).help(known);
        return Err(found(&bindings.source, finding));
    };
    if binding.params.is_empty() {
        return Ok(Arc::clone(contract));
    }
    let overridden = Contract::read(contract.source.clone(), &IndexMap::from_iter(binding.params.clone()));
    overridden.map(Arc::new).map_err(|findings| {
        let finding = findings.into_iter().next().unwrap_or_else(|| Finding::error("binding/params", "", 0..0, ""));
        let message = format!("with these parameters the contract is broken: {}", finding.message);
        found(&bindings.source, Finding::error("binding/params", at, binding.span.clone(), message))
    })
}

/// What the file says of capabilities and what the subject says of itself must be the same.
fn agrees(bindings: &Bindings, binding: &Binding, adapter: &dyn Adapter) -> Result<(), Trouble> {
    let Some(expected) = &binding.capabilities else { return Ok(()) };
    let (mut told, mut wanted) = (adapter.hello().capabilities.clone(), expected.clone());
    told.sort();
    wanted.sort();
    if told == wanted {
        return Ok(());
    }
    let message = format!("the file says capabilities [{}], the subject says [{}]", wanted.join(", "), told.join(", "));
    let finding =
        Finding::error("binding/capabilities", format!("subject.{}", binding.name), binding.span.clone(), message);
    Err(found(&bindings.source, finding.help("take `capabilities` out of the file, or make both say the same")))
}

/// The cases that a default run repeats on the served reference: every kill, stop and signal, for real.
pub(super) fn is_repeated(target: &Target, case: &nack_cases::Case) -> bool {
    target.subject != SERVED || nack::run::is_process_case(case)
}
