//! Random programs of file calls: the recording makes the real files at the end, and at sampled points those that a real
//! SIGKILL at that very call leaves.

use std::fmt::Write as _;
use std::fs;

use libtest_mimic::Failed;
use nack::disk::folder::difference;
use nack::disk::log::{Op, Recording, What};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::subject::{Run, Subject};

type Test = Box<dyn Fn(&Subject) -> Result<(), Failed> + Send>;

pub(crate) fn trials() -> Vec<(String, Test)> {
    vec![("random_programs_are_told_at_every_point".to_owned(), Box::new(random))]
}

/// Flags of an open: `O_CREAT`, and perhaps `O_TRUNC`, `O_APPEND`, `O_EXCL`, `O_DSYNC`.
const FLAGS: [u32; 6] = [0o100, 0o1100, 0o2100, 0o300, 0o10100, 0o3100];
const CALLS: [&str; 20] = [
    "write",
    "pwrite",
    "writev",
    "seek",
    "ftruncate",
    "truncate",
    "fallocate",
    "punch",
    "rename",
    "exchange",
    "link",
    "symlink",
    "unlink",
    "mkdir",
    "rmdir",
    "fsync",
    "fdatasync",
    "dup",
    "copy",
    "child",
];
const NAMES: [&str; 7] = ["a", "b", "d", "d/a", "d/b", "../outside/a", "../outside/d"];

fn line() -> impl Strategy<Value = String> {
    let name = prop::sample::select(&NAMES[..]);
    let open = (name.clone(), 0..4_u32, prop::sample::select(&FLAGS[..]));
    let open = open.prop_map(|(name, slot, flags)| format!("open {name} - {slot} {flags}"));
    let other = (prop::sample::select(&CALLS[..]), name.clone(), name, 0..4_u32, 0..10_000_u32);
    let other = other.prop_map(|(call, a, b, slot, size)| format!("{call} {a} {b} {slot} {size}"));
    prop_oneof![1 => open, 3 => other]
}

fn random(subject: &Subject) -> Result<(), Failed> {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let program = (prop::collection::vec(line(), 1..40), any::<prop::sample::Index>());
    let outcome = runner.run(&program, |(lines, point)| {
        // So that there is something to do at all.
        let start = ["mkdir d - 0 0", "open a - 0 66", "open d/b - 1 66"].map(str::to_owned);
        let lines = start.iter().chain(&lines).fold(String::new(), |mut all, line| {
            let _ = writeln!(all, "{line}");
            all
        });
        let whole = recorded(subject, &lines, None).map_err(TestCaseError::fail)?;
        // The end of the program closes what it cut, and is nothing to be killed behind.
        let closes = |op: &Op| matches!(op.what, What::Close { .. });
        let last = whole.0.ops.iter().rposition(|op| !closes(op)).unwrap_or(0);
        let point = 1 + point.index(last + 1);
        let (cut, run) = recorded(subject, &lines, Some(point as u64)).map_err(TestCaseError::fail)?;
        prop_assert!(cut.ops.len() >= point);
        // The kill closes what was open.
        prop_assert!(cut.ops[point..].iter().all(closes), "{:?}", cut.ops);
        let mut tree = whole.0.start;
        for op in &whole.0.ops[..point] {
            tree.apply(&op.what).map_err(|error| TestCaseError::fail(error.to_string()))?;
        }
        let found = difference(&tree, &run.store()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(found, None, "killed behind operation {} of {:?}", point, whole.0.ops);
        Ok(())
    });
    outcome.map_err(|error| error.to_string().into())
}

fn recorded(subject: &Subject, lines: &str, kill_at: Option<u64>) -> Result<(Recording, Run), String> {
    let mut run = Run::new();
    fs::write(run.path().join("outside/program"), lines).map_err(|error| error.to_string())?;
    if let Some(operations) = kill_at {
        run.recorder = run.recorder.clone().kill_at(operations);
    }
    let output = run.run(subject.words("dynamic", "program"));
    let ended = if kill_at.is_none() { output.status.success() } else { output.status.code().is_none() };
    if !ended {
        return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok((run.finish().map_err(|error| error.to_string())?, run))
}
