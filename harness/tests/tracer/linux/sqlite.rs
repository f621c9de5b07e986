//! A Python worker on SQLite in each of its journals: the recording makes the real database.

use std::process::Command;

use libtest_mimic::Failed;
use nack::disk::log::What;

use super::subject::Run;

type Test = Box<dyn FnOnce() -> Result<(), Failed> + Send>;

/// Two rows, each claimed, sent, and recorded as sent, on two tables.
pub(crate) const WORKER: &str = r#"
import sqlite3, sys
journal, synchronous = sys.argv[1:3]
db = sqlite3.connect("app.db", isolation_level=None)
db.execute(f"PRAGMA journal_mode={journal}")
db.execute(f"PRAGMA synchronous={synchronous}")
db.execute("CREATE TABLE IF NOT EXISTS mail(id INTEGER PRIMARY KEY, state TEXT, payload TEXT)")
db.execute("CREATE TABLE IF NOT EXISTS done(id INTEGER PRIMARY KEY, note TEXT)")
for row in (1, 2):
    db.execute("INSERT INTO mail VALUES (?, 'queued', ?)", (row, "x" * 6000))
    db.execute("UPDATE mail SET state = 'claimed' WHERE id = ?", (row,))
    print("send", row, flush=True)
    db.execute("BEGIN")
    db.execute("UPDATE mail SET state = 'sent' WHERE id = ?", (row,))
    db.execute("INSERT INTO done VALUES (?, 'sent')", (row,))
    db.execute("COMMIT")
if len(sys.argv) < 4:
    db.close()
else:
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
"#;

/// The Python to use: the program itself, for a version manager's stand-in takes longer than the worker.
pub(crate) fn python() -> Option<String> {
    let output = Command::new("python3").args(["-c", "import sys, sqlite3; print(sys.executable)"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

pub(crate) fn has_python() -> bool {
    python().is_some()
}

pub(crate) fn trials() -> Vec<(String, Test)> {
    let modes = [("DELETE", "EXTRA"), ("TRUNCATE", "FULL"), ("PERSIST", "FULL"), ("WAL", "FULL"), ("MEMORY", "OFF")];
    let mut trials: Vec<(String, Test)> = Vec::new();
    for (journal, synchronous) in modes {
        let name = format!("the_recording_of_sqlite_in_{journal}_with_{synchronous}_makes_the_real_database");
        trials.push((name.to_lowercase(), Box::new(move || worker(journal, synchronous))));
    }
    trials
}

fn worker(journal: &str, synchronous: &str) -> Result<(), Failed> {
    let python = python().ok_or("python3 is gone")?;
    for run in [Run::new(), Run::on_disk()] {
        for killed in [None, Some("killed")] {
            let words = [python.as_str(), "-c", WORKER, journal, synchronous].into_iter().chain(killed);
            let output = run.run(words.map(Into::into).collect());
            let expected = if killed.is_some() { output.status.code().is_none() } else { output.status.success() };
            let recording = run.finish().map_err(|error| error.to_string())?;
            let mut sent = Vec::new();
            for op in &recording.ops {
                if let What::Send { channel: 1, bytes } = &op.what {
                    sent.extend_from_slice(bytes);
                }
            }
            if !expected || sent != b"send 1\nsend 2\n" {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(format!("{}, sent {:?}: {said}", output.status, sent.escape_ascii().to_string()).into());
            }
            std::fs::remove_file(run.path().join("log"))?;
            for entry in std::fs::read_dir(run.store())? {
                std::fs::remove_file(entry?.path())?;
            }
        }
    }
    Ok(())
}
