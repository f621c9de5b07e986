//! Starting the binary in a folder of its own, and saying everything when a test fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder and the binary.
pub(crate) struct Nack {
    folder: tempfile::TempDir,
}

/// What one start of the binary came to.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    command: String,
}

impl Nack {
    pub(crate) fn new() -> Nack {
        Nack { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it has a parent")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        path
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nack"));
        command.args(args).current_dir(self.path()).env("NO_COLOR", "1");
        // Inherited by all that the run starts, so that a test can find what is left of it.
        command.env("NACK_TEST_FOLDER", self.path());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let Output { status, stdout, stderr } = self.command(args).output().expect("the binary starts");
        Ran {
            code: status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
            command: format!("nack {}", args.join(" ")),
        }
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "exit code of {}\n{}\n{}", self.command, self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Ran {
        let all = format!("{}\n{}", self.stdout, self.stderr);
        // Where a sentence is wrapped is no matter here.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&all).contains(&words(text)), "{} does not say {text:?}:\n{all}", self.command);
        self
    }

    #[track_caller]
    pub(crate) fn never_says(self, text: &str) -> Ran {
        let all = format!("{}\n{}", self.stdout, self.stderr);
        assert!(!all.contains(text), "{} says {text:?}:\n{all}", self.command);
        self
    }
}
