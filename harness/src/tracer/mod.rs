//! Records what an unmodified program does to its store and keeps its time, on Linux x86-64, without root and without the
//! program's help.
//!
//! The tracer is a process of its own: this program again, which starts the subject, passes its pipes on to it, and
//! ends as it ends. So a traced subject is started like any other, by a longer command line, and while the tracer lives
//! it is the only parent of everything below it. When it dies, all of that dies.

mod calls;
mod clock;
mod filter;
mod follow;
mod log_file;
mod order;
mod probe;
mod record;
mod recorder;
mod registers;
mod run;
mod store;
mod sys;
mod thread;

use std::env;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};

pub use clock::VirtualClock;
pub use probe::{Unsupported, clock_supported, supported};
pub use recorder::{Recorder, Unrecorded};

/// The first word of a command line that asks for the tracer.
const WORD: &str = "__trace";

/// Whether this program can start itself as a tracer.
static READY: AtomicBool = AtomicBool::new(false);

/// The program that a process runs as its tracer, if it is one and has started it.
pub(crate) fn program_of(tracer: u32) -> Option<u32> {
    let words = std::fs::read(format!("/proc/{tracer}/cmdline")).ok()?;
    let is_one = words.split(|byte| *byte == 0).nth(1).is_some_and(|word| word == WORD.as_bytes());
    let children = std::fs::read_to_string(format!("/proc/{tracer}/task/{tracer}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok().filter(|_| is_one)
}

/// To be called first of all by the `main` of every program that wants to record: if this process was started to be
/// the tracer, it is that and never returns. Nothing can be recorded by a program that did not call it.
pub fn be_the_tracer_if_asked() {
    let mut words = env::args_os().skip(1);
    if words.next().is_some_and(|word| word == WORD) {
        let words: Vec<OsString> = words.collect();
        match order::Order::read(&words) {
            Some(order) => run::run(order),
            None => probe::act(&words),
        }
    }
    READY.store(true, Ordering::Relaxed);
}
