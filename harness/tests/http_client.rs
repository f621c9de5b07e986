//! The caller as servers meet it: over real sockets, and by servers that do what they should not.
#![cfg(unix)]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nack::http::client::{Exchange, HangUp, Progress};
use nack::http::message::{Answer, Request};
use nack::http::receiver::{Arrival, Receiver, What};
use rstest::rstest;
use rustix::event::{PollFd, Timespec, poll};

const PATIENCE: Duration = Duration::from_secs(20);
const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

fn wait(fds: &mut [PollFd<'_>], most: Duration) -> usize {
    let most = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: i64::from(most.subsec_nanos()) };
    poll(fds, Some(&most)).expect("it can be waited on")
}

fn next(exchange: &mut Exchange) -> Progress {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(progress) = exchange.turn() {
            return progress;
        }
        wait(&mut exchange.fds(), Duration::from_secs(1));
    }
    panic!("nothing became of it");
}

/// A server of one connection.
fn server<T: Send + 'static>(serve: impl FnOnce(TcpStream) -> T + Send + 'static) -> (SocketAddr, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = listener.local_addr().expect("it has an address");
    let serving = thread::spawn(move || {
        let (stream, _) = listener.accept().expect("somebody connects");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
        serve(stream)
    });
    (address, serving)
}

/// Reads until the request's body, which these tests end with a full stop, is there.
fn read_request(stream: &mut TcpStream) -> Vec<u8> {
    let mut out = Vec::new();
    while !out.ends_with(b".") {
        let mut chunk = [0; 65536];
        let read = stream.read(&mut chunk).expect("the request comes");
        assert!(read > 0, "the request ended early: {out:?}");
        out.extend_from_slice(&chunk[..read]);
    }
    out
}

/// What comes after the request: the number of bytes, or why none can be read.
fn after(stream: &mut TcpStream) -> Result<usize, ErrorKind> {
    stream.read(&mut [0; 64]).map_err(|error| error.kind())
}

fn post(body: &[u8]) -> Request {
    Request { method: "POST".into(), target: "/v1".into(), headers: vec![], body: body.to_vec() }
}

fn start(address: SocketAddr, hang_up: HangUp) -> Exchange {
    Exchange::start(address, post(b"a."), hang_up).expect("it can be sent")
}

/// How an exchange ended without an answer.
fn failed(exchange: &mut Exchange) -> Progress {
    loop {
        match next(exchange) {
            Progress::Began => {}
            ended @ (Progress::Failed(_) | Progress::Garbage(_)) => return ended,
            other => panic!("it did not fail: {other:?}"),
        }
    }
}

fn why(ended: Progress) -> String {
    let Progress::Failed(why) = ended else { panic!("it failed otherwise: {ended:?}") };
    why
}

#[test]
fn an_answer_begins_and_then_is_there_whole() {
    let (address, serving) = server(|mut stream| {
        let request = read_request(&mut stream);
        stream.write_all(OK).expect("it is taken");
        request
    });
    let mut exchange = start(address, HangUp::Never);
    assert_eq!(next(&mut exchange), Progress::Began);
    let Progress::Answer(answer) = next(&mut exchange) else { panic!("there is an answer") };
    assert_eq!((answer.status, answer.body.as_slice()), (200, b"hi".as_slice()));
    assert!(exchange.turn().is_none() && exchange.fds().is_empty(), "it is over");
    let request = String::from_utf8(serving.join().expect("it served")).expect("it is text");
    assert_eq!(request, format!("POST /v1 HTTP/1.1\r\nhost: {address}\r\ncontent-length: 2\r\n\r\na."));
}

#[test]
fn a_caller_that_hangs_up_after_its_request_has_handed_it_over_whole() {
    let body = [vec![b'x'; 1 << 20], b".".to_vec()].concat();
    let (address, serving) = server(|mut stream| (read_request(&mut stream).len(), after(&mut stream)));
    let mut exchange = Exchange::start(address, post(&body), HangUp::AfterRequest).expect("it can be sent");
    assert_eq!(next(&mut exchange), Progress::HungUp);
    let (length, end) = serving.join().expect("it served");
    assert!(length > 1 << 20);
    assert_eq!(end, Ok(0));
}

#[test]
fn a_caller_that_throws_the_answer_away_resets_after_the_whole_of_it() {
    let (address, serving) = server(|mut stream| {
        read_request(&mut stream);
        stream.write_all(&OK[..OK.len() - 1]).expect("it is taken");
        stream.set_read_timeout(Some(Duration::from_millis(100))).expect("a time-out can be set");
        let before = after(&mut stream);
        stream.write_all(&OK[OK.len() - 1..]).expect("the caller still listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
        (before, after(&mut stream))
    });
    let mut exchange = start(address, HangUp::AfterAnswer);
    assert_eq!((next(&mut exchange), next(&mut exchange)), (Progress::Began, Progress::HungUp));
    let seen = serving.join().expect("it served");
    assert_eq!(seen, (Err(ErrorKind::WouldBlock), Err(ErrorKind::ConnectionReset)));
}

#[test]
fn a_held_caller_reads_nothing_until_it_goes_on() {
    const MUCH: usize = 40 << 20;
    let answer = Answer { status: 200, headers: vec![], body: vec![b'x'; MUCH] }.to_bytes("POST").expect("it is HTTP");
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let (address, serving) = server(move |mut stream| {
        read_request(&mut stream);
        for piece in answer.chunks(65536) {
            stream.write_all(piece).expect("it is taken");
            counted.fetch_add(piece.len(), Ordering::SeqCst);
        }
    });
    let mut exchange = start(address, HangUp::Never);
    exchange.hold(true);
    assert_eq!(next(&mut exchange), Progress::Began);
    let mut stands = || {
        for _ in 0..100 {
            assert_eq!(exchange.turn(), None);
            assert_eq!(wait(&mut exchange.fds(), Duration::from_millis(2)), 0, "an owner would never sleep");
        }
        sent.load(Ordering::SeqCst)
    };
    let (first, second) = (stands(), stands());
    assert_eq!(first, second, "the server could write on although nobody read");
    exchange.hold(false);
    let Progress::Answer(answer) = next(&mut exchange) else { panic!("there is an answer") };
    assert_eq!(answer.body.len(), MUCH);
    serving.join().expect("it served");
}

#[rstest]
#[case::silence(b"", "closed without an answer")]
#[case::half_a_head(b"HTTP/1.1 200 OK\r\nx", "closed: it ended in the middle of the head of an answer")]
#[case::half_a_body(&OK[..OK.len() - 1], "closed: it ended in the middle of the body of an answer, after 1 bytes")]
fn a_server_that_gives_no_answer_is_a_failure_that_says_so(#[case] bytes: &'static [u8], #[case] why: &str) {
    let (address, serving) = server(move |mut stream| {
        read_request(&mut stream);
        stream.write_all(bytes).expect("it is taken");
    });
    let said = crate::why(failed(&mut start(address, HangUp::Never)));
    assert!(said.contains(why), "{said}");
    serving.join().expect("it served");
}

#[test]
fn garbage_is_told_apart_from_no_answer() {
    let (address, serving) = server(|mut stream| {
        read_request(&mut stream);
        stream.write_all(b"\x15\x03\x01").expect("it is taken");
    });
    let ended = failed(&mut start(address, HangUp::Never));
    assert!(matches!(&ended, Progress::Garbage(why) if why.contains("no HTTP: ")), "{ended:?}");
    serving.join().expect("it served");
}

#[test]
fn a_server_that_floods_its_head_is_a_failure_while_it_still_talks() {
    let (address, serving) = server(|mut stream| {
        read_request(&mut stream);
        let mut sent = stream.write_all(b"HTTP/1.1 200 OK\r\nx: ");
        while sent.is_ok() {
            sent = stream.write_all(&[b'y'; 65536]);
        }
    });
    let ended = failed(&mut start(address, HangUp::Never));
    assert!(matches!(&ended, Progress::Garbage(why) if why.contains("longer than 64 KiB")), "{ended:?}");
    serving.join().expect("it served");
}

#[test]
fn an_answer_to_a_request_that_was_not_taken_whole_is_an_answer() {
    let (address, serving) = server(|mut stream| {
        let mut head = [0; 100];
        let read = stream.read(&mut head).expect("the request comes");
        stream.write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n").expect("it is taken");
        read
    });
    let mut exchange = Exchange::start(address, post(&vec![b'x'; 32 << 20]), HangUp::Never).expect("it can be sent");
    assert_eq!(next(&mut exchange), Progress::Began);
    let Progress::Answer(answer) = next(&mut exchange) else { panic!("there is an answer") };
    assert_eq!((answer.status, exchange.is_sent()), (413, false));
    serving.join().expect("it served");
}

#[test]
fn a_port_that_nobody_listens_on_is_a_failure() {
    let mut receiver = Receiver::listen().expect("there is a port");
    receiver.stop_listening().expect("the port is still there");
    let address = receiver.url().replace("http://", "").parse().expect("an address");
    let said = match Exchange::start(address, post(b"."), HangUp::Never) {
        Ok(mut exchange) => why(failed(&mut exchange)),
        Err(error) => error.to_string(),
    };
    assert!(said.contains("refused"), "{said}");
}

#[test]
fn a_request_that_http_cannot_carry_is_never_begun() {
    let request = Request { target: "/a b".into(), ..post(b".") };
    let address = SocketAddr::from(([127, 0, 0, 1], 9));
    let error = Exchange::start(address, request, HangUp::Never).expect_err("it cannot be sent");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn one_loop_steps_a_receiver_and_its_callers() {
    let mut receiver = Receiver::listen().expect("there is a port");
    let address: SocketAddr = receiver.url().replace("http://", "").parse().expect("an address");
    let mut exchanges: Vec<Exchange> = (0..20).map(|_| start(address, HangUp::Never)).collect();
    let (mut answers, deadline) = (0, Instant::now() + PATIENCE);
    while answers < exchanges.len() && Instant::now() < deadline {
        let mut arrivals = Vec::new();
        receiver.turn(&mut arrivals);
        for arrival in arrivals {
            match arrival {
                Arrival::Connected(conn) => receiver.read(conn),
                Arrival::Request(conn, request) => {
                    let answer = Answer { status: 200, headers: vec![], body: request.body };
                    receiver.answer(conn, What::Answer(answer).into()).expect("it is HTTP");
                }
                Arrival::Answered(_) => {}
                other => panic!("unexpected: {other:?}"),
            }
        }
        for exchange in &mut exchanges {
            while let Some(progress) = exchange.turn() {
                match progress {
                    Progress::Began => {}
                    Progress::Answer(answer) => {
                        assert_eq!(answer.body, b"a.");
                        answers += 1;
                    }
                    other => panic!("unexpected: {other:?}"),
                }
            }
        }
        let mut fds = receiver.fds();
        fds.extend(exchanges.iter().flat_map(Exchange::fds));
        wait(&mut fds, Duration::from_millis(100));
    }
    assert_eq!(answers, exchanges.len());
}
