//! The tracer's own process: it starts a program, follows it to its end, and ends as the program ended. To whoever
//! started it, it is the program: the same pipes, the same group, the same status.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::process;

use rustix::process::{Pid, Resource, Rlimit, Signal, getpid, getrlimit, kill_process, set_child_subreaper, setrlimit};
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};

use super::clock::{self, Clock, VirtualClock};
use super::filter;
use super::follow::{Ended, Follow};
use super::log_file::{Entry, Refusal, Writer};
use super::order::Order;
use super::record::Record;
use super::sys::{self, Held, Step, Tid};

/// The exit status when there is no program whose status could be told. Why stands in the log, if it could be written.
const NO_PROGRAM: i32 = 127;

/// Runs the program, and ends as it does.
pub(super) fn run(order: Order) -> ! {
    match followed(order) {
        Ok(Ended::Exited(code)) => process::exit(code),
        Ok(Ended::Killed(signal)) => sys::end_by(signal),
        Err(_) => process::exit(NO_PROGRAM),
    }
}

fn followed(order: Order) -> io::Result<Ended> {
    let mut writer = Writer::create(&order.log)?;
    // A signal to the group reaches the program by itself.
    let ignored: Vec<i32> = (1..32).filter(|signal| !FAULTS.contains(signal)).collect();
    let signals = sys::signals(&[libc::SIGCHLD, libc::SIGHUP], &ignored)?;
    set_child_subreaper(Some(getpid()))?;
    pin()?;
    let argv = order.argv.into_iter().map(|word| CString::new(word.into_vec())).collect::<Result<Vec<_>, _>>()?;
    let clock = order.clock.map(|(path, worker)| VirtualClock::open(&path).map(|page| Clock::new(page, worker)));
    let clock = clock.transpose()?;
    let rules = order.store.iter().flat_map(|_| filter::RULES).chain(clock.iter().flat_map(|_| clock::RULES));
    let held = sys::fork_held(&argv, &filter::program(rules))?;
    if let Err(error) = sys::seize(held.pid) {
        writer.write(&Entry::Refused(Refusal::Unsupported(refused(held.pid, &error))))?;
        kill(held.pid);
        return Err(error);
    }
    let mut record = match Record::start(order.store.as_deref(), writer) {
        Ok(record) => record,
        Err(error) => {
            kill(held.pid);
            return Err(error);
        }
    };
    let_go_of_pipes()?;
    allow_many_files();
    held.release()?;
    let mut follow = Follow::new(&mut record, held.pid, order.kill_at, clock);
    let (ended, vanished) = follow.run(&signals);
    let began = follow.began;
    if let Some(refusal) = (!began).then(|| not_begun(&held)).flatten() {
        record.write(&Entry::Refused(refusal));
        return Err(io::ErrorKind::NotFound.into());
    }
    if !vanished {
        record.write(&Entry::Broken("not every process could be ended".to_owned()));
    }
    record.closes();
    record.write(&Entry::End);
    ended.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Signals that tell of a fault of the tracer itself.
const FAULTS: [i32; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGTRAP];

/// One CPU for the tracer and its program: to stop then costs no wake-up of another, which is most of its price.
fn pin() -> io::Result<()> {
    let mut cpus = CpuSet::new();
    cpus.set(sched_getcpu());
    Ok(sched_setaffinity(None, &cpus)?)
}

/// The ends of the program's pipes are the program's alone.
fn let_go_of_pipes() -> io::Result<()> {
    let nothing = OwnedFd::from(File::options().read(true).write(true).open("/dev/null")?);
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    Ok(rustix::stdio::dup2_stderr(&nothing)?)
}

/// The tracer keeps a handle on each file that changes.
fn allow_many_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // With fewer, a run that changes more files says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

fn kill(pid: Tid) {
    // It waits to be let go, and ends as soon as that cannot happen any more; killing is only quicker.
    let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
}

/// Why a process may not be traced.
fn refused(pid: Tid, error: &io::Error) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let traced = status.lines().filter_map(|line| line.strip_prefix("TracerPid:")).any(|tracer| tracer.trim() != "0");
    if traced {
        return "the process is already traced, by a debugger, strace or another tracer".to_owned();
    }
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let scope = match scope.trim() {
        "" | "0" | "1" => String::new(),
        scope => format!("; kernel.yama.ptrace_scope is {scope}"),
    };
    format!("ptrace is refused: {error}{scope}")
}

/// Why the child did not become the program.
fn not_begun(held: &Held) -> Option<Refusal> {
    let (step, error) = held.failure()?;
    Some(match step {
        Step::NoNewPrivileges => Refusal::Unsupported(format!("seccomp is refused: no_new_privs: {error}")),
        Step::Filter => Refusal::Unsupported(format!("seccomp is refused: {error}")),
        Step::Exec => Refusal::NotStarted(error.to_string()),
    })
}
