//! The mail workers from the binary itself: unmodified programs that hold, each listed edit of which is exit 1 by the
//! name of the case that it breaks, and a binding with a mistake, which is one message.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use serde_json::Value;

use crate::common::Nack;
use crate::edits::{Edit, named, shipped};
use crate::servers::{is_here, programs, with_verdict};
use crate::subjects::left_behind;

/// A hundred calls a case are a hundred starts of an interpreter, so of these cases one of each kind must do.
const LONG: [&str; 2] = ["outbox/claim-no/terminal/tries=4", "outbox/claim-no/lease-live/until=full"];

/// The worker of this language and its binding, in a folder of its own, with this edit made in it.
pub(crate) fn worker(subject: &str, edit: Option<&Edit>) -> Nack {
    let nack = Nack::new();
    let home = programs().join("mail_worker");
    let shipped = |file: &str| fs::read_to_string(home.join(file)).expect("it is shipped");
    let file = match subject {
        "python" => "python/worker.py",
        "node" => "node/worker.mjs",
        _ => "rust/main.rs",
    };
    nack.write("schema.sql", &shipped("schema.sql"));
    let path = nack.write(file, &shipped(file));
    if let Some(edit) = edit {
        edit.make(&nack.path().join(subject));
    }
    let binding = section(&shipped("nack.toml"), subject);
    match subject {
        "rust" => {
            let built = if edit.is_some() { compiled(&path) } else { rust().0.clone() };
            let own = format!("\"{}\"", built.display());
            nack.write("nack.toml", &binding.replace("\"../../../../target/debug/examples/mail_worker\"", &own));
        }
        _ => drop(nack.write("nack.toml", &binding)),
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(programs().join("node_modules"), nack.path().join("node_modules")).expect("a link");
    nack
}

fn edits(subject: &str) -> PathBuf {
    programs().join("mail_worker").join(subject).join("edits.toml")
}

/// The section of one subject.
pub(crate) fn section(file: &str, subject: &str) -> String {
    let own = file.split("\n[").find(|part| part.starts_with(&format!("subject.{subject}]"))).expect("it is bound");
    format!("[{own}\n")
}

/// The Rust worker as cargo builds it, and the libraries that it is built with.
fn rust() -> &'static (PathBuf, HashMap<String, PathBuf>) {
    static BUILT: std::sync::OnceLock<(PathBuf, HashMap<String, PathBuf>)> = std::sync::OnceLock::new();
    BUILT.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--locked", "--offline", "--package", "nack-subjects"]);
        cargo.args(["--example", "mail_worker", "--message-format=json"]).current_dir(programs());
        let output = cargo.output().expect("cargo starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let (mut program, mut libraries) = (PathBuf::new(), HashMap::new());
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let message: Value = serde_json::from_str(line).expect("cargo speaks JSON");
            if let Some(path) = message["executable"].as_str() {
                program = PathBuf::from(path);
            }
            let name = message["target"]["name"].as_str().unwrap_or_default();
            let files = message["filenames"].as_array().into_iter().flatten().filter_map(Value::as_str);
            libraries.extend(files.filter(|file| file.ends_with(".rlib")).map(|file| (name.to_owned(), file.into())));
        }
        (program, libraries)
    })
}

/// An edited Rust worker, built as cargo builds the shipped one.
fn compiled(source: &Path) -> PathBuf {
    let (program, libraries) = rust();
    let deps = program.parent().and_then(Path::parent).expect("it is in examples/").join("deps");
    let out = source.with_extension("out");
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "-L", &format!("dependency={}", deps.display())]).arg(source).arg("-o").arg(&out);
    for name in ["rusqlite", "serde_json", "ureq"] {
        rustc.args(["--extern", &format!("{name}={}", libraries[name].display())]);
    }
    let output = rustc.output().expect("rustc starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    out
}

pub(crate) fn is_runnable(subject: &str) -> bool {
    subject == "rust" || is_here(subject)
}

/// Every scenario of the outbox, with one case of each long kind.
fn all_but_the_long() -> Vec<String> {
    let scenarios = shipped("outbox").scenarios.into_iter().map(|scenario| scenario.name);
    let short = scenarios.filter(|name| name != "claim-no").map(|name| format!("outbox/{name}"));
    short.chain(LONG.map(str::to_owned)).collect()
}

#[rstest]
fn a_sound_worker_holds(#[values("python", "node", "rust")] subject: &str) {
    if !is_runnable(subject) {
        return;
    }
    let nack = worker(subject, None);
    let prefixes = if subject == "rust" { vec!["outbox".to_owned()] } else { all_but_the_long() };
    let mut args = vec!["run"];
    args.extend(prefixes.iter().map(String::as_str));
    // A worker waits three seconds for an answer that never comes, so that many wait at once.
    args.extend(["--jobs", "3", "--report", "json=nack.json"]);
    let _ = nack.run(&args).code(0).never_says("is downstream.send bound?");
    let passed = with_verdict(&nack, "pass");
    for name in [
        "outbox/deliver/transient+transient-below-max/does=transient-2",
        "outbox/deliver/permanent+permanent/does=permanent-2",
        "outbox/deliver/timeout+transient-below-max/does=drip",
        "outbox/deliver/no-answer+transient-at-max",
        "outbox/deliver/unreached+transient-below-max/does=no-name",
        "outbox/deliver/unreadable+other/does=http-redirect",
        "outbox/payload/sendable/payload=big",
        "outbox/payload/unsendable",
        "outbox/bad-id/line-break",
        "outbox/interrupt/sigint",
        "outbox/interrupt/sigterm",
        "outbox/crash/after-claim+kill",
        "outbox/crash/after-send+kill",
        "outbox/recover/after-send+kill",
        "outbox/race-held/after-claim",
        "outbox/race-held/after-send",
        "outbox/race-many",
        "outbox/late-during-takeover/other",
        "outbox/paused",
        "outbox/claim-no/lease-live/until=full",
    ] {
        assert!(passed.iter().any(|passed| passed == name), "{name} did not pass: {passed:#?}");
    }
    assert_eq!(left_behind(&nack), Vec::<String>::new());
}

#[rstest]
fn an_edit_is_exit_1_by_its_name(
    #[values("python", "node", "rust")] subject: &str,
    #[values(
        "any-200-is-success",
        "token-not-asked-for",
        "429-is-permanent",
        "404-is-retried",
        "claim-without-condition",
        "live-lease-taken",
        "newest-first",
        "error-writes-delivered",
        "payload-reencoded"
    )]
    name: &str,
) {
    if is_runnable(subject) {
        let edit = named(&edits(subject), name);
        edit.must_be_killed(&worker(subject, Some(&edit)), subject);
    }
}

#[test]
fn a_claim_that_nothing_holds_together_is_found_ten_times_out_of_ten() {
    let edit = named(&edits("rust"), "claim-without-condition");
    let nack = worker("rust", Some(&edit));
    for _ in 0..10 {
        edit.must_be_killed(&nack, "rust");
    }
}

#[test]
fn three_subjects_at_once_get_the_verdicts_that_each_gets_alone() {
    let subjects = ["python", "node", "rust"];
    if !subjects.iter().all(|subject| is_runnable(subject)) {
        return;
    }
    let folders = subjects.map(|subject| worker(subject, None));
    let read = |nack: &Nack, file: &str| fs::read_to_string(nack.path().join(file)).expect("it was written");
    let together = &folders[0];
    let bindings: Vec<String> = folders.iter().map(|nack| read(nack, "nack.toml")).collect();
    together.write("nack.toml", &bindings.concat());
    let node = "node/worker.mjs";
    together.write(node, &read(&folders[1], node));
    let verdicts = |args: &[&str]| {
        let few = ["run", "outbox/order", "outbox/crash", "outbox/payload", "outbox/race-held", "outbox/race-many"];
        let _ = together.run(&[&few, args, &["--report", "json=nack.json"]].concat()).code(0);
        let report: Value = serde_json::from_str(&read(together, "nack.json")).expect("it is JSON");
        let case = |case: &Value| format!("{} {} {}", case["subject"], case["name"], case["verdict"]);
        report["cases"].as_array().expect("it lists cases").iter().map(case).collect::<Vec<_>>()
    };
    let alone: Vec<String> =
        subjects.iter().flat_map(|subject| verdicts(&["--subject", subject, "--jobs", "1"])).collect();
    assert_eq!(verdicts(&["--jobs", "2"]), alone);
}

#[rstest]
#[case::no_such_call("call.deliver_one", "call.deliver_onc", 2, "did you mean `deliver_one`?")]
#[case::no_such_placeholder("{now}", "{nwo}", 2, "there is no placeholder {nwo} here")]
#[case::no_such_downstream("{downstream.send}", "{downstream.sned}", 2, "there is no downstream.sned")]
#[case::no_such_word("\"sent\", queued", "\"snet\", queued", 2, "which is no word of `said`")]
#[case::no_such_column("status AS state", "satus AS state", 2, "no such column: satus")]
#[case::broken_sql("ORDER BY seq", "ORDRE BY seq", 2, "observe.outbox")]
#[case::no_answer("accepted = {", "acepted = {", 2, "no answer of `send`")]
#[case::an_unknown_capability("\"created\"]", "\"craeted\"]", 2, "does not know")]
#[case::no_program("\"python3\"", "\"no-such-python\"", 3, "there is no program `no-such-python`")]
fn a_mistake_in_the_binding(#[case] from: &str, #[case] to: &str, #[case] code: i32, #[case] says: &str) {
    if !is_runnable("python") {
        return;
    }
    let nack = worker("python", None);
    let binding = fs::read_to_string(nack.path().join("nack.toml")).expect("it was written");
    assert!(binding.contains(from), "{binding}");
    nack.write("nack.toml", &binding.replacen(from, to, 1));
    let _ = nack
        .run(&["run", "outbox/order"])
        .code(code)
        .says(says)
        .says("nack.toml:")
        .says("help")
        .never_says("backtrace");
}

#[test]
fn a_worker_that_never_calls_its_downstream_fails_with_a_hint() {
    if !is_runnable("python") {
        return;
    }
    let nack = worker("python", None);
    nack.write("python/worker.py", "print('idle')\n");
    let _ = nack.run(&["run", "outbox/order"]).code(1).says("is downstream.send bound?");
}
