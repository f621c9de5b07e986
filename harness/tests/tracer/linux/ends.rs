//! How a run ends: as the program ends, at once when it is asked to, and with nothing left behind.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use nack::tracer::{Recorder, Unrecorded};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::subject::{Run, Subject, waited};

type Test = Box<dyn Fn(&Subject) -> Result<(), Failed> + Send>;

pub(crate) fn trials() -> Vec<(String, Test)> {
    type Plain = fn(&Subject) -> Result<(), Failed>;
    let trials: [(&str, Plain); 9] = [
        ("the_tracer_ends_with_the_programs_own_status", own_status),
        ("a_program_that_kills_itself_inside_its_calls_is_told", killed_inside),
        ("a_program_that_hangs_is_ended_in_good_order_when_asked", hung_up),
        ("nothing_outlives_a_tracer_that_is_killed", killed_tracer),
        ("a_program_that_does_not_exist_is_said", missing),
        ("a_traced_tracer_says_that_it_is_already_traced", traced),
        ("what_the_system_refuses_is_named", refusing),
        ("marks_stand_between_what_was_done_before_and_after", marked),
        ("a_store_changed_from_elsewhere_is_no_recording", elsewhere),
    ];
    trials.into_iter().map(|(name, test)| (name.to_owned(), Box::new(test) as Test)).collect()
}

fn own_status(subject: &Subject) -> Result<(), Failed> {
    let run = Run::new();
    let output = run.run(subject.words("dynamic", "status"));
    run.finish().map_err(|error| error.to_string())?;
    if output.status.code() == Some(7) { Ok(()) } else { Err(output.status.to_string().into()) }
}

fn killed_inside(subject: &Subject) -> Result<(), Failed> {
    for _ in 0..10 {
        let run = Run::new();
        let output = run.run(subject.words("dynamic", "killed_inside"));
        run.finish().map_err(|error| error.to_string())?;
        if output.status.signal() != Some(9) {
            return Err(output.status.to_string().into());
        }
    }
    Ok(())
}

/// Starts a program that hangs, and waits until it does.
fn hanging(run: &Run, subject: &Subject) -> std::process::Child {
    let child = run.start(subject.words("dynamic", "hangs"));
    let deadline = Instant::now() + Duration::from_secs(10);
    while fs::read(run.store().join("hung")).unwrap_or_default() != b"hung" || processes(run).len() < 5 {
        assert!(Instant::now() < deadline, "it never hung: {:?}", processes(run));
        thread::sleep(Duration::from_millis(1));
    }
    child
}

/// The processes that run in a store's folder.
fn processes(run: &Run) -> Vec<i32> {
    let pids = fs::read_dir("/proc").expect("it is there").flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|folder| folder == run.store())).collect()
}

fn nothing_is_left(run: &Run) -> Result<(), Failed> {
    let deadline = Instant::now() + Duration::from_secs(2);
    while !processes(run).is_empty() {
        if Instant::now() > deadline {
            let left = processes(run);
            for pid in left.iter().filter_map(|pid| Pid::from_raw(*pid)) {
                kill_process(pid, Signal::KILL)?;
            }
            return Err(format!("left: {left:?}").into());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn hung_up(subject: &Subject) -> Result<(), Failed> {
    let run = Run::new();
    let child = hanging(&run, subject);
    let signalled = kill_process_group(Pid::from_child(&child), Signal::TERM);
    thread::sleep(Duration::from_millis(20));
    let alive = processes(&run).len();
    Recorder::hang_up(child.id());
    let output = waited(child);
    signalled?;
    run.finish().map_err(|error| error.to_string())?;
    if alive < 5 {
        return Err("a signal that the program ignores ended it".into());
    }
    if output.status.signal() != Some(9) {
        return Err(output.status.to_string().into());
    }
    nothing_is_left(&run)
}

fn killed_tracer(subject: &Subject) -> Result<(), Failed> {
    let run = Run::new();
    let child = hanging(&run, subject);
    let killed = kill_process(Pid::from_child(&child), Signal::KILL);
    // Before its pipes are read, which whatever is left would hold open.
    let left = nothing_is_left(&run);
    waited(child);
    killed?;
    left?;
    match run.finish() {
        Err(Unrecorded::NoEnd) => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn missing(_: &Subject) -> Result<(), Failed> {
    let run = Run::new();
    run.run(vec!["./no-such-program".into()]);
    match run.finish() {
        Err(Unrecorded::NotStarted(why)) if why.contains("No such file") => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn traced(subject: &Subject) -> Result<(), Failed> {
    let run = Run::new();
    let traced = run.command(subject.words("dynamic", "status"));
    let mut command = std::process::Command::new("strace");
    command.args(["-f", "-o", "/dev/null"]).arg(traced.get_program()).args(traced.get_args());
    if command.current_dir(run.store()).output().is_err() {
        println!("not covered: there is no strace");
        return Ok(());
    }
    match run.finish() {
        Err(Unrecorded::Unsupported(whys)) if whys.iter().any(|why| why.contains("already traced")) => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

/// Calls that a container may refuse the tracer, with the error it gives, and what is then said.
const REFUSED: [(i64, i32, &str); 4] = [
    (libc::SYS_ptrace, libc::EPERM, "ptrace is refused: "),
    (libc::SYS_ptrace, libc::ENOSYS, "ptrace is refused: "),
    (libc::SYS_seccomp, libc::EPERM, "seccomp is refused: "),
    (libc::SYS_process_vm_readv, libc::ENOSYS, "the memory or the files of the subject cannot be read"),
];

fn refusing(subject: &Subject) -> Result<(), Failed> {
    for (call, error, why) in REFUSED {
        let run = Run::new();
        let traced = run.command(subject.words("dynamic", "names"));
        let denying = subject.words("dynamic", "denying");
        let mut command = std::process::Command::new(&denying[0]);
        command.arg(&denying[1]).args([call.to_string(), error.to_string()]);
        command.arg(traced.get_program()).args(traced.get_args()).current_dir(run.store());
        command.output()?;
        match run.finish() {
            Err(Unrecorded::Unsupported(whys)) if whys.iter().any(|said| said.contains(why)) => {}
            other => return Err(format!("call {call} with error {error}: {other:?}").into()),
        }
    }
    Ok(())
}

fn marked(subject: &Subject) -> Result<(), Failed> {
    let run = Run::new();
    let mut command = run.command(subject.words("dynamic", "replies"));
    let mut child = command.stdin(std::process::Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().ok_or("it has a pipe")?;
    let mut output = BufReader::new(child.stdout.take().ok_or("it has a pipe")?).lines();
    let mut marks = Vec::new();
    for number in [7, 8] {
        // The subject rests: it waits for its next line.
        while !fs::exists(run.store().join("lines"))? {
            thread::sleep(Duration::from_millis(1));
        }
        // What it did, and its answer, are here before its calls have returned.
        thread::sleep(Duration::from_millis(50));
        marks.push((run.recorder.position(), number));
        writeln!(input, "line {number}")?;
        if output.next().transpose()?.as_deref() != Some("ok") {
            return Err("it did not answer".into());
        }
    }
    drop(input);
    waited(child);
    let recording = run.recorder.finish(&marks).map_err(|error| error.to_string())?;
    let words: Vec<_> = recording.ops.iter().map(|op| op.what.word()).collect();
    let expected = ["open", "mark", "write", "send", "send", "mark", "write", "send", "send"];
    if words == expected { Ok(()) } else { Err(format!("{words:?}").into()) }
}

fn elsewhere(subject: &Subject) -> Result<(), Failed> {
    let run = Run::new();
    run.run(subject.words("dynamic", "status"));
    fs::write(run.store().join("status"), "8")?;
    match run.finish() {
        Err(Unrecorded::Differs(difference)) if difference.to_string().starts_with("status: ") => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}
