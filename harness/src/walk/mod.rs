//! Walks: random sequences of calls, answers, crashes and restarts over a contract's own vocabulary. A walk is judged by
//! what holds in every case, and by whether the reference does the same; what fails is shrunk to the shortest sequence
//! that still does. The reference itself is judged by the first alone, since it always agrees with itself.

mod agreement;
mod vocabulary;

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use nack_cases::Case;
use nack_reports::{Because, BecauseKind, CaseReport, Check};
use proptest::collection;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::judge::Evidence;
use crate::run::{How, Options, Ran, Stored, report, run_once};
use crate::target::Target;
use vocabulary::Vocabulary;

/// The scenario that walks are called by.
pub const SCENARIO: &str = "walk";

/// The check that holds when the reference does the same.
pub const AGREEMENT: &str = "agreement";

/// The longest walk, in steps.
const LONGEST: usize = 8;

/// How often a failing walk is tried again in a shorter form.
const SHRINKS: u32 = 60;

/// Walks a subject `walks` times, next to the reference of its contract unless it is that, and reports the shortest
/// failing walk, or that none failed.
#[must_use]
pub fn walk(target: &Target, reference: Option<&Target>, walks: u32, scratch: &Path, options: &Options) -> CaseReport {
    let began = Instant::now();
    let mut all = vec![target];
    all.extend(reference);
    let vocabulary = Vocabulary::of(&all);
    let blank = |vocabulary: &Vocabulary| vocabulary.case(&target.contract, 0, &[]);
    let (givens, steps) = vocabulary.sizes();
    if givens == 0 || steps < 2 {
        let detail = "no case of the contract can be given to it, so there is nothing to walk".to_owned();
        let case = Vocabulary::default().case(&target.contract, 0, &[]);
        return report::not_covered(target, &case, Because { kind: BecauseKind::Absent, detail }, options);
    }
    let evidence = match Evidence::new(&target.contract) {
        Ok(evidence) => evidence,
        Err(error) => return report::not_started(target, &blank(&vocabulary), error.to_string(), options),
    };
    let walker = Walker {
        target,
        reference,
        evidence,
        folder: scratch.join(format!("walks-{}", target.subject.replace(['/', ' '], "-"))),
        how: How::of(options, SCENARIO),
        options,
        tried: Cell::new(0),
        vocabulary,
    };
    let mut report = walker.walk(walks);
    report.elapsed_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    report
}

struct Walker<'a> {
    target: &'a Target,
    reference: Option<&'a Target>,
    vocabulary: Vocabulary,
    evidence: Evidence<'a>,
    folder: PathBuf,
    how: How,
    options: &'a Options,
    tried: Cell<u32>,
}

impl Walker<'_> {
    fn walk(&self, walks: u32) -> CaseReport {
        let config = Config {
            cases: walks,
            max_shrink_iters: SHRINKS,
            failure_persistence: None,
            max_global_rejects: walks.saturating_mul(20),
            ..Config::default()
        };
        let mut runner = TestRunner::new_with_rng(config, rng(self.options.seed));
        let (givens, steps) = self.vocabulary.sizes();
        let strategy = (0..givens, collection::vec(0..steps, 1..=LONGEST));
        let outcome = runner.run(&strategy, |(given, steps)| {
            if self.options.cancel.load(Ordering::Relaxed) {
                return Ok(());
            }
            match self.one(&self.vocabulary.case(&self.target.contract, given, &steps)) {
                // The walk says nothing.
                None => Err(TestCaseError::reject("the reference itself does not hold")),
                Some(ran) if ran.failed() => Err(TestCaseError::fail("it does not hold")),
                Some(_) => Ok(()),
            }
        });
        let (case, ran) = match outcome {
            Ok(()) => (self.vocabulary.case(&self.target.contract, 0, &[]), held(self.reference.is_some())),
            Err(TestError::Abort(reason)) => {
                let detail = format!("too few walks hold for the reference: {reason}");
                let trouble = Some(Because { kind: BecauseKind::NotFired, detail });
                (self.vocabulary.case(&self.target.contract, 0, &[]), Ran { trouble, ..Ran::default() })
            }
            Err(TestError::Fail(_, (given, steps))) => {
                let case = self.vocabulary.case(&self.target.contract, given, &steps);
                let ran = self.one(&case).unwrap_or_default();
                (case, ran)
            }
        };
        let failed = ran.failed();
        let mut report = report::ran(self.target, &case, ran, Some(self.tried.get()), self.options);
        report.replay = format!(
            "nack run {} --subject {} --walks {walks} --seed {}{}",
            self.target.contract.name, self.target.subject, self.options.seed, self.options.replay_flags
        );
        if failed {
            self.keep(&case, &mut report);
        }
        report
    }

    /// Runs one walk on the subject and, next to it, on the reference. `None`: it does not even hold for the reference,
    /// or the subject's store cannot hold where it begins.
    fn one(&self, case: &Case) -> Option<Ran> {
        self.tried.set(self.tried.get() + 1);
        let right = match self.reference {
            Some(reference) => Some(self.run(reference, case, "reference")).filter(|ran| !ran.failed()),
            None => None,
        };
        if self.reference.is_some() && right.is_none() {
            return None;
        }
        let mut ran = self.run(self.target, case, "subject");
        if ran.unheld.is_some() {
            return None;
        }
        let contract = &self.target.contract;
        let differs = right.and_then(|right| agreement::difference(contract, &right.observed, &ran.observed));
        if let Some((relation, expected, observed)) = differs.filter(|_| ran.trouble.is_none()) {
            ran.checks.push(Check {
                name: AGREEMENT.to_owned(),
                held: Some(false),
                words: format!("{relation} is not what the reference makes of the same walk"),
                expected: format!("{relation}:\n{expected}"),
                observed: format!("{relation}:\n{observed}"),
            });
        }
        Some(ran)
    }

    fn run(&self, target: &Target, case: &Case, who: &str) -> Ran {
        let folder = self.folder.join(who);
        let ready = fs::create_dir_all(&folder);
        let mut ran = match ready {
            Ok(()) => run_once(target, case, &self.evidence, &folder, self.how),
            Err(error) => {
                let trouble = Some(Because { kind: BecauseKind::Start, detail: error.to_string() });
                Ran { trouble, ..Ran::default() }
            }
        };
        let _ = fs::remove_dir_all(&folder);
        // A fault that a walk never reaches is no news.
        ran.trouble = ran.trouble.filter(|because| because.kind != BecauseKind::NotFired);
        ran
    }

    /// Stores a failing walk where it can be replayed from.
    fn keep(&self, case: &Case, report: &mut CaseReport) {
        let Some(keep) = &self.options.keep else { return };
        let kept = Stored::new(self.target, case, self.options.seed).keep(keep);
        report.notes.push(match kept {
            Ok(file) => format!("the walk is kept: nack replay {}", file.display()),
            Err(error) => format!("the walk could not be kept: {error}"),
        });
    }
}

/// What walks that all held come to.
fn held(agreed: bool) -> Ran {
    let check = |name: &str| Check {
        name: name.to_owned(),
        held: Some(true),
        words: String::new(),
        expected: String::new(),
        observed: String::new(),
    };
    let mut checks = vec![check("invariants")];
    checks.extend(agreed.then(|| check(AGREEMENT)));
    Ran { checks, all_struck: true, ..Ran::default() }
}

fn rng(seed: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}
