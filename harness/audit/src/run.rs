//! A log streamed through a plan. A reader cuts it into chunks; each round every core judges a chunk line by line and
//! deals the lines to their keys' parts; then every core follows the histories of its own parts, chunk by chunk. What is
//! counted does not depend on the number of cores.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::input::{Chunk, Chunks};
use crate::order::{Lines, PARTS, Part};
use crate::plan::Plan;
use crate::scan::Scanner;
use crate::tally::{Flaw, Place, Tally};
use crate::{AuditError, evidence};

/// How a log is judged.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// How many threads judge.
    pub threads: usize,
    /// How many bytes the states of all histories may take before they go to disk.
    pub memory: usize,
    /// Ends the audit early.
    pub cancel: &'a AtomicBool,
}

/// What the reader has to say.
enum Read {
    Chunk(Chunk),
    End(Result<Vec<Flaw>, AuditError>),
}

/// Judges a log.
///
/// # Errors
/// A file that cannot be opened, or no room for what does not fit into memory.
pub fn judge(plan: &Plan, mut chunks: Chunks, options: &Options<'_>) -> Result<Tally, AuditError> {
    let threads = options.threads.max(1);
    let (send, receive) = sync_channel(threads);
    let (format, names) = (plan.layout.format, plan.layout.names.clone());
    // Nobody waits for it: it may be waiting for somebody to type.
    thread::spawn(move || {
        loop {
            let read = match chunks.next(format, &names) {
                Ok(Some(chunk)) => Read::Chunk(chunk),
                Ok(None) => Read::End(Ok(std::mem::take(&mut chunks.flaws))),
                Err(error) => Read::End(Err(error)),
            };
            let end = matches!(read, Read::End(_));
            if send.send(read).is_err() || end {
                return;
            }
        }
    });
    rounds(plan, &receive, threads, options)
}

/// The next chunks, and how the log ended, if it did.
fn round(
    chunks: &Receiver<Read>,
    most: usize,
    cancel: &AtomicBool,
) -> (Vec<Chunk>, Option<Result<Vec<Flaw>, AuditError>>) {
    let mut round = Vec::new();
    while round.len() < most {
        match chunks.recv_timeout(Duration::from_millis(50)) {
            Ok(Read::Chunk(chunk)) => round.push(chunk),
            Ok(Read::End(end)) => return (round, Some(end)),
            Err(RecvTimeoutError::Timeout) if !cancel.load(Ordering::Relaxed) => {}
            Err(RecvTimeoutError::Timeout) => return (round, Some(Ok(Vec::new()))),
            Err(RecvTimeoutError::Disconnected) => panic!("the thread that reads the log is gone"),
        }
    }
    (round, None)
}

/// What one thread of the second half of a round works on.
struct Follower {
    parts: Vec<(usize, Part)>,
    tally: Tally,
}

fn rounds(plan: &Plan, chunks: &Receiver<Read>, threads: usize, options: &Options<'_>) -> Result<Tally, AuditError> {
    let mut scanners: Vec<Scanner<'_>> = (0..threads).map(|_| Scanner::new(plan)).collect();
    let mut followers: Vec<Follower> = if plan.in_order() { followers(plan, threads) } else { Vec::new() };
    let mut spilled = false;
    let mut tally = plan.tally();
    let mut ended = None;
    while ended.is_none() && !options.cancel.load(Ordering::Relaxed) {
        let round;
        (round, ended) = self::round(chunks, threads, options.cancel);
        let dealt: Vec<Vec<Lines>> = thread::scope(|scope| {
            let scan = |(scanner, chunk)| scope.spawn(move || Scanner::chunk(scanner, chunk));
            let running: Vec<_> = scanners.iter_mut().zip(&round).map(scan).collect();
            running.into_iter().map(join).collect()
        });
        let followed: Result<(), AuditError> = thread::scope(|scope| {
            let (round, dealt) = (&round, &dealt);
            let follow = |follower| scope.spawn(move || Follower::round(follower, plan, round, dealt));
            let running: Vec<_> = followers.iter_mut().map(follow).collect();
            running.into_iter().try_for_each(join)
        });
        followed?;
        let parts = || followers.iter().flat_map(|follower| &follower.parts);
        if !spilled && parts().map(|(_, part)| part.bytes()).sum::<usize>() > options.memory {
            spilled = true;
            followers
                .iter_mut()
                .flat_map(|follower| &mut follower.parts)
                .try_for_each(|(_, part)| part.put_on_disk())?;
        }
    }
    ended.unwrap_or(Ok(Vec::new()))?.into_iter().for_each(|flaw| tally.flaw(flaw));
    scanners.into_iter().for_each(|scanner| tally.merge(scanner.tally));
    let followed: Result<Vec<Tally>, AuditError> = thread::scope(|scope| {
        let finish = |follower: Follower| scope.spawn(move || follower.finish(plan));
        let running: Vec<_> = followers.into_iter().map(finish).collect();
        running.into_iter().map(join).collect()
    });
    followed?.into_iter().for_each(|other| tally.merge(other));
    Ok(tally)
}

fn join<T>(handle: thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn followers(plan: &Plan, threads: usize) -> Vec<Follower> {
    let of = |thread: usize| Follower {
        parts: (thread..PARTS).step_by(threads).map(|part| (part, Part::new(plan))).collect(),
        tally: plan.tally(),
    };
    (0..threads.min(PARTS)).map(of).collect()
}

impl Follower {
    fn round(&mut self, plan: &Plan, round: &[Chunk], dealt: &[Vec<Lines>]) -> Result<(), AuditError> {
        for (part, histories) in &mut self.parts {
            for (chunk, lines) in round.iter().zip(dealt) {
                let place = |word: u64| Place { file: chunk.file, line: chunk.line + (word >> 32) };
                let words = |word: u64| said(plan, chunk, word);
                histories.take(plan, &lines[*part], &mut self.tally, &place, &words)?;
            }
        }
        Ok(())
    }

    fn finish(mut self, plan: &Plan) -> Result<Tally, AuditError> {
        for (_, part) in self.parts {
            self.tally.keys += part.finish(plan, &mut self.tally)?;
        }
        Ok(self.tally)
    }
}

/// What the line says that was put down with this place.
fn said(plan: &Plan, chunk: &Chunk, word: u64) -> String {
    let from = usize::try_from(word & u64::from(u32::MAX)).unwrap_or_default();
    crate::scan::with_fields(plan, &chunk.data, from, &mut |field| evidence::words(plan, field)).unwrap_or_default()
}
