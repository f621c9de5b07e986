//! Ways Rust's own library waits, each with the seconds that its own clocks say have passed.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::{Condvar, Mutex, mpsc};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant, SystemTime};

fn main() {
    let (start, wall) = (Instant::now(), SystemTime::now());
    let said = |name: &str| {
        let passed = wall.elapsed().expect("it goes on").as_secs_f64().round();
        println!("{name} {} {passed}", start.elapsed().as_secs_f64().round());
    };
    sleep(Duration::from_secs(3600));
    said("sleep");
    let (_sender, receiver) = mpsc::channel::<()>();
    assert!(receiver.recv_timeout(Duration::from_secs(60)).is_err());
    said("recv_timeout");
    let (lock, condition) = (Mutex::new(()), Condvar::new());
    let held = lock.lock().expect("nobody panicked");
    let (_held, over) = condition.wait_timeout(held, Duration::from_secs(30)).expect("nobody panicked");
    assert!(over.timed_out());
    said("wait_timeout");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut stream = TcpStream::connect(listener.local_addr().expect("it has one")).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(25))).expect("it may");
    assert!(stream.read(&mut [0]).is_err());
    said("read_timeout");
    scope(|all| {
        for seconds in [40, 10, 30, 20] {
            all.spawn(move || {
                sleep(Duration::from_secs(seconds));
                said(&format!("thread {seconds}"));
            });
        }
    });
}
