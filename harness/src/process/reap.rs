//! Ends processes and everything they started. The group goes first; what left the group is found by its parents,
//! by its group of origin and by a mark in its environment, which every descendant inherits. On Linux nack adopts
//! orphans, so what a subject leaves behind becomes a child of nack and not of init. Elsewhere only the group goes.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, waitpid};

/// The environment variable that every process of a subject carries: the run's mark, a dot, the worker's number.
pub(super) const MARK: &str = "NACK_MARK";

/// How long a sweep goes on while new processes keep turning up.
const SWEEP: Duration = Duration::from_secs(1);

/// The mark of this run of nack. A watcher that outlives nack can end what carries it, with [`end_marked`].
#[must_use]
pub fn run_mark() -> &'static str {
    static RUN: OnceLock<String> = OnceLock::new();
    RUN.get_or_init(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("{}-{}", std::process::id(), now.as_nanos())
    })
}

/// A mark for one worker of this run.
pub(super) fn worker_mark() -> String {
    static WORKERS: AtomicU64 = AtomicU64::new(0);
    format!("{}.{}", run_mark(), WORKERS.fetch_add(1, Ordering::Relaxed))
}

/// Once a process: adopt orphans, and see to it that subjects start with no signal ignored.
pub(super) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Without it a sweep still finds the group and whatever carries the mark.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        stop_ignoring();
    });
}

/// A signal that this process ignores would be ignored by every subject too. One that it catches is back to its
/// default in whatever it starts, so each ignored signal is caught by a handler that does nothing.
fn stop_ignoring() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    // The standard library sees to SIGPIPE itself.
    for signal in (1..32).filter(|signal| mask >> (signal - 1) & 1 == 1 && *signal != Signal::PIPE.as_raw()) {
        // What cannot be caught cannot be ignored either.
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
}

/// The processes that sessions of this run have started and not yet reaped.
pub(super) fn ours() -> MutexGuard<'static, Vec<Pid>> {
    static OURS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());
    OURS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process, told apart from a later one of the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pid: Pid,
    started: u64,
}

struct Stat {
    state: char,
    parent: i32,
    group: i32,
    started: u64,
}

fn stat(pid: Pid) -> Option<Stat> {
    stat_in(Path::new(&format!("/proc/{}", pid.as_raw_pid())))
}

fn stat_in(folder: &Path) -> Option<Stat> {
    let text = fs::read_to_string(folder.join("stat")).ok()?;
    // The name in brackets may hold anything, brackets too.
    let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_whitespace().collect();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

fn children(pid: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", pid.as_raw_pid())) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(parse).collect::<Vec<_>>()).collect()
}

fn parse(pid: &str) -> Option<Pid> {
    pid.parse().ok().and_then(Pid::from_raw)
}

/// Everything below a process that still knows its parent.
pub(super) fn descendants(pid: Pid) -> Vec<Seen> {
    let (mut found, mut open) = (Vec::new(), children(pid));
    while let Some(pid) = open.pop() {
        let Some(stat) = stat(pid) else { continue };
        let seen = Seen { pid, started: stat.started };
        if !found.contains(&seen) {
            found.push(seen);
            open.extend(children(pid));
        }
    }
    found
}

/// A process, everything below it, and orphans of its group or with its mark.
pub(super) fn family(leader: Pid, mark: &str) -> Vec<Pid> {
    let orphans = orphans(|pid, stat| stat.group == leader.as_raw_pid() || carries(pid, mark));
    let below = orphans.iter().flat_map(|orphan| descendants(orphan.pid));
    let all = descendants(leader).into_iter().chain(below).chain(orphans.iter().copied());
    std::iter::once(leader).chain(all.map(|seen| seen.pid)).collect()
}

/// Whether a thread of these processes has work to do: it runs, or waits for a core or a disk.
pub(crate) fn works(family: &[Pid]) -> bool {
    let threads = family.iter().filter_map(|pid| fs::read_dir(format!("/proc/{}/task", pid.as_raw_pid())).ok());
    let mut stats = threads.flat_map(|threads| threads.flatten().filter_map(|thread| stat_in(&thread.path())));
    stats.any(|stat| matches!(stat.state, 'R' | 'D'))
}

fn carries(pid: Pid, mark: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{}/environ", pid.as_raw_pid())) else { return false };
    let entry = format!("{MARK}={mark}");
    environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
}

/// How people know a process: its number and its command.
fn described(pid: Pid) -> String {
    let command = fs::read(format!("/proc/{}/cmdline", pid.as_raw_pid())).unwrap_or_default();
    let command: Vec<_> = command.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word)).collect();
    let command: String = command.join(" ").trim_end().chars().take(80).collect();
    format!("{} ({})", pid.as_raw_pid(), if command.is_empty() { "ended" } else { &command })
}

/// Sends a signal to a whole group; whether anybody was there to get it.
pub(super) fn signal_group(leader: Pid, signal: Signal) -> bool {
    kill_process_group(leader, signal).is_ok()
}

/// Ends what a dead worker left behind: what was seen below it, and orphans of its group or with its mark. Returns
/// those that had to be ended outside the group.
pub(super) fn sweep(leader: Pid, mark: &str, below: &[Seen]) -> Vec<String> {
    let deadline = Instant::now() + SWEEP;
    let mut ended = Ended::default();
    let mut known = below.to_vec();
    loop {
        let orphans = orphans(|pid, stat| stat.group == leader.as_raw_pid() || carries(pid, mark));
        for orphan in orphans {
            known.push(orphan);
            known.extend(descendants(orphan.pid));
        }
        known.retain(|seen| end(*seen, leader, &mut ended));
        if known.is_empty() || Instant::now() > deadline {
            return ended.said();
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// What had to be ended, each once and as it was when it was first met: a process that is dying has already lost
/// its command line, but is no zombie yet.
#[derive(Default)]
struct Ended(Vec<(Seen, String)>);

impl Ended {
    fn note(&mut self, seen: Seen, what: String) {
        if self.0.iter().all(|(known, _)| *known != seen) {
            self.0.push((seen, what));
        }
    }

    fn said(self) -> Vec<String> {
        self.0.into_iter().map(|(_, what)| what).collect()
    }
}

/// Kills and reaps one process; whether it is still there.
fn end(seen: Seen, leader: Pid, ended: &mut Ended) -> bool {
    let Some(stat) = stat(seen.pid).filter(|stat| stat.started == seen.started) else { return false };
    if stat.state != 'Z' {
        let what = described(seen.pid);
        // The group was killed already, so only what left it is news.
        if kill_process(seen.pid, Signal::KILL).is_ok() && stat.group != leader.as_raw_pid() {
            ended.note(seen, what);
        }
    }
    // A zombie whose parent is another process is that one's to reap, and holds nothing.
    let mine = stat.parent == rustix::process::getpid().as_raw_pid();
    let reaped = mine && !matches!(waitpid(Some(seen.pid), WaitOptions::NOHANG), Ok(None));
    !reaped && (mine || stat.state != 'Z')
}

/// Children of this process that no session started and that fit.
fn orphans(fits: impl Fn(Pid, &Stat) -> bool) -> Vec<Seen> {
    let started = ours().clone();
    let adopted = children(rustix::process::getpid()).into_iter().filter(|pid| !started.contains(pid));
    adopted
        .filter_map(|pid| Some((pid, stat(pid)?)))
        .filter(|(pid, stat)| fits(*pid, stat))
        .map(|(pid, stat)| Seen { pid, started: stat.started })
        .collect()
}

/// Ends every child of this process that no living session started, and says which. For the end of a run: by then
/// such a child is an orphan that a subject hid from its own sweep. It must not be called while other code of this
/// process waits for a child.
#[must_use]
pub fn leftovers() -> Vec<String> {
    let mut ended = Ended::default();
    let deadline = Instant::now() + SWEEP;
    loop {
        let mut left: Vec<Seen> = Vec::new();
        for orphan in orphans(|_, _| true) {
            left.push(orphan);
            left.extend(descendants(orphan.pid));
        }
        left.retain(|seen| end(*seen, rustix::process::getpid(), &mut ended));
        if left.is_empty() || Instant::now() > deadline {
            return ended.said();
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Ends every process that carries the mark of a run, whoever its parent is, and says how many there were. It is
/// for a watcher: a process that outlives a nack that was killed.
#[must_use]
pub fn end_marked(run: &str) -> usize {
    let prefix = format!("{MARK}={run}.");
    let (mut ended, mut quiet) = (Vec::new(), 0);
    let deadline = Instant::now() + SWEEP;
    // One look is not enough: what is started behind its back is missed, and so is one that is changing its program,
    // which has no environment for that moment.
    while quiet < 3 && Instant::now() < deadline {
        let found = marked(&prefix);
        quiet = if found.is_empty() { quiet + 1 } else { 0 };
        for seen in found {
            if kill_process(seen.pid, Signal::KILL).is_ok() && !ended.contains(&seen) {
                ended.push(seen);
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
    ended.len()
}

/// Every process with a mark that begins so. One that has ended has no environment.
fn marked(prefix: &str) -> Vec<Seen> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = processes.flatten().filter_map(|entry| parse(entry.file_name().to_str()?));
    let marked = pids.filter(|pid| {
        let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_pid())).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(prefix.as_bytes()))
    });
    marked.filter_map(|pid| Some(Seen { pid, started: stat(pid)?.started })).collect()
}
