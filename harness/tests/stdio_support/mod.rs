//! What the tests of the stdio adapter share: subjects written to a folder of their own, sessions on them, and a
//! look at what processes are left, which are known by that folder.

#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test file is a crate of its own and uses a part")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use nack::clock::Clock;
use nack::process::Command;
use nack::session::{Event, Session, Watch};
use nack::stdio::StdioSession;
use nack::stdio::message::Hello;
use nack_contracts::{Map, Value};
use tempfile::TempDir;

/// Far more than any event takes, far less than a test that hangs.
pub const SOON: Duration = Duration::from_secs(10);

/// The first lines of a subject without an SDK: it says hello and hears its first call as `call`.
pub const HOSTILE: &str = r#"
import json, os, signal, subprocess, sys, threading, time
def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def hear():
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)
hello = hear()
say(id=hello["id"], result={"name": "hostile", "protocol": 1, "checkpoints": ["here"]})
call = hear()
"#;

/// The Python to run subjects with, past any version manager's wrapper, which takes longer than they do.
pub fn python() -> Option<&'static str> {
    static PYTHON: OnceLock<Option<String>> = OnceLock::new();
    let found = PYTHON.get_or_init(|| {
        let program = "import sys; print(sys.executable)";
        let output = std::process::Command::new("python3").args(["-c", program]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    });
    found.as_deref()
}

/// Whether there is a Python. If not, the test says that it tests nothing.
pub fn python_is_here() -> bool {
    let here = python().is_some();
    if !here {
        // Past the capture of test output, so that it is seen in a green run.
        let _ = std::io::stderr().write_all(b"SKIPPED: there is no python3, so its subjects were not run\n");
    }
    here
}

/// A subject in a folder of its own.
pub struct Subject {
    pub folder: TempDir,
    argv: Vec<String>,
}

impl Subject {
    /// A Python program.
    pub fn python(program: &str) -> Subject {
        let subject = Subject::command(&[python().unwrap_or("python3"), "subject.py"]);
        fs::write(subject.folder.path().join("subject.py"), program).expect("a temporary file can be written");
        subject
    }

    /// A Python program that says hello and then behaves badly.
    pub fn hostile(body: &str) -> Subject {
        Subject::python(&format!("{HOSTILE}{body}"))
    }

    /// A Python program that uses the SDK.
    pub fn with_sdk(program: &str) -> Subject {
        let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("sdk/python");
        let path = Value::from(sdk.to_string_lossy().into_owned()).to_json();
        Subject::python(&format!("import sys\nsys.path.insert(0, {path})\nimport nack_sdk\n{program}"))
    }

    /// Any command.
    pub fn command(argv: &[&str]) -> Subject {
        let folder = TempDir::new().expect("a temporary folder can be made");
        Subject { folder, argv: argv.iter().map(|word| (*word).to_owned()).collect() }
    }

    pub fn session(&self) -> StdioSession {
        self.session_with(Arc::default(), SOON)
    }

    pub fn session_with(&self, clock: Arc<Clock>, start_within: Duration) -> StdioSession {
        let mut command = Command::new(self.argv.clone(), self.folder.path().to_owned());
        command.start_within = start_within;
        let hello = Hello::new("test", IndexMap::new(), &self.store().to_string_lossy());
        StdioSession::new(Arc::new(command), hello, clock)
    }

    pub fn store(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    /// The processes whose working folder is this subject's.
    pub fn processes(&self) -> Vec<String> {
        let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
        let pids = all.flatten().map(|entry| entry.path());
        let here = pids.filter(|pid| fs::read_link(pid.join("cwd")).is_ok_and(|cwd| cwd == self.folder.path()));
        here.map(|pid| fs::read_to_string(pid.join("cmdline")).unwrap_or_default().replace('\0', " ")).collect()
    }

    /// Fails if anything of this subject still runs.
    pub fn is_gone(&self) {
        // A killed process may take a moment to leave the table.
        let deadline = Instant::now() + Duration::from_secs(1);
        while !self.processes().is_empty() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(self.processes(), Vec::<String>::new(), "processes are left behind");
    }
}

/// Begins the call `go` on the worker `main` without arguments.
pub fn begin(session: &mut StdioSession, watch: Watch) {
    session.call("main", "go", &Map::new(), watch).expect("the subject starts");
}

/// The next event of `main`, which must come soon.
pub fn event(session: &mut StdioSession) -> Event {
    let (worker, event) = session.next(SOON).expect("an event comes");
    assert_eq!(worker, "main");
    event
}

/// A watch for one checkpoint.
pub fn at(checkpoint: &str) -> Watch {
    Watch { checkpoint: Some(checkpoint.to_owned()), ..Watch::default() }
}

/// A watch for every statement and effect.
pub fn everywhere() -> Watch {
    Watch { everywhere: true, ..Watch::default() }
}

/// The text of a worker's end; anything else fails the test.
pub fn died(event: Event) -> String {
    match event {
        Event::Died(how) => how,
        other => panic!("it was to die, and did this: {other:?}"),
    }
}
