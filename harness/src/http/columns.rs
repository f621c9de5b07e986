//! Where the columns of an effect stand in a request: `columns = { id = "header:X-Message-Id", payload = "body" }`.

use indexmap::IndexMap;
use nack_contracts::{Map, Value};
use percent_encoding::percent_decode;
use serde::Deserialize;

use super::message::Request;

/// The columns of an effect, and the part of a request that each is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Columns(pub IndexMap<String, Part>);

impl Columns {
    /// The columns of one request. What a request lacks is null.
    #[must_use]
    pub fn extract(&self, request: &Request) -> Map {
        self.0.iter().map(|(column, part)| (column.clone(), part.extract(request))).collect()
    }
}

/// A part of a request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Part {
    /// `header:NAME`: the first header of this name, in any case.
    Header(String),
    /// `body`: its bytes, unchanged.
    Body,
    /// `json:FIELD`: a field of a JSON body; dots lead to fields of fields.
    Json(Vec<String>),
    /// `path:N`: a segment of the path, counted from 1, decoded.
    Path(usize),
    /// `query:NAME`: the first parameter of this name in the query, decoded.
    Query(String),
}

/// A text that names no part of a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no part of a request; there are header:NAME, body, json:FIELD, path:N (from 1) and query:NAME")]
pub struct UnknownPart(String);

impl TryFrom<String> for Part {
    type Error = UnknownPart;

    fn try_from(text: String) -> Result<Part, UnknownPart> {
        let part = match text.split_once(':') {
            None if text == "body" => Some(Part::Body),
            Some((_, "")) | None => None,
            Some(("header", name)) => Some(Part::Header(name.to_owned())),
            Some(("json", field)) => {
                let fields: Vec<String> = field.split('.').map(str::to_owned).collect();
                fields.iter().all(|field| !field.is_empty()).then_some(Part::Json(fields))
            }
            Some(("path", n)) => n.parse().ok().filter(|n| *n > 0).map(Part::Path),
            Some(("query", name)) => Some(Part::Query(name.to_owned())),
            Some(_) => None,
        };
        part.ok_or(UnknownPart(text))
    }
}

impl Part {
    /// What this part of a request is. All but fields of JSON are text, or bytes where they are no UTF-8.
    #[must_use]
    pub fn extract(&self, request: &Request) -> Value {
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        match self {
            Part::Header(name) => request.header(name).map_or(Value::Null, text),
            Part::Body => text(&request.body),
            Part::Json(fields) => std::str::from_utf8(&request.body)
                .ok()
                .and_then(|body| Value::from_json(body).ok())
                .and_then(|body| field(body, fields))
                .unwrap_or(Value::Null),
            Part::Path(n) => {
                let segment = path.split('/').nth(*n);
                segment.map_or(Value::Null, |segment| text(&percent_decode(segment.as_bytes()).collect::<Vec<_>>()))
            }
            Part::Query(name) => {
                let mut pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
                let pair = pairs.find(|(key, _)| decoded(key) == name.as_bytes());
                pair.map_or(Value::Null, |(_, value)| text(&decoded(value)))
            }
        }
    }
}

/// A word of a query, where a plus is a space.
fn decoded(word: &str) -> Vec<u8> {
    percent_decode(word.replace('+', " ").as_bytes()).collect()
}

fn text(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::Text(text.to_owned()),
        Err(_) => Value::Bytes(bytes.to_vec()),
    }
}

fn field(value: Value, path: &[String]) -> Option<Value> {
    path.iter().try_fold(value, |value, name| match value {
        Value::Map(mut fields) => fields.shift_remove(name),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn part(text: &str) -> Part {
        Part::try_from(text.to_owned()).expect("it is a part")
    }

    fn request(target: &str, body: &[u8]) -> Request {
        let headers = vec![
            ("X-Id".to_owned(), b"m-1".to_vec()),
            ("x-id".to_owned(), b"m-2".to_vec()),
            ("x-raw".to_owned(), vec![0xe9]),
        ];
        Request { method: "POST".into(), target: target.into(), headers, body: body.to_vec() }
    }

    #[rstest]
    #[case::header("header:x-ID", Value::from("m-1"))]
    #[case::header_bytes("header:X-Raw", Value::Bytes(vec![0xe9]))]
    #[case::no_header("header:x", Value::Null)]
    #[case::path("path:2", Value::from("m/1"))]
    #[case::no_path("path:3", Value::Null)]
    #[case::query("query:q", Value::from("a b&"))]
    #[case::query_without_value("query:flag", Value::from(""))]
    #[case::no_query("query:x", Value::Null)]
    #[case::field("json:n", Value::Int(1))]
    #[case::field_of_a_field("json:a.b", Value::from("c"))]
    #[case::no_field("json:a.c", Value::Null)]
    #[case::field_of_no_object("json:n.a", Value::Null)]
    #[case::whole("body", Value::from(r#"{"n": 1, "a": {"b": "c"}}"#))]
    fn a_column_is_a_part_of_the_request(#[case] said: &str, #[case] value: Value) {
        let request = request("/messages/m%2F1?flag&q=a+b%26&q=2", br#"{"n": 1, "a": {"b": "c"}}"#);
        assert_eq!(part(said).extract(&request), value);
    }

    #[rstest]
    #[case::text("é".as_bytes(), Value::from("é"))]
    #[case::bytes(&[b'a', 0xff, 0], Value::Bytes(vec![b'a', 0xff, 0]))]
    #[case::nothing(b"", Value::from(""))]
    fn a_body_is_what_it_is_byte_for_byte(#[case] body: &[u8], #[case] value: Value) {
        let request = request("/", body);
        assert_eq!(part("body").extract(&request), value);
        assert_eq!(part("json:a").extract(&request), Value::Null);
    }

    #[rstest]
    #[case("heder:x")]
    #[case("header:")]
    #[case("header")]
    #[case("json:a..b")]
    #[case("path:0")]
    #[case("path:x")]
    #[case("")]
    fn a_part_that_does_not_exist_is_refused_with_what_there_is(#[case] said: &str) {
        let error = toml::from_str::<Columns>(&format!("id = {said:?}")).expect_err("it is none").to_string();
        assert!(error.contains(&format!("`{said}` is no part")) && error.contains("json:FIELD"), "{error}");
    }
}
