//! The references behind the protocol: in-process, where a kill is a copy, and served, where it is SIGKILL, a case has
//! the same verdict and the same checks, for the sound reference and for its defects. This file has a main of its
//! own because it is also the program that is served.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::{env, io};

use indexmap::IndexMap;
use libtest_mimic::{Arguments, Failed, Trial};
use nack::Target;
use nack::adapter::{Adapter, InProcessAdapter};
use nack::process::Command;
use nack::run::{Options, is_process_case, run_cases};
use nack::stdio::{StdioAdapter, serve, serve_on};
use nack::store::{Setup, Tables};
use nack::subject::Program;
use nack_cases::{At, Case, FaultKind, Step};
use nack_contracts::{Contract, shipped};
use nack_reports::{CaseReport, Verdict};
use nack_subjects::reference;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    if let [serve_it, contract, defect @ ..] = words.as_slice()
        && serve_it == "serve"
    {
        let program = reference(contract, defect.first().map(String::as_str)).expect("the test names a reference");
        return if serve(program).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let mut trials =
        vec![Trial::test("a_server_answers_what_it_cannot_read_and_ends_with_its_input", answers_what_it_cannot_read)];
    for contract in contracts() {
        let name = contract.name.replace('-', "_");
        let sound = Arc::clone(&contract);
        trials.push(Trial::test(format!("{name}_served_and_in_process_agree"), move || {
            agree(&sound, None, |case| !meets(case))
        }));
        trials.push(Trial::test(format!("{name}_really_killed_is_convicted_of_the_same_defects"), move || {
            defects(&contract)
                .iter()
                .try_for_each(|defect| agree(&contract, Some(defect), |case| is_process_case(case) && !meets(case)))
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Defects that a death shows.
fn defects(contract: &Contract) -> &'static [&'static str] {
    match contract.name.as_str() {
        "order-relay" => &["mark-before-send", "mark-committed-late", "mark-by-replace"],
        "order-consumer" => &["marker-first", "effect-first"],
        "member-import" => &["member-in-two-commits", "reply-before-commit"],
        "outbox" => &["sent-before-send", "record-committed-late"],
        _ => &[],
    }
}

fn contracts() -> Vec<Arc<Contract>> {
    let read = |source| Arc::new(Contract::read(source, &IndexMap::new()).expect("it reads"));
    let contracts = shipped().into_iter().map(read);
    contracts.filter(|contract: &Arc<Contract>| reference(&contract.name, None).is_some()).collect()
}

/// Cases whose workers wait for each other: which of them goes first is the machine's choice once they are processes.
fn meets(case: &Case) -> bool {
    case.steps.iter().any(|step| match step {
        Step::Parallel { .. } => true,
        Step::Call(call) => call.fault.as_ref().is_some_and(|fault| {
            fault.by == FaultKind::Stop || (fault.by == FaultKind::Hold && !matches!(fault.at, At::Checkpoint(_)))
        }),
        _ => false,
    })
}

fn agree(contract: &Arc<Contract>, defect: Option<&str>, wanted: impl Fn(&Case) -> bool) -> Result<(), Failed> {
    let program = reference(&contract.name, defect).expect("it exists");
    let here = run(contract, Arc::new(InProcessAdapter::new(Arc::clone(&program))), &wanted);
    let served = run(contract, Arc::new(served(contract, program, defect)), &wanted);
    let mut compared = 0;
    for (name, here) in &here {
        let there = &served[name];
        // What only a process can be given is not covered in-process.
        if [here.verdict, there.verdict].contains(&Verdict::NotCovered) {
            continue;
        }
        compared += 1;
        if said(here) != said(there) {
            let words = |report: &CaseReport| format!("{:?} {:#?}", said(report), report.timeline);
            return Err(format!("{name} {defect:?}\nin-process {}\nserved {}", words(here), words(there)).into());
        }
    }
    println!("{} {defect:?}: {compared} cases", contract.name);
    if compared == 0 { Err(format!("{} {defect:?}: nothing was compared", contract.name).into()) } else { Ok(()) }
}

fn said(report: &CaseReport) -> (Verdict, Vec<(&str, Option<bool>)>) {
    (report.verdict, report.checks.iter().map(|check| (check.name.as_str(), check.held)).collect())
}

fn served(contract: &Contract, program: Arc<dyn Program>, defect: Option<&str>) -> StdioAdapter {
    let own = env::current_exe().expect("it has a path");
    let mut argv = vec![own.to_string_lossy().into_owned(), "serve".to_owned(), contract.name.clone()];
    argv.extend(defect.map(str::to_owned));
    let command = Command::new(argv, env::temp_dir());
    StdioAdapter::new(command, Tables::sqlite(Setup::Program(program)), contract).expect("it says hello")
}

fn run(
    contract: &Arc<Contract>,
    adapter: Arc<dyn Adapter>,
    wanted: &impl Fn(&Case) -> bool,
) -> BTreeMap<String, CaseReport> {
    let scratch = nack::scratch().expect("a folder");
    let target = Target::load("reference", Arc::clone(contract), adapter, scratch.path()).expect("it is bound");
    let cases = 0..target.cases.len();
    let selection: Vec<_> = cases.filter(|case| wanted(&target.cases[*case])).map(|case| (0, case)).collect();
    let reports = run_cases(&[target], &selection, scratch.path(), &Options::default());
    reports.into_iter().map(|report| (report.name.clone(), report)).collect()
}

fn answers_what_it_cannot_read() -> Result<(), Failed> {
    let input = concat!(
        "hello\n",
        r#"{"jsonrpc":"2.0","method":"call"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":1,"method":"call","params":{"call":"relay_once","args":{}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"stop"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":3,"method":"hello","params":{}}"#,
        "\n",
    );
    let program = reference("order-relay", None).expect("it exists");
    let mut output = Vec::new();
    serve_on(program, io::Cursor::new(input), &mut output)?;
    let output = String::from_utf8(output)?;
    let starts = [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"hello comes before a call""#,
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"#,
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"missing field"#,
    ];
    assert_eq!(output.lines().count(), starts.len(), "{output}");
    for (line, start) in output.lines().zip(starts) {
        assert!(line.starts_with(start), "{line} does not start with {start}");
    }
    Ok(())
}
