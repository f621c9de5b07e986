//! A watcher that outlives nack: if nack is killed without a word, it ends every process of the run's subjects and
//! removes the run's scratch folder. It is this program again, waiting for the end of a pipe that only nack holds.

use std::env;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nack::process::{end_marked, leftovers, run_mark};

use crate::trouble::Trouble;

/// The scratch folder of a run, watched over. Dropping it removes the folder, lets the watcher go and ends what
/// subjects may have hidden from every sweep.
pub(crate) struct Scratch {
    folder: Option<tempfile::TempDir>,
    watcher: Option<Child>,
}

impl Scratch {
    /// Makes the folder and starts the watcher.
    pub(crate) fn make() -> Result<Scratch, Trouble> {
        let folder =
            nack::scratch().map_err(|error| Trouble::File(format!("no temporary folder can be made: {error}")))?;
        let watcher = start(folder.path())
            .map_err(|error| Trouble::File(format!("nack cannot start itself to watch over the run: {error}")))?;
        Ok(Scratch { folder: Some(folder), watcher: Some(watcher) })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.as_ref().map_or(Path::new(""), tempfile::TempDir::path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left for the watcher, which is told the folder.
        drop(self.folder.take());
        if let Some(mut watcher) = self.watcher.take() {
            drop(watcher.stdin.take());
            // It ends with its pipe, and waiting keeps it from being taken for a leftover.
            let _ = watcher.wait();
        }
        for left in leftovers() {
            anstream::eprintln!("nack: a subject left a process behind, which was ended: {left}");
        }
    }
}

fn start(folder: &Path) -> io::Result<Child> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("watch-over").arg(run_mark()).arg(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // An interrupt of the terminal's whole group is for nack alone.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn()
}

/// The watcher's life.
pub(crate) fn watch_over(mark: &str, folder: &Path) {
    // An error of the pipe is its end, too.
    let _ = io::stdin().read_to_end(&mut Vec::new());
    // How many there were is nobody's to hear.
    let _ = end_marked(mark);
    if folder.exists() {
        // Nobody is left to be told.
        let _ = fs::remove_dir_all(folder);
    }
}
