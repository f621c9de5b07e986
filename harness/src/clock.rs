//! The case's clock: whole seconds since the epoch, moved only by the steps of a case.

use std::collections::HashMap;
use std::sync::Mutex;

/// Where the clock of a case stands at its start where the harness owns it, in epoch seconds.
pub const EPOCH: i64 = 1_800_000_000;

/// The time that the workers of one case are told.
#[derive(Debug)]
pub struct Clock {
    base: i64,
    state: Mutex<State>,
}

impl Default for Clock {
    fn default() -> Self {
        Clock::from(EPOCH)
    }
}

impl From<i64> for Clock {
    /// A clock that starts at `base`, in epoch seconds.
    fn from(base: i64) -> Self {
        Clock { base, state: Mutex::default() }
    }
}

#[derive(Debug, Default)]
struct State {
    passed: i64,
    skew: HashMap<String, i64>,
}

impl Clock {
    /// The time as `worker` sees it, in epoch seconds.
    #[must_use]
    pub fn now(&self, worker: &str) -> i64 {
        let state = self.state();
        self.base + state.passed + state.skew.get(worker).copied().unwrap_or(0)
    }

    /// The seconds that have passed for every worker.
    pub(crate) fn passed(&self) -> i64 {
        self.state().passed
    }

    /// Moves every worker's clock, or only that of `worker`, by `seconds`.
    pub fn advance(&self, seconds: i64, worker: Option<&str>) {
        let mut state = self.state();
        match worker {
            None => state.passed += seconds,
            Some(worker) => *state.skew.entry(worker.to_owned()).or_default() += seconds,
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
