//! How a process is started: its words, its folder and its variables.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indexmap::IndexMap;

use super::reap::MARK;
use super::{Process, RUN_WITHIN, START_WITHIN, in_words, shown, wait_for};
use crate::session::StartError;

/// How a subject is started.
#[derive(Debug)]
pub struct Command {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The folder it runs in.
    pub folder: PathBuf,
    /// The variables that it gets.
    pub environment: Environment,
    /// How long it may take to answer `hello`.
    pub start_within: Duration,
    /// What its first `hello` said really runs.
    executable: OnceLock<PathBuf>,
}

/// The variables that a process gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Of nack's own, these only; all if it does not say.
    pub allow: Option<Vec<String>>,
    /// These besides.
    pub set: IndexMap<String, String>,
}

impl Environment {
    fn variable(&self, name: &str) -> Option<OsString> {
        let allowed = self.allow.as_ref().is_none_or(|allow| allow.iter().any(|allowed| allowed == name));
        self.set.get(name).map(OsString::from).or_else(|| env::var_os(name).filter(|_| allowed))
    }
}

/// By which name a process was started in the end, as far as the system tells. Links in it mean something, to Python's
/// virtual environments above all, so they are kept.
fn called(process: u32) -> Option<String> {
    let words = std::fs::read(format!("/proc/{process}/cmdline")).ok()?;
    String::from_utf8(words.split(|byte| *byte == 0).next()?.to_vec()).ok()
}

impl Command {
    /// A command that may take [`START_WITHIN`] to answer `hello`.
    #[must_use]
    pub fn new(argv: Vec<impl Into<OsString>>, folder: PathBuf) -> Command {
        let argv = argv.into_iter().map(Into::into).collect();
        let environment = Environment::default();
        Command { argv, folder, environment, start_within: START_WITHIN, executable: OnceLock::new() }
    }

    /// A command that is found by its name alone may be found through a version manager that takes longer to start
    /// than the subject itself, so what it really ran is remembered. Only if it has the same name: `uv run` is no
    /// slow way to say `python3`, and its arguments are its own.
    pub(crate) fn remember(&self, executable: Option<&str>) {
        let Some(path) = executable.map(PathBuf::from).filter(|path| path.is_absolute() && path.is_file()) else {
            return;
        };
        let named = self.argv.first().zip(path.file_name().and_then(|name| name.to_str()));
        let called = |called: &OsString| called.to_str().filter(|called| !called.contains('/')).map(str::to_owned);
        if named.is_some_and(|(word, name)| called(word).is_some_and(|called| name.starts_with(&called))) {
            self.executable.get_or_init(|| path);
        }
    }

    /// What a process of this number really runs, if that is not known yet.
    pub(crate) fn remember_of(&self, process: u32) {
        if self.executable.get().is_none() {
            self.remember(called(process).as_deref());
        }
    }

    /// The same command with other words: those of a template, filled in.
    pub(crate) fn with(&self, argv: Vec<impl Into<OsString>>) -> Command {
        let (folder, executable) = (self.folder.clone(), self.executable.clone());
        let argv = argv.into_iter().map(Into::into).collect();
        Command { argv, folder, environment: self.environment.clone(), start_within: self.start_within, executable }
    }

    /// Its words, the first of which is what really runs.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let program = self.program().into_os_string();
        [program].into_iter().chain(self.argv.iter().skip(1).cloned()).collect()
    }

    /// The same folder and variables, for a command line that runs it by something else.
    pub(crate) fn instead(&self, argv: Vec<OsString>) -> Command {
        Command { executable: OnceLock::new(), ..self.with(argv) }
    }

    /// Whether there is such a program.
    ///
    /// # Errors
    /// Where it was looked for.
    pub(crate) fn is_there(&self) -> Result<(), StartError> {
        let program = self.program();
        let there = |path: PathBuf| rustix::fs::access(&path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file();
        if program.components().count() > 1 {
            let missing = || StartError(format!("there is no program {}", program.display()));
            return there(program.clone()).then_some(()).ok_or_else(missing);
        }
        let path = self.environment.variable("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
        if env::split_paths(&path).any(|folder| there(self.folder.join(folder).join(&program))) {
            return Ok(());
        }
        let path = path.to_string_lossy();
        Err(StartError(format!("there is no program `{}` in its PATH, which is {path}", program.display())))
    }

    /// As a person would write it.
    fn line(&self) -> String {
        self.argv.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    fn program(&self) -> PathBuf {
        if let Some(executable) = self.executable.get() {
            return executable.clone();
        }
        let program = PathBuf::from(self.argv.first().cloned().unwrap_or_default());
        if program.components().count() > 1 { self.folder.join(program) } else { program }
    }

    pub(super) fn start(&self, mark: &str) -> Result<Child, StartError> {
        let mut command = std::process::Command::new(self.program());
        command.args(self.argv.iter().skip(1)).current_dir(&self.folder);
        if let Some(allow) = &self.environment.allow {
            command.env_clear();
            command.envs(allow.iter().filter_map(|name| Some((name, env::var_os(name)?))));
        }
        command.envs(&self.environment.set).env(MARK, mark);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        command.spawn().map_err(|error| {
            let line = shown(self.line().as_bytes());
            StartError(format!("`{line}` could not be started in {}: {error}", self.folder.display()))
        })
    }

    /// Runs it to its end, for what it does and not for what it says.
    pub(crate) fn run(&self) -> Result<(), String> {
        let mut process = Process::start(self).map_err(|error| error.0)?;
        process.close_input();
        let deadline = Instant::now() + RUN_WITHIN;
        while !process.has_ended() && Instant::now() < deadline {
            wait_for(&[&process], deadline.min(Instant::now() + Duration::from_millis(5)));
            process.turn();
            while process.lines.next().is_some() {}
        }
        let ended = process.end();
        match ended.status {
            Some(status) if status.success() => Ok(()),
            _ if ended.lived => Err(format!("`{}` did not end within {RUN_WITHIN:?}", self.line())),
            status => {
                let said = process.tail.lines().join("\n  ");
                Err(format!("`{}` ended with {}: {said}", self.line(), in_words(status)))
            }
        }
    }
}
