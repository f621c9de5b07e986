//! A descriptor of a subject, borrowed for a moment: whose socket it is and what came through it, or a timer to set.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::tracer::sys::Tid;

/// A copy of a process's descriptor.
pub(super) fn borrow(process: Tid, fd: i32) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(process).ok_or(io::ErrorKind::InvalidInput)?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    Ok(pidfd_getfd(process, fd, PidfdGetfdFlags::empty())?)
}

/// The number by which the system tells sockets apart, if it is one.
pub(super) fn socket_number(fd: &OwnedFd) -> io::Result<Option<u64>> {
    let file = rustix::fs::fstat(fd)?;
    let socket = rustix::fs::FileType::from_raw_mode(file.st_mode) == rustix::fs::FileType::Socket;
    Ok(socket.then_some(file.st_ino))
}

/// A number that is an option of a socket.
fn option(fd: &OwnedFd, level: i32, name: i32, into: &mut [u8]) -> io::Result<usize> {
    let mut length = into.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most as many bytes as there are.
    let done = unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, into.as_mut_ptr().cast(), &raw mut length) };
    if done == 0 { Ok(length as usize) } else { Err(io::Error::last_os_error()) }
}

/// The address family of a socket, and its protocol.
pub(super) fn kind(fd: &OwnedFd) -> io::Result<(i32, i32)> {
    let number = |name| {
        let mut bytes = [0; 4];
        option(fd, libc::SOL_SOCKET, name, &mut bytes).map(|_| i32::from_ne_bytes(bytes))
    };
    Ok((number(libc::SO_DOMAIN)?, number(libc::SO_PROTOCOL)?))
}

/// What a TCP connection is at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tcp {
    pub(super) state: u8,
    /// The bytes that came in so far.
    pub(super) received: u64,
}

/// Where `tcp_info` says how many bytes came in.
const RECEIVED: usize = 128;

pub(super) fn tcp(fd: &OwnedFd) -> io::Result<Tcp> {
    let mut info = [0; RECEIVED + 8];
    if option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)? < info.len() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let received = info[RECEIVED..].iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
    Ok(Tcp { state: info[0], received })
}

/// The number of the clock that a timer's descriptor goes by.
pub(super) fn timer_clock(tid: Tid, fd: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{tid}/fdinfo/{fd}")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("clockid:")).and_then(|clock| clock.trim().parse().ok())
}

/// Sets a timer's descriptor to expire after so many nanoseconds, or never if there are none.
pub(super) fn set_timer(fd: &OwnedFd, nanoseconds: i64) -> io::Result<()> {
    let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let setting = libc::itimerspec { it_interval: never, it_value: libc::timespec { tv_sec: 0, tv_nsec: nanoseconds } };
    // SAFETY: a plain call on an open descriptor, with a setting that lives until it returns.
    let done = unsafe { libc::timerfd_settime(fd.as_raw_fd(), 0, &raw const setting, ptr::null_mut()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sends a signal as an expired timer does: to one thread or to a process, with the timer's own value.
pub(super) fn send_expiry(process: Tid, thread: Option<Tid>, signal: i32, value: u64, timer: i32) -> io::Result<()> {
    // SAFETY: all zeros is a valid value.
    let mut info = unsafe { MaybeUninit::<Expiry>::zeroed().assume_init() };
    (info.signal, info.code, info.timer, info.value) = (signal, libc::SI_TIMER, timer, value);
    // SAFETY: plain calls with a record of the size that the kernel reads.
    let done = unsafe {
        match thread {
            Some(thread) => libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal, &raw const info),
            None => libc::syscall(libc::SYS_rt_sigqueueinfo, process, signal, &raw const info),
        }
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What the kernel tells with the signal of a timer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Expiry {
    signal: i32,
    error: i32,
    code: i32,
    padding: i32,
    timer: i32,
    overrun: i32,
    value: u64,
    rest: [u64; 12],
}
