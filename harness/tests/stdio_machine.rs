//! What a run does to the machine, in a process of its own each: a nack that was started with signals ignored does
//! not hand that on, what hides from every sweep is found at the end, and what outlives a nack that was killed can
//! still be ended.
#![cfg(target_os = "linux")]

mod stdio_support;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::{env, thread, time::Duration};

use nack::session::{Event, Session, Watch};
use nack_contracts::Value;
use stdio_support::{Subject, begin, event, python_is_here};

/// Runs an ignored test of this file in a process of its own, behind a shell's `prelude`, with its temporary files in
/// `temporary`.
fn alone(test: &str, prelude: &str, temporary: &Path) -> Child {
    let own = env::current_exe().expect("it has a path");
    let script = format!("{prelude} exec \"$0\" --exact {test} --ignored --nocapture");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).arg(own).env("TMPDIR", temporary).stdout(Stdio::piped()).stderr(Stdio::inherit());
    shell.spawn().expect("a shell starts")
}

fn succeeds(test: &str, prelude: &str) {
    let temporary = tempfile::tempdir().expect("a temporary folder can be made");
    let output = alone(test, prelude, temporary.path()).wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_subject_starts_with_no_signal_ignored_or_blocked() {
    if python_is_here() {
        succeeds("alone_with_signals_ignored", "trap '' INT TERM HUP QUIT USR1;");
    }
}

#[test]
#[ignore = "needs a process of its own"]
fn alone_with_signals_ignored() {
    // Two signals above 31 belong to the C library, and nobody else can touch them.
    let masks = "[int(line.split()[1], 16) & 0x7fffffff for line in open('/proc/self/status') if line.split(':')[0] in ('SigBlk', 'SigIgn')]";
    let subject = Subject::hostile(&format!("say(id=call['id'], result={masks}); hear()"));
    let status = std::fs::read_to_string("/proc/self/status").expect("it can be read");
    let ignored = status.lines().find(|line| line.starts_with("SigIgn:")).expect("it is there");
    assert!(!ignored.ends_with("0000000000000000"), "the shell handed its ignored signals on: {ignored}");
    let mut session = subject.session();
    begin(&mut session, Watch::default());
    // SIGPIPE and SIGXFSZ are ignored by Python itself.
    let [blocked, ignored] = [0, 1 << (13 - 1) | 1 << (25 - 1)].map(Value::Int);
    assert_eq!(event(&mut session), Event::Reply(Value::List(vec![blocked, ignored])));
}

#[test]
fn what_hides_from_every_sweep_is_ended_with_the_run() {
    if python_is_here() {
        succeeds("alone_with_a_hidden_process", "");
    }
}

#[test]
#[ignore = "needs a process of its own"]
fn alone_with_a_hidden_process() {
    // The pipe ends when the sleep has begun, since nothing is handed on to it.
    let body = "
ended, begun = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: os.execvpe('sleep', ['sleep', '1000'], {'PATH': os.environ['PATH']})
    os._exit(0)
os.close(begun)
os.read(ended, 1)
say(id=call['id'], result=1)
hear()";
    let subject = Subject::hostile(body);
    let mut session = subject.session();
    begin(&mut session, Watch::default());
    event(&mut session);
    drop(session);
    assert_eq!(subject.processes(), ["sleep 1000 "], "it cleared its environment and left its group and its parents");
    let ended = nack::process::leftovers();
    assert!(ended.len() == 1 && ended[0].ends_with("(sleep 1000)"), "{ended:?}");
    subject.is_gone();
}

#[test]
fn what_outlives_a_killed_nack_carries_its_mark() {
    if !python_is_here() {
        return;
    }
    // A process that is killed cannot take its files away.
    let temporary = tempfile::tempdir().expect("a temporary folder can be made");
    let mut nack = alone("alone_until_killed", "", temporary.path());
    let stdout = BufReader::new(nack.stdout.take().expect("it is piped"));
    let mut said =
        stdout.lines().map_while(Result::ok).filter_map(|line| line.strip_prefix("mark ").map(str::to_owned));
    let mark = said.next().expect("it says its mark");
    nack.kill().expect("it can be killed");
    nack.wait().expect("it ends");
    thread::sleep(Duration::from_millis(100));
    assert_eq!(nack::process::end_marked(&mark), 2, "the worker that ignores its input, and its child");
    assert_eq!(nack::process::end_marked("1-1"), 0);
}

#[test]
#[ignore = "needs a process of its own, and is killed"]
fn alone_until_killed() {
    let subject = Subject::hostile("subprocess.Popen(['sleep', '1000'], start_new_session=True); time.sleep(1000)");
    let mut session = subject.session();
    begin(&mut session, Watch::default());
    assert_eq!(session.next(Duration::from_millis(500)), None);
    println!("\nmark {}", nack::process::run_mark());
    thread::sleep(Duration::from_secs(60));
}
