//! The databases that a run makes on a server, and drops. Each bears the name of the session that watches over it: once
//! that session is gone, by whatever death, the database is a leftover, and the next run drops it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nack_contracts::relations::quote;
use postgres::{Client, Config, NoTls};

use super::said;
use crate::store::{StoreError, Url};

/// How long a server may take to let somebody in, unless the connection string says.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// A session, told apart from a later one of the same number.
const SESSION: &str = "pid || '_' || floor(extract(epoch FROM backend_start) * 1000)::bigint";

/// A server that databases are made on.
#[derive(Debug)]
pub(super) struct Server {
    url: Url,
    session: String,
    made: AtomicU64,
    /// Sessions that wait for something to do. The first of all is never among them.
    idle: Mutex<Vec<Connected>>,
    _watches: Mutex<Connected>,
}

struct Connected(Client);

impl std::fmt::Debug for Connected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connected")
    }
}

impl Server {
    /// Reaches the server, and drops what dead runs left there.
    pub(super) fn reach(url: &Url) -> Result<Arc<Server>, StoreError> {
        let mut client = connect(url)?;
        sweep(&mut client)?;
        let own = format!("SELECT {SESSION} FROM pg_stat_activity WHERE pid = pg_backend_pid()");
        let session = client.query_one(&own, &[])?.get(0);
        let (idle, made) = (Mutex::default(), AtomicU64::new(0));
        Ok(Arc::new(Server { url: url.clone(), session, made, idle, _watches: Mutex::new(Connected(client)) }))
    }

    /// A database of its own: empty, or a copy of `template`, to which nobody may be connected.
    pub(super) fn create(self: &Arc<Server>, template: Option<&Database>) -> Result<Database, StoreError> {
        let name = format!("nack_{}_{}", self.session, self.made.fetch_add(1, Ordering::Relaxed));
        let like = template.map_or_else(String::new, |template| format!(" TEMPLATE {}", quote(&template.name)));
        self.run(&format!("CREATE DATABASE {}{like}", quote(&name)))?;
        Ok(Database { url: self.url.with_database(&name), server: Arc::clone(self), name })
    }

    fn run(&self, sql: &str) -> Result<(), StoreError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let known = idle().pop().map(|Connected(client)| client).filter(|client| !client.is_closed());
        let mut client = known.map_or_else(|| connect(&self.url), Ok)?;
        client.batch_execute(sql)?;
        idle().push(Connected(client));
        Ok(())
    }
}

/// A database, which is dropped with this, whoever is still connected to it.
#[derive(Debug)]
pub(super) struct Database {
    server: Arc<Server>,
    name: String,
    url: Url,
}

impl Database {
    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// A fresh connection, which waits for nobody for long.
    pub(super) fn open(&self) -> Result<Client, StoreError> {
        let mut client = connect(&self.url)?;
        client.batch_execute("SET lock_timeout = '10s'; SET statement_timeout = '60s'")?;
        Ok(client)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // What cannot be dropped now is a leftover for the next run.
        let _ = self.server.run(&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", quote(&self.name)));
    }
}

fn connect(url: &Url) -> Result<Client, StoreError> {
    let unreachable =
        |error: postgres::Error| StoreError::Unreachable(format!("{url} cannot be reached: {}", said(&error)));
    let mut config: Config = url.reveal().parse().map_err(unreachable)?;
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_WITHIN);
    }
    config.connect(NoTls).map_err(unreachable)
}

/// Drops the databases of runs that ended without a word, and says how many there were.
pub(in crate::store) fn drop_leftovers(url: &Url) -> Result<usize, StoreError> {
    sweep(&mut connect(url)?)
}

fn sweep(client: &mut Client) -> Result<usize, StoreError> {
    // A session of somebody else may not say when it began, and is taken to live.
    let left = format!(
        "SELECT d.datname::text FROM pg_database d WHERE d.datname ~ '^nack_\\d+_\\d+_\\d+$' AND NOT EXISTS
           (SELECT FROM pg_stat_activity WHERE starts_with(d.datname, 'nack_' || pid || '_')
              AND coalesce(starts_with(d.datname, 'nack_' || {SESSION} || '_'), true))"
    );
    let mut dropped = 0;
    for row in client.query(&left, &[])? {
        let name: String = row.get(0);
        // Somebody else may be dropping it, too, or it is not ours to drop.
        dropped += usize::from(client.batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", quote(&name))).is_ok());
    }
    Ok(dropped)
}
