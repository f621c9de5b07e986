//! One process with its three pipes. Nothing here waits for the process without a deadline: pipes are read and
//! written without blocking, so a subject that floods, stalls or leaks a pipe costs bounded memory and time.

mod command;
mod lines;
mod reap;

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};

pub use command::{Command, Environment};
pub(crate) use lines::{LONGEST, Lines, Tail, shown};
pub(crate) use reap::works;
pub use reap::{end_marked, leftovers, run_mark};

use crate::session::{Killed, StartError};

/// How long a subject may take to start, unless more is asked for.
pub const START_WITHIN: Duration = Duration::from_secs(10);
/// How long a process may take to vanish after SIGKILL.
const KILLED_WITHIN: Duration = Duration::from_secs(2);
/// How long the pipes of a dead process are read, in case somebody else holds them.
const DRAINED_WITHIN: Duration = Duration::from_millis(100);
/// How long a command that prepares something may take.
const RUN_WITHIN: Duration = Duration::from_secs(60);
/// How much is read from one pipe before the others have their turn.
const TURN: usize = 256 << 10;

/// A running subject.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pid: Pid,
    mark: String,
    stdin: Option<ChildStdin>,
    unsent: Vec<u8>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    pub(crate) lines: Lines,
    pub(crate) tail: Tail,
    ended: Option<Ended>,
}

/// How a process ended.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    /// Its status; `None` if not even SIGKILL ended it.
    pub(crate) status: Option<ExitStatus>,
    /// Whether it lived until it was killed.
    pub(crate) lived: bool,
    /// What it had started and left behind, outside its group.
    pub(crate) left: Vec<String>,
}

impl Ended {
    /// A kill, in words, and whether it is one: `spoke` says what came after the point that it was to strike at.
    pub(crate) fn killed(&self, spoke: Option<&str>) -> Killed {
        let by_signal = self.status.and_then(|status| status.signal()) == Some(Signal::KILL.as_raw());
        let mut how = if !self.lived {
            format!("it had already ended with {}", in_words(self.status))
        } else if by_signal {
            "SIGKILL to its process group".to_owned()
        } else {
            format!("SIGKILL, but it ended with {}", in_words(self.status))
        };
        if let Some(spoke) = spoke {
            how += &format!(", and {spoke}");
        }
        if !self.left.is_empty() {
            how += &format!("; also ended, outside its group: {}", self.left.join(", "));
        }
        Killed { how, store: None, proven: self.lived && by_signal && spoke.is_none() }
    }
}

impl Process {
    pub(crate) fn start(command: &Command) -> Result<Process, StartError> {
        reap::prepare();
        let mark = reap::worker_mark();
        // Held until the child is noted, so that no sweep takes it for an orphan.
        let mut ours = reap::ours();
        let mut child = command.start(&mark)?;
        let pid = Pid::from_child(&child);
        ours.push(pid);
        drop(ours);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let process = Process {
            child,
            pid,
            mark,
            stdin,
            unsent: Vec::new(),
            stdout,
            stderr,
            lines: Lines::default(),
            tail: Tail::default(),
            ended: None,
        };
        process.unblock().map_err(|error| StartError(format!("its pipes could not be set up: {error}")))?;
        Ok(process)
    }

    fn unblock(&self) -> io::Result<()> {
        let ends = [self.stdin.as_ref().map(AsFd::as_fd), self.stdout.as_ref().map(AsFd::as_fd)];
        for end in ends.into_iter().chain([self.stderr.as_ref().map(AsFd::as_fd)]).flatten() {
            rustix::io::ioctl_fionbio(end, true)?;
        }
        Ok(())
    }

    /// Sends a line, as far as the pipe takes it now; the rest goes with the next turns.
    pub(crate) fn send(&mut self, line: &[u8]) {
        self.unsent.extend_from_slice(line);
        self.flush();
    }

    fn flush(&mut self) {
        while let Some(stdin) = self.stdin.as_mut().filter(|_| !self.unsent.is_empty()) {
            match stdin.write(&self.unsent) {
                Ok(sent) => drop(self.unsent.drain(..sent)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Nobody reads any more. Why shows in how the process ends.
                Err(_) => self.stdin = None,
            }
        }
    }

    /// How much waits to be read by the subject.
    pub(crate) fn backlog(&self) -> usize {
        self.unsent.len()
    }

    /// Says farewell: a subject ends at the end of its input.
    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// The pipes that something may happen on.
    pub(crate) fn watched<'a>(&'a self, pipes: &mut Vec<PollFd<'a>>) {
        pipes.extend(self.stdout.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        pipes.extend(self.stderr.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        let stdin = self.stdin.iter().filter(|_| !self.unsent.is_empty());
        pipes.extend(stdin.map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
    }

    /// Moves what can be moved now, a turn of each pipe.
    pub(crate) fn turn(&mut self) {
        self.flush();
        let mut chunk = vec![0; 64 << 10];
        read_turn(&mut self.stdout, &mut chunk, |bytes| self.lines.feed(bytes));
        read_turn(&mut self.stderr, &mut chunk, |bytes| self.tail.feed(bytes));
    }

    /// Whether standard output has come to its end.
    pub(crate) fn silent(&self) -> bool {
        self.stdout.is_none()
    }

    /// Whether the process has ended. It is left to be reaped, so its number and its group stay its own.
    pub(crate) fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        !matches!(waitid(WaitId::Pid(self.pid), options), Ok(None))
    }

    /// The process and everything below it, as far as the system tells.
    pub(crate) fn family(&self) -> Vec<Pid> {
        reap::family(self.pid, &self.mark)
    }

    /// Its number.
    pub(crate) fn number(&self) -> u32 {
        self.pid.as_raw_pid().unsigned_abs()
    }

    /// Sends a signal to the process and all of its group.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        self.ended.is_none() && reap::signal_group(self.pid, signal)
    }

    /// Ends the process, its group and whatever else it started, and reads what is left in its pipes.
    pub(crate) fn end(&mut self) -> Ended {
        if let Some(ended) = &self.ended {
            return ended.clone();
        }
        let below = reap::descendants(self.pid);
        let lived = !self.has_ended();
        reap::signal_group(self.pid, Signal::KILL);
        let deadline = Instant::now() + KILLED_WITHIN;
        while !self.has_ended() && Instant::now() < deadline {
            thread::sleep(Duration::from_micros(200));
        }
        // An error means that it was reaped elsewhere; either way there is no more to wait for.
        let status = self.child.try_wait().ok().flatten();
        reap::ours().retain(|pid| *pid != self.pid);
        let left = reap::sweep(self.pid, &self.mark, &below);
        self.drain();
        self.stdin = None;
        let ended = Ended { status, lived, left };
        self.ended = Some(ended.clone());
        ended
    }

    fn drain(&mut self) {
        let deadline = Instant::now() + DRAINED_WITHIN;
        loop {
            self.turn();
            if (self.stdout.is_none() && self.stderr.is_none()) || Instant::now() >= deadline {
                break;
            }
            wait_for(&[self], deadline);
        }
        self.stdout = None;
        self.stderr = None;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn read_turn<R: Read>(pipe: &mut Option<R>, chunk: &mut [u8], mut take: impl FnMut(&[u8])) {
    let mut left = TURN;
    while let Some(reader) = pipe.as_mut().filter(|_| left > 0) {
        match reader.read(chunk) {
            Ok(0) => *pipe = None,
            Ok(read) => {
                take(&chunk[..read]);
                left = left.saturating_sub(read);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => *pipe = None,
        }
    }
}

/// Sleeps until something happens on the pipes of these processes, or until the deadline.
pub(crate) fn wait_for(processes: &[&Process], deadline: Instant) {
    let mut pipes = Vec::new();
    for process in processes {
        process.watched(&mut pipes);
    }
    wait_on(&mut pipes, deadline);
}

/// Sleeps until something happens on one of these, or until the deadline.
pub(crate) fn wait_on(pipes: &mut [PollFd<'_>], deadline: Instant) {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec { tv_sec: left.as_secs().min(3600) as i64, tv_nsec: i64::from(left.subsec_nanos()) };
    // An interrupted wait is a short one, and whoever waits looks at the time anyway.
    let _ = poll(pipes, Some(&left));
}

/// How a process ended, in words.
pub(crate) fn in_words(status: Option<ExitStatus>) -> String {
    match status {
        None => "it could not be ended".to_owned(),
        Some(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit status {code}"),
            (_, Some(signal)) => format!("signal {signal}{}", signal_name(signal)),
            _ => status.to_string(),
        },
    }
}

fn signal_name(signal: i32) -> &'static str {
    let names = [
        (Signal::KILL, " (SIGKILL)"),
        (Signal::TERM, " (SIGTERM)"),
        (Signal::INT, " (SIGINT)"),
        (Signal::ABORT, " (SIGABRT)"),
        (Signal::SEGV, " (SIGSEGV)"),
        (Signal::BUS, " (SIGBUS)"),
        (Signal::PIPE, " (SIGPIPE)"),
    ];
    names.iter().find(|(known, _)| known.as_raw() == signal).map_or("", |(_, name)| name)
}
