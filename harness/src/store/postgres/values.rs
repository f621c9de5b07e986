//! Values as PostgreSQL knows them. They are given and read as text, which each of its types has, and are told apart by
//! the type of the parameter or column.

use std::error::Error;
use std::fmt::Write as _;

use bytes::BytesMut;
use nack_contracts::Value;
use postgres::types::{Format, IsNull, ToSql, Type};

/// 2000-01-01, where the server's own count of time begins, in epoch seconds.
const SERVER_EPOCH: i64 = 946_684_800;

/// A value for a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Parameter {
    Null,
    Text(Vec<u8>),
    /// A moment, in microseconds since 2000-01-01.
    Moment(i64),
}

impl Parameter {
    /// A value for a parameter of this type. What the type does not take, the server refuses.
    pub(super) fn new(value: &Value, ty: &Type) -> Parameter {
        let number = [Type::INT2, Type::INT4, Type::INT8, Type::NUMERIC].contains(ty);
        let moment = [Type::TIMESTAMP, Type::TIMESTAMPTZ].contains(ty);
        Parameter::Text(match value {
            Value::Null => return Parameter::Null,
            Value::Int(seconds) if moment => {
                return Parameter::Moment(seconds.saturating_sub(SERVER_EPOCH).saturating_mul(1_000_000));
            }
            Value::Bool(bool) if number => i64::from(*bool).to_string().into_bytes(),
            Value::Text(text) if *ty == Type::BYTEA => hex(text.as_bytes()),
            Value::Bytes(bytes) if *ty == Type::BYTEA => hex(bytes),
            Value::Text(text) => text.clone().into_bytes(),
            Value::Bytes(bytes) => bytes.clone(),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => {
                value.to_json().into_bytes()
            }
        })
    }
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    let mut out = "\\x".to_owned();
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out.into_bytes()
}

impl ToSql for Parameter {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Parameter::Null => return Ok(IsNull::Yes),
            Parameter::Text(text) => out.extend_from_slice(text),
            Parameter::Moment(micros) => out.extend_from_slice(&micros.to_be_bytes()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        match self {
            Parameter::Moment(_) => Format::Binary,
            Parameter::Null | Parameter::Text(_) => Format::Text,
        }
    }

    postgres::types::to_sql_checked!();
}

/// The text of a column, as [`from_text`] takes it.
pub(super) fn as_text(column: &str, ty: &Type) -> String {
    match *ty {
        Type::TIMESTAMP | Type::TIMESTAMPTZ => format!("floor(extract(epoch FROM {column}))::text"),
        Type::BYTEA => format!("encode({column}, 'hex')"),
        _ => format!("{column}::text"),
    }
}

/// The value of a column of this type. What is no value of the contract stays the text it is.
pub(super) fn from_text(text: String, ty: &Type) -> Value {
    let value = match *ty {
        Type::BOOL => Some(Value::Bool(text == "true")),
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => text.parse().ok().map(Value::Int),
        Type::TIMESTAMP | Type::TIMESTAMPTZ | Type::NUMERIC => number(&text),
        Type::FLOAT4 | Type::FLOAT8 => float(&text),
        Type::BYTEA => bytes(&text),
        // It keeps no spelling of its own.
        Type::JSONB => Value::from_json(&text).ok().map(|value| Value::Text(value.to_json())),
        _ => None,
    };
    value.unwrap_or(Value::Text(text))
}

fn float(text: &str) -> Option<Value> {
    text.parse().ok().filter(|float: &f64| float.is_finite()).map(Value::Float)
}

/// A number of no certain kind: whole is whole, however it is written.
fn number(text: &str) -> Option<Value> {
    let whole =
        text.split_once('.').map_or(Some(text), |(whole, rest)| rest.bytes().all(|b| b == b'0').then_some(whole));
    whole.and_then(|whole| whole.parse().ok()).map(Value::Int).or_else(|| float(text))
}

/// Bytes that are UTF-8 are text, as in the other stores.
fn bytes(hex: &str) -> Option<Value> {
    let digits = hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    let bytes: Vec<u8> = digits.collect::<Option<_>>()?;
    Some(String::from_utf8(bytes).map_or_else(|error| Value::Bytes(error.into_bytes()), Value::Text))
}
