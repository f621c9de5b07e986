//! A silence that a held worker may be the cause of. Whoever is seen to work is not waiting for anybody: where the
//! machine is busy, to start alone may take longer than a worker that waits is given.

use std::time::Duration;

/// So often in a row nobody must be seen to work.
const LOOKS: u32 = 3;

/// How long it lasts, and what was seen meanwhile.
#[derive(Default)]
pub(super) struct Silence {
    lasted: Duration,
    looks: u32,
}

impl Silence {
    /// How long to wait for a word now.
    pub(super) fn next(&self, first: Duration) -> Duration {
        if self.lasted.is_zero() { first } else { first / 20 }
    }

    /// Whether it is too early to take it for the held worker's doing. `works`: somebody was just seen to work.
    pub(super) fn goes_on(&mut self, waited: Duration, longest: Duration, works: bool) -> bool {
        self.lasted += waited;
        self.looks = if works { 0 } else { self.looks + 1 };
        self.looks < LOOKS && self.lasted < longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(500);
    const LONGEST: Duration = Duration::from_millis(600);

    fn looks(seen: &[bool]) -> Vec<bool> {
        let mut silence = Silence::default();
        let look = |works: &bool| {
            let waited = silence.next(FIRST);
            silence.goes_on(waited, LONGEST, *works)
        };
        seen.iter().map(look).collect()
    }

    #[test]
    fn it_ends_once_nobody_is_seen_to_work_so_often_in_a_row() {
        assert_eq!(looks(&[false, false, false]), [true, true, false]);
        assert_eq!(looks(&[false, true, false, false]), [true, true, true, true]);
    }

    #[test]
    fn it_ends_at_last_whoever_works() {
        assert_eq!(looks(&[true; 5]), [true, true, true, true, false]);
    }
}
