//! The Python SDK, as a program that uses it meets it: what a call is given, what the outside does to it, where it
//! can be stopped, and that its own prints harm nobody.

mod stdio_support;

use std::sync::Arc;
use std::time::Duration;

use nack::clock::{Clock, EPOCH};
use nack::session::{Directive, Event, Point, Session, Watch};
use nack::stdio::StdioSession;
use nack_cases::{Action, RaiseKind, Signal, StorageFault};
use nack_contracts::{Map, Value};
use rstest::rstest;
use stdio_support::{Subject, at, begin, event, everywhere, python_is_here};

/// A subject whose one call is `body`, a function of the arguments `args`.
fn subject(body: &str) -> Subject {
    Subject::with_sdk(&format!(
        "
import os, sqlite3
def go(**args):
{body}
nack_sdk.serve(lambda run: globals().update(run=run) or {{'go': go}}, name='test', checkpoints=['here'], sqlite=True)
"
    ))
}

fn reply(session: &mut StdioSession) -> Value {
    match event(session) {
        Event::Reply(value) => value,
        other => panic!("it was to reply, and did this: {other:?} {:?}", session.said("main")),
    }
}

#[test]
fn values_cross_the_pipe_in_both_directions_as_they_are() {
    if !python_is_here() {
        return;
    }
    let json = r#"{"int":30,"float":30.0,"text":"30","none":null,"yes":true,"list":[1,"é😀"],"bytes":{"$bytes":"/wA="},"surrogate":"\ud800","object":{"b":1,"a":{"$bytes":""}}}"#;
    let Ok(Value::Map(args)) = Value::from_json(json) else { panic!("it is an object") };
    let subject = subject("    return [args, [type(value).__name__ for value in args.values()]]");
    let mut session = subject.session();
    session.call("main", "go", &args, Watch::default()).expect("it starts");
    let types = r#"["int","float","str","NoneType","bool","list","bytes","str","dict"]"#;
    assert_eq!(reply(&mut session), Value::List(vec![Value::Map(args), Value::from_json(types).expect("JSON")]));
}

#[rstest]
#[case(RaiseKind::Timeout, "TimeoutError", "timeout")]
#[case(RaiseKind::Connection, "ConnectionError", "connection")]
#[case(RaiseKind::Error, "Exception", "Exception")]
#[case(RaiseKind::Interrupt, "KeyboardInterrupt", "interrupt")]
#[case(RaiseKind::Cancelled, "CancelledError", "CancelledError")]
#[case(RaiseKind::SystemExit, "SystemExit", "system-exit")]
fn what_the_outside_raises_is_raised_in_the_program(
    #[case] kind: RaiseKind,
    #[case] class: &str,
    #[case] name: &str,
    #[values(&b""[..], b"a\0b", b"\xed\xa0\x80", b"\xff", &[b'x'; 1_000_000])] text: &[u8],
) {
    if !python_is_here() {
        return;
    }
    let subject = subject(
        "    try:
        nack_sdk.effect('send', id='m-1')
    except BaseException as error:
        nack_sdk.effect('seen', kind=type(error).__name__)
        raise",
    );
    let mut session = subject.session();
    begin(&mut session, Watch::default());
    let columns = |key: &str, value: &str| Map::from([(key.to_owned(), value.into())]);
    assert_eq!(event(&mut session), Event::Effect { name: "send".into(), columns: columns("id", "m-1") });
    session.resume("main", Directive::Answer(Action::Raise { kind, text: text.to_vec() }.into()));
    assert_eq!(event(&mut session), Event::Effect { name: "seen".into(), columns: columns("kind", class) });
    session.resume("main", Directive::Answer(Action::Return(Value::Null).into()));
    // Bytes that are no text at all come back as Python keeps them: a surrogate for each.
    let text = if text == b"\xff" { b"\xed\xb3\xbf".to_vec() } else { text.to_vec() };
    assert_eq!(event(&mut session), Event::Error { name: name.into(), definite: false, text });
    assert_eq!(session.alive(), ["main"], "an error ends the call and not the worker");
}

#[test]
fn an_error_injected_at_a_checkpoint_passes_every_handler_for_errors() {
    if !python_is_here() {
        return;
    }
    let subject = subject(
        "    try:
        nack_sdk.checkpoint('here')
    except Exception:
        return 'caught'",
    );
    let mut session = subject.session();
    begin(&mut session, at("here"));
    assert_eq!(event(&mut session), Event::Point(Point::Checkpoint("here".into())));
    session.resume("main", Directive::Raise);
    assert!(matches!(event(&mut session), Event::Error { name, definite: false, .. } if name == "raised"));
    begin(&mut session, Watch::default());
    assert_eq!(reply(&mut session), Value::Null);
}

#[rstest]
#[case::refused("raise nack_sdk.Refused('conflict', 'no')", "conflict", true)]
#[case::failed("raise nack_sdk.Failed('store')", "store", false)]
#[case::any_other("raise KeyError('x')", "KeyError", false)]
#[case::no_json("return object()", "TypeError", false)]
#[case::no_number("return float('nan')", "ValueError", false)]
fn an_error_is_definite_only_if_the_program_says_so(#[case] body: &str, #[case] error: &str, #[case] sure: bool) {
    if !python_is_here() {
        return;
    }
    let subject = subject(&format!("    {body}"));
    let mut session = subject.session();
    begin(&mut session, Watch::default());
    match event(&mut session) {
        Event::Error { name, definite, .. } => assert_eq!((name.as_str(), definite), (error, sure)),
        other => panic!("it was to fail: {other:?}"),
    }
}

#[test]
fn the_program_s_prints_and_those_of_what_it_starts_go_to_standard_error() {
    if !python_is_here() {
        return;
    }
    let subject = subject("    print('one'); os.system('echo two; cat'); return 'sent'");
    let mut session = subject.session();
    begin(&mut session, Watch::default());
    assert_eq!(reply(&mut session), "sent".into());
    assert_eq!(session.said("main").stray, Vec::<String>::new());
    let stderr = session.said("main").stderr;
    assert!(stderr.contains(&"two".to_owned()), "{stderr:?}");
}

#[test]
fn a_forked_child_takes_no_part_in_the_run() {
    if !python_is_here() {
        return;
    }
    let subject =
        subject("    if os.fork() == 0: nack_sdk.checkpoint('here'); os._exit(0)\n    os.wait(); return 'sent'");
    let mut session = subject.session();
    begin(&mut session, at("here"));
    assert_eq!(reply(&mut session), "sent".into());
}

#[test]
fn the_clock_is_the_case_s_and_each_worker_s_own() {
    if !python_is_here() {
        return;
    }
    let clock = Arc::new(Clock::default());
    let subject = subject("    nack_sdk.checkpoint('here'); return nack_sdk.now()");
    let mut session = subject.session_with(Arc::clone(&clock), stdio_support::SOON);
    begin(&mut session, at("here"));
    event(&mut session);
    clock.advance(61, None);
    clock.advance(5, Some("main"));
    clock.advance(1000, Some("another"));
    session.resume("main", Directive::Continue);
    assert_eq!(reply(&mut session), Value::Int(EPOCH + 66));
}

const STATEMENTS: &str = "    c = sqlite3.connect(run.store)
    c.execute('CREATE TABLE t(a)')
    with c:
        c.execute('INSERT INTO t VALUES (1)')
    c.cursor().executemany('UPDATE t SET a = ?', [(2,)])
    c.commit()
    c.commit()
    c.execute('DELETE FROM t')
    c.rollback()
    nack_sdk.effect('send')
    c.isolation_level = None
    c.execute('BEGIN IMMEDIATE')
    c.execute('COMMIT')
    return c.execute('SELECT a FROM t').fetchall()";

#[test]
fn each_statement_and_both_sides_of_an_effect_are_points() {
    if !python_is_here() {
        return;
    }
    let subject = subject(STATEMENTS);
    let mut session = subject.session();
    begin(&mut session, everywhere());
    let mut points = Vec::new();
    let reply = loop {
        match event(&mut session) {
            Event::Point(Point::Statement(sql)) => points.push(sql),
            Event::Point(Point::BeforeEffect(_)) => points.push("<".into()),
            Event::Point(Point::AfterEffect(_)) => points.push(">".into()),
            Event::Effect { .. } => {
                session.resume("main", Directive::Answer(Action::Return("taken".into()).into()));
                continue;
            }
            other => break other,
        }
        session.resume("main", Directive::Continue);
    };
    assert_eq!(reply, Event::Reply(Value::List(vec![Value::List(vec![Value::Int(2)])])));
    let expected = [
        "CREATE TABLE t(a)",
        "INSERT INTO t VALUES (1)",
        "COMMIT",
        "UPDATE t SET a = ?",
        "COMMIT",
        "DELETE FROM t",
        "ROLLBACK",
        "<",
        ">",
        "BEGIN IMMEDIATE",
        "COMMIT",
        "SELECT a FROM t",
    ];
    assert_eq!(points, expected);
}

#[rstest]
#[case(StorageFault::Busy, "OperationalError: database is locked")]
#[case(StorageFault::Full, "OperationalError: database or disk is full")]
#[case(StorageFault::Io, "OperationalError: disk I/O error")]
fn a_failing_store_fails_every_write_until_the_call_ends(#[case] fault: StorageFault, #[case] text: &str) {
    if !python_is_here() {
        return;
    }
    let subject = subject(
        "    c = sqlite3.connect(run.store)
    c.execute('CREATE TABLE IF NOT EXISTS t(a)')
    nack_sdk.checkpoint('here')
    c.execute('SELECT a FROM t')
    errors = []
    for sql in ('INSERT INTO t VALUES (1)', 'WITH x AS (SELECT 1) DELETE FROM t', 'BEGIN IMMEDIATE'):
        try:
            c.execute(sql)
        except sqlite3.Error as error:
            errors.append(f'{type(error).__name__}: {error}')
    return errors",
    );
    let mut session = subject.session();
    begin(&mut session, at("here"));
    event(&mut session);
    session.resume("main", Directive::Storage(fault));
    assert_eq!(reply(&mut session), Value::List(vec![text.into(); 3]));
    begin(&mut session, Watch::default());
    assert_ne!(reply(&mut session), Value::List(vec![text.into(); 3]), "the next call has a sound store");
}

#[test]
fn sigint_during_an_effect_is_a_keyboard_interrupt_and_sigterm_ends_the_program() {
    if !python_is_here() {
        return;
    }
    let subject = subject("    return nack_sdk.effect('send')");
    let mut session = subject.session();
    for signal in [Signal::Int, Signal::Term] {
        begin(&mut session, Watch::default());
        assert!(matches!(event(&mut session), Event::Effect { .. }));
        session.resume("main", Directive::Answer(Action::Signal(signal).into()));
        match (signal, event(&mut session)) {
            (Signal::Int, Event::Error { name, definite: false, .. }) => assert_eq!(name, "interrupt"),
            (Signal::Term, Event::Died(how)) => assert!(how.contains("signal 15 (SIGTERM)"), "{how}"),
            (_, other) => panic!("{signal:?} led to {other:?}"),
        }
    }
    subject.is_gone();
}

#[test]
fn a_program_that_cleans_up_after_an_interrupt_can_still_pass_points() {
    if !python_is_here() {
        return;
    }
    let subject = subject(
        "    try:
        nack_sdk.effect('send')
    except KeyboardInterrupt:
        nack_sdk.checkpoint('here')
        return nack_sdk.effect('send')",
    );
    let mut session = subject.session();
    begin(&mut session, at("here"));
    event(&mut session);
    session.resume("main", Directive::Answer(Action::Signal(Signal::Int).into()));
    assert_eq!(event(&mut session), Event::Point(Point::Checkpoint("here".into())));
    session.resume("main", Directive::Continue);
    assert!(matches!(event(&mut session), Event::Effect { .. }));
    // Longer than the interrupted effect would have stayed open.
    assert_eq!(session.next(Duration::from_millis(700)), None);
    session.resume("main", Directive::Answer(Action::Return("taken".into()).into()));
    assert_eq!(reply(&mut session), "taken".into());
}

#[test]
fn a_stopped_worker_goes_on_when_it_is_continued() {
    if !python_is_here() {
        return;
    }
    let subject = subject("    nack_sdk.checkpoint('here'); return 'sent'");
    let mut session = subject.session();
    begin(&mut session, at("here"));
    event(&mut session);
    assert!(session.stop("main"));
    session.resume("main", Directive::Continue);
    assert_eq!(session.next(Duration::from_millis(300)), None);
    assert!(session.cont("main"));
    assert_eq!(reply(&mut session), "sent".into());
}

#[test]
fn a_worker_ends_by_itself_when_its_input_ends() {
    if !python_is_here() {
        return;
    }
    let subject =
        Subject::with_sdk("nack_sdk.serve(lambda run: {'go': lambda: 1}, name='test')\nopen('farewell', 'w').close()");
    let mut session = subject.session();
    begin(&mut session, Watch::default());
    reply(&mut session);
    assert_eq!(session.finish(), Vec::<String>::new());
    assert!(subject.folder.path().join("farewell").exists());
    subject.is_gone();
}

#[test]
fn outside_a_run_a_checkpoint_does_nothing_and_the_clock_is_the_system_s() {
    let Some(python) = stdio_support::python() else { return };
    let subject = Subject::with_sdk(
        "
import time
nack_sdk.checkpoint('anything')
assert abs(nack_sdk.now() - time.time()) < 5
began = time.perf_counter()
for _ in range(1_000_000): nack_sdk.checkpoint('x')
print((time.perf_counter() - began) * 1000)
try:
    nack_sdk.effect('send')
except RuntimeError:
    pass
else:
    raise SystemExit('an effect needs a run')
",
    );
    let output = std::process::Command::new(python).arg("subject.py").current_dir(subject.folder.path()).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let nanoseconds: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("it prints a number");
    assert!(nanoseconds < 1000.0, "a checkpoint costs {nanoseconds} ns");
}
