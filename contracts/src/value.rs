//! The values that cross every border of nack: what a contract writes, a subject is given and replies,
//! and a store holds. Types are kept apart (1, 1.0 and true are three values), and so are text and bytes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use indexmap::IndexMap;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// An object: keys in the order they were written; equality does not look at the order.
pub type Map = IndexMap<String, Value>;

/// The key under which bytes travel in JSON: `{"$bytes": "<base64>"}`.
pub const BYTES_KEY: &str = "$bytes";

/// How deep JSON may nest.
const DEEPEST: usize = 128;

/// One value. In JSON, bytes are written `{"$bytes": "<base64>"}`.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// JSON's null, SQL's NULL.
    Null,
    /// True or false.
    Bool(bool),
    /// A number written without a fraction.
    Int(i64),
    /// A number written with a fraction or an exponent, and any integer beyond 64 bits.
    Float(f64),
    /// Unicode text.
    Text(String),
    /// Bytes that are not, or need not be, text. Text with a lone surrogate stands here in its WTF-8 form.
    Bytes(Vec<u8>),
    /// A list.
    List(Vec<Value>),
    /// An object.
    Map(Map),
}

impl Value {
    /// The text, if this is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The integer, if this is one.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(int) => Some(*int),
            _ => None,
        }
    }

    /// Reads JSON text. Unlike plain JSON readers it keeps strings with lone surrogates, as bytes.
    ///
    /// # Errors
    /// When the text is not one JSON value, or nests deeper than 128.
    pub fn from_json(json: &str) -> Result<Value, serde_json::Error> {
        Value::read_json(json, DEEPEST)
    }

    fn read_json(json: &str, deepest: usize) -> Result<Value, serde_json::Error> {
        if deepest == 0 {
            return Err(de::Error::custom("it nests deeper than 128"));
        }
        let raw: &RawValue = serde_json::from_str(json)?;
        let text = raw.get();
        Ok(match text.as_bytes().first() {
            Some(b'{') => {
                let fields: IndexMap<String, &RawValue> = serde_json::from_str(text)?;
                let map: Result<Map, _> = fields
                    .into_iter()
                    .map(|(key, value)| Ok((key, Value::read_json(value.get(), deepest - 1)?)))
                    .collect();
                unwrap_bytes(map?)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text)?;
                Value::List(
                    items
                        .into_iter()
                        .map(|item| Value::read_json(item.get(), deepest - 1))
                        .collect::<Result<_, _>>()?,
                )
            }
            Some(b'"') => match serde_json::from_str::<String>(text) {
                Ok(text) => Value::Text(text),
                Err(_) => Value::Bytes(serde_json::from_str::<Wtf8>(text)?.0),
            },
            _ => serde_json::from_str(text)?,
        })
    }

    /// The value as compact JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a value has string keys only, so it is always JSON")
    }

    /// Whether this value, or one inside it, cannot be text.
    #[must_use]
    pub fn holds_bytes(&self) -> bool {
        match self {
            Value::Bytes(_) => true,
            Value::List(items) => items.iter().any(Value::holds_bytes),
            Value::Map(map) => map.values().any(Value::holds_bytes),
            _ => false,
        }
    }
}

/// A JSON string with lone surrogates, which `serde_json` hands out as WTF-8 bytes and never as text.
struct Wtf8(Vec<u8>);

impl<'de> Deserialize<'de> for Wtf8 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BytesVisitor;
        impl Visitor<'_> for BytesVisitor {
            type Value = Wtf8;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Wtf8, E> {
                Ok(Wtf8(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(BytesVisitor)
    }
}

fn unwrap_bytes(map: Map) -> Value {
    if map.len() == 1
        && let Some(Value::Text(text)) = map.get(BYTES_KEY)
        && let Ok(bytes) = BASE64.decode(text)
    {
        return Value::Bytes(bytes);
    }
    Value::Map(map)
}

/// How people read it: JSON, with bytes as `hex ff fe`, and long text and bytes cut.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 120;
        match self {
            Value::Text(text) if text.chars().count() > SHOWN => {
                let head: String = text.chars().take(40).collect();
                write!(f, "{}… ({} characters)", Value::Text(head).to_json(), text.chars().count())
            }
            Value::Bytes(bytes) => {
                f.write_str("hex")?;
                for byte in bytes.iter().take(32) {
                    write!(f, " {byte:02x}")?;
                }
                if bytes.len() > 32 { write!(f, " … ({} bytes)", bytes.len()) } else { Ok(()) }
            }
            Value::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    if i == 8 && items.len() > 10 {
                        return write!(f, "… {} in all]", items.len());
                    }
                    write!(f, "{item}")?;
                }
                f.write_str("]")
            }
            Value::Map(map) => {
                f.write_str("{")?;
                for (i, (key, value)) in map.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{}: {value}", Value::Text(key.clone()).to_json())?;
                }
                f.write_str("}")
            }
            scalar => f.write_str(&scalar.to_json()),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(b) => serializer.serialize_bool(*b),
            Value::Int(i) => serializer.serialize_i64(*i),
            Value::Float(x) => serializer.serialize_f64(*x),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Bytes(bytes) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(BYTES_KEY, &BASE64.encode(bytes))?;
                map.end()
            }
            Value::List(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Value::Map(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (key, value) in fields {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }
            fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }
            fn visit_bool<E: de::Error>(self, b: bool) -> Result<Value, E> {
                Ok(Value::Bool(b))
            }
            fn visit_i64<E: de::Error>(self, i: i64) -> Result<Value, E> {
                Ok(Value::Int(i))
            }
            fn visit_u64<E: de::Error>(self, u: u64) -> Result<Value, E> {
                Ok(i64::try_from(u).map_or(Value::Float(u as f64), Value::Int))
            }
            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Value, E> {
                Ok(Value::Float(x))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
                Ok(Value::Text(text.to_owned()))
            }
            fn visit_string<E: de::Error>(self, text: String) -> Result<Value, E> {
                Ok(Value::Text(text))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Value::List(items))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
                let mut map = Map::new();
                while let Some((key, value)) = access.next_entry()? {
                    map.insert(key, value);
                }
                Ok(unwrap_bytes(map))
            }
        }
        deserializer.deserialize_any(ValueVisitor)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<i64> for Value {
    fn from(int: i64) -> Self {
        Value::Int(int)
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Value::Bool(b)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::null("null", Value::Null)]
    #[case::int("30", Value::Int(30))]
    #[case::float_of_an_integer("30.0", Value::Float(30.0))]
    #[case::lone_surrogate_becomes_wtf8(r#""\ud800""#, Value::Bytes(vec![0xed, 0xa0, 0x80]))]
    #[case::bytes(r#"{"$bytes":"/w=="}"#, Value::Bytes(vec![0xff]))]
    #[case::nested_surrogate(r#"["a","\ud800"]"#, Value::List(vec!["a".into(), Value::Bytes(vec![0xed, 0xa0, 0x80])]))]
    fn json_keeps_types_apart(#[case] json: &str, #[case] value: Value) {
        assert_eq!(Value::from_json(json).expect("it is JSON"), value);
    }

    #[test]
    fn json_that_nests_without_end_is_refused() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Value::from_json(&nested(100)).is_ok());
        assert!(Value::from_json(&nested(100_000)).is_err());
    }

    #[rstest]
    #[case("1", "1.0")]
    #[case("1", "true")]
    #[case("null", "\"\"")]
    fn values_of_two_types_differ(#[case] a: &str, #[case] b: &str) {
        assert_ne!(Value::from_json(a).expect("JSON"), Value::from_json(b).expect("JSON"));
    }

    #[test]
    fn a_value_survives_its_json_form() {
        let json = r#"{"b":[1,2.5,null,{"$bytes":"AP8="}],"a":"é"}"#;
        let value = Value::from_json(json).expect("JSON");
        assert_eq!(value.to_json(), json);
        assert_eq!(serde_json::from_str::<Value>(json).expect("JSON"), value);
    }
}
