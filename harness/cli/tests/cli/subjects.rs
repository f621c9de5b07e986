//! Subjects of a `nack.toml`: whatever such a program does, the verdict is right and nothing is left behind; and a
//! mistake in the file gives one message with its place and its mend.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rstest::rstest;

use crate::common::Nack;

const CONTRACT: &str = r#"
format = 1
name   = "door"
title  = "The door opens for one word"
owner  = "the doorman"
[store.visits]
columns = { word = "text" }
[call.knock]
args  = { word = "text" }
reply = "door"
[domain.door]
values = ["open", "shut"]
[domain.word]
values = ["please"]
other  = { upper = "PLEASE" }
[table.knock]
inputs  = ["word"]
outputs = ["door"]
success = { door = ["open"] }
rows    = [["polite", "please", "open"], ["other", "other", "shut"]]
undefended = { polite = "a contract of a test", other = "a contract of a test" }
[[accept]]
rule = "scenario/undefended"
at   = "scenario.knock"
why  = "a contract of a test"
[[scenario]]
name  = "knock"
why   = "Only the one word opens the door."
bind  = ["knock"]
steps = [{ call = "knock", args = { word = "$word" }, reply = "$door" }, { expect = { visits = 0 } }]
"#;

pub(crate) const BINDING: &str = r#"
[subject.door]
contract = "door"
adapter  = "stdio"
command  = ["python3", "-S", "door.py"]
store    = "sqlite:app.db"
setup    = "door.sql"
"#;

/// A door in Python without an SDK; `knocked` is what it does when it is called.
pub(crate) fn door(knocked: &str) -> String {
    format!(
        r#"
import json, os, signal, subprocess, sys, time
def say(id, result):
    print(json.dumps({{"jsonrpc": "2.0", "id": id, "result": result}}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "hello":
        say(message["id"], {{"name": "door", "protocol": 1, "capabilities": [], "checkpoints": [], "statements": False}})
        continue
    answer = "open" if message["params"]["args"]["word"] == "please" else "shut"
    {knocked}
"#
    )
}

pub(crate) fn folder(knocked: &str, binding: &str) -> Nack {
    let nack = Nack::new();
    nack.write("contracts/door.toml", CONTRACT);
    nack.write("nack.toml", binding);
    nack.write("door.sql", "CREATE TABLE visits (word TEXT);");
    nack.write("door.py", &door(knocked));
    nack
}

/// Without an interpreter there is nothing to judge. Where everything is required that is a failure.
pub(crate) fn python() -> bool {
    let here = std::process::Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !here {
        assert!(std::env::var_os("CI").is_none(), "python3 is required here");
        eprintln!("not covered: there is no python3 on this machine");
    }
    here
}

/// Processes whose command line, folder or environment names the test's folder.
pub(crate) fn left_behind(nack: &Nack) -> Vec<String> {
    let mine = nack.path().display().to_string();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| {
        let line = fs::read_to_string(entry.path().join("cmdline")).ok()?.replace('\0', " ");
        let folder = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        // One that has gone elsewhere and under another name still carries what it was started with.
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        let marked = String::from_utf8_lossy(&environ).contains(&mine);
        (marked || line.contains(&mine) || folder.starts_with(&mine)).then_some(line)
    };
    processes.filter_map(of).collect()
}

#[rstest]
#[case::keeps_to_the_protocol("say(message['id'], answer)", 0, "2 passed")]
#[case::writes_a_stray_line_first("print('hello there', flush=True); say(message['id'], answer)", 0, "hello there")]
#[case::is_silent("time.sleep(1000)", 3, "no word for")]
#[case::prints_garbage("print('open sesame', flush=True); time.sleep(1000)", 1, "open sesame")]
#[case::answers_with_a_wrong_id("say(77, answer); time.sleep(1000)", 1, "died on its own")]
#[case::dies_at_once("os._exit(3)", 1, "exit status 3")]
#[case::dies_in_the_middle_of_a_message(
    "sys.stdout.write('{\"jsonrpc\"'); sys.stdout.flush(); os._exit(0)",
    1,
    "died on its own"
)]
#[case::leaves_a_grandchild(
    "subprocess.Popen(['sleep', '1000'], start_new_session=True); say(message['id'], answer)",
    0,
    "2 passed"
)]
#[case::ignores_sigterm("signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)", 3, "no word for")]
#[case::closes_its_output("os.close(1); time.sleep(1000)", 1, "closed its standard output")]
#[case::floods_its_error_stream(
    "[sys.stderr.write('x' * 100000 + '\\n') for _ in range(200)]; say(message['id'], answer)",
    0,
    "2 passed"
)]
#[case::writes_invalid_utf8("sys.stdout.buffer.write(b'\\xff\\xfe\\n'); say(message['id'], answer)", 0, "2 passed")]
#[case::writes_a_line_of_100_mb(
    "[sys.stdout.write('x' * (1 << 20)) for _ in range(100)]; time.sleep(1000)",
    1,
    "a line longer than any message"
)]
#[case::answers_another_type("say(message['id'], True)", 1, "expected")]
fn a_subject_that(#[case] knocked: &str, #[case] code: i32, #[case] says: &str) {
    if !python() {
        return;
    }
    let nack = folder(knocked, BINDING);
    let began = Instant::now();
    let _ = nack.run(&["run", "-v", "--contracts", "contracts", "--deadline-scale", "0.1"]).code(code).says(says);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert_eq!(left_behind(&nack), Vec::<String>::new());
}

#[rstest]
#[case::bad_toml("setup    = \"door.sql\"", "setup    = ", 2, "nack.toml:7")]
#[case::unknown_key("store    =", "stroe    =", 2, "unknown field `stroe`")]
#[case::unknown_contract("\"door\"\nadapter", "\"dor\"\nadapter", 2, "did you mean `door`?")]
#[case::unknown_adapter("\"stdio\"", "\"studio\"", 2, "did you mean `stdio`?")]
#[case::another_store("sqlite:app.db", "mysql://localhost/x", 2, "not in this version")]
#[case::no_tables("\"door.sql\"", "\"doors.sql\"", 2, "there is no file `doors.sql`")]
#[case::no_program("\"python3\"", "\"no-such-python\"", 3, "could not be started")]
#[case::capabilities_that_differ("setup ", "capabilities = [\"lease\"]\nsetup ", 2, "the subject says []")]
#[case::a_parameter_too_many("setup ", "params = { budget = 3 }\nsetup ", 2, "budget")]
fn a_mistake_in_the_file(#[case] from: &str, #[case] to: &str, #[case] code: i32, #[case] says: &str) {
    if !python() {
        return;
    }
    let binding = BINDING.replacen(from, to, 1);
    assert_ne!(binding, BINDING);
    let nack = folder("say(message['id'], answer)", &binding);
    let _ = nack.run(&["run", "--contracts", "contracts"]).code(code).says(says).never_says("backtrace");
}

#[test]
fn a_subject_is_found_from_a_folder_below_and_chosen_by_name() {
    if !python() {
        return;
    }
    let nack = folder("say(message['id'], answer)", BINDING);
    nack.write("below/here.txt", "");
    let mut command = nack.command(&["run", "--contracts", "../contracts", "--subject", "door"]);
    let output = command.current_dir(nack.path().join("below")).output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let _ = nack.run(&["run", "--contracts", "contracts", "--subject", "dor"]).code(2).says("did you mean `door`?");
}

/// Moments spread over the run, the same for everyone, in milliseconds.
#[rstest]
fn an_interrupt_at_any_moment_leaves_no_process(
    #[values(0, 40, 90, 150, 220, 300, 390, 490, 600, 720)] after: u64,
    #[values("-INT", "-KILL")] signal: &str,
) {
    if !python() {
        return;
    }
    let nack = folder(
        "subprocess.Popen(['sleep', '1000'], start_new_session=True); time.sleep(0.2); say(message['id'], answer)",
        BINDING,
    );
    let mut child = nack
        .command(&["run", "--contracts", "contracts", "--jobs", "2"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    std::thread::sleep(Duration::from_millis(after));
    // A run that has ended has nothing to be killed.
    let _ = std::process::Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status();
    let code = child.wait().expect("it ends").code();
    assert!(matches!(code, Some(130 | 0) | None), "{code:?}");
    let until = Instant::now() + Duration::from_secs(10);
    while !left_behind(&nack).is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(left_behind(&nack), Vec::<String>::new());
    let mine = format!("nack-{}-", child.id());
    let there = |place: &str| {
        let entries = fs::read_dir(place).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&mine)).count()
    };
    while there("/dev/shm") + there("/tmp") > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(there("/dev/shm") + there("/tmp"), 0);
}
