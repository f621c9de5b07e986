//! The receiver as callers meet it: over real sockets, and by callers that do what they should not.
#![cfg(unix)]

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use nack::http::message::{Answer, Request};
use nack::http::receiver::{Arrival, Conn, Play, Receiver, What};
use rstest::rstest;
use rustix::event::{Timespec, poll};

const PATIENCE: Duration = Duration::from_secs(20);
const GET: &[u8] = b"GET /x HTTP/1.1\r\nhost: x\r\n\r\n";

/// Waits as an owner does: on the descriptors, or until something is due.
fn wait(receiver: &Receiver, most: Duration) {
    let due = receiver.due().map(|due| due.saturating_duration_since(Instant::now()));
    let left = due.unwrap_or(most).min(most);
    let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
    poll(&mut receiver.fds(), Some(&left)).expect("it can be waited on");
}

/// Turns until an arrival is what `wanted` picks, and forgets the others.
fn until<T>(receiver: &mut Receiver, mut wanted: impl FnMut(Arrival) -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let mut arrivals = Vec::new();
        receiver.turn(&mut arrivals);
        let mut found = arrivals.into_iter().filter_map(&mut wanted).collect::<Vec<T>>();
        if !found.is_empty() {
            assert_eq!(found.len(), 1, "it arrived more than once");
            return found.remove(0);
        }
        wait(receiver, Duration::from_secs(1));
    }
    panic!("it did not arrive");
}

fn connected(receiver: &mut Receiver) -> Conn {
    until(receiver, |arrival| match arrival {
        Arrival::Connected(conn) => Some(conn),
        other => panic!("not a connection: {other:?}"),
    })
}

fn request(receiver: &mut Receiver) -> (Conn, Request) {
    until(receiver, |arrival| match arrival {
        Arrival::Request(conn, request) => Some((conn, request)),
        other => panic!("not a request: {other:?}"),
    })
}

fn broken(receiver: &mut Receiver) -> String {
    until(receiver, |arrival| match arrival {
        Arrival::Broken(_, why) => Some(why),
        other => panic!("not broken: {other:?}"),
    })
}

fn answered(receiver: &mut Receiver) {
    until(receiver, |arrival| match arrival {
        Arrival::Answered(_) => Some(()),
        other => panic!("not answered: {other:?}"),
    });
}

fn last_byte(receiver: &mut Receiver) -> Conn {
    until(receiver, |arrival| match arrival {
        Arrival::LastByte(conn) => Some(conn),
        other => panic!("not at its last byte: {other:?}"),
    })
}

/// What arrives within a short while.
fn lull(receiver: &mut Receiver) -> Vec<Arrival> {
    let (mut arrivals, deadline) = (Vec::new(), Instant::now() + Duration::from_millis(60));
    while Instant::now() < deadline {
        receiver.turn(&mut arrivals);
        wait(receiver, Duration::from_millis(10));
    }
    arrivals
}

fn receiver() -> Receiver {
    Receiver::listen().expect("there is a port")
}

fn caller(receiver: &Receiver) -> TcpStream {
    let stream = TcpStream::connect(receiver.url().strip_prefix("http://").expect("an http url")).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
    stream
}

/// A caller that has sent these bytes, and whose request was read.
fn asked(receiver: &mut Receiver, bytes: &[u8]) -> (TcpStream, Conn) {
    let mut caller = caller(receiver);
    caller.write_all(bytes).expect("it is taken");
    let conn = connected(receiver);
    receiver.read(conn);
    assert_eq!(request(receiver).0, conn);
    (caller, conn)
}

fn accepted() -> Answer {
    Answer { status: 202, headers: vec![("x-a".into(), b"1".to_vec())], body: br#"{"ack":"a-1"}"#.to_vec() }
}

const ACCEPTED: &[u8] = b"HTTP/1.1 202 Accepted\r\nx-a: 1\r\ncontent-length: 13\r\n\r\n{\"ack\":\"a-1\"}";

/// What a caller has got so far, and how the connection stands after it.
fn got(caller: &mut TcpStream) -> (Vec<u8>, Option<ErrorKind>) {
    caller.set_read_timeout(Some(Duration::from_millis(100))).expect("a time-out can be set");
    let (mut out, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        match caller.read(&mut chunk) {
            Ok(0) => return (out, None),
            Ok(read) => out.extend_from_slice(&chunk[..read]),
            Err(error) => return (out, Some(error.kind())),
        }
    }
}

#[test]
fn nothing_is_read_before_the_owner_says_so() {
    let mut receiver = receiver();
    let mut caller = caller(&receiver);
    caller.write_all(GET).expect("it is taken");
    let conn = connected(&mut receiver);
    assert_eq!(lull(&mut receiver), []);
    receiver.read(conn);
    let (same, request) = request(&mut receiver);
    assert_eq!((same, request.method.as_str(), request.target.as_str()), (conn, "GET", "/x"));
    assert_eq!(lull(&mut receiver), []);
    receiver.answer(conn, What::Answer(accepted()).into()).expect("it is HTTP");
    answered(&mut receiver);
    assert_eq!(got(&mut caller), (ACCEPTED.to_vec(), Some(ErrorKind::WouldBlock)));
}

#[rstest]
#[case::nothing(b"", "after 0 bytes")]
#[case::half_a_head(b"POST /x HTTP/1.1\r\nho", "middle of the head of a request, after 20 bytes")]
#[case::half_a_body(b"POST /x HTTP/1.1\r\ncontent-length: 10\r\n\r\nabc", "middle of the body of a request, after 3")]
fn half_a_request_is_never_a_request(#[case] bytes: &[u8], #[case] why: &str) {
    let mut receiver = receiver();
    let mut caller = caller(&receiver);
    caller.write_all(bytes).expect("it is taken");
    let conn = connected(&mut receiver);
    receiver.read(conn);
    assert_eq!(lull(&mut receiver), []);
    drop(caller);
    let said = broken(&mut receiver);
    assert!(said.contains(why), "{said}");
}

#[rstest]
#[case::tls(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), "no HTTP")]
#[case::text(b"hello there\r\n".to_vec(), "no HTTP")]
#[case::header_flood(format!("GET / HTTP/1.1\r\n{}", "x-y: z\r\n".repeat(100_000)).into_bytes(), "too many headers")]
#[case::endless_header(format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(1 << 20)).into_bytes(), "longer than 64 KiB")]
fn what_is_no_http_is_broken_while_the_caller_still_talks(#[case] bytes: Vec<u8>, #[case] why: &str) {
    let mut receiver = receiver();
    let mut caller = caller(&receiver);
    let talk = thread::spawn(move || drop((caller.write_all(&bytes), caller.read(&mut [0]))));
    let conn = connected(&mut receiver);
    receiver.read(conn);
    let said = broken(&mut receiver);
    assert!(said.contains(why), "{said}");
    talk.join().expect("the caller is let go");
}

#[test]
fn a_body_of_a_mebibyte_arrives_byte_for_byte() {
    let body: Vec<u8> = (0..1 << 20).map(|n: u32| (n * 31 + n / 251) as u8).collect();
    let mut receiver = receiver();
    let mut caller = caller(&receiver);
    let mut sent = format!("PUT / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    sent.extend(&body);
    let talk = thread::spawn(move || caller.write_all(&sent).map(|()| caller));
    let conn = connected(&mut receiver);
    receiver.read(conn);
    assert!(request(&mut receiver).1.body == body);
    drop(talk.join().expect("the caller wrote"));
}

#[test]
fn a_body_in_chunks_and_drops_is_one_body() {
    let mut receiver = receiver();
    let mut caller = caller(&receiver);
    let talk = thread::spawn(move || {
        for byte in b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n" {
            caller.write_all(&[*byte]).expect("it is taken");
            thread::sleep(Duration::from_micros(300));
        }
        caller
    });
    let conn = connected(&mut receiver);
    receiver.read(conn);
    assert_eq!(request(&mut receiver).1.body, b"abcde");
    drop(talk.join().expect("the caller wrote"));
}

#[test]
fn requests_that_come_together_are_met_one_by_one() {
    let mut receiver = receiver();
    let mut caller = caller(&receiver);
    caller.write_all(&[GET, GET, GET].concat()).expect("they are taken");
    let mut next = Some(connected(&mut receiver));
    for n in 1..=3 {
        let conn = next.take().expect("a further request was met");
        assert_eq!(lull(&mut receiver), []);
        receiver.read(conn);
        assert_eq!(receiver.due().is_some(), n > 1, "what came along already makes nothing ready");
        assert_eq!(request(&mut receiver).0, conn);
        receiver.answer(conn, What::Answer(accepted()).into()).expect("it is HTTP");
        let arrivals = lull(&mut receiver);
        match arrivals.as_slice() {
            [Arrival::Answered(_), Arrival::Connected(conn)] if n < 3 => next = Some(*conn),
            [Arrival::Answered(_)] if n == 3 => {}
            other => panic!("unexpected after request {n}: {other:?}"),
        }
    }
    assert_eq!(got(&mut caller), (ACCEPTED.repeat(3), Some(ErrorKind::WouldBlock)));
}

#[test]
fn a_connection_that_stays_brings_a_further_request_and_leaves_unheard() {
    let mut receiver = receiver();
    let (mut caller, conn) = asked(&mut receiver, GET);
    receiver.answer(conn, What::Answer(accepted()).into()).expect("it is HTTP");
    answered(&mut receiver);
    assert_eq!(lull(&mut receiver), []);
    caller.write_all(GET).expect("it is taken");
    assert_eq!(connected(&mut receiver), conn);
    receiver.read(conn);
    request(&mut receiver);
    receiver.answer(conn, What::Answer(accepted()).into()).expect("it is HTTP");
    answered(&mut receiver);
    drop(caller);
    assert_eq!(lull(&mut receiver), []);
    assert_eq!(receiver.fds().len(), 1, "only the port is left to wait on");
}

#[rstest]
#[case::it_says_close(b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n")]
#[case::it_is_old(b"GET / HTTP/1.0\r\n\r\n")]
fn a_connection_that_is_not_to_stay_is_closed_after_the_answer(#[case] bytes: &[u8]) {
    let mut receiver = receiver();
    let (mut caller, conn) = asked(&mut receiver, bytes);
    receiver.answer(conn, What::Answer(accepted()).into()).expect("it is HTTP");
    answered(&mut receiver);
    assert_eq!(got(&mut caller), (ACCEPTED.to_vec(), None));
}

#[test]
fn an_answer_is_not_lost_to_bytes_that_nobody_reads() {
    let mut receiver = receiver();
    let (mut caller, conn) = asked(&mut receiver, b"GET / HTTP/1.0\r\n\r\n");
    caller.write_all(GET).expect("it is taken");
    // More than the caller's side takes before it reads, less than both sides hold.
    let answer = Answer { status: 200, headers: vec![], body: vec![b'x'; 400 << 10] };
    let bytes = answer.to_bytes("GET").expect("it is HTTP");
    receiver.answer(conn, What::Answer(answer).into()).expect("it is HTTP");
    answered(&mut receiver);
    let (got, end) = got(&mut caller);
    assert!(got == bytes && end.is_none(), "{} of {} bytes, then {end:?}", got.len(), bytes.len());
}

#[test]
fn a_caller_that_has_said_all_it_will_say_is_answered() {
    let mut receiver = receiver();
    let (mut caller, conn) = asked(&mut receiver, GET);
    caller.shutdown(Shutdown::Write).expect("it can");
    assert_eq!(lull(&mut receiver), []);
    receiver.answer(conn, What::Answer(accepted()).into()).expect("it is HTTP");
    answered(&mut receiver);
    assert_eq!(got(&mut caller).0, ACCEPTED);
}

#[test]
fn a_caller_that_waits_for_word_gets_it_before_its_body() {
    let mut receiver = receiver();
    let mut caller = caller(&receiver);
    caller.write_all(b"PUT / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n").expect("it is taken");
    let conn = connected(&mut receiver);
    assert_eq!(got(&mut caller).0, b"", "nothing is said before the request may be read");
    receiver.read(conn);
    assert_eq!(lull(&mut receiver), []);
    assert_eq!(got(&mut caller).0, b"HTTP/1.1 100 Continue\r\n\r\n");
    caller.write_all(b"abc").expect("it is taken");
    assert_eq!(request(&mut receiver).1.body, b"abc");
}

#[test]
fn many_at_once_each_get_their_own_answer() {
    const MANY: usize = 200;
    let mut receiver = receiver();
    let mut callers: Vec<TcpStream> = Vec::new();
    let (mut arrivals, mut seen) = (Vec::new(), 0);
    for n in 0..MANY {
        let mut caller = caller(&receiver);
        write!(caller, "GET /{n} HTTP/1.1\r\n\r\n").expect("it is taken");
        callers.push(caller);
        receiver.turn(&mut arrivals);
    }
    let deadline = Instant::now() + PATIENCE;
    while seen < MANY && Instant::now() < deadline {
        for arrival in std::mem::take(&mut arrivals) {
            match arrival {
                Arrival::Connected(conn) => receiver.read(conn),
                Arrival::Request(conn, request) => {
                    let answer = Answer { status: 200, headers: vec![], body: request.target.into_bytes() };
                    receiver.answer(conn, What::Answer(answer).into()).expect("it is HTTP");
                }
                Arrival::Answered(_) => seen += 1,
                other => panic!("unexpected: {other:?}"),
            }
        }
        wait(&receiver, Duration::from_millis(100));
        receiver.turn(&mut arrivals);
    }
    for (n, mut caller) in callers.into_iter().enumerate() {
        let mut text = vec![0; 1000];
        let read = caller.read(&mut text).expect("it is answered");
        assert!(text[..read].ends_with(format!("\r\n\r\n/{n}").as_bytes()), "{n}");
    }
}

#[test]
fn a_caller_that_never_reads_holds_up_nobody_else() {
    let mut receiver = receiver();
    let (deaf, conn) = asked(&mut receiver, GET);
    let huge = Answer { status: 200, headers: vec![], body: vec![b'x'; 48 << 20] };
    receiver.answer(conn, What::Answer(huge).into()).expect("it is HTTP");
    assert_eq!(lull(&mut receiver), []);
    let (mut other, conn) = asked(&mut receiver, GET);
    receiver.answer(conn, What::Answer(accepted()).into()).expect("it is HTTP");
    answered(&mut receiver);
    assert_eq!(got(&mut other).0, ACCEPTED);
    drop(deaf);
    let said = broken(&mut receiver);
    assert!(said.contains("it was lost"), "{said}");
}

#[test]
fn a_reset_before_reading_is_a_reset_for_the_caller() {
    let mut receiver = receiver();
    let mut caller = caller(&receiver);
    caller.write_all(GET).expect("it is taken");
    let conn = connected(&mut receiver);
    receiver.reset(conn);
    assert_eq!(got(&mut caller), (vec![], Some(ErrorKind::ConnectionReset)));
    assert_eq!(lull(&mut receiver), []);
}

const CUT: &[u8] = b"HTTP/1.1 202 Accepted\r\nx-a: 1\r\ncontent-length: 13\r\n\r\n{\"ack\"";

#[rstest]
#[case::reset(What::ResetAfter, b"", Some(ErrorKind::ConnectionReset))]
#[case::close(What::Close, b"", None)]
#[case::cut(What::BodyCut(accepted()), CUT, None)]
fn a_cut_is_what_the_caller_sees(#[case] what: What, #[case] bytes: &[u8], #[case] end: Option<ErrorKind>) {
    let mut receiver = receiver();
    let (mut caller, conn) = asked(&mut receiver, GET);
    receiver.answer(conn, what.into()).expect("it is HTTP");
    answered(&mut receiver);
    assert_eq!(got(&mut caller), (bytes.to_vec(), end));
}

#[test]
fn a_hang_is_silence_and_costs_no_turn() {
    let mut receiver = receiver();
    let (mut caller, conn) = asked(&mut receiver, GET);
    receiver.answer(conn, What::Hang.into()).expect("it is HTTP");
    assert_eq!(lull(&mut receiver), []);
    assert_eq!(got(&mut caller), (vec![], Some(ErrorKind::WouldBlock)));
    drop(caller);
    let mut ready = receiver.fds();
    let none = poll(&mut ready, Some(&Timespec { tv_sec: 0, tv_nsec: 20_000_000 }));
    assert_eq!((none, receiver.due()), (Ok(0), None), "an owner that waits would never sleep");
}

#[test]
fn a_drip_is_a_byte_now_and_then_and_never_an_answer() {
    let mut receiver = receiver();
    let (mut caller, conn) = asked(&mut receiver, GET);
    receiver.answer(conn, What::Drip.into()).expect("it is HTTP");
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(900) {
        let mut arrivals = Vec::new();
        receiver.turn(&mut arrivals);
        assert_eq!(arrivals, []);
        wait(&receiver, Duration::from_millis(50));
    }
    let (bytes, end) = got(&mut caller);
    assert!((3..=6).contains(&bytes.len()) && b"HTTP/1.1 200".starts_with(&bytes), "{bytes:?}");
    assert_eq!(end, Some(ErrorKind::WouldBlock));
    drop(caller);
    assert!(broken(&mut receiver).contains("it was lost"));
}

#[test]
fn a_withheld_last_byte_comes_when_the_owner_says_so() {
    let mut receiver = receiver();
    let (mut caller, conn) = asked(&mut receiver, GET);
    receiver.answer(conn, Play { what: What::Answer(accepted()), withhold: true }).expect("it is HTTP");
    assert_eq!(last_byte(&mut receiver), conn);
    assert_eq!(got(&mut caller), (ACCEPTED[..ACCEPTED.len() - 1].to_vec(), Some(ErrorKind::WouldBlock)));
    assert_eq!(lull(&mut receiver), []);
    receiver.finish(conn);
    answered(&mut receiver);
    assert_eq!(got(&mut caller), (b"}".to_vec(), Some(ErrorKind::WouldBlock)));
}

#[rstest]
#[case::reset(What::ResetAfter, Some(ErrorKind::ConnectionReset))]
#[case::close(What::Close, None)]
#[case::cut(What::BodyCut(accepted()), None)]
fn a_withheld_cut_comes_when_the_owner_says_so(#[case] what: What, #[case] end: Option<ErrorKind>) {
    let mut receiver = receiver();
    let (mut caller, conn) = asked(&mut receiver, GET);
    receiver.answer(conn, Play { what, withhold: true }).expect("it is HTTP");
    last_byte(&mut receiver);
    assert_eq!(got(&mut caller).1, Some(ErrorKind::WouldBlock));
    receiver.finish(conn);
    answered(&mut receiver);
    assert_eq!(got(&mut caller).1, end);
}

#[test]
fn an_answer_that_http_cannot_carry_is_refused_and_another_may_follow() {
    let mut receiver = receiver();
    let (mut caller, conn) = asked(&mut receiver, GET);
    let split = Answer { status: 200, headers: vec![("x".into(), b"a\r\nb: c".to_vec())], body: vec![] };
    assert!(receiver.answer(conn, What::Answer(split).into()).is_err());
    receiver.answer(conn, What::Answer(accepted()).into()).expect("it is HTTP");
    answered(&mut receiver);
    assert_eq!(got(&mut caller).0, ACCEPTED);
}

#[test]
fn a_port_that_is_closed_refuses_and_opens_again() {
    let mut receiver = receiver();
    let (mut early, conn) = asked(&mut receiver, GET);
    let address = receiver.url().replace("http://", "");
    receiver.stop_listening().expect("the port is still there");
    let refused = TcpStream::connect(&address).expect_err("nobody listens");
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    receiver.listen_again().expect("it can");
    assert_eq!(receiver.url(), format!("http://{address}"));
    receiver.answer(conn, What::Answer(accepted()).into()).expect("it is HTTP");
    answered(&mut receiver);
    assert_eq!(got(&mut early).0, ACCEPTED, "who was there before is still served");
    asked(&mut receiver, GET);
}

#[test]
fn a_dropped_receiver_leaves_nobody_waiting() -> io::Result<()> {
    let mut receiver = receiver();
    let (mut caller, conn) = asked(&mut receiver, GET);
    receiver.answer(conn, What::Hang.into()).expect("it is HTTP");
    let address = receiver.url().replace("http://", "");
    drop(receiver);
    assert_eq!(caller.read(&mut [0])?, 0);
    assert_eq!(TcpStream::connect(address).expect_err("nobody listens").kind(), ErrorKind::ConnectionRefused);
    Ok(())
}
