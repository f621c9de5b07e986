//! A watcher that outlives nack: if nack is killed without a word, it ends every process of the run's subjects and
//! removes the run's scratch folder and its databases. It is this program again, waiting for the end of a pipe that only
//! nack holds.

use std::env;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nack::process::{end_marked, leftovers, run_mark};
use nack::store::{Url, drop_leftovers};

use crate::trouble::Trouble;

/// How long a server may take to notice that a run is gone.
const UNNOTICED: Duration = Duration::from_secs(2);

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

    /// Has the watcher drop the run's databases on this server, too. It is told by the pipe: an argument could be read
    /// by anybody, password and all.
    pub(crate) fn watch_server(&self, url: &Url) {
        if let Some(mut pipe) = self.watcher.as_ref().and_then(|watcher| watcher.stdin.as_ref()) {
            // If the watcher is gone, the next run finds them.
            let _ = writeln!(pipe, "{}", url.reveal());
        }
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
    let mut told = Vec::new();
    // An error of the pipe is its end, too.
    let _ = io::stdin().read_to_end(&mut told);
    // How many there were is nobody's to hear.
    let _ = end_marked(mark);
    if folder.exists() {
        // Nobody is left to be told.
        let _ = fs::remove_dir_all(folder);
        String::from_utf8_lossy(&told).lines().filter_map(|line| Url::parse(line).ok()).for_each(|url| drop_all(&url));
    }
}

/// The server may take a moment to notice that the run is gone.
fn drop_all(url: &Url) {
    let deadline = Instant::now() + UNNOTICED;
    while matches!(drop_leftovers(url), Ok(0)) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(50));
    }
}
