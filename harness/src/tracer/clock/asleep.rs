//! Whether nothing can run in a tree: every thread sleeps, was asleep a moment ago, and did not wake in between. Then
//! there was one instant at which all slept, and only time or somebody outside can wake one.

use std::fs;
use std::path::Path;

use crate::tracer::sys::Tid;

/// A thread as the system shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) tid: Tid,
    pub(super) process: Tid,
    state: char,
    /// How often it was put to sleep, or had to make room.
    pub(super) switches: u64,
}

/// All threads, if all of them sleep.
pub(super) fn all(threads: &[Tid]) -> Option<Vec<Look>> {
    let first = looks(threads)?;
    (looks(threads)? == first).then_some(first)
}

fn looks(threads: &[Tid]) -> Option<Vec<Look>> {
    // One that is gone sleeps well.
    let looks: Vec<Look> = threads.iter().filter_map(|tid| look(*tid)).collect();
    looks.iter().all(|look| sleeps(look, &looks)).then_some(looks)
}

fn sleeps(look: &Look, all: &[Look]) -> bool {
    match look.state {
        // Stopped with its group.
        'S' | 'T' => true,
        // Dead, but its end was not told to its parent yet; unless the other threads of its process go on without it.
        'Z' => all.iter().any(|other| other.process == look.process && other.state != 'Z'),
        // Its child has its memory for now, and is another thread of the tree.
        'D' => matches!(call(look.tid), Some((libc::SYS_vfork | libc::SYS_clone | libc::SYS_clone3, _))),
        _ => false,
    }
}

fn look(tid: Tid) -> Option<Look> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let mut look = Look { tid, process: tid, state: 'R', switches: 0 };
    for line in status.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        match name {
            "State" => look.state = value.trim_start().chars().next().unwrap_or('R'),
            "Tgid" => look.process = value.trim().parse().unwrap_or(tid),
            "voluntary_ctxt_switches" | "nonvoluntary_ctxt_switches" => {
                look.switches += value.trim().parse().unwrap_or(0);
            }
            _ => {}
        }
    }
    Some(look)
}

/// Whether a thread is still there.
pub(super) fn lives(tid: Tid) -> bool {
    Path::new(&format!("/proc/{tid}")).exists()
}

/// The call that a sleeping thread is in, and its first argument.
pub(super) fn call(tid: Tid) -> Option<(i64, u64)> {
    let text = fs::read_to_string(format!("/proc/{tid}/syscall")).ok()?;
    let mut words = text.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let first = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
    Some((number, first))
}

/// Whether a process has a handler of its own for a signal.
pub(super) fn handles(tid: Tid, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (1..=64).contains(&signal) && caught & (1 << (signal - 1)) != 0
}

/// Threads in which a runtime does its own housekeeping, by the names that the system keeps of them. They wake often
/// whatever the program does, so they do not decide how far time goes, and wake late, as any timer may.
const TICKERS: [&str; 9] = [
    "VM Periodic Tas",
    "Monitor Deflati",
    "G1 Service",
    "VM Thread",
    "C1 CompilerThre",
    "C2 CompilerThre",
    "Common-Cleaner",
    "G1 Conc#0",
    "G1 Main Marker",
];

/// Whether a thread is one of a runtime's own clockwork.
pub(super) fn is_ticker(tid: Tid) -> bool {
    let name = fs::read_to_string(format!("/proc/{tid}/comm")).unwrap_or_default();
    TICKERS.contains(&name.trim_end())
}
