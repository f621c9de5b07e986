//! The programs that are recorded, and a run of one of them.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nack::disk::log::Recording;
use nack::tracer::{Recorder, Unrecorded};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

/// No run may take longer.
const WITHIN: Duration = Duration::from_secs(30);

/// The compiled programs.
#[derive(Debug)]
pub(crate) struct Subject {
    folder: TempDir,
}

/// Compiles the programs, once as they are usually built and once without any library.
pub(crate) fn built() -> Option<Arc<Subject>> {
    let folder = TempDir::new().expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tracer/subject.c");
    for (name, link) in [("dynamic", "-rdynamic"), ("static", "-static")] {
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-pthread", "-Wno-unused-result", link, "-o"]).arg(folder.path().join(name)).arg(&source);
        let output = match compiler.output() {
            Ok(output) => output,
            Err(error) => {
                println!("not covered, for there is no C compiler: {error}");
                return None;
            }
        };
        // A library to link statically may be missing.
        let made = output.status.success() || name == "static";
        assert!(made, "{}", String::from_utf8_lossy(&output.stderr));
    }
    // Everybody may run them.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), mode).expect("it is ours");
    Some(Arc::new(Subject { folder }))
}

impl Subject {
    pub(crate) fn words(&self, build: &str, program: &str) -> Vec<OsString> {
        vec![self.folder.path().join(build).into(), program.into()]
    }

    /// Whether it was built so.
    pub(crate) fn has(&self, build: &str) -> bool {
        self.folder.path().join(build).exists()
    }
}

/// A folder with a store and a log.
#[derive(Debug)]
pub(crate) struct Run {
    folder: TempDir,
    pub(crate) recorder: Recorder,
}

impl Run {
    pub(crate) fn new() -> Run {
        Run::within(nack::scratch().expect("a folder"))
    }

    /// On a disk rather than in memory.
    pub(crate) fn on_disk() -> Run {
        Run::within(TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder"))
    }

    fn within(folder: TempDir) -> Run {
        for name in ["store", "outside"] {
            fs::create_dir(folder.path().join(name)).expect("it is ours");
        }
        let recorder = Recorder::new(folder.path().join("store"), folder.path().join("log"));
        Run { folder, recorder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    pub(crate) fn command(&self, words: Vec<OsString>) -> Command {
        let words = self.recorder.command(words).expect("it knows itself");
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(self.store()).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn start(&self, words: Vec<OsString>) -> Child {
        self.command(words).spawn().expect("it starts")
    }

    /// Runs a program to its end.
    pub(crate) fn run(&self, words: Vec<OsString>) -> Output {
        waited(self.start(words))
    }

    pub(crate) fn finish(&self) -> Result<Recording, Unrecorded> {
        self.recorder.finish(&[])
    }
}

/// Waits for a child, and ends its group if it takes too long.
pub(crate) fn waited(mut child: Child) -> Output {
    let deadline = Instant::now() + WITHIN;
    let pid = Pid::from_child(&child);
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() > deadline {
            kill_process_group(pid, Signal::KILL).expect("it is there");
            let output = child.wait_with_output().expect("it is ours");
            panic!("it did not end: {}", String::from_utf8_lossy(&output.stderr));
        }
        thread::sleep(Duration::from_millis(1));
    }
    child.wait_with_output().expect("it is ours")
}
