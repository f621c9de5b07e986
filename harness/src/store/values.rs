//! Values across the border of a store: the contract's times are seconds from the start of the case and its booleans
//! are true and false; a store holds epoch seconds, and 0 and 1.

use nack_contracts::Value;
use nack_contracts::model::{Base, Contract, Type};
use rusqlite::types::{Value as Sql, ValueRef};

use crate::clock::EPOCH;

/// The contract's value as the store holds it.
pub(super) fn to_store(ty: &Type, value: &Value) -> Sql {
    match (value, &ty.base) {
        (Value::Int(seconds), Base::Time) => Sql::Integer(seconds.saturating_add(EPOCH)),
        (value, _) => to_sql(value),
    }
}

/// A value as SQL sees it: booleans are 0 and 1, lists and objects JSON text.
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

/// What a store holds, as the contract spells it.
pub(super) fn from_store(contract: &Contract, ty: &Type, value: ValueRef<'_>) -> Value {
    let value = match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(int) => Value::Int(int),
        ValueRef::Real(float) => Value::Float(float),
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(_) => Value::Bytes(text.to_vec()),
        },
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    };
    match (value, &ty.base) {
        (Value::Int(int), Base::Time) => Value::Int(int.saturating_sub(EPOCH)),
        (Value::Int(int @ (0 | 1)), Base::Bool) => Value::Bool(int == 1),
        (Value::Int(int @ (0 | 1)), Base::Domain(domain)) => {
            let domain = &contract.domains[domain];
            let as_bool = Value::Bool(int == 1);
            if domain.find(&as_bool).is_some() && domain.find(&Value::Int(int)).is_none() {
                as_bool
            } else {
                Value::Int(int)
            }
        }
        (value, _) => value,
    }
}
