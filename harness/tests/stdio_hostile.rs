//! Subjects that lie, die, hang, flood and hide: the session gives the right event, in time, and leaves nothing.

mod stdio_support;

use std::time::{Duration, Instant};

use nack::session::{Directive, Event, Session, Watch};
use nack_cases::{Action, Signal};
use rstest::rstest;
use stdio_support::{SOON, Subject, at, begin, died, event, python_is_here};

#[rstest]
#[case::dies_at_once("os._exit(3)", "it ended by itself with exit status 3")]
#[case::dies_of_a_signal("os.kill(os.getpid(), signal.SIGSEGV)", "signal 11 (SIGSEGV)")]
#[case::dies_in_the_middle_of_a_message(
    "sys.stdout.write('{\"jsonrpc\": \"2.0\", \"id\": 2, \"res'); sys.stdout.flush(); os._exit(0)",
    "in the middle of a line"
)]
#[case::answers_with_a_wrong_id("say(id=77, result='sent'); time.sleep(1000)", "with the id 77")]
#[case::answers_twice("say(id=0, result=1); say(id=2, result=1)", "a question that was not asked")]
#[case::breaks_the_protocol("say(id=2, result=1, error={}); time.sleep(1000)", "broke the protocol")]
#[case::asks_without_an_id("say(method='checkpoint', params={'name': 'here'}); time.sleep(1000)", "no \"id\"")]
#[case::misspells_a_checkpoint(
    "say(id=9, method='checkpoint', params={'name': 'heer'}); time.sleep(1000)",
    "the checkpoint `heer`, which its hello did not declare; it declared: here"
)]
#[case::misspells_a_parameter(
    "say(id=9, method='checkpoint', params={'nam': 'here'}); time.sleep(1000)",
    "the parameters of its `checkpoint` do not fit: missing field `name`"
)]
#[case::asks_on_and_on(
    "while True: say(id=9, method='effect', params={'name': 'send', 'columns': {}})",
    "it asks on and on"
)]
#[case::closes_its_output("os.close(1); time.sleep(1000)", "closed its standard output and went on running")]
#[case::writes_a_line_of_100_mb(
    "[sys.stdout.write('x' * (1 << 20)) for _ in range(100)]; time.sleep(1000)",
    "a line longer than any message"
)]
#[case::leaves_a_grandchild_that_holds_its_pipes(
    "subprocess.Popen(['sleep', '1000'], start_new_session=True); os._exit(4)",
    "exit status 4"
)]
#[case::exits_while_a_thread_floods(
    "threading.Thread(target=lambda: [print('x' * 9000) for _ in range(10**9)], daemon=True).start(); time.sleep(0.1); os._exit(5)",
    "exit status 5"
)]
fn a_subject_that_breaks_off_is_dead_within_its_deadline(#[case] body: &str, #[case] how: &str) {
    if !python_is_here() {
        return;
    }
    let subject = Subject::hostile(body);
    let mut session = subject.session();
    begin(&mut session, at("here"));
    let began = Instant::now();
    let text = loop {
        match event(&mut session) {
            // Its first question is a proper one.
            Event::Effect { .. } => {}
            other => break died(other),
        }
    };
    assert!(text.contains(how), "{text}");
    assert!(text.contains("during `go`"), "{text}");
    assert!(began.elapsed() < Duration::from_secs(5), "it took {:?}", began.elapsed());
    assert_eq!(session.alive(), Vec::<String>::new());
    subject.is_gone();
}

#[rstest]
#[case::hangs("time.sleep(1000)", "")]
#[case::prints_garbage("print('sent!', flush=True); time.sleep(1000)", "sent! [it is no JSON object]")]
#[case::prints_invalid_utf8(
    r#"sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":2,"result":"\xff"}\n'); sys.stdout.flush(); time.sleep(1000)"#,
    "[it is not UTF-8]"
)]
#[case::nests_without_end(
    "print('{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":' + '[' * 10**6, flush=True); time.sleep(1000)",
    "nests deeper"
)]
#[case::drips(
    "for letter in 'accepted': sys.stdout.write(letter); sys.stdout.flush(); time.sleep(0.03)\ntime.sleep(1000)",
    "accepted [it has no end]"
)]
#[case::floods_both_pipes(
    "threading.Thread(target=lambda: [print('err', file=sys.stderr) for _ in iter(int, 1)], daemon=True).start()\nwhile True: print('out')",
    "out [it is no JSON object]"
)]
fn a_subject_that_gives_no_answer_is_waited_for_no_longer_than_asked(#[case] body: &str, #[case] stray: &str) {
    if !python_is_here() {
        return;
    }
    let subject = Subject::hostile(body);
    let mut session = subject.session();
    begin(&mut session, at("here"));
    let began = Instant::now();
    assert_eq!(session.next(Duration::from_millis(600)), None);
    assert!(began.elapsed() < Duration::from_millis(1500), "it took {:?}", began.elapsed());
    let said = session.said("main").stray;
    assert!(said.len() <= 33, "{} lines are kept", said.len());
    match stray {
        "" => assert_eq!(said, Vec::<String>::new()),
        stray => assert!(said.iter().any(|line| line.contains(stray)), "{said:?}"),
    }
    assert!(session.kill("main").proven);
    subject.is_gone();
}

#[rstest]
#[case::says_nothing("import time\ntime.sleep(1000)", "it did not answer hello within")]
#[case::is_broken("import sys\nsys.exit('no module named worker')", "no module named worker")]
#[case::misspells_a_key(
    "input(); print('{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"name\":\"x\",\"protocol\":1,\"checkpoint\":[]}}', flush=True)\nimport time\ntime.sleep(1000)",
    "unknown field `checkpoint`, expected one of"
)]
#[case::speaks_another_protocol(
    "input(); print('{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"name\":\"x\",\"protocol\":9}}', flush=True)\nimport time\ntime.sleep(1000)",
    "it speaks protocol 9, and this nack speaks 1"
)]
fn a_subject_without_a_proper_hello_does_not_start(#[case] program: &str, #[case] why: &str) {
    if !python_is_here() {
        return;
    }
    let subject = Subject::python(program);
    let mut session = subject.session_with(Default::default(), Duration::from_millis(800));
    let error = session.call("main", "go", &Default::default(), Watch::default()).expect_err("it does not start");
    assert!(error.0.contains(why), "{error}");
    subject.is_gone();
}

#[test]
fn a_program_that_does_not_exist_does_not_start() {
    let subject = Subject::command(&["no-such-program", "--flag"]);
    let error = subject.session().call("main", "go", &Default::default(), Watch::default()).expect_err("no program");
    assert!(error.0.starts_with("`no-such-program --flag` could not be started in /"), "{error}");
}

#[test]
fn a_stray_line_before_the_right_answer_is_noted_and_forgiven() {
    if !python_is_here() {
        return;
    }
    let subject = Subject::hostile("print('working'); say(id=call['id'], result='sent'); hear()");
    let mut session = subject.session();
    begin(&mut session, Watch::default());
    assert_eq!(event(&mut session), Event::Reply("sent".into()));
    assert_eq!(session.said("main").stray, ["working [it is no JSON object]"]);
}

#[test]
fn an_unknown_method_is_refused_and_the_call_goes_on() {
    if !python_is_here() {
        return;
    }
    let subject = Subject::hostile("say(id='q', method='sleep'); say(id=call['id'], result=hear()); hear()");
    let mut session = subject.session();
    begin(&mut session, Watch::default());
    let Event::Reply(refusal) = event(&mut session) else { panic!("it replies with what it was told") };
    assert!(refusal.to_json().contains(r#""id":"q","error":{"code":-32601"#), "{refusal}");
}

#[test]
fn a_subject_that_ignores_sigterm_has_its_effect_time_out_and_is_killed_all_the_same() {
    if !python_is_here() {
        return;
    }
    let body = "
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
say(id=1, method='effect', params={'name': 'send', 'columns': {}})
say(id=call['id'], result=hear()['error']['data']['kind'])
time.sleep(1000)";
    let subject = Subject::hostile(body);
    let mut session = subject.session();
    begin(&mut session, Watch::default());
    assert!(matches!(event(&mut session), Event::Effect { .. }));
    session.resume("main", Directive::Answer(Action::Signal(Signal::Term).into()));
    assert_eq!(event(&mut session), Event::Reply("timeout".into()));
    assert!(session.kill("main").proven);
    subject.is_gone();
}

#[test]
fn a_kill_counts_only_if_the_worker_lived_and_then_was_silent() {
    if !python_is_here() {
        return;
    }
    let checkpoint = "say(id=9, method='checkpoint', params={'name': 'here'})";
    for (rest, proven) in
        [("hear()", true), ("say(id=call['id'], result='sent'); hear()", false), ("os._exit(0)", false)]
    {
        let subject = Subject::hostile(&format!("{checkpoint}; {rest}"));
        let mut session = subject.session();
        begin(&mut session, at("here"));
        assert!(matches!(event(&mut session), Event::Point(_)));
        // Time for the rest to happen; the first waits for an answer that never comes.
        std::thread::sleep(Duration::from_millis(100));
        let killed = session.kill("main");
        assert_eq!(killed.proven, proven, "{rest}: {}", killed.how);
        subject.is_gone();
    }
}

#[test]
fn a_kill_reaches_children_that_left_the_group_and_names_them() {
    if !python_is_here() {
        return;
    }
    // The pipe ends when the first sleep has begun, since nothing is handed on to it.
    let body = "
ended, begun = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: os.execvp('sleep', ['sleep', '1000'])
    os._exit(0)
os.close(begun)
os.read(ended, 1)
subprocess.Popen(['sleep', '999'], start_new_session=True)
subprocess.Popen(['sleep', '998'])
say(id=9, method='checkpoint', params={'name': 'here'})
hear()";
    let subject = Subject::hostile(body);
    let mut session = subject.session();
    begin(&mut session, at("here"));
    event(&mut session);
    let began = Instant::now();
    let killed = session.kill("main");
    assert!(began.elapsed() < Duration::from_secs(2), "it took {:?}", began.elapsed());
    for outside in ["sleep 1000", "sleep 999"] {
        assert!(killed.how.contains(outside), "{}", killed.how);
    }
    assert!(!killed.how.contains("sleep 998"), "that one was in the group: {}", killed.how);
    subject.is_gone();
}

#[test]
fn a_session_that_is_dropped_ends_every_worker_wherever_it_is() {
    if !python_is_here() {
        return;
    }
    let subject = Subject::hostile("subprocess.Popen(['sleep', '1000']); time.sleep(1000)");
    let mut session = subject.session();
    for worker in ["a", "b", "c"] {
        session.call(worker, "go", &Default::default(), Watch::default()).expect("it starts");
    }
    assert!(session.stop("b"));
    assert_eq!(session.next(Duration::from_millis(200)), None);
    drop(session);
    subject.is_gone();
}

#[test]
fn a_subject_that_never_reads_does_not_block_the_harness() {
    if !python_is_here() {
        return;
    }
    let subject = Subject::python(
        "import sys, time\nsys.stdin.readline()\nprint('{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"name\":\"x\",\"protocol\":1}}', flush=True)\ntime.sleep(1000)",
    );
    let mut session = subject.session();
    let args = [("payload".to_owned(), "y".repeat(4 << 20).into())].into();
    let began = Instant::now();
    session.call("main", "go", &args, Watch::default()).expect("it starts");
    assert_eq!(session.next(Duration::from_millis(200)), None);
    assert!(began.elapsed() < SOON);
}
