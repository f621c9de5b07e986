//! Programs that know nothing of nack, started for each call: what they do to the outside, what the outside does to
//! them, and what their end means.

mod command_support;

use command_support::{Program, is, python_is_here, says, story};
use nack_reports::{BecauseKind, Verdict};
use rstest::rstest;

const WORK: &str = "work()\n";

#[test]
fn a_program_that_keeps_to_the_contract_passes_every_case_that_it_can_be_given() {
    if !python_is_here() {
        return;
    }
    let report = Program::new(&[], WORK).report("");
    for case in &report.cases {
        let expected = match case.name.as_str() {
            // It refuses nothing, and does not try again.
            "post/refused" | "post/again" => Verdict::Fail,
            "post/kill-start" | "post/raise" | "post/half-there" => Verdict::NotCovered,
            _ => Verdict::Pass,
        };
        is(case, expected);
    }
    let names: Vec<&str> = report.cases.iter().map(|case| case.name.as_str()).collect();
    assert!(names.contains(&"post/answer/later/does=busy-2"), "{names:?}");
    assert_eq!(report.closing.iter().filter(|line| line.contains("poster:")).count(), 0, "{:?}", report.closing);
}

#[rstest]
#[case::words("answer/taken", "work()", Verdict::Pass, "")]
#[case::the_last_line_counts("answer/taken", "work(); print('RETRY'); print(' OK ', end='')", Verdict::Pass, "")]
#[case::blank_lines_do_not("answer/taken", "work(); print(); print('  ')", Verdict::Pass, "")]
#[case::a_word_outside_the_map("answer/taken", "work(); print('Ok')", Verdict::Fail, "Ok (not in the word map)")]
#[case::no_word("answer/taken", "post(); record('OK')", Verdict::Fail, "it printed no word")]
#[case::another_word("answer/taken", "work(); print('RETRY')", Verdict::Fail, "replied")]
#[case::a_code_that_means_an_error("refused", "sys.exit(3)", Verdict::Pass, "")]
#[case::a_code_says_more_than_a_word("refused", "print('OK'); sys.exit(3)", Verdict::Pass, "")]
#[case::an_unknown_code("refused", "sys.exit(4)", Verdict::Fail, "error exit-4")]
#[case::an_unknown_code_after_a_word("answer/taken", "work(); sys.exit(1)", Verdict::Fail, "error exit-1: OK")]
#[case::a_signal_that_nobody_sent("answer/taken", "os.abort()", Verdict::Fail, "SIGABRT")]
#[case::a_traceback("answer/taken", "raise ValueError('oh no')", Verdict::Fail, "oh no")]
fn what_an_end_means(#[case] name: &str, #[case] lines: &str, #[case] verdict: Verdict, #[case] text: &str) {
    if python_is_here() {
        let case = Program::new(&[], lines).case(name);
        is(&case, verdict);
        says(&case, text);
    }
}

#[test]
fn a_reply_that_nothing_tells_is_not_judged_and_the_report_says_so() {
    if !python_is_here() {
        return;
    }
    let unmapped = [(", stdout = { OK = \"done\", RETRY = \"later\" }, exit = { 3 = { _error = \"refused\" } }", "")];
    let report = Program::bound(&[], "work(); print('whatever')", &unmapped).report("answer/taken");
    is(&report.cases[0], Verdict::Pass);
    assert!(!story(&report.cases[0]).contains("\"reply\""), "{}", story(&report.cases[0]));
    let said = report.closing.iter().any(|line| line.contains("what `work` replies is not observed"));
    assert!(said, "{:?}", report.closing);
    // What is stored and posted is judged as ever, and so is a bad end.
    is(&Program::bound(&[], "post()", &unmapped).case("answer/taken"), Verdict::Fail);
    is(&Program::bound(&[], "work(); sys.exit(1)", &unmapped).case("answer/taken"), Verdict::Fail);
}

#[rstest]
#[case::hang("answer/later/does=hang")]
#[case::drip("answer/later/does=drip")]
fn whoever_waits_for_ever_for_an_answer_that_never_comes_fails(#[case] name: &str) {
    if python_is_here() {
        let case = Program::new(&[("PATIENCE = 2", "PATIENCE = None")], WORK).case(name);
        is(&case, Verdict::Fail);
        says(&case, "into an answer that never comes");
    }
}

#[test]
fn whoever_is_silent_for_no_such_reason_is_inconclusive() {
    if python_is_here() {
        let case = Program::new(&[], "post(); record('OK'); time.sleep(1000)").case("answer/taken");
        is(&case, Verdict::Inconclusive);
    }
}

#[rstest]
#[case::posts_nothing("record('OK'); print('OK')", "answer/taken")]
#[case::posts_twice("post(); work()", "answer/taken")]
#[case::follows_a_redirect("url += '/elsewhere' if post() == 302 else ''; work()", "answer/later/does=redirect")]
#[case::posts_before_it_is_asked_to_refuse("post(); sys.exit(3)", "refused")]
#[case::changes_the_body("body = body.strip(b'y'); work()", "body/big")]
fn a_delivery_too_many_or_too_few_is_seen(#[case] lines: &str, #[case] name: &str) {
    if python_is_here() {
        is(&Program::new(&[], lines).case(name), Verdict::Fail);
    }
}

#[test]
fn a_letter_that_nobody_waits_for_an_answer_to_is_counted() {
    let lines = "to = urlsplit(url)\ns = socket.create_connection((to.hostname, to.port))\n\
                 s.sendall(b'POST / HTTP/1.1\\r\\nx-id: l-1\\r\\ncontent-length: 5\\r\\n\\r\\nhello')\n\
                 record('OK'); print('OK', flush=True); os._exit(0)";
    if python_is_here() {
        is(&Program::new(&[], lines).case("answer/taken"), Verdict::Pass);
    }
}

#[test]
fn half_a_request_is_no_delivery_and_keeps_nobody_waiting() {
    let lines = "to = urlsplit(url)\ns = socket.create_connection((to.hostname, to.port))\n\
                 s.sendall(b'POST / HTTP/1.1\\r\\ncontent-length: 500\\r\\n\\r\\nhello'); work()";
    if python_is_here() {
        is(&Program::new(&[], lines).case("answer/taken"), Verdict::Pass);
    }
}

#[test]
fn a_program_that_tries_again_after_it_was_turned_away_gets_the_next_answer() {
    if python_is_here() {
        is(&Program::new(&[], "post(); work()").case("again"), Verdict::Pass);
    }
}

#[rstest]
#[case::forks("subprocess.Popen(['sleep', '1000'], start_new_session=True); work()", "it left processes behind")]
#[case::forks_twice(
    "if os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0: time.sleep(1000)\n  os._exit(0)\nwork()",
    ""
)]
#[case::floods("[print('x' * 1000) for _ in range(20000)]; work()", "")]
#[case::floods_both("[print('x' * 1000, file=sys.stderr) or print('y' * 1000) for _ in range(5000)]; work()", "")]
#[case::ignores_signals("signal.signal(signal.SIGTERM, signal.SIG_IGN); work()", "")]
#[case::reads_its_input("sys.stdin.read(); work()", "")]
fn whatever_a_program_does_besides_its_work_it_is_judged_by_its_work(#[case] lines: &str, #[case] text: &str) {
    if python_is_here() {
        let case = Program::new(&[], lines).case("answer/taken");
        is(&case, Verdict::Pass);
        says(&case, text);
    }
}

#[test]
fn a_kill_that_nothing_reached_proves_nothing() {
    if python_is_here() {
        let case = Program::new(&[], "print('RETRY')").case("kill-before");
        is(&case, Verdict::Inconclusive);
        assert_eq!(case.because.map(|because| because.kind), Some(BecauseKind::NotFired));
    }
}

#[test]
fn an_outside_that_no_call_reached_is_hinted_at() {
    if !python_is_here() {
        return;
    }
    let hint = "is downstream.post bound?";
    let hinted = |program: Program| program.report("answer/taken").closing.iter().any(|line| line.contains(hint));
    assert!(hinted(Program::new(&[], "record('OK'); print('OK')")));
    assert!(!hinted(Program::new(&[], "post(); print('RETRY')")));
    assert!(!hinted(Program::new(&[], WORK)));
}

#[test]
fn a_clock_that_cannot_be_moved_leaves_what_needs_it_uncovered() {
    if !python_is_here() {
        return;
    }
    let untold = [(", \"{now}\"]", ", \"0\"]")];
    let report = Program::bound(&[], WORK, &untold).report("later");
    is(&report.cases[0], Verdict::NotCovered);
    // This test is not the tracer's program.
    assert!(report.closing.iter().any(|line| line.contains("no step could move the clock")), "{:?}", report.closing);
    is(&Program::bound(&[], WORK, &untold).case("waits"), Verdict::Pass);
    let with_backoff = [untold[0], ("wait     = 8", "wait = 8\ncapabilities = [\"backoff\"]")];
    let case = Program::bound(&[], WORK, &with_backoff).case("waits");
    is(&case, Verdict::NotCovered);
    assert_eq!(case.because.map(|because| because.kind), Some(BecauseKind::Clock));
    is(&Program::new(&[], "assert now == 1_800_000_060; work()").case("later"), Verdict::Pass);
}

#[test]
fn an_argument_that_no_command_line_carries_is_not_covered_and_says_why() {
    if !python_is_here() {
        return;
    }
    let inline = [("\"{file.body}\"", "\"{arg.body}\"")];
    let report =
        Program::bound(&[("open(sys.argv[3], 'rb').read()", "os.fsencode(sys.argv[3])")], WORK, &inline).report("body");
    let verdict = |label: &str| report.cases.iter().find(|case| case.name.ends_with(label)).expect("it is there");
    for (label, why) in [("nul", "holds a NUL"), ("bytes", "holds a NUL"), ("big", "1048576 bytes long")] {
        is(verdict(label), Verdict::NotCovered);
        says(verdict(label), why);
    }
    ["plain", "empty", "html"].into_iter().for_each(|label| is(verdict(label), Verdict::Pass));
}

#[test]
fn a_program_gets_the_variables_that_its_binding_allows_and_sets() {
    if !python_is_here() {
        return;
    }
    let lines = "assert os.environ['TONE'] == 'calm' and 'HOME' not in os.environ; work()";
    let program = |extra: &str| Program::bound(&[], lines, &[("wait     = 8", &format!("wait = 8\n{extra}"))]);
    is(&program("env = { TONE = \"calm\" }\nenv_allow = [\"PATH\"]").case("answer/taken"), Verdict::Pass);
    is(&program("env = { TONE = \"calm\" }").case("answer/taken"), Verdict::Fail);
}

#[rstest]
#[case::column("body = \"body\"", "bdoy = \"body\"", "downstream.post", "no column `bdoy`")]
#[case::no_column(", body = \"body\" }", " }", "downstream.post", "where the column `body`")]
#[case::part("\"header:X-Id\"", "\"heder:X-Id\"", "downstream.post", "no part of a request")]
#[case::status("status = 503", "status = 5030", "downstream.post", "")]
#[case::word("taken =", "tkaen =", "downstream.post", "`tkaen` is no answer of `post`")]
#[case::no_word("taken = { status = 200 }, ", "", "downstream.post", "what the answer `taken`")]
#[case::unread("{ status = 503 }", "{ net = \"refused\" }", "downstream.post", "reads nothing")]
#[case::effect("downstream.post = ", "downstream.pots = ", "downstream.pots", "no effect `pots`")]
#[case::placeholder("{downstream.post}", "{downstream.pots}", "call.work", "there is no downstream.pots")]
#[case::argument("{file.body}", "{file.bdoy}", "call.work", "has no argument `bdoy`")]
#[case::reply("OK = \"done\"", "OK = \"doen\"", "call.work", "\"doen\", which is no word of `said`")]
#[case::error("\"refused\"", "\"refusd\"", "call.work", "the error `refusd`")]
#[case::call("call.work", "call.wrok", "call.wrok", "post has no call `wrok`")]
fn a_mistake_in_the_binding_is_told_with_its_key(
    #[case] from: &str,
    #[case] to: &str,
    #[case] key: &str,
    #[case] text: &str,
) {
    let program = Program::bound(&[], WORK, &[(from, to)]);
    let scratch = nack::scratch().expect("a scratch folder");
    let Err(finding) = program.target(scratch.path()) else { panic!("it was to be refused") };
    assert_eq!(finding.at, format!("subject.poster.{key}"));
    assert!(finding.message.contains(text), "{}", finding.message);
    assert!(finding.help.is_some() && finding.span().start > 0, "{finding:?}");
}
