//! What is worse than a wrong answer: subjects that flood, hide or die at the door, and an interrupt in the middle of
//! real kills. The verdict is right and in time, the message names the line, and no process and no folder is left.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rstest::rstest;

use crate::common::Nack;
use crate::python::workers;
use crate::subjects::{BINDING, door, folder, left_behind, python};

/// Runs it with patience of half a second, and looks at what is left.
#[track_caller]
fn judged(nack: &Nack, code: i32) -> String {
    let began = Instant::now();
    let args = ["run", "--contracts", "contracts", "--deadline-scale", "0.05", "--report", "json=nack.json"];
    let ran = nack.run(&args).code(code);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(left_behind(nack), Vec::<String>::new());
    ran.stderr
}

#[rstest]
#[case::floods_both_pipes_and_answers(
    "[(sys.stdout.write('y' * 100000 + '\\n'), sys.stderr.write('x' * 100000 + '\\n')) for _ in range(100)]
    say(message['id'], answer)",
    0,
    "pass"
)]
#[case::floods_both_pipes_without_end(
    "
    while True: sys.stdout.write('y' * 100000 + '\\n'); sys.stderr.write('x' * 100000 + '\\n')",
    1,
    "fail"
)]
#[case::dies_while_a_grandchild_holds_its_pipes(
    "subprocess.Popen(['sleep', '1000'], start_new_session=True); os._exit(0)",
    1,
    "fail"
)]
#[case::answers_in_bytes_that_are_no_text(
    "sys.stdout.buffer.write(b'\\xff\\xfe\\n'); sys.stdout.flush(); time.sleep(1000)",
    1,
    "fail"
)]
#[case::ignores_every_polite_signal(
    "[signal.signal(name, signal.SIG_IGN) for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
    time.sleep(1000)",
    3,
    "inconclusive"
)]
fn a_subject_that(#[case] knocked: &str, #[case] code: i32, #[case] verdict: &str) {
    if !python() {
        return;
    }
    let nack = folder(knocked, BINDING);
    judged(&nack, code);
    let report = fs::read_to_string(nack.path().join("nack.json")).expect("the report was written");
    let report: serde_json::Value = serde_json::from_str(&report).expect("it is JSON");
    let cases = report["cases"].as_array().expect("it lists cases");
    assert!(!cases.is_empty() && cases.iter().all(|case| case["verdict"] == verdict), "{report:#}");
}

#[test]
fn a_stray_line_before_the_right_reply_is_a_note_of_a_passed_case() {
    if !python() {
        return;
    }
    let nack = folder("print('hello there', flush=True); say(message['id'], answer)", BINDING);
    judged(&nack, 0);
    let report = fs::read_to_string(nack.path().join("nack.json")).expect("the report was written");
    let report: serde_json::Value = serde_json::from_str(&report).expect("it is JSON");
    for case in report["cases"].as_array().expect("it lists cases") {
        assert_eq!(case["verdict"], "pass");
        assert!(case["notes"].to_string().contains("hello there"), "{case:#}");
    }
}

/// One that has left the group, the folder and its environment is found as a child of this run, and named.
#[test]
fn a_process_that_hides_is_ended_and_named() {
    if !python() {
        return;
    }
    let hides = "hidden = subprocess.Popen(['sleep', '1000'], start_new_session=True, cwd='/', env={})
    open('hidden', 'a').write(f'{hidden.pid}\\n'); say(message['id'], answer)";
    let nack = folder(hides, BINDING);
    let said = judged(&nack, 0);
    for pid in fs::read_to_string(nack.path().join("hidden")).expect("it was called").lines() {
        assert!(said.contains(&format!("{pid} (sleep 1000)")), "{pid} is not in {said}");
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!line.starts_with("sleep"), "{pid} lives");
    }
}

#[rstest]
#[case::dies_before_it("import json", "import os; os._exit(4)\nimport json", 3, "exit status 4")]
#[case::misspells_a_capability("\"capabilities\": []", "\"capabilities\": [\"laese\"]", 2, "the capability `laese`")]
#[case::misspells_a_checkpoint("\"checkpoints\": []", "\"checkpoints\": [\"here\"]", 2, "the checkpoint `here`")]
fn a_wrong_hello_names_the_subject_s_line(#[case] from: &str, #[case] to: &str, #[case] code: i32, #[case] says: &str) {
    if !python() {
        return;
    }
    let nack = folder("say(message['id'], answer)", BINDING);
    let program = door("say(message['id'], answer)");
    assert_eq!(program.matches(from).count(), 1);
    nack.write("door.py", &program.replace(from, to));
    let said = judged(&nack, code);
    assert!(said.contains("nack.toml:2") && said.contains(says) && said.contains("help: "), "{said}");
}

#[test]
fn a_program_that_is_missing_names_the_subject_s_line_and_the_mend() {
    let nack = folder("pass", &BINDING.replace("\"python3\"", "\"no-such-python\""));
    let said = judged(&nack, 3);
    assert!(said.contains("nack.toml:2: subject door: ") && said.contains("help: `command`"), "{said}");
}

/// Moments between 50 and 1500 ms, drawn from a fixed seed, so that every run of the test has the same.
fn moments() -> impl Iterator<Item = Duration> {
    let mut state = 20_261_201_u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis(50 + (state >> 33) % 1450)
    })
    .take(10)
}

/// The scratch folders of a run.
fn scratch(run: &Child) -> Vec<PathBuf> {
    let mine = format!("nack-{}-", run.id());
    let entries = [std::env::temp_dir(), "/dev/shm".into()].into_iter().filter_map(|place| fs::read_dir(place).ok());
    let paths = entries.flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&mine))).collect()
}

/// Interrupts a run so long after its folder is there, and looks at how it ends.
#[track_caller]
fn interrupted(nack: &Nack, args: &[&str], after: Duration, codes: &[i32]) {
    let code = ended(nack, args, after, "-INT");
    assert!(code.is_some_and(|code| codes.contains(&code)), "{code:?} at {after:?}");
}

/// Sends a run this signal so long after its folder is there, and looks at what is left. Gives the exit code.
#[track_caller]
fn ended(nack: &Nack, args: &[&str], after: Duration, signal: &str) -> Option<i32> {
    let quiet = nack.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut run = quiet.expect("the binary starts");
    while scratch(&run).is_empty() && run.try_wait().expect("it can be asked").is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(after);
    // It may have ended by now, which is no interrupt.
    let _ = Command::new("kill").args([signal, &run.id().to_string()]).stderr(Stdio::null()).status();
    let then = Instant::now();
    let code = run.wait().expect("it ends").code();
    assert!(then.elapsed() < Duration::from_secs(8), "{:?} at {after:?}", then.elapsed());
    // Where nack ended at once, its watcher cleans up a moment later.
    let left = || (left_behind(nack), scratch(&run));
    while left() != (vec![], vec![]) && then.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(left(), (vec![], vec![]), "at {after:?}");
    code
}

#[test]
fn an_interrupt_at_ten_moments_of_real_kills_leaves_nothing() {
    if !python() {
        return;
    }
    for moment in moments() {
        let args = ["run", "--subject", "outbox", "outbox/crash", "outbox/recover", "outbox/race-many"];
        interrupted(&workers(), &args, moment, &[130, 0]);
    }
}

#[test]
fn an_interrupt_before_the_hello_does_not_wait_for_it() {
    if !python() {
        return;
    }
    let nack = folder("pass", BINDING);
    nack.write("door.py", "import time\ntime.sleep(1000)");
    interrupted(&nack, &["run", "--contracts", "contracts"], Duration::from_millis(500), &[130]);
}

/// A wrapper that starts wrappers is such a chain: whoever looks once, looks past it.
#[test]
fn a_chain_of_processes_does_not_outrun_the_end_of_a_killed_nack() {
    if !python() {
        return;
    }
    let hops = "import os, time
if os.fork() == 0:
    while True:
        if os.fork(): os._exit(0)
        time.sleep(0.01)
time.sleep(1000)";
    for moment in [300, 400, 500].map(Duration::from_millis) {
        let nack = folder("pass", BINDING);
        nack.write("door.py", hops);
        assert_eq!(ended(&nack, &["run", "--contracts", "contracts"], moment, "-KILL"), None);
    }
}
