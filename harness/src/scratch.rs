//! The folder for the stores of a run: in memory where the system offers it, and gone when the run ends.

use std::io;
use std::path::Path;

use tempfile::TempDir;

/// Makes the scratch folder. It is removed when the value is dropped.
///
/// # Errors
/// Why no folder could be made.
pub fn scratch() -> io::Result<TempDir> {
    let prefix = format!("nack-{}-", std::process::id());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    // A store that nobody syncs to a disk for real is ten times as fast, and what a kill leaves is the same.
    match Path::new("/dev/shm") {
        memory if memory.is_dir() => builder.tempdir_in(memory).or_else(|_| builder.tempdir()),
        _ => builder.tempdir(),
    }
}
