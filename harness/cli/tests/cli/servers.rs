//! The import servers from the binary itself: unmodified programs that hold, each listed defect of which is exit 1 by
//! the cases that its contract names, and a binding with a mistake, which is one message.

use std::fs;
use std::path::{Path, PathBuf};

use rstest::rstest;
use serde_json::Value;

use crate::common::{Nack, Ran};
use crate::edits::{listed, named};
use crate::subjects::{left_behind, python};

/// What no server can be struck by from outside.
const NOT_COVERED: [&str; 3] =
    ["member-import/crash/before_commit+raise", "member-import/crash/after_commit+raise", "member-import/sweep"];

pub(crate) fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/subjects/programs")
}

/// The shipped programs, copied, so that a test may change a line and a run leaves nothing in the repository.
fn servers() -> Nack {
    let nack = Nack::new();
    for file in ["nack.toml", "schema.sql", "python/server.py", "node/server.mjs"] {
        nack.write(file, &fs::read_to_string(programs().join("import_server").join(file)).expect("it is shipped"));
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(programs().join("node_modules"), nack.path().join("node_modules")).expect("a link");
    nack
}

/// Whether a subject can be started here. If not, the test says so; where CI is set, it fails.
pub(crate) fn is_here(subject: &str) -> bool {
    if subject == "python" {
        return python();
    }
    let mut node = std::process::Command::new("node");
    let found = node.args(["--eval", "require('better-sqlite3')"]).current_dir(programs()).output();
    let here = found.is_ok_and(|output| output.status.success());
    if !here {
        assert!(std::env::var_os("CI").is_none(), "node and better-sqlite3 are required here");
        eprintln!("not covered: there is no node with better-sqlite3 on this machine");
    }
    here
}

fn run(nack: &Nack, subject: &str, prefix: &str) -> Ran {
    nack.run(&["run", prefix, "--subject", subject, "--jobs", "2", "--report", "json=nack.json"])
}

/// The names of the cases of the last run with this verdict.
pub(crate) fn with_verdict(nack: &Nack, verdict: &str) -> Vec<String> {
    let text = fs::read_to_string(nack.path().join("nack.json")).expect("the report was written");
    let report: Value = serde_json::from_str(&text).expect("it is JSON");
    let cases = report["cases"].as_array().expect("it lists cases");
    let named = cases.iter().filter(|case| case["verdict"] == verdict);
    named.map(|case| case["name"].as_str().expect("a case has a name").to_owned()).collect()
}

#[rstest]
fn a_sound_server_holds(#[values("python", "node")] subject: &str) {
    if !is_here(subject) {
        return;
    }
    let nack = servers();
    let _ = run(&nack, subject, "member-import").code(0);
    assert_eq!(with_verdict(&nack, "not_covered"), NOT_COVERED);
    assert_eq!(left_behind(&nack), Vec::<String>::new());
}

fn edits(subject: &str) -> PathBuf {
    programs().join("import_server").join(subject).join("edits.toml")
}

#[rstest]
fn every_listed_defect_is_exit_1_as_its_contract_says(#[values("python", "node")] subject: &str) {
    if !is_here(subject) {
        return;
    }
    for edit in listed(&edits(subject)) {
        let nack = servers();
        edit.make(&nack.path().join(subject));
        edit.must_be_killed(&nack, subject);
    }
}

#[rstest]
fn the_race_is_found_ten_times_out_of_ten(#[values("python", "node")] subject: &str) {
    if !is_here(subject) {
        return;
    }
    let nack = servers();
    let edit = named(&edits(subject), "check-then-insert");
    edit.make(&nack.path().join(subject));
    for _ in 0..10 {
        edit.must_be_killed(&nack, subject);
    }
}

#[rstest]
#[case::no_such_call("call.import_members", "call.import_member", 2, "did you mean `import_members`?")]
#[case::no_such_argument("{arg.body}", "{arg.boby}", 2, "`import_members` has no argument `boby`")]
#[case::no_such_placeholder("{port}", "{prot}", 2, "there is no placeholder {prot} here")]
#[case::no_port(
    "\"{port}\"]\nready    = \"stdout:listening on\"",
    "\"80\"]",
    2,
    "nobody knows which port it listens on"
)]
#[case::no_sign("stdout:listening on", "listening on", 2, "no sign of readiness")]
#[case::no_such_column("mail AS email", "male AS email", 2, "no such column: male")]
#[case::an_unknown_capability("workers  =", "capabilities = [\"lease\"]\nworkers  =", 2, "does not know")]
#[case::no_program("\"python3\"", "\"no-such-python\"", 3, "could not be started")]
#[case::no_script("server.py", "serve.py", 3, "it ended with exit status 2 before it was ready")]
fn a_mistake_in_the_binding(#[case] from: &str, #[case] to: &str, #[case] code: i32, #[case] says: &str) {
    if !is_here("python") {
        return;
    }
    let nack = servers();
    let text = fs::read_to_string(nack.path().join("nack.toml")).expect("it was copied");
    let python = text.split("[subject.node]").next().expect("it is the first").replacen(
        "ready",
        "workers  = \"servers\"\nready",
        1,
    );
    let from = from.replace("]\nready", "]\nworkers  = \"servers\"\nready");
    assert!(python.contains(&from), "{from:?}");
    nack.write("nack.toml", &python.replacen(&from, to, 1));
    let ran = run(&nack, "python", "member-import/size/1").code(code).says(says);
    assert!(ran.stderr.contains("nack.toml:"), "{}", ran.stderr);
    assert!(ran.stderr.contains("help"), "{}", ran.stderr);
    assert_eq!(left_behind(&nack), Vec::<String>::new());
}
