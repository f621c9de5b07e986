//! What the tests share: a contract of one call, a sound server for it in Python, and a folder with both.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use nack::adapter::Adapter;
use nack::binding::{Bindings, Making, Reach};
use nack::run::{Options, run_cases};
use nack::server::HttpAdapter;
use nack::store::{Setup, Tables};
use nack::{LoadError, Target, scratch};
use nack_contracts::{Contract, Source};
use nack_reports::CaseReport;
use tempfile::TempDir;

/// Whoever says a name first is told that it is new.
const CONTRACT: &str = r#"
format = 1
name   = "counter"
title  = "Each name counts once"
owner  = "the counter"

[store.counted]
key     = ["name"]
columns = { name = "id" }

[call.count]
args        = { name = "id" }
reply       = "any"
words       = { said = "said" }
checkpoints = ["looked", "before_write", "after_write"]
between     = ["before_write", "after_write"]

[domain.said]
values = ["new", "known"]
[domain.at]
values = ["before_write", "after_write"]
[domain.by]
values = ["kill", "hold", "raise"]
[domain.lost_at]
values = ["request", "reply"]
[domain.met]
values = ["looked", "before_write", "after_write"]

[[scenario]]
name  = "plain"
why   = "A name is new once."
steps = [
  { call = "count", args = { name = "a" }, reply = { http = 200, body = { said = "new" } } },
  { expect = { counted = [{ name = "a" }] } },
  { reconnect = true },
  { call = "count", args = { name = "a" }, reply = { http = 200, body = { said = "known" } } },
  { expect = { counted = [{ name = "a" }], reply = [{ outcome = "acknowledged" }, { outcome = "acknowledged" }] } },
]

[[scenario]]
name  = "twice"
why   = "A name that was counted is known."
steps = [
  { call = "count", args = { name = "a" }, reply = { http = 200, body = { said = "new" } } },
  { call = "count", args = { name = "a" }, reply = { http = 200, body = { said = "known" } } },
  { expect = { counted = [{ name = "a" }] } },
]

[[scenario]]
name  = "struck"
why   = "Whatever befalls a call, the next one is told the truth."
bind  = ["at", "by"]
steps = [
  { call = "count", args = { name = "a" }, fault = { at = "$at", by = "$by" } },
  { reconnect = true },
  { call = "count", args = { name = "a" }, reply = { http = 200, body = { said = { _one_of = ["new", "known"] } } } },
  { expect = { counted = [{ name = "a" }] } },
]

[[scenario]]
name  = "killed-early"
why   = "Nothing is counted before it is written."
steps = [
  { call = "count", args = { name = "a" }, fault = { at = "before_write", by = "kill" } },
  { expect = { counted = 0 } },
]

[[scenario]]
name  = "killed-late"
why   = "What was about to be said is counted."
steps = [
  { call = "count", args = { name = "a" }, fault = { at = "after_write", by = "kill" } },
  { expect = { counted = [{ name = "a" }], reply = [{ outcome = "unknown" }] } },
]

[[scenario]]
name  = "lost"
why   = "Whoever never heard an answer asks again."
bind  = ["lost_at"]
steps = [
  { call = "count", args = { name = "a" }, fault = { at = "$lost_at", by = "lost" } },
  { call = "count", args = { name = "a" }, reply = { http = 200, body = { said = { _one_of = ["new", "known"] } } } },
  { expect = { counted = [{ name = "a" }], reply = [{ outcome = "unknown" }, { outcome = "acknowledged" }] } },
]

[[scenario]]
name  = "held"
why   = "A call whose answer is not read hinders nobody."
steps = [
  { call = "count", as = "w1", args = { name = "a" }, fault = { at = "after_write", by = "hold" } },
  { call = "count", as = "w2", args = { name = "a" }, reply = { http = 200, body = { said = "known" } } },
  { release = "w1", reply = { http = 200, body = { said = "new" } } },
  { expect = { counted = [{ name = "a" }] } },
]

[[scenario]]
name  = "killed-both"
why   = "What was about to be said is counted, whoever else was there."
steps = [
  { call = "count", as = "w1", args = { name = "a" }, fault = { at = "after_write", by = "hold" } },
  { call = "count", as = "w2", args = { name = "b" }, fault = { at = "after_write", by = "kill" } },
  { release = "w1" },
  { expect = { counted = [{ name = "a" }, { name = "b" }] } },
]

[[scenario]]
name  = "race"
why   = "Of two at once one is new."
bind  = ["met"]
steps = [
  { parallel = [{ _times = 2, as = "w$i", call = "count", args = { name = "a" } }], barrier = "$met" },
  { expect = { counted = [{ name = "a" }], reply = [
      { value = { http = 200, body = { said = "new" } } }, { value = { http = 200, body = { said = "known" } } },
  ] } },
]
"#;

/// A sound server. It may be changed at `# start`, `# begin` (of a request), and where it counts.
pub(crate) const SERVER: &str = r#"
import json, os, signal, socket, sqlite3, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
store, port = sys.argv[1], int(sys.argv[2])
# start
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        # begin
        try:
            said, status = self.count(body.decode()), 200
        except sqlite3.Error as error:
            print(error, file=sys.stderr, flush=True)
            said, status = "error", 500
        self.answer(status, json.dumps({"said": said}).encode())
    def do_GET(self):
        self.answer(200 if self.path == "/up" else 503, b"")
    def count(self, name):
        db = sqlite3.connect(store, timeout=10, isolation_level=None)
        new = db.execute("INSERT OR IGNORE INTO counted SELECT ?", (name,)).rowcount
        return "new" if new else "known"
    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
server.daemon_threads = True
print("up on", server.server_port, flush=True)
server.serve_forever()
"#;

/// A binding of it.
pub(crate) const BINDING: &str = r#"
[subject.server]
contract = "counter"
adapter  = "http"
command  = ["PYTHON", "-S", "server.py", "{store}", "{port}"]
setup    = "counter.sql"
call.count = { method = "POST", path = "/count", body = "{arg.name}" }
"#;

/// A server in a folder of its own.
pub(crate) struct Served {
    pub(crate) folder: TempDir,
    binding: String,
    start_within: Duration,
    deadline_scale: f64,
}

impl Served {
    /// The sound server with these places changed.
    pub(crate) fn with(changes: &[(&str, &str)]) -> Served {
        let mut program = SERVER.to_owned();
        for (from, to) in changes {
            assert_eq!(program.matches(from).count(), 1, "{from:?} is not at one place of the server");
            program = program.replace(from, to);
        }
        let folder = TempDir::new().expect("a temporary folder can be made");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("it can be written");
        write("server.py", &program);
        write("counter.sql", "CREATE TABLE counted (name TEXT PRIMARY KEY)");
        let binding = BINDING.replace("PYTHON", python().unwrap_or("python3"));
        Served { folder, binding, start_within: Duration::from_secs(10), deadline_scale: 1.0 }
    }

    /// With these further keys in the binding, in place of what it says of them.
    pub(crate) fn bound(mut self, keys: &str) -> Served {
        for line in keys.lines() {
            let key = line.split('=').next().unwrap_or_default().trim().to_owned();
            self.binding = self
                .binding
                .lines()
                .filter(|said| !said.starts_with(&key))
                .fold(String::new(), |out, said| out + said + "\n");
            self.binding += &line.replace("PYTHON", python().unwrap_or("python3"));
            self.binding.push('\n');
        }
        self
    }

    /// With less time to start.
    pub(crate) fn within(mut self, start_within: Duration) -> Served {
        self.start_within = start_within;
        self
    }

    /// With deadlines of cases so many times as long.
    pub(crate) fn scaled(mut self, deadline_scale: f64) -> Served {
        self.deadline_scale = deadline_scale;
        self
    }

    pub(crate) fn load(&self, scratch: &Path) -> Result<Target, LoadError> {
        let file = self.folder.path().join("nack.toml");
        fs::write(&file, &self.binding).expect("it can be written");
        let bindings = Bindings::read(&file).unwrap_or_else(|(_, finding)| panic!("{finding:?}"));
        let binding = &bindings.subjects[0];
        let contract = Contract::read(Source::new("counter.toml", CONTRACT), &IndexMap::new()).expect("it reads");
        binding.fits(&contract).expect("it binds the contract's calls");
        let (Reach::Http(server), Making::File(setup)) = (&binding.reach, &binding.setup) else { panic!("it is http") };
        let setup = Setup::File(self.folder.path().join(setup));
        let tables = Tables { place: binding.place.clone(), setup, mapping: binding.mapping.clone() };
        let adapter = HttpAdapter::new(binding, server, tables, &contract, self.start_within);
        let adapter: Arc<dyn Adapter> = Arc::new(adapter.unwrap_or_else(|finding| panic!("{finding:?}")));
        Target::load("server", Arc::new(contract), adapter, scratch)
    }

    /// Runs the cases whose names begin so, and sees to it that nothing is left.
    pub(crate) fn judge(&self, prefixes: &[&str]) -> Vec<CaseReport> {
        let scratch = scratch().expect("a folder");
        let target = self.load(scratch.path()).unwrap_or_else(|error| panic!("{error}"));
        let named = |name: &str| prefixes.iter().any(|prefix| name.starts_with(&format!("counter/{prefix}")));
        let chosen: Vec<(usize, usize)> =
            target.cases.iter().enumerate().filter(|(_, case)| named(&case.name)).map(|(i, _)| (0, i)).collect();
        assert!(!chosen.is_empty(), "no case is named {prefixes:?}");
        let options = Options { jobs: 2, deadline_scale: self.deadline_scale, ..Options::default() };
        let reports = run_cases(&[target], &chosen, scratch.path(), &options);
        self.is_gone();
        reports
    }

    /// Runs one case.
    pub(crate) fn judge_one(&self, name: &str) -> CaseReport {
        let mut reports = self.judge(&[name]);
        assert_eq!(reports.len(), 1, "{name}");
        reports.remove(0)
    }

    /// Fails if anything that runs in the folder is left.
    pub(crate) fn is_gone(&self) {
        let left = || -> Vec<String> {
            let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
            let pids = all.flatten().map(|entry| entry.path());
            let here = pids.filter(|pid| fs::read_link(pid.join("cwd")).is_ok_and(|cwd| cwd == self.folder.path()));
            here.map(|pid| fs::read_to_string(pid.join("cmdline")).unwrap_or_default().replace('\0', " ")).collect()
        };
        // A killed process may take a moment to leave the table.
        let deadline = Instant::now() + Duration::from_secs(1);
        while !left().is_empty() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(left(), Vec::<String>::new(), "processes are left behind");
    }
}

/// The Python to run servers with, past any version manager's wrapper, which takes longer than they do.
fn python() -> Option<&'static str> {
    static PYTHON: OnceLock<Option<String>> = OnceLock::new();
    let found = PYTHON.get_or_init(|| {
        let program = "import sys; print(sys.executable)";
        let output = std::process::Command::new("python3").args(["-c", program]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    });
    found.as_deref()
}

/// Whether there is a Python. If not, the test says that it tests nothing; where CI is set, it fails.
pub(crate) fn python_is_here() -> bool {
    let here = python().is_some();
    assert!(here || std::env::var_os("CI").is_none(), "there is no python3, and CI is to run its servers");
    if !here {
        // Past the capture of test output, so that it is seen in a green run.
        let _ = std::io::stderr().write_all(b"SKIPPED: there is no python3, so its servers were not run\n");
    }
    here
}
