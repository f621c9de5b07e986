//! One message as one line: JSON-RPC 2.0 envelopes, read from bytes that anybody may have written. A line that is
//! no message is told apart from a message that breaks the protocol, since a stray print is a slip and not a lie.

use nack_contracts::{Map, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The code of a message that is not JSON.
pub(super) const NOT_JSON: i64 = -32700;
/// The code of JSON that is no request.
pub(super) const NO_REQUEST: i64 = -32600;
/// The code of a method that nobody knows.
pub(super) const NO_METHOD: i64 = -32601;
/// The code of parameters that do not fit.
pub(super) const BAD_PARAMS: i64 = -32602;

/// How deep a message may nest. What it holds is walked by recursion, so a hostile one must not be deeper.
const DEEPEST: usize = 100;

/// A message that was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Message {
    Request { id: Value, method: String, params: Value },
    Reply { id: Value, outcome: Result<Value, RpcError> },
}

/// The error member of a reply.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

/// Why a line is no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// It does not look like one, so it may be a stray print.
    Stray(String),
    /// It names the protocol and breaks it.
    Broken(String),
}

/// Reads one line.
pub(super) fn read(line: &[u8]) -> Result<Message, Unreadable> {
    let text = std::str::from_utf8(line).map_err(|_| Unreadable::Stray("it is not UTF-8".into()))?;
    if !text.trim_start().starts_with('{') {
        return Err(Unreadable::Stray("it is no JSON object".into()));
    }
    if too_deep(text) {
        return Err(Unreadable::Stray(format!("it nests deeper than {DEEPEST}")));
    }
    match Value::from_json(text) {
        Ok(Value::Map(fields)) => envelope(fields),
        Ok(_) => Err(Unreadable::Stray("it is no message".into())),
        Err(error) => Err(Unreadable::Stray(format!("it is not JSON ({error})"))),
    }
}

fn envelope(mut fields: Map) -> Result<Message, Unreadable> {
    let broken = |text: &str| Err(Unreadable::Broken(text.to_owned()));
    match fields.get("jsonrpc") {
        None => return Err(Unreadable::Stray("it has no \"jsonrpc\"".into())),
        Some(version) if version.as_text() != Some("2.0") => return broken("its \"jsonrpc\" is not \"2.0\""),
        Some(_) => {}
    }
    let Some(id) = fields.shift_remove("id") else { return broken("it has no \"id\", so it could not be answered") };
    if !matches!(id, Value::Int(_) | Value::Text(_) | Value::Null) {
        return broken("its \"id\" is neither a whole number nor text");
    }
    if let Some(method) = fields.shift_remove("method") {
        let Value::Text(method) = method else { return broken("its \"method\" is no text") };
        let params = fields.shift_remove("params").unwrap_or_else(|| Value::Map(Map::new()));
        return Ok(Message::Request { id, method, params });
    }
    match (fields.shift_remove("result"), fields.shift_remove("error")) {
        (Some(value), None) => Ok(Message::Reply { id, outcome: Ok(value) }),
        (None, Some(Value::Map(error))) => Ok(Message::Reply { id, outcome: Err(rpc_error(error)) }),
        (Some(_), Some(_)) => broken("it has both a \"result\" and an \"error\""),
        (None, Some(_)) => broken("its \"error\" is no object"),
        (None, None) => broken("it has no \"method\", no \"result\" and no \"error\""),
    }
}

fn rpc_error(mut fields: Map) -> RpcError {
    let code = fields.get("code").and_then(Value::as_int).unwrap_or(0);
    let message = fields.get("message").and_then(Value::as_text).unwrap_or("").to_owned();
    RpcError { code, message, data: fields.shift_remove("data") }
}

/// Counts brackets outside strings, without a stack.
fn too_deep(text: &str) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => depth += 1,
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return true;
        }
    }
    false
}

/// Reads parameters, a result or an error's data as what it must be.
pub(super) fn typed<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    // The detour over text turns strings with lone surrogates into bytes, which `Value` reads back and text refuses.
    serde_json::from_str(&value.to_json()).map_err(|error| error.to_string())
}

#[derive(Serialize)]
struct RequestLine<'a, P> {
    jsonrpc: &'static str,
    id: i64,
    method: &'a str,
    params: &'a P,
}

#[derive(Serialize)]
struct ResultLine<'a, R> {
    jsonrpc: &'static str,
    id: &'a Value,
    result: &'a R,
}

#[derive(Serialize)]
struct ErrorLine<'a, D> {
    jsonrpc: &'static str,
    id: &'a Value,
    error: ErrorBody<'a, D>,
}

#[derive(Serialize)]
struct ErrorBody<'a, D> {
    code: i64,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a D>,
}

const VERSION: &str = "2.0";

/// A request, as a line.
pub(super) fn request(id: i64, method: &str, params: &impl Serialize) -> Vec<u8> {
    line(&RequestLine { jsonrpc: VERSION, id, method, params })
}

/// A reply that holds a result, as a line.
pub(super) fn result(id: &Value, result: &impl Serialize) -> Vec<u8> {
    line(&ResultLine { jsonrpc: VERSION, id, result })
}

/// A reply that holds an error with data, as a line.
pub(super) fn error_with(id: &Value, code: i64, message: &str, data: &impl Serialize) -> Vec<u8> {
    line(&ErrorLine { jsonrpc: VERSION, id, error: ErrorBody { code, message, data: Some(data) } })
}

/// A reply that holds an error, as a line.
pub(super) fn error(id: &Value, code: i64, message: &str) -> Vec<u8> {
    line(&ErrorLine { jsonrpc: VERSION, id, error: ErrorBody::<()> { code, message, data: None } })
}

fn line(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).expect("messages have string keys only, so they are always JSON");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::print("hello world")]
    #[case::json_of_the_program(r#"{"status":"accepted"}"#)]
    #[case::cut(r#"{"jsonrpc":"2.0","id":1,"resu"#)]
    #[case::number("42")]
    fn a_line_that_is_no_message_is_stray(#[case] line: &str) {
        assert!(matches!(read(line.as_bytes()), Err(Unreadable::Stray(_))), "{:?}", read(line.as_bytes()));
    }

    #[rstest]
    #[case::no_id(r#"{"jsonrpc":"2.0","method":"checkpoint","params":{"name":"a"}}"#)]
    #[case::version(r#"{"jsonrpc":"1.0","id":1,"result":1}"#)]
    #[case::both(r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}"#)]
    #[case::neither(r#"{"jsonrpc":"2.0","id":1}"#)]
    fn a_message_that_breaks_the_protocol_is_no_stray_line(#[case] line: &str) {
        assert!(matches!(read(line.as_bytes()), Err(Unreadable::Broken(_))), "{:?}", read(line.as_bytes()));
    }

    #[test]
    fn a_null_result_is_a_result() {
        let read = read(br#"{"jsonrpc":"2.0","id":7,"result":null}"#);
        assert_eq!(read, Ok(Message::Reply { id: Value::Int(7), outcome: Ok(Value::Null) }));
    }

    #[test]
    fn a_line_of_eight_million_brackets_is_refused_without_recursion() {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}{}}}"#, "[".repeat(8 << 20), "]".repeat(8 << 20));
        assert!(matches!(read(line.as_bytes()), Err(Unreadable::Stray(_))));
    }

    #[test]
    fn a_lone_surrogate_in_a_result_arrives_as_bytes() {
        let read = read(br#"{"jsonrpc":"2.0","id":7,"result":"\ud800"}"#);
        assert_eq!(read, Ok(Message::Reply { id: Value::Int(7), outcome: Ok(Value::Bytes(vec![0xed, 0xa0, 0x80])) }));
    }
}
