//! Hides from a program that starts the piece of code in its own memory that tells the time without asking anybody.

use std::io;

use crate::tracer::registers::{Registers, write_memory};
use crate::tracer::sys::Tid;
use crate::tracer::thread;

/// The kinds of an entry that tells where that code is, and of one that tells nothing.
const CODE: u64 = 33;
const NOTHING: u64 = 1;
const END: u64 = 0;

/// How much of the stack is read at once.
const AT_ONCE: u64 = 4096;

/// Does so for a thread that has just become a program. Above its stack lie the number of its words, the words, the
/// environment, and what the kernel tells it; each list ends with a zero.
pub(super) fn hide(tid: Tid) -> io::Result<()> {
    let mut at = Registers::of(tid)?.stack();
    let words = thread::word(tid, at)?;
    at += 8 * (words + 2);
    let mut stack = Stack { tid, start: at, numbers: Vec::new() };
    while stack.number(at)? != 0 {
        at += 8;
    }
    at += 8;
    loop {
        match stack.number(at)? {
            END => return Ok(()),
            CODE => write_memory(tid, at, &NOTHING.to_ne_bytes())?,
            _ => {}
        }
        at += 16;
    }
}

/// A stack as it is read on.
struct Stack {
    tid: Tid,
    start: u64,
    numbers: Vec<u8>,
}

impl Stack {
    fn number(&mut self, at: u64) -> io::Result<u64> {
        let offset = (at - self.start) as usize;
        while self.numbers.len() < offset + 8 {
            let from = self.start + self.numbers.len() as u64;
            // Not across the end of a page, behind which there may be nothing.
            let more = thread::prefix(self.tid, from, (AT_ONCE - from % AT_ONCE) as usize)?;
            if more.is_empty() {
                return Err(io::Error::from_raw_os_error(libc::EFAULT));
            }
            self.numbers.extend(more);
        }
        let bytes = self.numbers[offset..offset + 8].iter();
        Ok(bytes.rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}
