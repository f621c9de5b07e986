//! Conformance under `cargo test`: every case of a contract is a test of its own, by name.

use std::fmt::Write as _;
use std::sync::Arc;

pub use libtest_mimic::Arguments;
use libtest_mimic::{Conclusion, Failed, Trial};
use nack_contracts::{Contract, Finding, Source};
use nack_reports::escape::Newlines;
use nack_reports::{CaseReport, Verdict};

use crate::adapter::InProcessAdapter;
use crate::run::{Options, run_cases};
use crate::subject::Program;
use crate::{Target, scratch};

/// Runs programs against contracts as a test target with `harness = false`, and ends the process with its exit code.
/// Flags are those of `cargo test`, and of nextest. A case that the program cannot be given is an ignored test, with
/// the reason as its kind; a program or a contract that cannot be loaded is a failed test.
///
/// ```
/// use std::sync::Arc;
/// use nack::inprocess::Context;
/// use nack::subject::{Failure, Hello, Program, Subject};
/// use nack_contracts::{Map, Source, Value};
///
/// /// A door that opens for one word only.
/// struct Door;
///
/// impl Program for Door {
///     fn hello(&self) -> Hello {
///         Hello { name: "door".into(), ..Hello::default() }
///     }
///     fn setup(&self, store: &rusqlite::Connection) -> rusqlite::Result<()> {
///         store.execute_batch("CREATE TABLE visits (word TEXT)")
///     }
///     fn start(&self, _: &Context) -> Result<Box<dyn Subject>, Failure> {
///         Ok(Box::new(Door))
///     }
/// }
///
/// impl Subject for Door {
///     fn call(&mut self, _: &str, args: &Map, ctx: &Context) -> Result<Value, Failure> {
///         let word = args["word"].as_text().unwrap_or_default().to_owned();
///         if word != "please" {
///             return Ok("shut".into());
///         }
///         ctx.open()?.execute("INSERT INTO visits VALUES (?1)", [word])?;
///         Ok("open".into())
///     }
/// }
///
/// let contract = Source::new("door.toml", r#"
///     format = 1
///     name   = "door"
///     title  = "The door opens for one word"
///     owner  = "the doorman"
///     [store.visits]
///     columns = { word = "text" }
///     [call.knock]
///     args  = { word = "text" }
///     reply = "door"
///     [domain.door]
///     values = ["open", "shut"]
///     [domain.word]
///     values = ["please"]
///     other  = { upper = "PLEASE", nothing = "" }
///     [table.knock]
///     inputs  = ["word"]
///     outputs = ["door"]
///     success = { door = ["open"] }
///     rows    = [["polite", "please", "open"], ["other", "other", "shut"]]
///     [[scenario]]
///     name  = "knock"
///     why   = "Only the one word opens the door."
///     bind  = ["knock"]
///     steps = [{ call = "knock", args = { word = "$word" }, reply = "$door" }, { expect = { visits = { at_most = 1 } } }]
/// "#);
///
/// # let arguments = nack::conformance::Arguments { quiet: true, ..Default::default() };
/// let conclusion = nack::conformance::run(&arguments, vec![(contract, Arc::new(Door) as _)]);
/// assert_eq!((conclusion.num_passed, conclusion.num_failed), (3, 0));
/// ```
///
/// In a test target, `main` is one line: `nack::conformance::main(vec![(contract, program)])`.
pub fn main(subjects: Vec<(Source, Arc<dyn Program>)>) -> ! {
    run(&Arguments::from_args(), subjects).exit()
}

/// The same without ending the process.
pub fn run(arguments: &Arguments, subjects: Vec<(Source, Arc<dyn Program>)>) -> Conclusion {
    let filter = arguments.filter.clone().unwrap_or_default();
    let mut trials = Vec::new();
    for (source, program) in subjects {
        let file = source.file.clone();
        match trials_of(source, program, &filter, arguments.exact) {
            Ok(loaded) => trials.extend(loaded),
            Err(message) => trials.push(Trial::test(format!("{file} loads"), move || Err(Failed::from(message)))),
        }
    }
    libtest_mimic::run(arguments, trials)
}

/// The tests of one contract. With an exact filter, as nextest gives for each test, the others are not even made.
fn trials_of(source: Source, program: Arc<dyn Program>, filter: &str, exact: bool) -> Result<Vec<Trial>, String> {
    let told = |source: &Source, findings: &[Finding]| {
        findings.iter().fold(String::new(), |mut out, finding| {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{}:{}: {finding}", source.file, source.line(finding.span().start));
            out
        })
    };
    let contract = Contract::read(source.clone(), &Default::default()).map_err(|findings| told(&source, &findings))?;
    if exact && !filter.starts_with(&format!("{}/", contract.name)) {
        return Ok(Vec::new());
    }
    let folder = scratch().map_err(|error| format!("no temporary folder: {error}"))?;
    let name = program.hello().name;
    let adapter = Arc::new(InProcessAdapter::new(program));
    let target = Target::load(&name, Arc::new(contract), adapter, folder.path()).map_err(|error| error.to_string())?;
    let shared = Arc::new((target, folder));
    let wanted = |index: &usize| !exact || shared.0.cases[*index].name == filter;
    let trial = |index: usize| {
        let shared = Arc::clone(&shared);
        let case = &shared.0.cases[index];
        let name = case.name.clone();
        let missing = shared.0.not_covered(case);
        let kind = missing.as_ref().map_or(String::new(), |because| format!("not covered: {}", because.detail));
        let ignored = missing.is_some();
        Trial::test(name, move || one(&shared.0, index, shared.1.path())).with_kind(kind).with_ignored_flag(ignored)
    };
    Ok((0..shared.0.cases.len()).filter(wanted).map(trial).collect())
}

fn one(target: &Target, index: usize, folder: &std::path::Path) -> Result<(), Failed> {
    let folder = folder.join(format!("test-{index}"));
    let options = Options { jobs: 1, ..Options::default() };
    let reports = run_cases(std::slice::from_ref(target), &[(0, index)], &folder, &options);
    match reports.first() {
        Some(report) if report.verdict == Verdict::Pass => Ok(()),
        Some(report) => Err(Failed::from(words(report))),
        None => Err(Failed::from("the case did not run")),
    }
}

fn words(report: &CaseReport) -> String {
    let mut out = format!("{}: {}\n{}\n{}\n", report.name, report.verdict, report.why, report.source);
    if let Some(because) = &report.because {
        out.push_str(&format!("because: {}\n", because.detail));
    }
    if let (Some(expected), Some(observed)) = (&report.expected, &report.observed) {
        out.push_str(&format!("expected {expected}\nobserved {observed}\n"));
    }
    for check in report.checks.iter().filter(|check| check.held == Some(false)) {
        out.push_str(&format!("{} does not hold: {}\n", check.name, check.words));
    }
    for moment in &report.timeline {
        let mark = if moment.fault { "✗" } else { " " };
        out.push_str(&format!("{mark} {:<14} {}\n", moment.lane, moment.what));
    }
    nack_reports::escape::terminal(&out, Newlines::Keep)
}
