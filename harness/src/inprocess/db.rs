//! The connection that in-process subjects use: SQLite, with a point before every statement, a store that can fail
//! on demand, and a lock that is waited for by telling the runner instead of by sleeping.

use std::cell::RefCell;
use std::rc::Rc;

use nack_cases::StorageFault;
use rusqlite::{Connection, Params, Row, ffi, hooks::Action as Change};

use super::context::{Line, gone};
use crate::session::{Directive, Event, Point};
use crate::store::HISTORY_PREFIX;
use crate::subject::Failure;

thread_local! {
    /// SQLite's busy handler is a bare function, so it finds the worker's line here.
    static LINE: RefCell<Option<Rc<Line>>> = const { RefCell::new(None) };
}

/// One connection of a worker to its store.
#[derive(Debug)]
pub struct Db {
    connection: Connection,
    line: Rc<Line>,
}

impl Db {
    pub(super) fn open(line: &Rc<Line>) -> Result<Db, Failure> {
        let path = line.shared.store.lock().map_err(|_| gone())?.clone();
        let connection = Connection::open(path)?;
        LINE.with(|slot| slot.replace(Some(Rc::clone(line))));
        connection.busy_handler(Some(wait_for_lock))?;
        watch_transactions(&connection, line);
        Ok(Db { connection, line: Rc::clone(line) })
    }

    /// Runs one statement and says how many rows it changed.
    ///
    /// # Errors
    /// What SQLite says, and what the runner injects.
    pub fn execute(&self, sql: &str, params: impl Params) -> Result<usize, Failure> {
        self.before(sql)?;
        let mut statement = self.connection.prepare_cached(sql)?;
        self.refuse_write(sql, statement.readonly())?;
        if statement.column_count() > 0 {
            let mut rows = statement.query(params)?;
            while rows.next()?.is_some() {}
            return Ok(0);
        }
        Ok(statement.execute(params)?)
    }

    /// Runs one query and returns its rows.
    ///
    /// # Errors
    /// What SQLite or `read` says, and what the runner injects.
    pub fn query<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Failure> {
        self.before(sql)?;
        let mut statement = self.connection.prepare_cached(sql)?;
        self.refuse_write(sql, statement.readonly())?;
        let rows = statement.query_map(params, read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Runs one query and returns its first row, if there is one.
    ///
    /// # Errors
    /// As [`Db::query`].
    pub fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, Failure> {
        Ok(self.query(sql, params, read)?.into_iter().next())
    }

    /// Whether a transaction is open.
    #[must_use]
    pub fn in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    fn before(&self, sql: &str) -> Result<(), Failure> {
        self.line.pass_any(|| Point::Statement(sql.split_whitespace().collect::<Vec<_>>().join(" ")))
    }

    /// A failing store refuses every write before it happens; ending a transaction is one.
    fn refuse_write(&self, sql: &str, readonly: bool) -> Result<(), Failure> {
        let Some(fault) = self.line.storage.get() else { return Ok(()) };
        let word = sql.split_whitespace().next().unwrap_or("").to_ascii_uppercase();
        let writes = !readonly || matches!(word.as_str(), "COMMIT" | "END");
        let code = match fault {
            StorageFault::Busy => ffi::SQLITE_BUSY,
            StorageFault::Full => ffi::SQLITE_FULL,
            StorageFault::Io => ffi::SQLITE_IOERR,
        };
        if writes { Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into()) } else { Ok(()) }
    }
}

/// Retries as often as the runner lets the worker try.
fn wait_for_lock(_tries: i32) -> bool {
    LINE.with(|slot| match slot.borrow().as_ref() {
        Some(line) => matches!(line.ask(Event::Blocked), Some(Directive::Continue)),
        None => false,
    })
}

/// Notes which history rows each transaction wrote, so that changes nobody could see apart are one.
fn watch_transactions(connection: &Connection, line: &Rc<Line>) {
    let pending = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let written = std::sync::Arc::clone(&pending);
    connection.update_hook(Some(move |change, _database: &str, table: &str, row| {
        if change == Change::SQLITE_INSERT
            && table.starts_with(HISTORY_PREFIX)
            && let Ok(mut written) = written.lock()
        {
            written.push((table.to_owned(), row));
        }
    }));
    let committed = std::sync::Arc::clone(&pending);
    let shared = std::sync::Arc::clone(&line.shared);
    connection.commit_hook(Some(move || {
        if let (Ok(mut rows), Ok(mut transactions)) = (committed.lock(), shared.transactions.lock())
            && !rows.is_empty()
        {
            transactions.push(std::mem::take(&mut *rows));
        }
        false
    }));
    connection.rollback_hook(Some(move || {
        if let Ok(mut rows) = pending.lock() {
            rows.clear();
        }
    }));
}
