//! Whether recording works here, found by doing it: this program again writes a file under the tracer, becomes another
//! program that renames it, and the recording must show both. What refuses is said by name.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use super::WORD;
use super::recorder::{Recorder, Unrecorded};
use crate::disk::log::{Recording, What};
use crate::scratch;

/// Why nothing can be recorded here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

/// How long the probe may take.
const WITHIN: Duration = Duration::from_secs(10);
const WRITES: &str = "--writes";
const RENAMES: &str = "--renames";
const WRITTEN: &[u8] = b"written under the tracer";

/// Whether programs can be recorded here. It is tried once.
///
/// # Errors
/// What refuses.
pub fn supported() -> Result<(), Unsupported> {
    static TRIED: OnceLock<Result<(), Unsupported>> = OnceLock::new();
    TRIED.get_or_init(|| tried().map_err(Unsupported)).clone()
}

fn tried() -> Result<(), String> {
    if !Recorder::is_ready() {
        return Err("this program cannot start itself as a tracer".to_owned());
    }
    let said = |what: &str, error: std::io::Error| format!("{what}: {error}");
    let folder = scratch().map_err(|error| said("no temporary folder can be made", error))?;
    let store = folder.path().join("store");
    fs::create_dir(&store).map_err(|error| said("no temporary folder can be made", error))?;
    let recorder = Recorder::new(&store, folder.path().join("log"));
    let own = env::current_exe().map_err(|error| said("this program does not know its own path", error))?;
    let words: [OsString; 3] = [own.into(), WORD.into(), WRITES.into()];
    let argv = recorder.command(words).map_err(|error| said("this program does not know its own path", error))?;
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).current_dir(&store).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut tracer = command.spawn().map_err(|error| said("this program cannot start itself", error))?;
    let deadline = Instant::now() + WITHIN;
    while matches!(tracer.try_wait(), Ok(None)) {
        if Instant::now() > deadline {
            // An error means that it has ended after all.
            let _ = tracer.kill();
            let _ = tracer.wait();
            return Err(format!("the tracer's probe did not end within {WITHIN:?}"));
        }
        thread::sleep(Duration::from_micros(500));
    }
    match recorder.finish(&[]) {
        Ok(recording) if shows_both(&recording) => Ok(()),
        Ok(_) => Err("the probe's calls were not seen: a filter around this process answers them first".to_owned()),
        Err(Unrecorded::Unsupported(whys)) => Err(whys.join("; ")),
        Err(other) => Err(format!("the probe failed: {other}")),
    }
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
        [word] if word == RENAMES => fs::rename(Path::new("probe"), "renamed"),
        _ => Err(std::io::ErrorKind::InvalidInput.into()),
    };
    process::exit(i32::from(done.is_err()))
}
