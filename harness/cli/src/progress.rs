//! How far a run is: a bar at a terminal, and elsewhere a line a minute, so that a CI service does not take a long run
//! for a dead one. It goes to the error stream and is gone when the report comes.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How often the bar is drawn.
const FRAME: Duration = Duration::from_millis(100);

/// How often a line is said where there is no terminal.
const LINE: Duration = Duration::from_secs(60);

/// What is shown while it lives.
pub(crate) struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    /// Shows how many of `total` cases are done, or, where nobody knows how many there will be, how many were run.
    pub(crate) fn show(done: &Arc<AtomicUsize>, total: Option<usize>, quiet: bool) -> Progress {
        if quiet {
            return Progress(None);
        }
        let (stop, stopped) = mpsc::channel();
        let done = Arc::clone(done);
        let bar = (std::io::stderr().is_terminal() && std::env::var_os("CI").is_none()).then(|| bar(total));
        let work = move || {
            let (every, began) = (if bar.is_some() { FRAME } else { LINE }, Instant::now());
            while matches!(stopped.recv_timeout(every), Err(RecvTimeoutError::Timeout)) {
                let now = done.load(Ordering::Relaxed);
                match &bar {
                    Some(bar) => bar.set_position(now as u64),
                    None => anstream::eprintln!("nack: {}", words(now, total, began.elapsed())),
                }
            }
            if let Some(bar) = bar {
                bar.finish_and_clear();
            }
        };
        // Without a thread to draw it there is no bar, and nothing else is missing.
        let thread = thread::Builder::new().name("nack progress".to_owned()).spawn(work);
        Progress(thread.ok().map(|thread| (stop, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            // A bar that cannot be drawn is no reason to fail.
            let _ = thread.join();
        }
    }
}

fn bar(total: Option<usize>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total as u64), "{bar:32} {pos} of {len} cases, {elapsed}"),
        None => (ProgressBar::new_spinner(), "{spinner} {pos} cases, {elapsed}"),
    };
    // A template that does not parse would leave the library's own.
    ProgressStyle::with_template(template).map_or(bar.clone(), |style| bar.with_style(style))
}

fn words(now: usize, total: Option<usize>, elapsed: Duration) -> String {
    let of = total.map_or(String::new(), |total| format!(" of {total}"));
    format!("{now}{of} cases after {} s", elapsed.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_a_run_is() {
        assert_eq!(words(3, Some(9), Duration::from_secs(60)), "3 of 9 cases after 60 s");
        assert_eq!(words(3, None, Duration::from_secs(61)), "3 cases after 61 s");
    }

    #[test]
    fn it_ends_at_once_when_it_is_let_go() {
        let began = Instant::now();
        drop(Progress::show(&Arc::default(), Some(1), false));
        assert!(began.elapsed() < LINE);
    }
}
