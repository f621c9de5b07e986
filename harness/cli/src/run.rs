//! `nack run`, `nack prove` and `nack replay`: subjects are loaded, cases chosen, run, and reported.

pub(crate) mod reports;
mod shard;
mod subjects;
mod walks;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use nack::known::Known;
use nack::report::report;
use nack::run::{Options, Stored, at_point, run_cases};
use nack::{LoadError, Target};
use nack_cases::{Case, below};
use nack_contracts::suggest;
use nack_reports::{CaseReport, Exit, Proof, Report, Verdict};

use crate::args::{Common, ProveArgs, ReplayArgs, RunArgs, ServeArgs};
use crate::contracts::load;
use crate::explain::nothing;
use crate::findings::Located;
use crate::progress::Progress;
use crate::trouble::Trouble;
use crate::watch::Scratch;

pub(crate) use reports::Outputs;

pub(crate) fn run(args: &RunArgs) -> Result<Exit, Trouble> {
    let outputs = Outputs::of(&args.common)?;
    let part = args.shard.as_deref().map(shard::Part::parse).transpose()?;
    let mut options = options(&args.common, args.defect.as_deref())?;
    let interrupts = Interrupts::watch(&options.cancel)?;
    let scratch = Scratch::make()?;
    let contracts = load(args.common.source.contracts.as_deref())?;
    let targets =
        interrupts.ending_at_once(|| subjects::targets(&contracts, &args.common, args.defect.as_deref(), &scratch))?;
    let asked = |name: &str| args.prefixes.is_empty() || args.prefixes.iter().any(|prefix| below(name, prefix));
    let wanted = |name: &str| asked(name) && part.is_none_or(|part| part.holds(name));
    // Whoever asks for the served reference by name gets every case on it.
    let whole = args.common.subject.is_some();
    let all = select(&targets, &|target, case| asked(&case.name) && (whole || subjects::is_repeated(target, case)));
    let named = |(target, case): &(usize, usize)| &targets[*target].cases[*case].name;
    let selection: Vec<(usize, usize)> = all.iter().copied().filter(|chosen| wanted(named(chosen))).collect();
    let walked = targets.iter().filter(|target| args.walks.is_some() && asked(&walks::name(target)));
    let of_all = all.iter().map(|chosen| (targets[chosen.0].subject.clone(), named(chosen).clone()));
    let of_all: Vec<(String, String)> = of_all.chain(walked.map(|t| (t.subject.clone(), walks::name(t)))).collect();
    if of_all.is_empty() {
        let names = targets.iter().flat_map(|target| target.cases.iter().map(|case| case.name.as_str()));
        return Err(nothing(&args.prefixes, names));
    }
    let known = known(args, &targets)?;
    options.fail_fast = args.fail_fast;
    options.keep.clone_from(&args.keep);
    let began = Instant::now();
    let progress = Progress::show(&options.done, Some(selection.len()), args.common.quiet);
    let mut cases = run_cases(&targets, &selection, scratch.path(), &options);
    if let Some(walks) = args.walks {
        let defect = args.defect.as_deref();
        cases.extend(walks::walks(&targets, &contracts, walks, defect, &wanted, scratch.path(), &options)?);
    }
    drop(progress);
    let passing = known.apply(&mut cases);
    // A case that one subject of the run was given is covered, whoever else could not be.
    let covered: HashSet<String> =
        cases.iter().filter(|case| case.verdict != Verdict::NotCovered).map(|case| case.name.clone()).collect();
    let required = |case: &CaseReport| !covered.contains(&case.name) && is_required(&args.require, case, &targets);
    let shard = part.map(|part| part.told(&of_all, &cases));
    let done = Report { shard, ..report(&targets, cases, None, options.seed, &required) };
    let exit = finish(done, began, &outputs, &options)?;
    if passing.is_empty() {
        return Ok(exit);
    }
    Ok(exit.and(Trouble::findings(&known.source, passing).tell()))
}

/// The list of known failures, each entry of which names a case and a subject of this run.
fn known(args: &RunArgs, targets: &[Target]) -> Result<Known, Trouble> {
    let Some(path) = &args.known else { return Ok(Known::default()) };
    let known = Known::read(path).map_err(|(source, finding)| Trouble::findings(&source, vec![*finding]))?;
    let cases: Vec<&str> =
        targets.iter().flat_map(|target| target.cases.iter().map(|case| case.name.as_str())).collect();
    let subjects: Vec<&str> = targets.iter().map(|target| target.subject.as_str()).collect();
    match known.unknown(&cases, &subjects) {
        unknown if unknown.is_empty() => Ok(known),
        unknown => Err(Trouble::findings(&known.source, unknown)),
    }
}

pub(crate) fn prove(args: &ProveArgs) -> Result<Exit, Trouble> {
    let outputs = Outputs::of(&args.common)?;
    let options = options(&args.common, None)?;
    let interrupts = Interrupts::watch(&options.cancel)?;
    let scratch = Scratch::make()?;
    let contracts = load(args.common.source.contracts.as_deref())?;
    let wanted = |name: &str| args.prefixes.is_empty() || args.prefixes.iter().any(|prefix| below(name, prefix));
    let began = Instant::now();
    let own = subjects::bindings(&args.common)?.is_some();
    if !own && args.common.subject.as_deref().is_some_and(|subject| subject != subjects::REFERENCE) {
        let message = "without a nack.toml only the shipped references are proved: leave --subject out";
        return Err(Trouble::Usage(message.to_owned()));
    }
    let progress = Progress::show(&options.done, None, args.common.quiet);
    let (targets, proof): (Vec<Target>, Proof) = if own {
        let targets = interrupts.ending_at_once(|| subjects::targets(&contracts, &args.common, None, &scratch))?;
        let proof = nack::prove::prove_bound(&targets, &wanted, scratch.path(), &options);
        (targets, proof)
    } else {
        let proved = nack::prove::prove(&contracts, &subjects::reference, &wanted, scratch.path(), &options);
        proved.map_err(|error| load_trouble(error, &contracts))?
    };
    drop(progress);
    if proof.is_empty() {
        let mutants = contracts.iter().flat_map(|c| c.mutants.iter().map(move |m| format!("{}/{}", c.name, m.name)));
        let cases = targets.iter().flat_map(|target| target.cases.iter().map(|case| case.name.clone()));
        let names: Vec<String> = mutants.chain(cases).collect();
        return Err(nothing(&args.prefixes, names.iter().map(String::as_str)));
    }
    let done = report(&targets, Vec::new(), Some(proof), options.seed, &|_| false);
    finish(done, began, &outputs, &options)
}

/// Puts a reference behind the stdio protocol until its input ends.
pub(crate) fn serve(args: &ServeArgs) -> Result<Exit, Trouble> {
    let defect = args.defect.as_deref();
    let Some(program) = nack_subjects::reference(&args.contract, defect) else {
        let names = nack_contracts::shipped();
        let names: Vec<&str> =
            names.iter().filter_map(|source| source.file.strip_prefix("contracts/")?.strip_suffix(".toml")).collect();
        let what = defect.map_or(String::new(), |defect| format!(" with the defect `{defect}`"));
        return Err(Trouble::Usage(format!(
            "no reference{what} ships for `{}`; {}",
            args.contract,
            suggest(&args.contract, names)
        )));
    };
    match nack::stdio::serve(program) {
        Ok(()) => Ok(Exit::Held),
        Err(error) => Err(Trouble::File(format!("serving ended: {error}"))),
    }
}

pub(crate) fn replay(args: &ReplayArgs) -> Result<Exit, Trouble> {
    let mut outputs = Outputs::of(&args.common)?;
    outputs.whole_story();
    let mut options = options(&args.common, args.defect.as_deref())?;
    let interrupts = Interrupts::watch(&options.cancel)?;
    let scratch = Scratch::make()?;
    let contracts = load(args.common.source.contracts.as_deref())?;
    let mut targets =
        interrupts.ending_at_once(|| subjects::targets(&contracts, &args.common, args.defect.as_deref(), &scratch))?;
    options.keep.clone_from(&args.keep);
    let path = Path::new(&args.case);
    if args.common.subject.is_none() && targets.iter().any(|target| target.subject == "reference") && !path.is_file() {
        targets.retain(|target| target.subject == "reference");
    }
    let selection = if path.is_file() {
        let stored = Stored::read(path).map_err(|error| Trouble::Usage(error.to_string()))?;
        options.seed = stored.seed;
        vec![adopt(&mut targets, stored, &args.case)?]
    } else {
        named(&mut targets, &args.case)?
    };
    let began = Instant::now();
    let cases = run_cases(&targets, &selection, scratch.path(), &options);
    targets.retain(|target| cases.iter().any(|case| below(&case.name, &target.contract.name)));
    finish(report(&targets, cases, None, options.seed, &|_| true), began, &outputs, &options)
}

/// A stored case takes the place of the contract's own cases, provided that its contract says the same as then.
fn adopt(targets: &mut [Target], stored: Stored<'_>, file: &str) -> Result<(usize, usize), Trouble> {
    let fits = |target: &Target| target.contract.name == stored.case.contract && target.subject == stored.subject;
    let home = targets.iter().position(fits);
    let Some(home) = home else {
        return Err(Trouble::Usage(format!(
            "{file}: its contract `{}` is not loaded; name it with --contracts",
            stored.case.contract
        )));
    };
    let target = &mut targets[home];
    if target.digest != stored.digest {
        return Err(Trouble::Usage(format!(
            "{file}: it was stored under {} {}, and the loaded contract is {}; give the contract of that time with --contracts",
            stored.case.contract,
            &stored.digest.get(..12).unwrap_or_default(),
            &target.digest[..12],
        )));
    }
    target.cases = vec![stored.case.into_owned()];
    Ok((home, 0))
}

/// A case by its name; `NAME@K-WHAT` sets its fault at `*` to the K-th point.
fn named(targets: &mut [Target], name: &str) -> Result<Vec<(usize, usize)>, Trouble> {
    let (plain, point) = match name.rsplit_once('@') {
        None => (name, None),
        Some((plain, point)) => {
            let number = point.split('-').next().and_then(|number| number.parse::<u32>().ok()).filter(|n| *n > 0);
            let number = number.ok_or_else(|| {
                Trouble::Usage(format!("{name}: a point is written @K or @K-WHAT, with K counted from 1"))
            })?;
            (plain, Some(number))
        }
    };
    let mut out = Vec::new();
    for (home, target) in targets.iter_mut().enumerate() {
        if let Some(index) = target.cases.iter().position(|case| case.name == plain) {
            if let Some(point) = point {
                target.cases[index] = at_point(&target.cases[index], point);
            }
            out.push((home, index));
        }
    }
    if out.is_empty() {
        let names = targets.iter().flat_map(|target| target.cases.iter().map(|case| case.name.as_str()));
        return Err(nothing(&[plain.to_owned()], names));
    }
    Ok(out)
}

fn select(targets: &[Target], wanted: &dyn Fn(&Target, &Case) -> bool) -> Vec<(usize, usize)> {
    let of_target = |(home, target): (usize, &Target)| -> Vec<(usize, usize)> {
        (0..target.cases.len()).filter(|case| wanted(target, &target.cases[*case])).map(|case| (home, case)).collect()
    };
    targets.iter().enumerate().flat_map(of_target).collect()
}

fn is_required(require: &[String], case: &CaseReport, targets: &[Target]) -> bool {
    let needs = || targets.iter().flat_map(|target| &target.cases).filter(|known| known.name == case.name);
    require
        .iter()
        .any(|wanted| wanted == "all" || below(&case.name, wanted) || needs().any(|known| known.needs.contains(wanted)))
}

fn options(common: &Common, defect: Option<&str>) -> Result<Options, Trouble> {
    let scale = common.deadline_scale;
    if !(scale.is_finite() && scale > 0.0 && scale <= 1000.0) {
        return Err(Trouble::Usage(format!("--deadline-scale {scale}: give a number above 0, up to 1000")));
    }
    if common.jobs == Some(0) {
        return Err(Trouble::Usage("--jobs 0: give at least 1".to_owned()));
    }
    let mut options = Options { seed: common.seed, deadline_scale: scale, ..Options::default() };
    if let Some(jobs) = common.jobs {
        options.jobs = jobs.min(256);
    }
    if let Some(folder) = &common.source.contracts {
        options.replay_flags = format!(" --contracts {folder}");
    }
    if let Some(config) = &common.config {
        options.replay_flags.push_str(&format!(" --config {}", config.display()));
    }
    if let Some(defect) = defect {
        options.replay_flags.push_str(&format!(" --defect {defect}"));
    }
    Ok(options)
}

/// The first interrupt ends the run in order, so that nothing is left behind; a second one ends it at once.
struct Interrupts {
    at_once: Arc<AtomicBool>,
}

impl Interrupts {
    /// Catches interrupts from here on.
    fn watch(cancel: &Arc<AtomicBool>) -> Result<Interrupts, Trouble> {
        let broken = |error: std::io::Error| Trouble::File(format!("signals cannot be caught: {error}"));
        let at_once = Arc::default();
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&at_once)).map_err(broken)?;
            signal_hook::flag::register(signal, Arc::clone(&at_once)).map_err(broken)?;
            signal_hook::flag::register(signal, Arc::clone(cancel)).map_err(broken)?;
        }
        Ok(Interrupts { at_once })
    }

    /// Meanwhile the first interrupt ends nack at once: a subject may let it wait long for its hello, nothing is to
    /// be reported yet, and the watcher cleans up.
    fn ending_at_once<T>(&self, work: impl FnOnce() -> T) -> T {
        self.at_once.store(true, Ordering::SeqCst);
        let done = work();
        self.at_once.store(false, Ordering::SeqCst);
        done
    }
}

pub(crate) fn load_trouble(error: LoadError, contracts: &[Arc<nack_contracts::Contract>]) -> Trouble {
    match error {
        LoadError::Contract(name, findings) => {
            let source =
                contracts.iter().find(|c| c.name == name).map(|c| Arc::new(c.source.clone())).unwrap_or_default();
            let locate = |finding| Located { source: Arc::clone(&source), finding };
            Trouble::Findings(findings.into_iter().map(locate).collect())
        }
        LoadError::Hello { .. } => Trouble::Usage(error.to_string()),
        LoadError::Store { .. } | LoadError::Start { .. } => Trouble::Start(error.to_string()),
    }
}

fn finish(mut done: Report, began: Instant, outputs: &Outputs, options: &Options) -> Result<Exit, Trouble> {
    done.elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let interrupted = options.cancel.load(Ordering::Relaxed);
    if interrupted {
        done.exit = Exit::Interrupted.code();
        done.closing.insert(0, "the run was interrupted: cases that are not listed did not run".to_owned());
    }
    outputs.write(&done)?;
    Ok(if interrupted { Exit::Interrupted } else { Exit::of_code(done.exit) })
}
