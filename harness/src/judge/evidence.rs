//! The rules in SQL: the observed relations in an in-memory SQLite, where a row that comes back is the evidence.

use std::time::{Duration, Instant};

use nack_contracts::model::{Contract, Invariant};
use nack_contracts::relations::{quote, relations, schema};
use nack_contracts::{Map, Value};
use rusqlite::{Connection, params_from_iter, types::Value as Sql};

use super::Observed;
use crate::store::to_sql;

/// How long one query may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// After so many of SQLite's own steps the deadline is looked at.
const STEP: i32 = 100_000;

/// A judging database, kept for many cases of one contract.
pub(crate) struct Evidence<'c> {
    contract: &'c Contract,
    connection: Connection,
}

impl<'c> Evidence<'c> {
    /// A database with the contract's relations, all empty.
    pub(crate) fn new(contract: &'c Contract) -> rusqlite::Result<Evidence<'c>> {
        let connection = Connection::open_in_memory()?;
        connection.set_prepared_statement_cache_capacity(128);
        connection.execute_batch(&schema(contract))?;
        Ok(Evidence { contract, connection })
    }

    /// Replaces what the relations hold by what was observed.
    pub(crate) fn load(&self, observed: &Observed) -> rusqlite::Result<()> {
        let transaction = self.connection.unchecked_transaction()?;
        for relation in relations(self.contract) {
            transaction.prepare_cached(&format!("DELETE FROM {}", quote(&relation.name)))?.execute([])?;
            let rows = observed.relation(&relation.name);
            if rows.is_empty() {
                continue;
            }
            let marks: Vec<String> = (1..=relation.columns.len()).map(|i| format!("?{i}")).collect();
            let sql = format!("INSERT INTO {} VALUES ({})", quote(&relation.name), marks.join(", "));
            let mut insert = transaction.prepare_cached(&sql)?;
            for row in rows {
                insert.execute(params_from_iter(
                    relation.columns.iter().map(|column| cell(&relation.name, column, &row)),
                ))?;
            }
        }
        transaction.commit()
    }

    /// The first rows that break a rule, as the query's own columns; empty if it holds.
    /// A query that never ends is interrupted, and is an error.
    pub(crate) fn violations(&self, invariant: &Invariant) -> rusqlite::Result<Vec<Map>> {
        const SHOWN: usize = 5;
        let deadline = Instant::now() + PATIENCE;
        self.connection.progress_handler(STEP, Some(move || Instant::now() > deadline));
        let mut statement = self.connection.prepare_cached(&invariant.sql)?;
        let names: Vec<String> = statement.column_names().into_iter().map(String::from).collect();
        let mut rows = statement.query([])?;
        let mut out = Vec::new();
        while let Some(row) = rows.next()? {
            let value = |(i, name): (usize, &String)| {
                let value = match row.get::<_, Sql>(i)? {
                    Sql::Null => Value::Null,
                    Sql::Integer(int) => Value::Int(int),
                    Sql::Real(float) => Value::Float(float),
                    Sql::Text(text) => Value::Text(text),
                    Sql::Blob(bytes) => Value::Bytes(bytes),
                };
                Ok((name.clone(), value))
            };
            out.push(names.iter().enumerate().map(value).collect::<rusqlite::Result<Map>>()?);
            if out.len() == SHOWN {
                break;
            }
        }
        Ok(out)
    }
}

fn cell(relation: &str, column: &str, row: &Map) -> Sql {
    match row.get(column) {
        None => Sql::Null,
        // SQL sees a reply as JSON text, whatever it is.
        Some(value) if relation == "reply" && column == "value" => match value {
            Value::Null => Sql::Null,
            value => Sql::Text(value.to_json()),
        },
        Some(value) => to_sql(value),
    }
}
