//! Values as SQLite knows them: booleans are 0 and 1, lists and objects JSON text.

use nack_contracts::Value;
use rusqlite::types::{Value as Sql, ValueRef};

/// A value as SQL sees it.
pub(crate) fn to_sql(value: &Value) -> Sql {
    match value {
        Value::Null => Sql::Null,
        Value::Bool(b) => Sql::Integer(i64::from(*b)),
        Value::Int(int) => Sql::Integer(*int),
        Value::Float(float) => Sql::Real(*float),
        Value::Text(text) => Sql::Text(text.clone()),
        Value::Bytes(bytes) => Sql::Blob(bytes.clone()),
        Value::List(_) | Value::Map(_) => Sql::Text(value.to_json()),
    }
}

/// What a store holds. Text that is no UTF-8 is bytes.
pub(super) fn from_sql(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(int) => Value::Int(int),
        ValueRef::Real(float) => Value::Float(float),
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(_) => Value::Bytes(text.to_vec()),
        },
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    }
}
