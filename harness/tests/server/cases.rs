//! Whole cases on servers that are sound, broken and hostile: what is struck from outside strikes, what cannot be is
//! not covered, and nothing is passed that was not earned.

use nack_reports::{BecauseKind, CaseReport, Verdict};
use rstest::rstest;

use crate::common::{Served, python_is_here};

/// What a case failed by: its red checks, or how it broke off.
fn red(report: &CaseReport) -> Vec<&str> {
    assert_eq!(report.verdict, Verdict::Fail, "{report:#?}");
    let red = report.checks.iter().filter(|check| check.held == Some(false)).map(|check| check.name.as_str());
    red.chain(report.broken.as_deref()).collect()
}

#[rstest]
#[case::one_server("")]
#[case::a_server_for_each_worker("workers = \"servers\"")]
fn a_sound_server_passes_all_that_can_be_struck_from_outside(#[case] keys: &str) {
    if !python_is_here() {
        return;
    }
    let reports = Served::with(&[]).bound(keys).judge(&[""]);
    let (passed, others): (Vec<_>, Vec<_>) = reports.iter().partition(|report| report.verdict == Verdict::Pass);
    let others: Vec<_> = others
        .iter()
        .map(|report| {
            let because = report.because.as_ref().unwrap_or_else(|| panic!("{report:#?}"));
            assert_eq!((report.verdict, because.kind), (Verdict::NotCovered, BecauseKind::Checkpoint), "{report:#?}");
            (report.name.as_str(), because.detail.as_str())
        })
        .collect();
    let no_error = |point: &str| format!("the subject passes no checkpoint {point}, so no error can be raised there");
    assert_eq!(
        others,
        [
            (
                "counter/struck/before_write+hold",
                "the subject passes no checkpoint before_write, and whoever is held at its write holds every other writer"
            ),
            ("counter/struck/before_write+raise", no_error("before_write").as_str()),
            ("counter/struck/after_write+raise", no_error("after_write").as_str()),
        ]
    );
    assert_eq!(passed.len(), 14);
}

const LOOKS_THEN_WRITES: (&str, &str) = (
    "new = db.execute(\"INSERT OR IGNORE INTO counted SELECT ?\", (name,)).rowcount",
    "new = not db.execute('SELECT 1 FROM counted').fetchall(); db.execute('INSERT OR IGNORE INTO counted SELECT ?', (name,))",
);

#[rstest]
#[case::one_server("")]
#[case::a_server_for_each_worker("workers = \"servers\"")]
fn a_race_between_look_and_write_is_found_each_time(#[case] keys: &str) {
    if !python_is_here() {
        return;
    }
    let served = Served::with(&[LOOKS_THEN_WRITES]).bound(keys);
    for _ in 0..3 {
        for report in served.judge(&["race/looked", "race/before_write"]) {
            assert_eq!(red(&report), ["expect"], "{report:#?}");
        }
    }
}

#[test]
fn a_server_that_serves_one_call_at_a_time_has_no_such_race_to_show() {
    if !python_is_here() {
        return;
    }
    let one = ("server = ThreadingHTTPServer(", "server = HTTPServer(");
    let report = Served::with(&[LOOKS_THEN_WRITES, one]).judge_one("race/looked");
    assert_eq!(report.verdict, Verdict::NotCovered, "{report:#?}");
    assert!(report.because.is_some_and(|because| because.detail.contains("workers = \"servers\"")));
    let report = Served::with(&[LOOKS_THEN_WRITES, one]).bound("workers = \"servers\"").judge_one("race/looked");
    assert_eq!(red(&report), ["expect"], "{report:#?}");
}

#[rstest]
#[case::that_lies("said, status = self.count(body.decode()), 200", "said, status = 'new', 200", "expect")]
#[case::that_gives_up_at_once("timeout=10", "timeout=0", "reply")]
#[case::that_writes_later(
    "said, status = self.count(body.decode()), 200",
    "said, status = 'new' if os.fork() else sys.exit(self.count(body.decode())), 200",
    "expect"
)]
fn a_call_that_does_not_wait_for_its_write_is_no_race_won(#[case] from: &str, #[case] to: &str, #[case] by: &str) {
    if !python_is_here() {
        return;
    }
    let reports = Served::with(&[(from, to)]).judge(&["killed-early", "race/looked"]);
    // Nothing stood at its write, so nothing was killed there.
    assert_eq!(reports[0].verdict, Verdict::Inconclusive, "{:#?}", reports[0]);
    assert!(red(&reports[1]).contains(&by), "{:#?}", reports[1]);
}

#[test]
fn a_caller_that_hangs_up_waits_for_no_answer() {
    if !python_is_here() {
        return;
    }
    let noted = "came = []; ThreadingHTTPServer.verify_request = lambda _, __, caller: came.append(caller) or True";
    let hangs = "if self.client_address == came[0]: time.sleep(1000)";
    let served = |case, scale| Served::with(&[("# start", noted), ("# begin", hangs)]).scaled(scale).judge_one(case);
    let report = served("lost/request", 1.0);
    assert_eq!(report.verdict, Verdict::Pass, "{report:#?}");
    let report = served("lost/reply", 0.1);
    assert_ne!(report.verdict, Verdict::Pass, "no answer came that could be lost: {report:#?}");
}

#[rstest]
#[case::says_it_before_it_is_written(
    "said, status = self.count(body.decode()), 200",
    "self.answer(200, b'{\"said\": \"new\"}'); time.sleep(0.2); self.count(body.decode()); return"
)]
#[case::keeps_it_in_memory("store, timeout=10", "':memory:'")]
fn a_kill_when_the_answer_begins_shows_what_was_not_written(#[case] from: &str, #[case] to: &str) {
    if !python_is_here() {
        return;
    }
    let memory = ("# start", "DB = 'CREATE TABLE IF NOT EXISTS counted (name TEXT PRIMARY KEY)'");
    let create = ("        new = db", "        db.execute(DB)\n        new = db");
    let report = Served::with(&[(from, to), memory, create]).judge_one("killed-late");
    assert_eq!(red(&report), ["expect"], "{report:#?}");
}

#[rstest]
#[case::dies("os._exit(3)", "the server ended with exit status 3")]
#[case::dies_of_a_signal("os.kill(os.getpid(), signal.SIGSEGV)", "signal 11 (SIGSEGV)")]
#[case::dies_with_last_words("print('out of luck', flush=True); os._exit(3)", "it said last:\n  up on")]
#[case::answers_garbage("self.wfile.write(b'hello there\\r\\n\\r\\n'); return", "the server's answer is no HTTP")]
fn a_server_that_breaks_off_fails_by_no_check(#[case] body: &str, #[case] how: &str) {
    if !python_is_here() {
        return;
    }
    let report = Served::with(&[("# begin", body)]).judge_one("plain");
    assert!(report.broken.as_deref().is_some_and(|broken| broken.contains(how)), "{report:#?}");
    assert_eq!(report.verdict, Verdict::Fail);
}

#[test]
fn a_server_that_dies_after_its_answer_is_not_taken_for_sound() {
    if !python_is_here() {
        return;
    }
    let last = ("self.wfile.write(body)", "self.wfile.write(body); self.wfile.flush(); os._exit(9)");
    let report = Served::with(&[last]).judge_one("twice");
    assert!(red(&report).iter().any(|how| how.contains("exit status 9")), "{report:#?}");
}

#[rstest]
#[case::half_an_answer(
    "self.wfile.write(b'HTTP/1.1 200 OK\\r\\ncontent-length: 99\\r\\n\\r\\n{\"said'); return",
    "in the middle of the body"
)]
#[case::no_answer("self.close_connection = True; return", "without an answer")]
#[case::an_error_of_its_own("raise ValueError('oh')", "without an answer")]
#[case::another_word("self.answer(200, b'{\"said\": \"nwe\"}'); return", "nwe")]
#[case::no_json("self.answer(200, b'<b>new</b>'); return", "<b>new</b>")]
#[case::no_text("self.answer(200, b'\\xff\\xfe'); return", "hex ff fe")]
#[case::an_internal_error("self.answer(500, b'{}'); return", "500")]
fn an_answer_that_is_none_is_judged_as_what_it_is(#[case] body: &str, #[case] seen: &str) {
    if !python_is_here() {
        return;
    }
    let report = Served::with(&[("# begin", body)]).judge_one("plain");
    assert!(red(&report).contains(&"reply"), "{report:#?}");
    assert!(report.observed.as_deref().is_some_and(|observed| observed.contains(seen)), "{report:#?}");
}

#[test]
fn a_server_that_hangs_is_silent_and_its_last_words_are_kept() {
    if !python_is_here() {
        return;
    }
    let once =
        "        if not os.path.exists('hung'): open('hung', 'w'); print('thinking', flush=True); time.sleep(1000)\n";
    let answer = "        self.answer(status,";
    let served = Served::with(&[(answer, &format!("{once}{answer}"))]).scaled(0.1);
    let report = served.judge_one("struck/after_write+kill");
    assert_eq!(report.verdict, Verdict::Inconclusive, "{report:#?}");
    assert_eq!(report.because.as_ref().map(|because| because.kind), Some(BecauseKind::Silence));
    assert!(report.said.iter().any(|line| line == "main: thinking"), "{report:#?}");
}

#[test]
fn a_server_that_does_not_come_back_convicts_nobody() {
    if !python_is_here() {
        return;
    }
    let once = "sys.exit('no more') if os.path.exists(store + '.up') else open(store + '.up', 'w')";
    let report = Served::with(&[("# start", once)]).judge_one("plain");
    assert_eq!(report.verdict, Verdict::Inconclusive, "{report:#?}");
    let because = report.because.expect("it has a reason");
    assert!(because.kind == BecauseKind::Start && because.detail.contains("no more"), "{because:?}");
}

#[test]
fn a_megabyte_comes_back_whole() {
    if !python_is_here() {
        return;
    }
    let body = "self.answer(200, b'x' * (1 << 20)); return";
    let report = Served::with(&[("# begin", body)]).judge_one("plain");
    assert!(red(&report).contains(&"reply"));
    assert!(report.observed.as_deref().is_some_and(|seen| seen.contains("(1048576 characters)")), "{report:#?}");
}

#[test]
fn what_a_server_leaves_behind_is_ended_and_told_of() {
    if !python_is_here() {
        return;
    }
    let body = "subprocess.Popen(['sleep', '1000'], start_new_session=True)";
    let report = Served::with(&[("# begin", body)]).judge_one("plain");
    assert_eq!(report.verdict, Verdict::Pass, "{report:#?}");
    assert!(report.notes.iter().any(|note| note.contains("sleep 1000")), "{report:#?}");
}

#[test]
fn a_failing_case_shows_its_calls_as_lines_for_a_shell() {
    if !python_is_here() {
        return;
    }
    let report = Served::with(&[("# begin", "self.answer(404, b''); return")]).judge_one("plain");
    assert_eq!(report.by_hand.len(), 2, "{report:#?}");
    let line = &report.by_hand[0];
    assert!(line.starts_with("curl ") && line.contains("-X POST") && line.contains("/count"), "{line}");
}

#[test]
fn words_and_ids_are_those_of_the_binding() {
    if !python_is_here() {
        return;
    }
    let served = Served::with(&[("\"new\" if new else \"known\"", "\"N\" if new else \"K\"")]);
    let served = served.bound("words.said = { N = \"new\", K = \"known\" }");
    for report in served.judge(&["plain", "race"]) {
        assert_eq!(report.verdict, Verdict::Pass, "{report:#?}");
    }
}
