//! Running cases: on all cores, each on a fresh store in a folder of its own, reported in the order of the contracts.

mod case;
mod core;
mod drive;
mod effects;
mod outside;
pub(crate) mod report;
mod seeding;
mod silence;
mod stored;
mod tasks;

pub(crate) use case::{How, Ran, run_once};
pub(crate) use outside::beyond;
pub use report::fault_words;
pub use stored::{Stored, StoredError};
pub(crate) use tasks::unknowable;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nack_cases::{At, Call, Case, FaultKind, Step};
use nack_contracts::stable_hash;
use nack_reports::{BecauseKind, CaseReport, Verdict};

use crate::judge::Evidence;
use crate::prove::sabotage::Sabotage;
use crate::target::Target;

/// How to run cases.
#[derive(Clone, Debug)]
pub struct Options {
    /// Chooses every order that the cases leave open.
    pub seed: u64,
    /// How many cases run at once.
    pub jobs: usize,
    /// Deadlines are multiplied by this.
    pub deadline_scale: f64,
    /// Stop at the first failure; what was not run is left out.
    pub fail_fast: bool,
    /// Where the folders of cases that did not pass are kept.
    pub keep: Option<PathBuf>,
    /// Set from outside to end the run early.
    pub cancel: Arc<AtomicBool>,
    /// How many cases are done, for whoever watches.
    pub done: Arc<AtomicUsize>,
    /// What comes after a case's name in its replay line.
    pub replay_flags: String,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            seed: 0,
            jobs: thread::available_parallelism().map_or(1, usize::from),
            deadline_scale: 1.0,
            fail_fast: false,
            keep: None,
            cancel: Arc::default(),
            done: Arc::default(),
            replay_flags: String::new(),
        }
    }
}

/// How long a worker may be silent, before the scale. In-process references answer within a millisecond.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a worker may be silent before one that is held is let go, in case it waits for that one.
const FREED_AFTER: Duration = Duration::from_millis(500);

/// How long a call may be silent while nobody may write, before it is taken to stand at its write.
const AT_WRITE_AFTER: Duration = Duration::from_millis(200);

/// The most events of one case. Each event resets a deadline, so without it a subject that asks for ever never ends.
pub(crate) const MOST_EVENTS: u64 = 200_000;

/// The most points that a fault at `*` is struck at, so that a subject that never ends does end.
const MOST_POINTS: u32 = 10_000;

/// Runs these cases, each given as a target and an index into its cases. `scratch` is the folder for their stores.
#[must_use]
pub fn run_cases(
    targets: &[Target],
    selection: &[(usize, usize)],
    scratch: &Path,
    options: &Options,
) -> Vec<CaseReport> {
    run_all(targets, selection, scratch, options, None)
}

/// Runs them while this is done behind their subjects' backs.
pub(crate) fn run_sabotaged(
    targets: &[Target],
    selection: &[(usize, usize)],
    scratch: &Path,
    options: &Options,
    kind: Sabotage,
) -> Vec<CaseReport> {
    run_all(targets, selection, scratch, options, Some(kind))
}

fn run_all(
    targets: &[Target],
    selection: &[(usize, usize)],
    scratch: &Path,
    options: &Options,
    sabotage: Option<Sabotage>,
) -> Vec<CaseReport> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let reports: Mutex<Vec<Option<CaseReport>>> = Mutex::new(vec![None; selection.len()]);
    let work = |job: usize| {
        let mut core = core::Core::of(job);
        let mut judges: HashMap<usize, Evidence<'_>> = HashMap::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let halted = stop.load(Ordering::Relaxed) || options.cancel.load(Ordering::Relaxed);
            let Some(&(target, case)) = selection.get(index).filter(|_| !halted) else { return };
            let target_of = &targets[target];
            let case = &target_of.cases[case];
            core.pin(target_of.adapter.kind() == "in-process");
            let report = match judge_of(&mut judges, target, target_of) {
                Ok(evidence) => {
                    let folder = scratch.join(format!("case-{index}"));
                    run_case(target_of, case, evidence, &folder, options, sabotage)
                }
                Err(error) => report::not_started(target_of, case, error.to_string(), options),
            };
            options.done.fetch_add(1, Ordering::Relaxed);
            if options.fail_fast && report.verdict == Verdict::Fail {
                stop.store(true, Ordering::Relaxed);
            }
            if let Ok(mut reports) = reports.lock() {
                reports[index] = Some(report);
            }
        }
    };
    thread::scope(|scope| {
        let work = &work;
        for job in 1..options.jobs.max(1) {
            scope.spawn(move || work(job));
        }
        work(0);
    });
    reports.into_inner().map(|reports| reports.into_iter().flatten().collect()).unwrap_or_default()
}

fn judge_of<'j, 'c>(
    judges: &'j mut HashMap<usize, Evidence<'c>>,
    index: usize,
    target: &'c Target,
) -> rusqlite::Result<&'j Evidence<'c>> {
    Ok(match judges.entry(index) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(free) => free.insert(Evidence::new(&target.contract)?),
    })
}

/// Runs one case on a target: once, or once for each point if a fault stands at `*`.
fn run_case(
    target: &Target,
    case: &Case,
    evidence: &Evidence<'_>,
    folder: &Path,
    options: &Options,
    sabotage: Option<Sabotage>,
) -> CaseReport {
    let began = Instant::now();
    let mut report = match target.not_covered(case) {
        Some(because) => report::not_covered(target, case, because, options),
        None => {
            let how = How { sabotage, ..How::of(options, &case.name) };
            let (ran, points) = everywhere(target, case, evidence, folder, options, how);
            report::ran(target, case, ran, points, options)
        }
    };
    report.elapsed_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    if let Some(keep) =
        options.keep.as_ref().filter(|_| matches!(report.verdict, Verdict::Fail | Verdict::Inconclusive))
        && let Err(error) = keep_folder(folder, keep, &case.name)
    {
        report.notes.push(format!("its folder could not be kept: {error}"));
    }
    // The scratch folder is removed at the end in any case; this only keeps it small.
    let _ = fs::remove_dir_all(folder);
    report
}

impl How {
    /// How a case of this name is run.
    pub(crate) fn of(options: &Options, name: &str) -> How {
        How {
            seed: options.seed ^ stable_hash(name),
            sabotage: None,
            patience: PATIENCE.mul_f64(options.deadline_scale),
            freed_after: FREED_AFTER.mul_f64(options.deadline_scale),
            scale: options.deadline_scale,
            at_write_after: AT_WRITE_AFTER.mul_f64(options.deadline_scale),
        }
    }
}

fn everywhere(
    target: &Target,
    case: &Case,
    evidence: &Evidence<'_>,
    folder: &Path,
    options: &Options,
    how: How,
) -> (Ran, Option<u32>) {
    let start = |error: std::io::Error| Ran {
        trouble: Some(nack_reports::Because { kind: BecauseKind::Start, detail: error.to_string() }),
        ..Ran::default()
    };
    let once = |case: &Case, n: u32| {
        let folder = if n == 0 { folder.to_owned() } else { folder.join(format!("point-{n}")) };
        let stored = Stored::new(target, case, options.seed);
        if let Err(error) = fs::create_dir_all(&folder).and_then(|()| stored.write(&folder)) {
            return start(error);
        }
        case::run_once(target, case, evidence, &folder, how)
    };
    if !has_star(case) {
        return (once(case, 0), None);
    }
    for n in 1..=MOST_POINTS {
        let ran = once(&at_point(case, n), n);
        let ended = !ran.all_struck;
        let only_that = ran.trouble.as_ref().is_some_and(|because| because.kind == BecauseKind::NotFired);
        if ended && n > 1 && only_that && !ran.failed() {
            // The fault no longer strikes: every point was tried.
            return (Ran { trouble: None, ..ran }, Some(n - 1));
        }
        if ended || ran.failed() || ran.trouble.is_some() || options.cancel.load(Ordering::Relaxed) {
            return (ran, Some(if ended { n - 1 } else { n }));
        }
        let _ = fs::remove_dir_all(folder.join(format!("point-{n}")));
    }
    let detail = format!("the fault still strikes after {MOST_POINTS} points");
    let trouble = Some(nack_reports::Because { kind: BecauseKind::Silence, detail });
    (Ran { trouble, ..Ran::default() }, Some(MOST_POINTS))
}

/// Where a fault of the case stands that needs to see the subject's statements: at each of them, or in its store.
pub(crate) fn statement_fault(case: &Case) -> Option<&At> {
    let needs = |fault: &&nack_cases::Fault| {
        matches!(fault.at, At::Everywhere | At::Nth(_)) || matches!(fault.by, FaultKind::Storage(_))
    };
    faults(case).find(needs).map(|fault| &fault.at)
}

fn has_star(case: &Case) -> bool {
    faults(case).any(|fault| fault.at == At::Everywhere)
}

pub(crate) fn faults(case: &Case) -> impl Iterator<Item = &nack_cases::Fault> {
    case.steps
        .iter()
        .flat_map(|step| match step {
            Step::Call(call) => std::slice::from_ref(call.as_ref()),
            Step::Parallel { calls, .. } => calls.as_slice(),
            _ => &[],
        })
        .filter_map(|call: &Call| call.fault.as_ref())
}

/// The case with its faults at `*` set to the n-th point.
#[must_use]
pub fn at_point(case: &Case, n: u32) -> Case {
    let mut case = case.clone();
    for step in &mut case.steps {
        let calls = match step {
            Step::Call(call) => std::slice::from_mut(call.as_mut()),
            Step::Parallel { calls, .. } => calls.as_mut_slice(),
            _ => continue,
        };
        for fault in calls.iter_mut().filter_map(|call| call.fault.as_mut()) {
            if fault.at == At::Everywhere {
                fault.at = At::Nth(n);
            }
        }
    }
    case
}

/// Whether a case kills, stops or signals its subject: what only a process of its own can really be given.
#[must_use]
pub fn is_process_case(case: &Case) -> bool {
    let signals = case.needs.iter().any(|need| need == "process");
    signals || faults(case).any(|fault| matches!(fault.by, FaultKind::Kill | FaultKind::Stop))
}

/// Copies a case's folder where it is kept.
fn keep_folder(folder: &Path, keep: &Path, name: &str) -> std::io::Result<()> {
    copy_folder(folder, &free_folder(keep, name))
}

/// A folder below `keep` under a case's name that nothing has yet: what lies there is somebody's.
fn free_folder(keep: &Path, name: &str) -> PathBuf {
    let name = name.replace('/', "__");
    let mut home = keep.join(&name);
    let mut n = 1;
    while home.exists() {
        n += 1;
        home = keep.join(format!("{name}-{n}"));
    }
    home
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
