//! Where the SQL of four engines differs: quotes, the name of text, and times.

use std::fmt;
use std::str::FromStr;

use nack_contracts::suggest;

use crate::AuditError;
use crate::time::Unit;

/// An engine's SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite from 3.28.
    Sqlite,
    /// PostgreSQL from 11.
    Postgres,
    /// DuckDB.
    Duckdb,
    /// Spark SQL.
    Spark,
}

impl Dialect {
    /// All of them, by name.
    pub const ALL: [(&str, Dialect); 4] = [
        ("sqlite", Dialect::Sqlite),
        ("postgres", Dialect::Postgres),
        ("duckdb", Dialect::Duckdb),
        ("spark", Dialect::Spark),
    ];

    /// An identifier.
    pub(super) fn name(self, name: &str) -> String {
        match self {
            Dialect::Spark => format!("`{}`", name.replace('`', "``")),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// A text.
    pub(super) fn text(self, text: &str) -> String {
        match self {
            // Spark reads a backslash as the beginning of an escape.
            Dialect::Spark => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
            _ => format!("'{}'", text.replace('\'', "''")),
        }
    }

    /// The type of text.
    pub(super) fn text_type(self) -> &'static str {
        match self {
            Dialect::Spark => "STRING",
            _ => "TEXT",
        }
    }

    /// A time as a number that grows with it; in seconds, where the engine must read it first.
    pub(super) fn seconds(self, time: &str, unit: Unit) -> String {
        match (unit, self) {
            (Unit::Iso, Dialect::Sqlite) => format!("((julianday({time}) - 2440587.5) * 86400.0)"),
            (Unit::Iso, Dialect::Postgres) => format!("EXTRACT(EPOCH FROM CAST({time} AS TIMESTAMPTZ))"),
            (Unit::Iso, Dialect::Duckdb) => format!("EPOCH(CAST({time} AS TIMESTAMPTZ))"),
            (Unit::Iso, Dialect::Spark) => format!("CAST(CAST({time} AS TIMESTAMP) AS DOUBLE)"),
            _ => time.to_owned(),
        }
    }

    /// The whole seconds between two times, of which the first is not the later one.
    pub(super) fn between(self, from: &str, to: &str, unit: Unit) -> String {
        let grown = format!("({} - {})", self.seconds(to, unit), self.seconds(from, unit));
        let divided = match unit {
            Unit::Seconds => return grown,
            // A double is a little less than the milliseconds that it stands for.
            Unit::Iso => format!("{grown} + 0.0005"),
            Unit::Millis => format!("{grown} / 1000.0"),
            Unit::Micros => format!("{grown} / 1000000.0"),
            Unit::Nanos => format!("{grown} / 1000000000.0"),
        };
        match self {
            Dialect::Sqlite => format!("CAST({divided} AS INTEGER)"),
            _ => format!("FLOOR({divided})"),
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dialect::Sqlite => "SQLite",
            Dialect::Postgres => "PostgreSQL",
            Dialect::Duckdb => "DuckDB",
            Dialect::Spark => "Spark SQL",
        })
    }
}

impl FromStr for Dialect {
    type Err = AuditError;

    fn from_str(name: &str) -> Result<Dialect, AuditError> {
        Dialect::ALL.iter().find(|(known, _)| *known == name).map(|(_, dialect)| *dialect).ok_or_else(|| {
            let known = suggest(name, Dialect::ALL.iter().map(|(known, _)| *known));
            AuditError::Usage(format!("there is no SQL of `{name}`; {known}"))
        })
    }
}
