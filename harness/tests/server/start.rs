//! A server is ready when its binding says so, on a port of its own, or it is said why not.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use nack::{LoadError, scratch};
use nack_reports::Verdict;
use rstest::rstest;

use crate::common::{Served, python_is_here};

#[rstest]
#[case::by_its_port("ready = \"tcp\"")]
#[case::by_a_line("ready = \"stdout:up on\"")]
#[case::by_a_page("ready = \"GET /up\"")]
#[case::by_a_line_with_its_own_port(
    "command = [\"PYTHON\", \"-S\", \"server.py\", \"{store}\", \"0\"]\nready = \"stdout:up on\""
)]
#[case::below_a_shell(
    "command = [\"sh\", \"-c\", \"PYTHON -S server.py $1 $2; true\", \"sh\", \"{store}\", \"{port}\"]"
)]
fn a_server_is_ready(#[case] keys: &str) {
    if !python_is_here() {
        return;
    }
    let report = Served::with(&[]).bound(keys).judge_one("plain");
    assert_eq!(report.verdict, Verdict::Pass, "{report:#?}");
}

#[rstest]
#[case::also_on_every_address(&[("\"127.0.0.1\", port", "\"\", port")])]
#[case::also_on_ipv6(&[
    ("# start", "ThreadingHTTPServer.address_family = socket.AF_INET6"),
    ("\"127.0.0.1\", port", "\"::1\", port"),
])]
#[case::also_when_it_writes_at_its_start(&[("# start", "sqlite3.connect(store).execute('VACUUM')")])]
fn a_server_is_found_where_it_listens(#[case] changes: &[(&str, &str)]) {
    if !python_is_here() {
        return;
    }
    for report in Served::with(changes).judge(&["plain", "killed-early"]) {
        assert_eq!(report.verdict, Verdict::Pass, "{report:#?}");
    }
}

#[rstest]
#[case::no_program("# start", "pass", "command = [\"no-such-program\", \"{port}\"]", "could not be started")]
#[case::ends(
    "# start",
    "print('no config'); os._exit(7)",
    "",
    "exit status 7 before it was ready\nit said last:\n  no config"
)]
#[case::ends_of_an_error("# start", "raise SystemError('oh no')", "", "SystemError: oh no")]
#[case::never_listens("# start", "time.sleep(1000)", "", "nobody listens on port")]
#[case::another_port("\"127.0.0.1\", port)", "\"127.0.0.1\", 0)", "", "nobody listens on port")]
#[case::says_nothing(
    "print(\"up on\"",
    "(lambda *_, **__: None)(\"up on\"",
    "ready = \"stdout:up on\"",
    "it has not printed `up on`\n"
)]
#[case::says_no_port(
    "server.server_port, ",
    "",
    "command = [\"PYTHON\", \"server.py\", \"{store}\", \"0\"]\nready = \"stdout:up on\"",
    "names no port"
)]
#[case::never_well("# start", "pass", "ready = \"GET /down\"", "GET /down is answered 503")]
#[case::never_answers("if self.path == \"/up\"", "if time.sleep(1000)", "ready = \"GET /up\"", "has no answer")]
fn a_server_that_is_never_ready_is_told_of_once(
    #[case] from: &str,
    #[case] to: &str,
    #[case] keys: &str,
    #[case] says: &str,
) {
    if !python_is_here() {
        return;
    }
    let served = Served::with(&[(from, to)]).bound(keys).within(Duration::from_secs(2));
    let scratch = scratch().expect("a folder");
    let began = Instant::now();
    let Err(LoadError::Start { error, .. }) = served.load(scratch.path()) else { panic!("it is ready") };
    assert!(format!("{}\n", error.0).contains(says), "{error}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    served.is_gone();
}

#[cfg(target_os = "linux")]
#[test]
fn a_port_of_another_process_is_no_server_of_ours() {
    if !python_is_here() {
        return;
    }
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = other.local_addr().expect("it has one").port();
    let keys = "command = [\"PYTHON\", \"server.py\", \"{store}\", \"0\"]\nready = \"stdout:up on\"";
    let served = Served::with(&[("server.server_port", &port.to_string())]).bound(keys);
    let scratch = scratch().expect("a folder");
    let Err(LoadError::Start { error, .. }) = served.load(scratch.path()) else { panic!("it is ready") };
    assert!(error.0.contains(&format!("port {port} belongs to another process")), "{error}");
    served.is_gone();
}
