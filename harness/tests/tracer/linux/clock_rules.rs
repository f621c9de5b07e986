//! The rules of virtual time, each held by a small program: how long a wait lasts, what ends it first, what is left as it
//! was. And those of the time itself: who may move it, and how far.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use nack::tracer::{Recorder, Unrecorded, VirtualClock};
use tempfile::TempDir;

use super::clock::Timed;
use super::subject::waited;

/// Programs that check their rule themselves.
const RULES: &[(&str, &str)] = &[
    ("registers", "each_timed_call_lasts_as_told_and_keeps_the_registers"),
    ("race", "what_happens_as_a_wait_is_over_is_never_lost"),
    ("work", "real_work_is_never_taken_for_a_wait_that_is_over"),
    ("interrupted", "a_handler_ends_a_wait_and_a_sleep_says_what_was_left"),
    ("ignored", "a_signal_without_a_handler_does_not_change_how_long_a_wait_lasts"),
    ("timers", "timers_expire_by_descriptor_and_by_signal"),
    ("spins", "a_loop_that_only_looks_at_the_clock_ends"),
    ("executes", "a_thread_that_becomes_another_program_takes_the_waits_along"),
    ("ends", "a_thread_that_ends_in_a_wait_holds_nobody_up"),
    ("sleeps", "a_sleep_lasts_as_told"),
    ("thousand", "a_thousand_sleeps_last_as_told"),
];

type Test = fn(&Programs) -> Result<(), Failed>;

/// The program, linked in two ways.
#[derive(Debug)]
struct Programs(TempDir);

impl Programs {
    fn built() -> Option<Arc<Programs>> {
        let folder = TempDir::new().expect("a folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tracer/clocks/waits.c");
        for (name, link) in [("dynamic", "-rdynamic"), ("static", "-static")] {
            let mut compiler = Command::new("cc");
            compiler.args(["-O1", "-pthread", link, "-o"]).arg(folder.path().join(name)).arg(&source);
            let output = compiler.output().ok()?;
            // A library to link statically may be missing.
            assert!(output.status.success() || name == "static", "{}", String::from_utf8_lossy(&output.stderr));
        }
        // Everybody may run them.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
        Some(Arc::new(Programs(folder)))
    }

    fn words(&self, build: &str, program: &str) -> Vec<OsString> {
        vec![self.0.path().join(build).into(), program.into()]
    }

    fn builds(&self) -> impl Iterator<Item = &'static str> {
        ["dynamic", "static"].into_iter().filter(|build| self.0.path().join(build).exists())
    }
}

pub(crate) fn trials(wanted: bool) -> Vec<Trial> {
    let programs = if wanted { Programs::built() } else { None };
    let rules = RULES.iter().map(|(program, name)| trial(&programs, name, |programs| holds(programs, program)));
    let others: [(&str, Test); 11] = [
        ("time_is_kept_for_an_ordinary_user_too", ordinary),
        ("time_begins_where_it_is_told_to", begins),
        ("the_harness_moves_the_time_of_a_program_that_runs", moved),
        ("a_skewed_clock_shows_another_time_and_measures_the_same", skewed),
        ("no_sleep_jumps_over_the_limit", limited),
        ("a_limit_that_is_not_understood_is_said", unfollowed),
        ("a_time_that_is_kept_and_a_store_that_is_recorded_go_together", recorded),
        ("two_programs_share_one_time", shared),
        ("whoever_works_is_not_passed_by_the_time_that_another_sleeps", unhurried),
        ("whoever_is_held_waits_and_measures_as_if_suspended", held),
        ("no_sleep_ends_while_time_is_to_stand_still", stands),
    ];
    let others = others.into_iter().map(|(name, test)| trial(&programs, name, test));
    rules.chain(others).collect()
}

fn trial(
    programs: &Option<Arc<Programs>>,
    name: &str,
    test: impl FnOnce(&Programs) -> Result<(), Failed> + Send + 'static,
) -> Trial {
    let (built, missing) = (programs.clone(), programs.is_none());
    Trial::test(name, move || built.map_or(Ok(()), |programs| test(&programs))).with_ignored_flag(missing)
}

fn holds(programs: &Programs, program: &str) -> Result<(), Failed> {
    for build in programs.builds() {
        Timed::new().run(programs.words(build, program))?;
    }
    Ok(())
}

fn ordinary(programs: &Programs) -> Result<(), Failed> {
    if !rustix::process::geteuid().is_root() || Command::new("setpriv").arg("--version").output().is_err() {
        println!("not covered: it takes root and setpriv to become somebody else");
        return Ok(());
    }
    // What this very program lies in may be closed to others.
    let own = tempfile::NamedTempFile::with_prefix("tracer-")?.into_temp_path();
    // Not by this process: a child that another test forks meanwhile would keep it open for writing.
    Command::new("install").args(["-m", "755"]).arg(std::env::current_exe()?).arg(&own).status()?;
    for program in ["registers", "timers", "work"] {
        let run = Timed::new();
        for path in [run.path().to_owned(), run.path().join("clock")] {
            chown(path, Some(65534), Some(65534))?;
        }
        let traced = run.command(programs.words("dynamic", program));
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&own);
        let output = command.args(traced.get_args()).current_dir(run.path()).output()?;
        run.said(&output)?;
    }
    Ok(())
}

fn begins(programs: &Programs) -> Result<(), Failed> {
    let said = Timed::new().run(programs.words("dynamic", "says"))?;
    equal(&said, "1800000000 1000000\n")
}

/// A program that says the time, and says it again when it is let.
fn asked(run: &Timed, programs: &Programs, meanwhile: impl FnOnce(&VirtualClock)) -> Result<String, Failed> {
    let mut command = run.command(programs.words("dynamic", "asked"));
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("it has none")?);
    let mut first = String::new();
    lines.read_line(&mut first)?;
    meanwhile(&run.clock);
    child.stdin.take().ok_or("it has none")?.write_all(b"\n")?;
    let mut second = String::new();
    lines.read_line(&mut second)?;
    run.said(&waited(child))?;
    Ok(first + &second)
}

fn moved(programs: &Programs) -> Result<(), Failed> {
    let said = asked(&Timed::new(), programs, |clock| clock.advance(Duration::from_secs(300)))?;
    equal(&said, "1800000000 1000000\n1800000300 1000300\n")
}

fn skewed(programs: &Programs) -> Result<(), Failed> {
    for (seconds, shown) in [(-500, "1799999500"), (500, "1800000500")] {
        let run = Timed::new();
        let said = asked(&run, programs, |clock| clock.skew(0, seconds))?;
        equal(&said, &format!("1800000000 1000000\n{shown} 1000000\n"))?;
        run_with(&run, programs, "registers")?;
    }
    Ok(())
}

/// Once more in the same time, with a log of its own.
fn run_with(run: &Timed, programs: &Programs, program: &str) -> Result<(), Failed> {
    fs::remove_file(run.log())?;
    run.run(programs.words("dynamic", program)).map(drop)
}

fn limited(programs: &Programs) -> Result<(), Failed> {
    let run = Timed::new();
    run.clock.limit(Duration::from_secs(630));
    let mut child = run.command(programs.words("dynamic", "forever")).spawn()?;
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while run.clock.passed() < Duration::from_secs(600) && std::time::Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(100));
    let passed = run.clock.passed().as_secs();
    Recorder::hang_up(child.id());
    child.wait()?;
    if passed == 600 { Ok(()) } else { Err(format!("{passed} s have passed").into()) }
}

fn unfollowed(programs: &Programs) -> Result<(), Failed> {
    let run = Timed::new();
    waited(run.command(programs.words("dynamic", "unfollowed")).spawn()?);
    match VirtualClock::finish(&run.log()) {
        Err(Unrecorded::Unsupported(whys)) if whys == ["a limit of time that is not understood (semtimedop)"] => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn recorded(programs: &Programs) -> Result<(), Failed> {
    for program in ["registers", "work", "interrupted", "thousand"] {
        let run = super::subject::Run::new();
        let clock = VirtualClock::create(run.path().join("clock"), 0)?;
        let recorder = run.recorder.clone().clock(&clock, 0);
        let words = recorder.command(programs.words("dynamic", program))?;
        let output = Command::new(&words[0]).args(&words[1..]).current_dir(run.store()).output()?;
        let recording = recorder.finish(&[]).map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        if program == "work" && recording.ops.len() < 800 {
            return Err(format!("only {} operations", recording.ops.len()).into());
        }
    }
    Ok(())
}

fn shared(programs: &Programs) -> Result<(), Failed> {
    let run = Timed::new();
    let said = asked(&run, programs, |clock| {
        let log = run.path().join("other");
        let words = clock.command(1, &log, programs.words("dynamic", "sleeps")).expect("it knows itself");
        let output = Command::new(&words[0]).args(&words[1..]).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        VirtualClock::finish(&log).expect("it was followed");
    })?;
    equal(&said, "1800000000 1000000\n1800003600 1003600\n")
}

fn unhurried(programs: &Programs) -> Result<(), Failed> {
    for _ in 0..5 {
        let run = Timed::new();
        let works = run.command(programs.words("dynamic", "unhurried")).spawn()?;
        let words = run.clock.command(1, &run.path().join("other"), programs.words("dynamic", "sleeps"))?;
        let sleeps = Command::new(&words[0]).args(&words[1..]).spawn()?;
        run.said(&waited(works))?;
        let slept = waited(sleeps);
        if !slept.status.success() || run.clock.passed() < Duration::from_secs(3600) {
            return Err(format!("{}, and {:?} passed", slept.status, run.clock.passed()).into());
        }
    }
    Ok(())
}

fn held(programs: &Programs) -> Result<(), Failed> {
    let said = asked(&Timed::new(), programs, |clock| {
        clock.hold(0);
        clock.advance(Duration::from_secs(300));
        clock.release(0);
    })?;
    equal(&said, "1800000000 1000000\n1800000300 1000000\n")?;
    kept(programs, |clock| clock.hold(0), |clock| clock.release(0))
}

fn stands(programs: &Programs) -> Result<(), Failed> {
    kept(programs, |clock| clock.stand_still(true), |clock| clock.stand_still(false))
}

/// A sleep does not end until it is let.
fn kept(programs: &Programs, keep: fn(&VirtualClock), let_go: fn(&VirtualClock)) -> Result<(), Failed> {
    let run = Timed::new();
    keep(&run.clock);
    let sleeps = run.command(programs.words("dynamic", "sleeps")).spawn()?;
    std::thread::sleep(Duration::from_millis(200));
    let passed = run.clock.passed();
    let_go(&run.clock);
    run.said(&waited(sleeps))?;
    if passed < Duration::from_secs(1) { Ok(()) } else { Err(format!("{passed:?} passed").into()) }
}

fn equal(said: &str, expected: &str) -> Result<(), Failed> {
    if said == expected { Ok(()) } else { Err(format!("it said\n{said}instead of\n{expected}").into()) }
}
