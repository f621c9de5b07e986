//! Keeps a job and its in-process workers on one core. They take turns, so a second core would only add the cost of
//! waking it: several times that of the turn itself.

/// Where the threads of a job may run.
pub(super) struct Core {
    #[cfg(target_os = "linux")]
    cores: Option<(rustix::thread::CpuSet, rustix::thread::CpuSet)>,
    pinned: bool,
}

impl Core {
    /// The core of the `job`-th job, out of those that this process may use.
    #[cfg(target_os = "linux")]
    pub(super) fn of(job: usize) -> Core {
        use rustix::thread::{CpuSet, sched_getaffinity};
        let all = sched_getaffinity(None).ok().filter(|all| all.count() > 0);
        let cores = all.map(|all| {
            let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core)).collect();
            let mut own = CpuSet::new();
            own.set(allowed[job % allowed.len()]);
            (all, own)
        });
        Core { cores, pinned: false }
    }

    /// Elsewhere threads run where the system puts them.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn of(_job: usize) -> Core {
        Core { pinned: false }
    }

    /// Stays on the one core, or may use all again. Threads and processes started from here on do the same.
    pub(super) fn pin(&mut self, pin: bool) {
        if self.pinned == pin {
            return;
        }
        self.pinned = pin;
        #[cfg(target_os = "linux")]
        if let Some((all, own)) = &self.cores {
            // It is only faster: where it is refused, everything works as well.
            let _ = rustix::thread::sched_setaffinity(None, if pin { own } else { all });
        }
    }
}

/// The calling thread goes on as it was before.
impl Drop for Core {
    fn drop(&mut self) {
        self.pin(false);
    }
}
