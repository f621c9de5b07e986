//! What is owed from outside is waited for: a limit is not over while an answer may still come, and is over at once when
//! none can.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};

use super::clock::Timed;
use super::sqlite::{has_python, python};

type Test = fn() -> Result<(), Failed>;

pub(crate) fn trials(supported: bool) -> Vec<Trial> {
    let trials: [(&str, Test); 4] = [
        ("a_slow_answer_comes_in_time_and_an_idle_connection_holds_no_sleep_up", slow),
        ("no_answer_takes_as_long_as_it_would_anywhere", silent),
        ("a_socket_of_another_kind_is_waited_for", unix),
        ("an_answer_in_two_parts_is_waited_for", parts),
    ];
    let trials = trials.into_iter().map(|(name, test)| Trial::test(name, test));
    trials.map(|trial| trial.with_ignored_flag(!supported || !has_python())).collect()
}

/// Connects, asks once, and waits for at most a minute; then says what it heard and how long it took.
const ASKS: &str = r#"
import socket, sys, time
where, limit = sys.argv[1], float(sys.argv[2])
if where.startswith("/"):
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(where)
else:
    peer = socket.create_connection(("127.0.0.1", int(where)))
peer.settimeout(limit)
start = time.monotonic()
peer.sendall(b"?")
heard = b""
try:
    while len(heard) < int(sys.argv[3]):
        heard += peer.recv(10)
except TimeoutError:
    heard = b"nothing"
print(heard.decode(), round(time.monotonic() - start))
time.sleep(3600)
print(round(time.monotonic() - start))
"#;

/// How it says how long it waits, and how it would by a timer.
const LIMITS: &str = "peer.settimeout(limit)";
const BY_A_TIMER: &str = "
import signal
def late(*_): raise TimeoutError
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, limit)";

/// Lets a program ask somebody who answers after a while, each part on its own.
fn answered(limit: &str, parts: &[&'static str]) -> Result<String, Failed> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port().to_string();
    let length = parts.concat().len();
    let parts = parts.to_vec();
    let peer = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody connects");
        let mut asked = [0];
        stream.read_exact(&mut asked).expect("it asks");
        for part in parts {
            thread::sleep(Duration::from_millis(300));
            stream.write_all(part.as_bytes()).expect("it listens");
        }
        // Until it is over.
        let _ = stream.read(&mut asked);
    });
    let said = asks(&port, limit, length.max(1));
    peer.join().map_err(|_| "the peer failed")?;
    said
}

fn asks(at: &str, limit: &str, length: usize) -> Result<String, Failed> {
    let python = python().ok_or("python3 is gone")?;
    let words = [python.as_str(), "-c", ASKS, at, limit, &length.to_string()];
    Timed::new().run(words.iter().map(Into::into).collect())
}

fn equal(said: &str, expected: &str) -> Result<(), Failed> {
    if said == expected { Ok(()) } else { Err(format!("it said\n{said}instead of\n{expected}").into()) }
}

fn slow() -> Result<(), Failed> {
    equal(&answered("60", &["answer"])?, "answer 0\n3600\n")
}

fn silent() -> Result<(), Failed> {
    for limits in [LIMITS, BY_A_TIMER] {
        let started = Instant::now();
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let said = asks_and_closes(&listener.local_addr()?.port().to_string(), "1", "1", limits)?;
        equal(&said, "nothing 1\n3601\n")?;
        if started.elapsed() < Duration::from_secs(1) {
            return Err("it was not waited for".into());
        }
    }
    Ok(())
}

/// The same, but it gives the connection up before it sleeps.
fn asks_and_closes(at: &str, limit: &str, length: &str, limits: &str) -> Result<String, Failed> {
    let python = python().ok_or("python3 is gone")?;
    let closes = ASKS.replace("time.sleep", "peer.close()\ntime.sleep").replace(LIMITS, limits);
    let words = [python.as_str(), "-c", &closes, at, limit, length];
    Timed::new().run(words.iter().map(Into::into).collect())
}

fn unix() -> Result<(), Failed> {
    let folder = nack::scratch()?;
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path)?;
    let peer = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody connects");
        stream.read_exact(&mut [0]).expect("it asks");
        thread::sleep(Duration::from_millis(300));
        stream.write_all(b"answer").expect("it listens");
    });
    let said = asks_and_closes(path.to_str().ok_or("not text")?, "60", "6", LIMITS);
    peer.join().map_err(|_| "the peer failed")?;
    equal(&said?, "answer 0\n3600\n")
}

fn parts() -> Result<(), Failed> {
    equal(&answered("60", &["an", "swer"])?, "answer 0\n3600\n")
}
