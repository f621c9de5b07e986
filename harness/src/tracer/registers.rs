//! A stopped thread's registers and memory, for whoever changes what a program's calls are told.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;

use super::sys::{Tid, ptrace};

/// What a stopped thread goes on with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers(libc::user_regs_struct);

impl Registers {
    pub(super) fn of(tid: Tid) -> io::Result<Registers> {
        let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
        ptrace(libc::PTRACE_GETREGS, tid, 0, registers.as_mut_ptr() as usize)?;
        // SAFETY: all zeros is a valid value, and the kernel filled it.
        Ok(Registers(unsafe { registers.assume_init() }))
    }

    pub(super) fn set(&self, tid: Tid) -> io::Result<()> {
        ptrace(libc::PTRACE_SETREGS, tid, 0, (&raw const self.0) as usize).map(drop)
    }

    /// Where in its code it makes this call, and how deep it is there.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.0.rip, self.0.rsp)
    }

    /// Where its stack begins.
    pub(super) fn stack(&self) -> u64 {
        self.0.rsp
    }

    /// The number of the call it is in.
    pub(super) fn number(&self) -> u64 {
        self.0.orig_rax
    }

    /// What the call returned.
    pub(super) fn result(&self) -> i64 {
        self.0.rax as i64
    }

    pub(super) fn set_result(&mut self, result: i64) {
        self.0.rax = result as u64;
    }

    /// At its entry: makes it another call.
    pub(super) fn become_call(&mut self, number: i64) {
        self.0.orig_rax = number as u64;
    }

    /// At its entry: the call is not made, and returns this.
    pub(super) fn skip(&mut self, result: i64) {
        self.0.orig_rax = u64::MAX;
        self.0.rax = result as u64;
    }

    pub(super) fn set_argument(&mut self, index: u8, value: u64) {
        *match index {
            0 => &mut self.0.rdi,
            1 => &mut self.0.rsi,
            2 => &mut self.0.rdx,
            3 => &mut self.0.r10,
            4 => &mut self.0.r8,
            _ => &mut self.0.r9,
        } = value;
    }

    /// Takes number and arguments from how they were at the entry, for a program may count on finding them again.
    pub(super) fn restore_call(&mut self, entry: &Registers) {
        let Registers(from) = entry;
        self.0.orig_rax = from.orig_rax;
        (self.0.rdi, self.0.rsi, self.0.rdx) = (from.rdi, from.rsi, from.rdx);
        (self.0.r10, self.0.r8, self.0.r9) = (from.r10, from.r8, from.r9);
    }
}

/// Writes all of these bytes into a thread's memory, where the thread itself could.
pub(super) fn write_memory(tid: Tid, address: u64, bytes: &[u8]) -> io::Result<()> {
    let local = libc::iovec { iov_base: bytes.as_ptr() as *mut c_void, iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: bytes.len() };
    // SAFETY: the kernel reads from the slice only, and checks the other address itself.
    match unsafe { libc::process_vm_writev(tid, &raw const local, 1, &raw const remote, 1, 0) } {
        -1 => Err(io::Error::last_os_error()),
        written if written as usize == bytes.len() => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::EFAULT)),
    }
}

/// Ends whatever a thread waits in, and stops it. One that has died meanwhile needs none.
pub(super) fn interrupt(tid: Tid) {
    let _ = ptrace(libc::PTRACE_INTERRUPT, tid, 0, 0);
}
