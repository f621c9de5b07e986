//! What is hard to record, each as a small program: the recording makes the real files, or the hazard is named.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::process::Command;

use libtest_mimic::Failed;
use nack::disk::log::{Level, Recording, What};
use nack::tracer::Unrecorded;

use super::subject::{Run, Subject};

type Test = Box<dyn Fn(&Subject) -> Result<(), Failed> + Send>;

/// Programs whose recordings must make the real files.
const TOLD: &[&str] = &[
    "partial",
    "scribbled",
    "append",
    "allocate",
    "moves",
    "nameless",
    "names",
    "copies",
    "read_mapped",
    "left_out",
    "undumpable",
    "spawns",
    "thread_executes",
    "stops",
    "alarmed",
    "outlived",
    "filtered",
    "unlinked",
    "races",
    "threads",
    "forks",
    "ends_inside",
    "sends",
    "syncs",
];

/// Programs that are refused, and the words that say why.
const REFUSED: &[(&str, &str)] = &[
    ("mapped", "a writable shared mapping of "),
    ("upgraded", "a writable shared mapping of "),
    ("uring", "io_uring"),
    ("aio", "asynchronous writes (io_submit)"),
    ("other_arch", "a 32-bit call"),
    ("x32", "an x32 call"),
];

pub(crate) fn trials() -> Vec<(String, Test)> {
    let mut trials: Vec<(String, Test)> = Vec::new();
    for program in TOLD {
        trials.push((
            format!("the_recording_of_{program}_makes_the_real_files"),
            Box::new(|subject| told(subject, program)),
        ));
    }
    for (program, why) in REFUSED {
        trials.push((format!("{program}_is_refused_by_name"), Box::new(|subject| refused(subject, program, why))));
    }
    trials.push(("everything_is_told_as_an_ordinary_user_too".into(), Box::new(ordinary)));
    trials.push(("a_send_stands_between_the_writes_around_it".into(), Box::new(ordered)));
    trials.push(("a_send_to_a_socket_names_the_port_of_its_peer".into(), Box::new(connected)));
    trials.push(("a_file_that_was_cut_is_closed_with_its_last_writer".into(), Box::new(closed)));
    trials.push(("each_way_to_sync_is_told_apart".into(), Box::new(synced)));
    trials.push(("an_actor_is_a_process_and_not_a_thread".into(), Box::new(actors)));
    trials
}

fn actors(subject: &Subject) -> Result<(), Failed> {
    for (program, expected) in [("threads", 1), ("spawns", 3), ("forks", 75)] {
        let recording = record(&Run::new(), subject, "dynamic", program)?;
        let actors: BTreeSet<u32> = recording.ops.iter().map(|op| op.actor).collect();
        if !actors.iter().copied().eq(0..expected) {
            return Err(format!("{program}: {actors:?}").into());
        }
    }
    Ok(())
}

fn told(subject: &Subject, program: &str) -> Result<(), Failed> {
    for run in [Run::new(), Run::on_disk()] {
        for build in ["dynamic", "static"].into_iter().filter(|build| subject.has(build)) {
            record(&run, subject, build, program)?;
            fs::remove_file(run.path().join("log"))?;
            for folder in [run.store(), run.path().join("outside")] {
                fs::remove_dir_all(&folder)?;
                fs::create_dir(&folder)?;
            }
        }
    }
    Ok(())
}

/// Records a program that must succeed, and whose recording must fit.
fn record(run: &Run, subject: &Subject, build: &str, program: &str) -> Result<Recording, Failed> {
    let output = run.run(subject.words(build, program));
    match output.status.code() {
        Some(0) => {}
        Some(77) => println!("not covered here: {program}"),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{program}, {build}, ended with {}: {said}", output.status).into());
        }
    }
    let recording = run.finish().map_err(|error| format!("{program}, {build}: {error}"))?;
    // A number that the system gives to a file elsewhere is not that of the file that had it before.
    let elsewhere = |what: &What| matches!(what, What::Write { bytes, .. } if **bytes == *b"outside");
    if recording.ops.iter().any(|op| elsewhere(&op.what)) {
        return Err(format!("{program}, {build}: a write to a file outside was recorded").into());
    }
    if recording.ops.is_empty() && output.status.success() {
        return Err(format!("{program}, {build}: nothing was recorded").into());
    }
    Ok(recording)
}

fn refused(subject: &Subject, program: &str, why: &str) -> Result<(), Failed> {
    let run = Run::new();
    run.run(subject.words("dynamic", program));
    match run.finish() {
        Err(Unrecorded::Unsupported(whys)) if whys.iter().any(|said| said.contains(why)) => Ok(()),
        other => Err(format!("{program} was not refused: {other:?}").into()),
    }
}

/// As root, the same again as somebody who has no rights beyond the store's. Only a process that hides from its own
/// user cannot be told then, and is refused.
fn ordinary(subject: &Subject) -> Result<(), Failed> {
    if !rustix::process::geteuid().is_root() || Command::new("setpriv").arg("--version").output().is_err() {
        println!("not covered: it takes root and setpriv to become somebody else");
        return Ok(());
    }
    // What this very program lies in may be closed to others.
    let own = tempfile::NamedTempFile::with_prefix("tracer-")?.into_temp_path();
    // Not by this process: a child that another test forks meanwhile would keep it open for writing.
    Command::new("install").args(["-m", "755"]).arg(std::env::current_exe()?).arg(&own).status()?;
    for program in TOLD {
        let run = Run::new();
        for folder in [run.path().to_owned(), run.store(), run.path().join("outside")] {
            chown(folder, Some(65534), Some(65534))?;
        }
        let traced = run.command(subject.words("dynamic", program));
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&own);
        command.args(traced.get_args()).current_dir(run.store());
        let output = command.output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        match (*program, run.finish()) {
            ("undumpable", Err(Unrecorded::Unsupported(_))) => {}
            ("undumpable", other) => return Err(format!("undumpable was not refused: {other:?}").into()),
            (_, Ok(_)) if matches!(output.status.code(), Some(0 | 77)) => {}
            (_, other) => return Err(format!("{program}: {}, {said}, {other:?}", output.status).into()),
        }
    }
    Ok(())
}

fn ordered(subject: &Subject) -> Result<(), Failed> {
    let run = Run::new();
    let recording = record(&run, subject, "dynamic", "sends")?;
    let words = recording.ops.iter().map(|op| match &op.what {
        What::Send { channel, bytes } => format!("send {channel} {}", String::from_utf8_lossy(bytes).trim()),
        What::Sent { channel, taken } => format!("sent {channel} {taken}"),
        What::Write { bytes, .. } => format!("write {}", String::from_utf8_lossy(bytes)),
        other => other.word().to_owned(),
    });
    let words = words.collect::<Vec<_>>().join(", ");
    let expected = "open, write claimed, sync, send 1 first, sent 1 6, write sent, send 1 second, sent 1 7, \
                    send 2 error, sent 2 6";
    if words == expected { Ok(()) } else { Err(words.into()) }
}

fn connected(subject: &Subject) -> Result<(), Failed> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    let run = Run::new();
    fs::write(run.path().join("outside/port"), port.to_string())?;
    let recording = record(&run, subject, "dynamic", "connects")?;
    let words = recording.ops.iter().filter_map(|op| match &op.what {
        What::Send { channel, bytes } if *channel == u32::from(port) => {
            Some(format!("{} {}", op.call, String::from_utf8_lossy(bytes)))
        }
        What::Sent { channel, taken } if *channel == u32::from(port) => Some(taken.to_string()),
        _ => None,
    });
    let words = words.collect::<Vec<_>>().join(", ");
    let expected =
        "write write, 5, sendto send, 4, sendmsg message, 7, sendmmsg messageme, 9, sendfile 3456, 4, splice , 5";
    if words == expected { Ok(()) } else { Err(words.into()) }
}

fn closed(subject: &Subject) -> Result<(), Failed> {
    let recording = record(&Run::new(), subject, "dynamic", "closes")?;
    let words: Vec<_> = recording.ops.iter().map(|op| op.what.word()).collect();
    let expected = ["open", "write", "truncate", "write", "open", "write", "close", "open", "write"];
    if words == expected { Ok(()) } else { Err(format!("{words:?}").into()) }
}

fn synced(subject: &Subject) -> Result<(), Failed> {
    let run = Run::new();
    let recording = record(&run, subject, "dynamic", "syncs")?;
    let levels = recording.ops.iter().filter_map(|op| match op.what {
        What::Write { synced, .. } => Some(("write", synced)),
        What::Sync { level, ok, .. } => Some((if ok { "sync" } else { "failed" }, Some(level))),
        What::SyncAll => Some(("all", None)),
        _ => None,
    });
    let (data, full) = (Some(Level::Data), Some(Level::Full));
    let expected = [
        ("write", data),
        ("write", full),
        ("write", None),
        ("write", data),
        ("write", full),
        ("sync", full),
        ("sync", data),
        ("all", None),
        ("sync", full),
    ];
    let levels = levels.collect::<Vec<_>>();
    if levels == expected { Ok(()) } else { Err(format!("{levels:?}").into()) }
}
