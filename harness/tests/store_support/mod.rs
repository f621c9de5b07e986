//! The stores that tests run on: SQLite is always there; PostgreSQL is where a server is.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

mod server;

use std::sync::Arc;

use indexmap::IndexMap;
use nack::store::{Mapping, Place, Setup, StoreError, Stores, Tables, Url};
use nack_contracts::{Contract, Map, Value, shipped};
use tempfile::TempDir;

pub use server::{connect, server};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Postgres,
}

impl Kind {
    /// Where a store of this kind is. `None`, and said so, if it is nowhere; in CI it must be somewhere.
    pub fn place(self) -> Option<Place> {
        match self {
            Kind::Sqlite => Some(Place::Sqlite("app.db".to_owned())),
            Kind::Postgres => server().map(Place::Postgres),
        }
    }

    /// What this kind says, of what each would say.
    pub fn of<T>(self, sqlite: T, postgres: T) -> T {
        match self {
            Kind::Sqlite => sqlite,
            Kind::Postgres => postgres,
        }
    }

    /// Runs SQL on a store of this kind.
    pub fn run(self, address: &str, sql: &str) {
        match self {
            Kind::Sqlite => rusqlite::Connection::open(address).expect("it is there").execute_batch(sql).expect(sql),
            Kind::Postgres => connect(address).batch_execute(sql).expect(sql),
        }
    }

    /// The text that a query gives.
    pub fn text(self, address: &str, sql: &str) -> String {
        match self {
            Kind::Sqlite => {
                let connection = rusqlite::Connection::open(address).expect("it is there");
                connection.query_row(sql, [], |row| row.get(0)).expect(sql)
            }
            Kind::Postgres => connect(address).query_one(sql, &[]).expect(sql).get(0),
        }
    }
}

/// How many of these databases are on the server.
pub fn databases(url: &Url, names: &[String]) -> i64 {
    let there = "SELECT count(*) FROM pg_database WHERE datname = ANY ($1)";
    connect(url.reveal()).query_one(there, &[&names]).expect("it can be asked").get(0)
}

/// The database's name in a connection string.
pub fn name_of(address: &str) -> String {
    address.rsplit('/').next().expect("it has one").to_owned()
}

pub fn contract(name: &str) -> Arc<Contract> {
    let mut contracts = shipped().into_iter().map(|source| Contract::read(source, &IndexMap::new()).expect("it reads"));
    Arc::new(contracts.find(|contract| contract.name == name).expect("it is shipped"))
}

/// The stores of the outbox contract, in tables that this SQL makes. Drop them before the folder.
pub fn prepare(place: Place, schema: &str, mapping: Mapping) -> (Result<Box<dyn Stores>, StoreError>, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("schema.sql");
    std::fs::write(&file, schema).expect("it can be written");
    let tables = Tables { place, setup: Setup::File(file), mapping };
    let capabilities = ["lease", "created"].map(str::to_owned);
    let stores = tables.prepare(&contract("outbox"), &capabilities, folder.path(), "test");
    (stores, folder)
}

pub fn row(id: &str, state: &str, created: i64) -> Map {
    let value = |value: &str| Value::from(value);
    Map::from([
        ("id".to_owned(), value(id)),
        ("state".to_owned(), value(state)),
        ("attempts".to_owned(), Value::Int(1)),
        ("payload".to_owned(), value("hello")),
        ("created".to_owned(), Value::Int(created)),
        ("leased_until".to_owned(), Value::Null),
    ])
}

pub fn given() -> IndexMap<String, Vec<Map>> {
    IndexMap::from([("outbox".to_owned(), vec![row("m-1", "pending", 0), row("m-2", "sent", 5)])])
}
