//! A PostgreSQL server, in one read-only transaction of repeatable reads: one snapshot, no lock that a writer would wait
//! for, a limit for each statement, and no right needed but SELECT.

use std::time::Duration;

use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};

use super::{Engine, Origin, QueryError, Row, SHOWN};
use crate::AuditError;

pub(super) struct Postgres {
    client: Client,
}

impl Postgres {
    pub(super) fn open(url: &str, within: Duration) -> Result<Postgres, AuditError> {
        // The error of a connection string says what it could not read, and that may be a password.
        let mut config: Config = url
            .parse()
            .map_err(|_| AuditError::Usage("--db: this is no connection string of PostgreSQL".to_owned()))?;
        config.connect_timeout(Duration::from_secs(10)).application_name("nack audit");
        let wrong = |error: postgres::Error| AuditError::Unreachable(said(&error));
        let mut client = config.connect(NoTls).map_err(wrong)?;
        // A statement that fails is undone to its savepoint, so that the snapshot outlives it.
        let begin = format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = {}; SET LOCAL lock_timeout = 2000; SAVEPOINT nack",
            within.as_millis()
        );
        client.batch_execute(&begin).map_err(wrong)?;
        Ok(Postgres { client })
    }

    fn within<T>(&mut self, work: impl FnOnce(&mut Client) -> Result<T, postgres::Error>) -> Result<T, QueryError> {
        work(&mut self.client).map_err(|error| {
            let refused = QueryError::Refused(said(&error));
            let slow = matches!(error.code(), Some(&SqlState::QUERY_CANCELED | &SqlState::LOCK_NOT_AVAILABLE));
            // Where this fails, too, the next query says so.
            let _ = self.client.batch_execute("ROLLBACK TO SAVEPOINT nack");
            if slow { QueryError::Slow } else { refused }
        })
    }
}

impl Engine for Postgres {
    fn columns(&mut self, sql: &str) -> Result<Vec<(String, Option<Origin>)>, QueryError> {
        self.within(|client| {
            let statement = client.prepare(sql)?;
            let mut out = Vec::new();
            for column in statement.columns() {
                let name = "SELECT attrelid::regclass::text, attname::text FROM pg_attribute WHERE attrelid = $1 AND attnum = $2";
                let origin = match column.table_oid().zip(column.column_id()) {
                    Some((table, number)) => client.query_opt(name, &[&table, &number])?.map(|row| (row.get(0), row.get(1))),
                    None => None,
                };
                out.push((column.name().to_owned(), origin));
            }
            Ok(out)
        })
    }

    fn rows(&mut self, sql: &str) -> Result<(u64, Vec<Row>), QueryError> {
        // Counted there, so that no more than the first rows cross the border; as JSON, which keeps the columns' order.
        let counted = format!(
            "WITH found AS MATERIALIZED ({sql}\n) SELECT (SELECT COUNT(*) FROM found), (SELECT json_agg(row_to_json(f))::text FROM (SELECT * FROM found LIMIT {SHOWN}) AS f)"
        );
        self.within(|client| {
            let row = client.query_one(&counted, &[])?;
            let (count, rows): (i64, Option<String>) = (row.get(0), row.get(1));
            Ok((u64::try_from(count).unwrap_or(0), rows.map_or(Vec::new(), |rows| of_json(&rows))))
        })
    }

    fn has_unique_index(&mut self, table: &str, columns: &[&str]) -> Result<bool, QueryError> {
        let there = "SELECT EXISTS (SELECT FROM pg_index
            WHERE indrelid = $1::text::regclass AND indisunique AND indisvalid AND indpred IS NULL AND indexprs IS NULL
              AND ARRAY(SELECT unnest($2::text[]) ORDER BY 1) =
                  ARRAY(SELECT attname::text FROM unnest(indkey) WITH ORDINALITY AS key (number, place)
                        JOIN pg_attribute ON attrelid = indrelid AND attnum = number
                        WHERE place <= indnkeyatts ORDER BY 1))";
        let columns: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
        self.within(|client| Ok(client.query_one(there, &[&table, &columns])?.get(0)))
    }

    fn roll(&self) -> &'static str {
        "(RANDOM() * 100)"
    }
}

fn of_json(rows: &str) -> Vec<Row> {
    let read: Vec<indexmap::IndexMap<String, serde_json::Value>> = serde_json::from_str(rows).unwrap_or_default();
    let text = |value: serde_json::Value| match value {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    read.into_iter().map(|row| row.into_iter().map(|(column, value)| (column, text(value))).collect()).collect()
}

/// What the server says, without the rest.
fn said(error: &postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned())
}
