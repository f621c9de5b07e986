//! The PostgreSQL server of the tests.

use std::env;
use std::sync::OnceLock;

use nack::store::Url;
use postgres::{Client, NoTls};

/// Where it is, unless `NACK_TEST_POSTGRES` says otherwise.
const SERVER: &str = "postgres://postgres@localhost:5432/postgres";

/// The server. `None`, and said so, if there is none; in CI there must be one.
pub fn server() -> Option<Url> {
    static FOUND: OnceLock<Option<Url>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let text = env::var("NACK_TEST_POSTGRES").unwrap_or_else(|_| SERVER.to_owned());
        let url = Url::parse(&text).expect("NACK_TEST_POSTGRES is a connection string");
        let Err(error) = Client::connect(url.reveal(), NoTls) else { return Some(url) };
        assert!(env::var_os("CI").is_none(), "{url} must be reachable in CI: {error}");
        None
    });
    if found.is_none() {
        eprintln!("skipped: no PostgreSQL is reachable; name one in NACK_TEST_POSTGRES");
    }
    found.clone()
}

pub fn connect(address: &str) -> Client {
    Client::connect(address, NoTls).expect("it is there")
}
