//! Whether recording and virtual time work here, found by doing it: this program again writes a file under the tracer,
//! becomes another program that renames it, and the recording must show both; or it sleeps and waits for hours, which must
//! pass. What refuses is said by name.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use thiserror::Error;

use super::WORD;
use super::clock::VirtualClock;
use super::recorder::{Recorder, Unrecorded};
use crate::disk::log::{Recording, What};
use crate::scratch;

/// Why nothing can be recorded here, or no time be kept.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

/// How long the probe may take.
const WITHIN: Duration = Duration::from_secs(10);
const WRITES: &str = "--writes";
const RENAMES: &str = "--renames";
const WAITS: &str = "--waits";
const AN_HOUR: Duration = Duration::from_secs(3600);
const WRITTEN: &[u8] = b"written under the tracer";

/// Whether programs can be recorded here. It is tried once.
///
/// # Errors
/// What refuses.
pub fn supported() -> Result<(), Unsupported> {
    static TRIED: OnceLock<Result<(), Unsupported>> = OnceLock::new();
    TRIED.get_or_init(|| tried().map_err(Unsupported)).clone()
}

/// Whether programs can run in virtual time here. It is tried once.
///
/// # Errors
/// What refuses.
pub fn clock_supported() -> Result<(), Unsupported> {
    static TRIED: OnceLock<Result<(), Unsupported>> = OnceLock::new();
    TRIED.get_or_init(|| clock_tried().map_err(Unsupported)).clone()
}

fn tried() -> Result<(), String> {
    let folder = folder()?;
    let store = folder.path().join("store");
    fs::create_dir(&store).map_err(|error| format!("no temporary folder can be made: {error}"))?;
    let recorder = Recorder::new(&store, folder.path().join("log"));
    run(recorder.command(own(WRITES)?), &store)?;
    match judged(recorder.finish(&[]))? {
        recording if shows_both(&recording) => Ok(()),
        _ => Err("the probe's calls were not seen: a filter around this process answers them first".to_owned()),
    }
}

fn clock_tried() -> Result<(), String> {
    let folder = folder()?;
    let (time, log) = (folder.path().join("clock"), folder.path().join("log"));
    let clock = VirtualClock::create(time, 0).map_err(|error| format!("no virtual time can be made: {error}"))?;
    let status = run(clock.command(0, &log, own(WAITS)?), folder.path())?;
    judged(VirtualClock::finish(&log))?;
    if status.success() && clock.passed() >= 2 * AN_HOUR {
        return Ok(());
    }
    Err("the probe's time did not pass: a filter around this process answers its calls first".to_owned())
}

/// A folder for the probe.
fn folder() -> Result<TempDir, String> {
    if !Recorder::is_ready() {
        return Err("this program cannot start itself as a tracer".to_owned());
    }
    scratch().map_err(|error| format!("no temporary folder can be made: {error}"))
}

/// The words that start this program as the probe's subject.
fn own(life: &str) -> Result<[OsString; 3], String> {
    let own = env::current_exe().map_err(|error| format!("this program does not know its own path: {error}"))?;
    Ok([own.into(), WORD.into(), life.into()])
}

/// Runs the probe to its end.
fn run(argv: io::Result<Vec<OsString>>, folder: &Path) -> Result<ExitStatus, String> {
    let argv = argv.map_err(|error| format!("this program does not know its own path: {error}"))?;
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut tracer = command.spawn().map_err(|error| format!("this program cannot start itself: {error}"))?;
    let deadline = Instant::now() + WITHIN;
    loop {
        match tracer.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if Instant::now() <= deadline => thread::sleep(Duration::from_micros(500)),
            _ => {
                // An error means that it has ended after all.
                let _ = tracer.kill();
                let _ = tracer.wait();
                return Err(format!("the tracer's probe did not end within {WITHIN:?}"));
            }
        }
    }
}

fn judged<T>(finished: Result<T, Unrecorded>) -> Result<T, String> {
    finished.map_err(|error| match error {
        Unrecorded::Unsupported(whys) => whys.join("; "),
        other => format!("the probe failed: {other}"),
    })
}

fn shows_both(recording: &Recording) -> bool {
    let wrote = |op: &What| matches!(op, What::Write { bytes, .. } if **bytes == *WRITTEN);
    let renamed = |op: &What| matches!(op, What::Rename { to, .. } if to.name == "renamed");
    let ops = || recording.ops.iter().map(|op| &op.what);
    ops().any(wrote) && ops().any(renamed)
}

/// The life of the probe's subject.
pub(super) fn act(words: &[OsString]) -> ! {
    let done = match words {
        [word] if word == WRITES => fs::write("probe", WRITTEN).and_then(|()| {
            // It only returns if it fails.
            Err(Command::new(env::current_exe()?).args([WORD, RENAMES]).exec())
        }),
        [word] if word == WAITS => waits(),
        [word] if word == RENAMES => fs::rename(Path::new("probe"), "renamed"),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    };
    process::exit(i32::from(done.is_err()))
}

/// Sleeps for an hour, and waits for another in a socket.
fn waits() -> io::Result<()> {
    let start = Instant::now();
    thread::sleep(AN_HOUR);
    let (mut one, _other) = UnixStream::pair()?;
    one.set_read_timeout(Some(AN_HOUR))?;
    match one.read(&mut [0]) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock && start.elapsed() >= 2 * AN_HOUR => Ok(()),
        _ => Err(io::ErrorKind::TimedOut.into()),
    }
}
