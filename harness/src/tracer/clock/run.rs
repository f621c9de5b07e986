//! The harness's side of a run in virtual time.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use super::VirtualClock;
use crate::tracer::order::Order;
use crate::tracer::recorder::{Unrecorded, whole};

impl VirtualClock {
    /// The command line that runs a program in this time, as one of its workers. It writes a log file, which must not
    /// exist. It has the program's pipes, status and group; signals are to be sent to the group. From now until it ends,
    /// or [`leave`](VirtualClock::leave) says so, no other worker's time passes it by.
    ///
    /// # Errors
    /// This program does not know its own path.
    pub fn command(
        &self,
        worker: usize,
        log: &Path,
        argv: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> io::Result<Vec<OsString>> {
        self.enter(worker);
        Order {
            log: log.to_owned(),
            store: None,
            kill_at: None,
            clock: Some((self.path().to_owned(), worker)),
            argv: argv.into_iter().map(Into::into).collect(),
        }
        .command()
    }

    /// Whether the program's time was this one all along, once its tracer has ended.
    ///
    /// # Errors
    /// The program waits in a way that cannot be followed, or was not followed to its end.
    pub fn finish(log: &Path) -> Result<(), Unrecorded> {
        whole(&crate::tracer::log_file::read(log)?)
    }
}
