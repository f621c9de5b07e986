//! An SQLite file, opened to read only: one transaction is one snapshot, and a query that takes too long is interrupted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{Engine, Origin, QueryError, Row, SHOWN};
use crate::AuditError;

pub(super) struct Sqlite {
    connection: Connection,
    /// When the query that runs must have ended, in milliseconds since it was opened.
    until: Arc<AtomicU64>,
    opened: Instant,
    within: Duration,
}

impl Sqlite {
    pub(super) fn open(path: &Path, within: Duration) -> Result<Sqlite, AuditError> {
        let wrong = |error: rusqlite::Error| AuditError::Usage(format!("{}: {error}", path.display()));
        if !path.is_file() {
            return Err(AuditError::Usage(format!("{}: there is no such file", path.display())));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(wrong)?;
        connection.busy_timeout(Duration::from_secs(2)).map_err(wrong)?;
        let (until, opened) = (Arc::new(AtomicU64::new(u64::MAX)), Instant::now());
        let limit = Arc::clone(&until);
        connection.progress_handler(10_000, Some(move || millis(opened.elapsed()) > limit.load(Ordering::Relaxed)));
        // The first query begins the snapshot.
        connection
            .execute_batch("PRAGMA query_only = ON; BEGIN; SELECT COUNT(*) FROM sqlite_schema;")
            .map_err(wrong)?;
        Ok(Sqlite { connection, until, opened, within })
    }

    fn timed<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, QueryError> {
        self.until.store(millis(self.opened.elapsed() + self.within), Ordering::Relaxed);
        let done = work(&self.connection);
        self.until.store(u64::MAX, Ordering::Relaxed);
        done.map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => QueryError::Slow,
            _ => QueryError::Refused(error.to_string()),
        })
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Engine for Sqlite {
    fn columns(&mut self, sql: &str) -> Result<Vec<(String, Option<Origin>)>, QueryError> {
        self.timed(|connection| {
            let statement = connection.prepare(sql)?;
            let columns = statement.columns_with_metadata();
            let origin = |column: &rusqlite::ColumnMetadata<'_>| {
                Some((column.table_name()?.to_owned(), column.origin_name()?.to_owned()))
            };
            Ok(columns.iter().map(|column| (column.name().to_owned(), origin(column))).collect())
        })
    }

    fn rows(&mut self, sql: &str) -> Result<(u64, Vec<Row>), QueryError> {
        self.timed(|connection| {
            let mut statement = connection.prepare(sql)?;
            let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
            let mut rows = statement.query([])?;
            let (mut count, mut first) = (0, Vec::new());
            while let Some(row) = rows.next()? {
                count += 1;
                if count <= SHOWN {
                    let cell = |(at, name): (usize, &String)| Ok((name.clone(), text(row.get_ref(at)?)));
                    first.push(names.iter().enumerate().map(cell).collect::<rusqlite::Result<Row>>()?);
                }
            }
            Ok((count, first))
        })
    }

    fn has_unique_index(&mut self, table: &str, columns: &[&str]) -> Result<bool, QueryError> {
        let mut wanted: Vec<Option<String>> = columns.iter().map(|column| Some((*column).to_owned())).collect();
        wanted.sort();
        self.timed(|connection| {
            let list = |sql: &str, of: &str| -> rusqlite::Result<Vec<Option<String>>> {
                let mut found: Vec<Option<String>> =
                    connection.prepare(sql)?.query_map([of], |row| row.get(0))?.collect::<Result<_, _>>()?;
                found.sort();
                Ok(found)
            };
            if list("SELECT name FROM pragma_table_info(?1) WHERE pk > 0", table)? == wanted {
                return Ok(true);
            }
            let full = "SELECT name FROM pragma_index_list(?1) WHERE \"unique\" AND NOT partial";
            for index in list(full, table)?.into_iter().flatten() {
                if list("SELECT name FROM pragma_index_info(?1)", &index)? == wanted {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    fn roll(&self) -> &'static str {
        "(ABS(RANDOM() % 1000000) / 10000.0)"
    }
}

fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(int) => Some(int.to_string()),
        ValueRef::Real(real) => Some(real.to_string()),
        ValueRef::Text(text) | ValueRef::Blob(text) => Some(String::from_utf8_lossy(text).into_owned()),
    }
}
