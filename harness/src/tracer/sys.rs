//! The system calls of tracing, each behind a safe function. All of the project's `unsafe` is in this
//! module: here, where registers and memory are changed, and where time is kept.
#![allow(unsafe_code)]

use std::ffi::{CString, c_void};
use std::fs::File;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// A thread, by the system's number for it.
pub(super) type Tid = libc::pid_t;

/// One instruction of a seccomp filter: operation, jump if true, jump if false, operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction(pub(super) u16, pub(super) u8, pub(super) u8, pub(super) u32);

/// How far a child came that is not yet the program it shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It gives up ever getting more rights, which an ordinary user's filter needs.
    NoNewPrivileges,
    /// It installs the filter.
    Filter,
    /// It becomes the program.
    Exec,
}

/// A child that waits to be let go.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) pid: Tid,
    go: OwnedFd,
    report: OwnedFd,
}

impl Held {
    /// Lets it go on to become the program.
    pub(super) fn release(&self) -> io::Result<()> {
        rustix::io::write(&self.go, &[1])?;
        Ok(())
    }

    /// Why it did not become the program. For when it has ended.
    pub(super) fn failure(&self) -> Option<(Step, io::Error)> {
        let mut said = [0; 5];
        let read = rustix::io::read(&self.report, &mut said).unwrap_or(0);
        let [step, error @ ..] = said;
        let step = [Step::NoNewPrivileges, Step::Filter, Step::Exec].into_iter().find(|known| *known as u8 == step)?;
        (read == said.len()).then(|| (step, io::Error::from_raw_os_error(i32::from_ne_bytes(error))))
    }
}

/// Forks a child that waits, then filters itself and becomes a program. Only a process of one thread may call it.
pub(super) fn fork_held(argv: &[CString], filter: &[Instruction]) -> io::Result<Held> {
    let (wait, go) = pipe()?;
    let (report, tell) = pipe()?;
    let mut words: Vec<*const libc::c_char> = argv.iter().map(|word| word.as_ptr()).collect();
    words.push(ptr::null());
    let mut code: Vec<libc::sock_filter> =
        filter.iter().map(|&Instruction(code, jt, jf, k)| libc::sock_filter { code, jt, jf, k }).collect();
    let program = libc::sock_fprog { len: code.len() as u16, filter: code.as_mut_ptr() };
    // SAFETY: there is one thread, so the child may do whatever the parent may; it only makes the calls below.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(go);
            let (step, error) = become_program(&wait, &words, &program);
            let mut said = [step as u8; 5];
            said[1..].copy_from_slice(&error.raw_os_error().unwrap_or(0).to_ne_bytes());
            // Without a listener there is nobody to tell.
            let _ = rustix::io::write(&tell, &said);
            // SAFETY: ends this process without running anything of the parent's.
            unsafe { libc::_exit(127) }
        }
        pid => Ok(Held { pid, go, report }),
    }
}

fn become_program(wait: &OwnedFd, words: &[*const libc::c_char], program: &libc::sock_fprog) -> (Step, io::Error) {
    if !matches!(rustix::io::read(wait, &mut [0; 1]), Ok(1)) {
        // Whoever was to trace it is gone.
        return (Step::Exec, io::Error::from_raw_os_error(libc::ECANCELED));
    }
    // SAFETY: plain calls with valid arguments. Rust ignores SIGPIPE and the tracer blocks signals; a program expects
    // neither.
    unsafe {
        let mut none = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
            return (Step::NoNewPrivileges, io::Error::last_os_error());
        }
    }
    // SAFETY: the program points to instructions that live until the call returns.
    let filtered =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, ptr::from_ref(program)) };
    if filtered != 0 {
        return (Step::Filter, io::Error::last_os_error());
    }
    // SAFETY: the words are valid strings and the list ends with a null.
    unsafe { libc::execvp(words[0], words.as_ptr()) };
    (Step::Exec, io::Error::last_os_error())
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the array takes the two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both are open and nobody else's.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

pub(super) fn ptrace(request: libc::c_uint, tid: Tid, address: usize, data: usize) -> io::Result<libc::c_long> {
    // SAFETY: each caller passes what the request asks for; where the kernel writes, the memory is the caller's.
    match unsafe { libc::ptrace(request, tid, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

/// Starts to trace a process and everything it will start. All of it ends when the tracer does.
pub(super) fn seize(pid: Tid) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACESECCOMP
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXIT
        | libc::PTRACE_O_EXITKILL;
    ptrace(libc::PTRACE_SEIZE, pid, 0, options as usize).map(drop)
}

/// How a stopped thread goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resume {
    /// On, with a signal if it is not 0.
    On(i32),
    /// On, and stop when the call it is in returns.
    UntilReturn,
    /// It stays stopped with its group, and wakes with it.
    Listen,
}

/// Lets a stopped thread go on. One that has died meanwhile is no error: its end will be reported.
pub(super) fn resume(tid: Tid, how: Resume) {
    let _ = match how {
        Resume::On(signal) => ptrace(libc::PTRACE_CONT, tid, 0, signal as usize),
        Resume::UntilReturn => ptrace(libc::PTRACE_SYSCALL, tid, 0, 0),
        Resume::Listen => ptrace(libc::PTRACE_LISTEN, tid, 0, 0),
    };
}

/// A call at its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The architecture by whose table it is numbered.
    pub(super) arch: u32,
    /// Its number.
    pub(super) number: u64,
    /// Its arguments.
    pub(super) args: [u64; 6],
}

/// Why nothing is known of a call.
#[derive(Debug)]
pub(super) enum Unseen {
    /// The thread was killed, and does not stand there any more.
    Killed,
    /// The system does not say.
    Refused(io::Error),
}

/// The call at whose entry a thread stands.
pub(super) fn entry(tid: Tid) -> Result<Entry, Unseen> {
    let info = syscall_info(tid, libc::PTRACE_SYSCALL_INFO_SECCOMP)?;
    // SAFETY: this is the member that the kernel fills for this kind of stop.
    let call = unsafe { info.u.seccomp };
    Ok(Entry { arch: info.arch, number: call.nr, args: call.args })
}

/// What the call returned at whose return a thread stands: an error as a negative number.
pub(super) fn returned(tid: Tid) -> Result<i64, Unseen> {
    let info = syscall_info(tid, libc::PTRACE_SYSCALL_INFO_EXIT)?;
    // SAFETY: this is the member that the kernel fills for this kind of stop.
    Ok(unsafe { info.u.exit }.sval)
}

fn syscall_info(tid: Tid, stop: u8) -> Result<libc::ptrace_syscall_info, Unseen> {
    let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    let size = size_of::<libc::ptrace_syscall_info>();
    match ptrace(libc::PTRACE_GET_SYSCALL_INFO, tid, size, info.as_mut_ptr() as usize) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Err(Unseen::Killed),
        Err(error) => return Err(Unseen::Refused(error)),
        Ok(_) => {}
    }
    // SAFETY: all zeros is a valid value, and the kernel wrote no more than its size.
    let info = unsafe { info.assume_init() };
    if info.op == stop { Ok(info) } else { Err(Unseen::Killed) }
}

/// The register in which a call leaves its result, for a thread that dies before the call could report its return.
pub(super) fn result_register(tid: Tid) -> io::Result<i64> {
    let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
    ptrace(libc::PTRACE_GETREGS, tid, 0, registers.as_mut_ptr() as usize)?;
    // SAFETY: all zeros is a valid value, and the kernel filled it.
    Ok(unsafe { registers.assume_init() }.rax as i64)
}

/// The new thread that a thread stopped to tell of.
pub(super) fn newborn(tid: Tid) -> io::Result<Tid> {
    let mut message: libc::c_ulong = 0;
    ptrace(libc::PTRACE_GETEVENTMSG, tid, 0, (&raw mut message) as usize)?;
    Tid::try_from(message).map_err(io::Error::other)
}

/// What became of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It stopped: the signal's number, with the event in the bits above.
    Stopped(i32),
    /// It ended with a code.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
}

/// The next thread that something became of, if there is one now.
///
/// # Errors
/// There is no child and no traced thread at all.
pub(super) fn next_change() -> io::Result<Option<(Tid, Change)>> {
    let mut status = 0;
    // SAFETY: the status is ours.
    let tid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::WNOHANG) };
    match tid {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        tid if libc::WIFEXITED(status) => Ok(Some((tid, Change::Exited(libc::WEXITSTATUS(status))))),
        tid if libc::WIFSIGNALED(status) => Ok(Some((tid, Change::Killed(libc::WTERMSIG(status))))),
        tid => Ok(Some((tid, Change::Stopped(status >> 8)))),
    }
}

/// Blocks these signals for the calling thread, and returns a descriptor that can be read once for each that comes.
pub(super) fn signals(wanted: &[i32], ignored: &[i32]) -> io::Result<OwnedFd> {
    let (mut read, mut blocked) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both sets are made empty before they are used.
    unsafe {
        libc::sigemptyset(read.as_mut_ptr());
        libc::sigemptyset(blocked.as_mut_ptr());
        for signal in wanted {
            libc::sigaddset(read.as_mut_ptr(), *signal);
        }
        for signal in wanted.iter().chain(ignored) {
            libc::sigaddset(blocked.as_mut_ptr(), *signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, blocked.as_ptr(), ptr::null_mut());
    }
    // SAFETY: a new descriptor is asked for.
    let fd = unsafe { libc::signalfd(-1, read.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    // SAFETY: it is open and nobody else's.
    if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(fd) }) }
}

/// The next signal that came.
pub(super) fn next_signal(signals: &OwnedFd) -> Option<i32> {
    let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: the kernel writes at most this many bytes of one whole record.
    let read = unsafe { libc::read(signals.as_raw_fd(), info.as_mut_ptr().cast::<c_void>(), size) };
    // SAFETY: all zeros is a valid value.
    (read == size as isize).then(|| unsafe { info.assume_init() }.ssi_signo as i32)
}

/// Reads a thread's memory; how much could be read.
pub(super) fn read_memory(tid: Tid, address: u64, into: &mut [u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: into.len() };
    // SAFETY: the kernel writes into the slice only, and checks the other address itself.
    match unsafe { libc::process_vm_readv(tid, &raw const local, 1, &raw const remote, 1, 0) } {
        -1 => Err(io::Error::last_os_error()),
        read => Ok(read as usize),
    }
}

/// Whether nobody has a file open for writing: only then the system gives a lease on it, which is given back at once.
pub(super) fn has_no_writer(file: &File) -> bool {
    let lease = |kind: libc::c_int| {
        // SAFETY: a plain call on an open descriptor.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) == 0 }
    };
    lease(libc::F_RDLCK) && lease(libc::F_UNLCK)
}

/// Ends this process by the signal that ended the program, without a core file of its own.
pub(super) fn end_by(signal: i32) -> ! {
    // SAFETY: plain calls with valid arguments.
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        libc::signal(signal, libc::SIG_DFL);
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        // Others may be waiting that came to the whole group.
        libc::sigprocmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut());
        libc::raise(signal);
        libc::_exit(128 + signal)
    }
}
