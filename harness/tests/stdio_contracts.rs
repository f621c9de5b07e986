//! The Python subjects under their contracts, as processes that are really killed: the reference is green, and one
//! changed line is red by the name of its rule.

mod stdio_support;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use nack::Target;
use nack::process::Command;
use nack::run::{Options, run_cases};
use nack::stdio::StdioAdapter;
use nack::store::{Setup, Tables};
use nack_contracts::{Contract, shipped};
use nack_reports::{CaseReport, Verdict};
use rstest::rstest;
use stdio_support::{python, python_is_here};
use tempfile::TempDir;

fn subjects() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases/subjects/python")
}

fn contract(name: &str) -> Arc<Contract> {
    let mut contracts = shipped().into_iter().map(|source| Contract::read(source, &IndexMap::new()).expect("it reads"));
    Arc::new(contracts.find(|contract| contract.name == name).expect("it is shipped"))
}

/// What a run came to, case by case.
struct Verdicts(Vec<CaseReport>);

impl Verdicts {
    fn of(&self, case: &str) -> &CaseReport {
        self.0.iter().find(|report| report.name == case).expect("the case was run")
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.0.iter().filter(|report| report.verdict == verdict).count()
    }

    /// The cases that neither passed nor ask for what this subject lacks, with what was wrong.
    fn troubles(&self) -> Vec<String> {
        let other = |report: &&CaseReport| !matches!(report.verdict, Verdict::Pass | Verdict::NotCovered);
        let broken =
            |report: &CaseReport| report.checks.iter().filter(|c| c.held == Some(false)).cloned().collect::<Vec<_>>();
        let shown = |report: &CaseReport| {
            format!(
                "{} {} {:?} {:?} {:#?}",
                report.verdict,
                report.name,
                report.because,
                broken(report),
                report.timeline
            )
        };
        self.0.iter().filter(other).map(shown).collect()
    }
}

/// Runs the cases of a contract that `wanted` takes on a Python program in `folder`.
fn run(name: &str, folder: &Path, program: &str, sql: &str, wanted: impl Fn(&str) -> bool) -> Verdicts {
    run_command(name, folder, &[python().unwrap_or("python3"), "-S", program, "--nack"], sql, wanted)
}

fn run_command(name: &str, folder: &Path, argv: &[&str], sql: &str, wanted: impl Fn(&str) -> bool) -> Verdicts {
    let scratch = nack::scratch().expect("a folder");
    let contract = contract(name);
    let command = Command::new(argv.iter().map(|word| (*word).to_owned()).collect(), folder.to_owned());
    let adapter = StdioAdapter::new(command, Tables::sqlite(Setup::File(subjects().join(sql))), &contract)
        .expect("it says hello");
    let target = Target::load("subject", contract, Arc::new(adapter), scratch.path()).expect("it is bound");
    let cases = 0..target.cases.len();
    let selection: Vec<_> = cases.filter(|case| wanted(&target.cases[*case].name)).map(|case| (0, case)).collect();
    Verdicts(run_cases(&[target], &selection, scratch.path(), &Options::default()))
}

/// Each scenario and row once, with the first sample of each class, so that it stays quick.
#[rstest]
#[case::outbox("outbox", "outbox_worker.py", "outbox.sql", 80)]
#[case::relay("order-relay", "relay.py", "relay.sql", 15)]
#[case::consumer("order-consumer", "consumer.py", "consumer.sql", 40)]
fn a_python_worker_keeps_its_contract(
    #[case] name: &str,
    #[case] program: &str,
    #[case] sql: &str,
    #[case] least: usize,
) {
    if !python_is_here() {
        return;
    }
    let verdicts = run(name, &subjects(), program, sql, |case| !case.contains('='));
    assert_eq!(verdicts.troubles(), Vec::<String>::new());
    let passed = verdicts.count(Verdict::Pass);
    assert!(passed >= least, "{passed} cases passed");
}

/// Each defect is one changed line of the worker, and the case and check that must turn red.
#[rstest]
#[case::ok_is_accepted(
    "    if result == ACCEPTED:",
    "    if result in (ACCEPTED, 'ok'):",
    "outbox/deliver/other+other",
    "reply"
)]
#[case::permanent_is_retried(
    "    if result == TRANSIENT and attempts < budget:",
    "    if result in (TRANSIENT, PERMANENT) and attempts < budget:",
    "outbox/deliver/permanent+permanent",
    "expect"
)]
#[case::claim_without_its_condition(
    "        with Transaction(self.connection) as store:",
    "        with __import__('contextlib').nullcontext(self.connection) as store:",
    "outbox/race-everywhere",
    "expect"
)]
#[case::sent_before_the_send(
    "        checkpoint(\"after_claim\")",
    "        self.record(row, SENT, None); checkpoint(\"after_claim\")",
    "outbox/crash/after-claim+kill",
    "invariant:sent-implies-accepted"
)]
#[case::attempts_not_counted(
    "                (attempts + 1, now + self.lease, id),",
    "                (attempts, now + self.lease, id),",
    "outbox/deliver/accepted+accepted-below-max",
    "expect"
)]
fn one_changed_line_is_red_by_the_name_of_its_rule(
    #[case] line: &str,
    #[case] changed: &str,
    #[case] case: &str,
    #[case] check: &str,
) {
    if !python_is_here() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    for file in ["outbox_worker.py", "outbox.sql", "nack_sdk.py"] {
        let text = fs::read_to_string(subjects().join(file)).expect("it can be read");
        assert!(file != "outbox_worker.py" || text.matches(line).count() == 1, "{line} is not one line of the worker");
        fs::write(folder.path().join(file), text.replace(line, changed)).expect("it can be written");
    }
    let verdicts = run("outbox", folder.path(), "outbox_worker.py", "outbox.sql", |name| name == case);
    let report = verdicts.of(case);
    assert_eq!(report.verdict, Verdict::Fail);
    let broken = report.checks.iter().filter(|check| check.held == Some(false)).map(|check| check.name.as_str());
    assert!(broken.clone().any(|name| name == check), "{:?}", broken.collect::<Vec<_>>());
}

/// The protocol page alone is enough: this adapter has no SDK.
#[test]
fn an_adapter_without_an_sdk_passes_hello_checkpoints_and_kills() {
    let here = |program: &str| std::process::Command::new(program).arg("--version").output().is_ok();
    if !here("node") || !here("sqlite3") {
        let _ = std::io::stderr().write_all(b"SKIPPED: there is no node or no sqlite3, so relay.mjs was not run\n");
        return;
    }
    let folder = subjects().join("../node");
    let verdicts = run_command("order-relay", &folder, &["node", "relay.mjs"], "relay.sql", |_| true);
    assert_eq!(verdicts.troubles(), Vec::<String>::new());
    for case in ["order-relay/crash/before-send+kill", "order-relay/crash/after-send+kill", "order-relay/drain/3"] {
        assert_eq!(verdicts.of(case).verdict, Verdict::Pass, "{case}");
    }
}
