//! Workers that nobody tells the time: they look at the system's clock, and that is the case's. What a lease is and when
//! it is over is judged in them as in any other, and each mistake about it is exit 1 by the name of its case.

use std::fs;

use rstest::rstest;

use crate::common::Nack;
use crate::servers::with_verdict;
use crate::subjects::left_behind;
use crate::workers::{is_runnable, worker};

/// The rows in which time passes, but for those of a hundred calls.
const ROWS: [&str; 11] = [
    "outbox/recover/after-claim+kill",
    "outbox/recover/after-send+kill",
    "outbox/claim-yes/lease-over/until=now",
    "outbox/claim-yes/lease-over/until=past",
    "outbox/claim-buried/lease-over-spent/until=now",
    "outbox/late-alone",
    "outbox/late-after-takeover/other",
    "outbox/late-during-takeover/other",
    "outbox/skew/ahead",
    "outbox/skew/behind",
    "outbox/paused",
];

/// The worker of this language, which is not told the time, with these edits.
fn untold(subject: &str, edits: &[(&str, &str)]) -> Nack {
    let nack = worker(subject, None);
    let edited = |file: &str, edits: &[(&str, &str)]| {
        let mut text = fs::read_to_string(nack.path().join(file)).expect("it was written");
        for (find, replace) in edits {
            assert_eq!(text.matches(find).count(), 1, "{find} is not at one place of {file}");
            text = text.replace(find, replace);
        }
        nack.write(file, &text);
    };
    edited("nack.toml", &[(", \"--now\", \"{now}\"", "")]);
    if subject == "python" {
        edited("python/worker.py", edits);
    }
    nack
}

fn passes_every_row(nack: &Nack) {
    let rows = [&["run"][..], &ROWS, &["outbox/race-many", "--report", "json=nack.json"]].concat();
    let _ = nack.run(&rows).code(0);
    let passed = with_verdict(nack, "pass");
    for name in ROWS {
        assert!(passed.iter().any(|passed| passed == name), "{name} did not pass: {passed:#?}");
    }
    assert_eq!(left_behind(nack), Vec::<String>::new());
}

#[rstest]
fn a_worker_that_nobody_tells_the_time_passes_where_time_passes(#[values("python", "node", "rust")] subject: &str) {
    if is_runnable(subject) {
        passes_every_row(&untold(subject, &[]));
    }
}

/// What lets the database itself tell the time.
const ITS_OWN: (&str, &str) = (
    "int(time.time()) if args.now is None",
    "queue.execute(\"SELECT CAST(strftime('%s', 'now') AS INTEGER)\").fetchone()[0] if args.now is None",
);

#[test]
fn the_time_of_the_database_is_the_cases_too() {
    if is_runnable("python") {
        passes_every_row(&untold("python", &[ITS_OWN]));
    }
}

#[rstest]
#[case::lease_ignored(
    "OR (status = 'working' AND (locked_until IS NULL OR locked_until <= ?))",
    "OR (status = 'working' AND (true OR locked_until <= ?))",
    "outbox/claim-no/lease-live"
)]
#[case::lease_without_end(
    "locked_until IS NULL OR locked_until <= ?",
    "locked_until IS NULL OR (false AND locked_until <= ?)",
    "outbox/claim-yes/lease-over/until=now"
)]
#[case::one_tick_late("locked_until <= ?", "locked_until < ?", "outbox/claim-yes/lease-over/until=now")]
#[case::late_worker_wins(
    "WHERE seq = ? AND status = 'working' AND tries = ?",
    "WHERE seq = ? AND (true OR tries = ?)",
    "outbox/late-after-takeover/other"
)]
#[case::another_clock("int(time.time())", "int(time.monotonic())", "outbox/claim-yes/lease-over/until=now")]
#[case::lease_too_short("LEASE = 60", "LEASE = 0", "outbox/race-held/after-send")]
#[case::start_up_frees_live_rows(
    "queue = Queue(args.db)",
    "queue = Queue(args.db); queue.execute(\"UPDATE mail_queue SET status = 'queued' WHERE status = 'working'\")",
    "outbox/race-held/after-send"
)]
fn a_mistake_about_time_is_exit_1_by_its_name(#[case] find: &str, #[case] replace: &str, #[case] killed_by: &str) {
    if !is_runnable("python") {
        return;
    }
    let nack = untold("python", &[(find, replace)]);
    let _ = nack.run(&["run", killed_by, "--report", "json=nack.json"]).code(1);
    assert!(with_verdict(&nack, "fail").iter().any(|failed| failed == killed_by));
}

#[test]
fn an_hour_of_waiting_inside_a_call_takes_no_time() {
    if !is_runnable("python") {
        return;
    }
    // It tries again and again, each time after twice as long, before it says what came of it.
    let patient = (
        "    status, error = attempt(url, mail_id, body)\n",
        "    for wait in (0, 240, 480, 960, 1920):\n        time.sleep(wait)\n    status, error = attempt(url, mail_id, body)\n",
    );
    let nack = untold("python", &[patient, ("LEASE = 60", "LEASE = 7200")]);
    let _ = nack.run(&["run", "outbox/order", "outbox/race-held/after-send"]).code(0);
}

#[test]
fn a_wait_that_cannot_be_controlled_is_inconclusive() {
    if !is_runnable("python") {
        return;
    }
    let raw =
        "import ctypes; limit = (ctypes.c_long * 2)(0, 1000); ctypes.CDLL(None).syscall(220, -1, None, 0, limit)\n";
    let nack = untold("python", &[("import argparse\n", &format!("import argparse\n{raw}"))]);
    let _ = nack.run(&["run", "outbox/order"]).code(3).says("clock of a program was not controlled").says("semtimedop");
}
