//! What the tests of the command adapter share: a small contract with one effect, a program that keeps to it, and a
//! run of it in a folder of its own.

#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test file is a crate of its own and uses a part")]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use nack::Target;
use nack::binding::{Binding, Bindings, Making, Reach};
use nack::command::CommandAdapter;
use nack::report::report;
use nack::run::{Options, run_cases};
use nack::store::{Setup, Tables};
use nack_contracts::{Contract, Finding, Source};
use nack_reports::{CaseReport, Report, Verdict};
use tempfile::TempDir;

pub const CONTRACT: &str = include_str!("post.toml");

const BINDING: &str = r#"
[subject.poster]
contract = "post"
adapter  = "command"
store    = "sqlite:app.db"
setup    = "schema.sql"
wait     = 8
call.work = { command = ["python3", "-S", "poster.py", "{store}", "{downstream.post}", "{file.body}", "{now}"], stdout = { OK = "done", RETRY = "later" }, exit = { 3 = { _error = "refused" } } }
words.state = { new = "new", OK = "posted", RETRY = "waiting" }
downstream.post = { listen = "http", columns = { id = "header:X-Id", body = "body" }, answers = { taken = { status = 200 }, busy = [{ status = 503 }, { status = 429 }] } }
"#;

const SCHEMA: &str = "CREATE TABLE letters (id TEXT PRIMARY KEY, state TEXT NOT NULL);";

/// A program that keeps to the contract. `PATIENCE` is how long it waits for an answer.
const POSTER: &str = r#"
import http.client, os, signal, socket, sqlite3, subprocess, sys, time
from urllib.parse import urlsplit
db, url, body, now = sys.argv[1], sys.argv[2], open(sys.argv[3], 'rb').read(), int(sys.argv[4])
PATIENCE = 2
def post():
    to = urlsplit(url)
    connection = http.client.HTTPConnection(to.hostname, to.port, timeout=PATIENCE)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE or 0)
    try:
        connection.request('POST', '/', body, {'X-Id': 'l-1'})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
def late(number, frame):
    raise TimeoutError()
signal.signal(signal.SIGALRM, late)
def record(word):
    sqlite3.connect(db, isolation_level=None).execute('UPDATE letters SET state = ?', (word,))
def work():
    word = 'OK' if post() == 200 else 'RETRY'
    record(word)
    print(word, flush=True)
"#;

/// A program, its binding, and the folder they are in.
pub struct Program {
    pub folder: TempDir,
}

impl Program {
    /// A program that keeps to the contract but for what `edits` replace in it, and ends with these lines.
    pub fn new(edits: &[(&str, &str)], lines: &str) -> Program {
        Program::bound(edits, lines, &[])
    }

    /// The same, with a binding that is edited too.
    pub fn bound(edits: &[(&str, &str)], lines: &str, binding: &[(&str, &str)]) -> Program {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let write = |name: &str, text: String| fs::write(folder.path().join(name), text).expect("it can be written");
        write("poster.py", edited(POSTER, edits) + lines);
        write("schema.sql", SCHEMA.to_owned());
        write("nack.toml", edited(BINDING, binding));
        Program { folder }
    }

    fn binding(&self) -> Binding {
        let mut bindings = Bindings::read(&self.folder.path().join("nack.toml")).expect("it can be read");
        bindings.subjects.remove(0)
    }

    pub fn target(&self, scratch: &Path) -> Result<Target, Box<Finding>> {
        let binding = self.binding();
        let source = Source::new("post.toml".to_owned(), CONTRACT);
        let contract = Arc::new(Contract::read(source, &IndexMap::new()).expect("the contract reads"));
        binding.fits(&contract)?;
        let Reach::Command { calls } = &binding.reach else { panic!("it is started for each call") };
        let Making::File(schema) = &binding.setup else { panic!("its tables are made by a file") };
        let setup = Setup::File(self.folder.path().join(schema));
        let tables = Tables { place: binding.place.clone(), setup, mapping: binding.mapping.clone() };
        let adapter = CommandAdapter::new(&binding, calls, tables, &contract)?;
        Ok(Target::load("poster", contract, Arc::new(adapter), scratch).expect("it can be judged"))
    }

    /// Runs the cases whose name begins so, behind the contract's own.
    pub fn report(&self, prefix: &str) -> Report {
        let scratch = nack::scratch().expect("a scratch folder");
        let targets = [self.target(scratch.path()).expect("the binding fits")];
        let wanted = |index: &usize| targets[0].cases[*index].name.starts_with(&format!("post/{prefix}"));
        let selection: Vec<(usize, usize)> =
            (0..targets[0].cases.len()).filter(wanted).map(|index| (0, index)).collect();
        assert!(!selection.is_empty(), "no case begins with {prefix}");
        let options = Options { deadline_scale: 0.5, ..Options::default() };
        let cases = run_cases(&targets, &selection, scratch.path(), &options);
        let report = report(&targets, cases, None, 0, &|_| false);
        self.is_gone();
        report
    }

    /// Runs one case.
    pub fn case(&self, name: &str) -> CaseReport {
        let report = self.report(name);
        report.cases.into_iter().find(|case| case.name == format!("post/{name}")).expect("there is such a case")
    }

    /// Fails if anything that runs in this folder is left.
    fn is_gone(&self) {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let here =
            processes.filter(|pid| fs::read_link(pid.path().join("cwd")).is_ok_and(|cwd| cwd == self.folder.path()));
        let lines = here.map(|pid| fs::read_to_string(pid.path().join("cmdline")).unwrap_or_default());
        assert_eq!(lines.filter(|line| !line.is_empty()).collect::<Vec<_>>(), Vec::<String>::new());
    }
}

fn edited(text: &str, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "there is no {from:?} to edit");
        text.replacen(from, to, 1)
    })
}

/// Everything that a case says, for looking into it.
pub fn story(case: &CaseReport) -> String {
    format!("{case:#?}")
}

#[track_caller]
pub fn is(case: &CaseReport, verdict: Verdict) {
    assert_eq!(case.verdict, verdict, "{}", story(case));
}

/// Fails unless a case says this somewhere.
#[track_caller]
pub fn says(case: &CaseReport, text: &str) {
    assert!(story(case).contains(text), "it does not say {text:?}: {}", story(case));
}

/// Whether there is a Python. If not, the test says that it tests nothing; where everything is required it fails.
pub fn python_is_here() -> bool {
    let here = std::process::Command::new("python3").arg("--version").output().is_ok_and(|ran| ran.status.success());
    if !here {
        assert!(std::env::var_os("CI").is_none(), "python3 is required here");
        let _ = std::io::stderr().write_all(b"SKIPPED: there is no python3, so its programs were not run\n");
    }
    here
}
