//! Programs in virtual time: they sleep for hours in no time, keep the order of their timers, and find that exactly as
//! much has passed as they waited. A language that is not installed is shown as ignored.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use libtest_mimic::{Failed, Trial};
use nack::tracer::VirtualClock;
use tempfile::TempDir;

use super::sqlite::python;
use super::subject::waited;

/// Where the clocks stand at the start.
const START: i64 = 1_800_000_000;

/// A run in virtual time, in a folder of its own.
pub(crate) struct Timed {
    folder: TempDir,
    pub(crate) clock: VirtualClock,
}

impl Timed {
    pub(crate) fn new() -> Timed {
        let folder = nack::scratch().expect("a folder");
        let clock = VirtualClock::create(folder.path().join("clock"), START).expect("a new file");
        Timed { folder, clock }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    pub(crate) fn command(&self, words: Vec<OsString>) -> Command {
        let words = self.clock.command(0, &self.log(), words).expect("it knows itself");
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(self.folder.path()).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a program to its end, which must be a good one, and returns what it said.
    pub(crate) fn run(&self, words: Vec<OsString>) -> Result<String, Failed> {
        let output = waited(self.command(words).spawn()?);
        self.said(&output)
    }

    pub(crate) fn said(&self, output: &Output) -> Result<String, Failed> {
        let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            return Err(format!("{}: {said}{errors}", output.status).into());
        }
        VirtualClock::finish(&self.log()).map_err(|error| error.to_string())?;
        Ok(said.into_owned())
    }
}

/// A program in a language: how it is made ready in a folder, and what it says.
struct Language {
    name: &'static str,
    /// The words that run it, once it is made; nothing where the language is not installed.
    ready: fn(&Path, &Path) -> Option<Vec<OsString>>,
    says: &'static str,
}

const LANGUAGES: &[Language] = &[
    Language { name: "python", ready: in_python, says: include_str!("../clocks/python.txt") },
    Language { name: "node", ready: in_node, says: include_str!("../clocks/node.txt") },
    Language { name: "go", ready: in_go, says: include_str!("../clocks/go.txt") },
    Language { name: "java", ready: in_java, says: include_str!("../clocks/java.txt") },
    Language { name: "rust", ready: in_rust, says: include_str!("../clocks/rust.txt") },
    Language { name: "bash", ready: in_bash, says: include_str!("../clocks/bash.txt") },
];

/// The tests, each with whether it can be run here.
pub(crate) fn trials(wanted: bool) -> Vec<Trial> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tracer/clocks");
    LANGUAGES
        .iter()
        .map(|language| {
            let name = format!("{}_waits_for_hours_in_its_own_order", language.name);
            let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
            let words = if wanted { (language.ready)(&sources, folder.path()) } else { None };
            let missing = words.is_none();
            let test = move || {
                let _folder = folder;
                words.map_or(Ok(()), |words| waits(words, language.says))
            };
            Trial::test(name, test).with_ignored_flag(missing)
        })
        .collect()
}

fn waits(words: Vec<OsString>, says: &str) -> Result<(), Failed> {
    let run = Timed::new();
    let said = run.run(words)?;
    if said != says {
        return Err(format!("it said\n{said}instead of\n{says}").into());
    }
    Ok(())
}

fn words(words: &[&Path]) -> Option<Vec<OsString>> {
    Some(words.iter().map(|word| word.as_os_str().to_owned()).collect())
}

/// Runs a compiler, if there is one.
fn compiled(command: &mut Command) -> Option<()> {
    let output = command.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(())
}

fn in_python(sources: &Path, _: &Path) -> Option<Vec<OsString>> {
    words(&[Path::new(&python()?), &sources.join("waits.py")])
}

fn in_node(sources: &Path, _: &Path) -> Option<Vec<OsString>> {
    Command::new("node").arg("--version").output().ok()?;
    words(&[Path::new("node"), &sources.join("waits.mjs")])
}

fn in_go(sources: &Path, folder: &Path) -> Option<Vec<OsString>> {
    let program = folder.join("waits");
    let mut compiler = Command::new("go");
    compiler.args(["build", "-o"]).arg(&program).arg(sources.join("waits.go"));
    compiled(compiler.env("CGO_ENABLED", "0").env("GOCACHE", folder.join("cache")).env("GOFLAGS", "-mod=mod"))?;
    words(&[&program])
}

fn in_java(sources: &Path, folder: &Path) -> Option<Vec<OsString>> {
    compiled(Command::new("javac").arg("-d").arg(folder).arg(sources.join("Waits.java")))?;
    words(&[Path::new("java"), Path::new("-XX:+UseG1GC"), Path::new("-cp"), folder, Path::new("Waits")])
}

fn in_rust(sources: &Path, folder: &Path) -> Option<Vec<OsString>> {
    let program = folder.join("waits");
    compiled(Command::new("rustc").args(["--edition", "2024", "-o"]).arg(&program).arg(sources.join("waits.rs")))?;
    words(&[&program])
}

fn in_bash(sources: &Path, _: &Path) -> Option<Vec<OsString>> {
    Command::new("bash").arg("--version").output().ok()?;
    words(&[Path::new("bash"), &sources.join("waits.sh")])
}
