//! Writes `harness/sdk/PROTOCOL.md` from the types: the tables of fields from their schemas, the examples from the
//! code that sends them. Only tests need it, so only tests have it.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use indexmap::IndexMap;
use nack_cases::RaiseKind;
use nack_contracts::{Map, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema, schema_for};
use serde_json::Value as Json;

use super::message::{self, Octets};
use super::wire;

impl JsonSchema for Octets {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "bytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "bytes" })
    }

    fn inline_schema() -> bool {
        true
    }
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("sdk/PROTOCOL.md")
}

fn page() -> String {
    let mut page = include_str!("page.md").to_owned();
    let tables = [
        ("hello", schema_for!(message::Hello)),
        ("greeting", schema_for!(message::Greeting)),
        ("call", schema_for!(message::Call)),
        ("call_error", schema_for!(message::CallError)),
        ("checkpoint", schema_for!(message::Checkpoint)),
        ("passed", schema_for!(message::Passed)),
        ("statement", schema_for!(message::Statement)),
        ("effect", schema_for!(message::Effect)),
        ("raised", schema_for!(message::Raised)),
    ];
    for (name, schema) in tables {
        page = page.replace(&format!("{{{{fields {name}}}}}"), table(schema.as_value()).trim_end());
    }
    let codes = [("call_failed", message::CALL_FAILED), ("injected", message::INJECTED), ("raised", message::RAISED)];
    for (name, code) in codes {
        page = page.replace(&format!("{{{{code {name}}}}}"), &code.to_string());
    }
    page = page.replace("{{conversation}}", conversation().trim_end());
    assert!(!page.contains("{{"), "a placeholder was not filled: {page}");
    page
}

fn table(schema: &Json) -> String {
    let mut text = "| key | type | meaning |\n| --- | --- | --- |\n".to_owned();
    rows(&mut text, schema, schema, "");
    text
}

/// One row a key, and the keys of an inner object below it.
fn rows(text: &mut String, schema: &Json, root: &Json, prefix: &str) {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    for (key, field) in schema["properties"].as_object().into_iter().flatten() {
        let inner = field["$ref"].as_str().and_then(|name| root["$defs"].get(name.trim_start_matches("#/$defs/")));
        let optional = if required.contains(&key.as_str()) { "" } else { ", optional" };
        let what = field["description"].as_str().unwrap_or("").replace('\n', " ");
        let kind = kind(inner.unwrap_or(field));
        writeln!(text, "| `{prefix}{key}` | {kind}{optional} | {what} |").expect("a string takes all");
        if let Some(inner) = inner {
            rows(text, inner, root, &format!("{prefix}{key}."));
        }
    }
}

fn kind(field: &Json) -> String {
    let of = |kind: &str| match kind {
        "array" => format!("list of {}", self::kind(&field["items"])),
        "string" => "text".to_owned(),
        "boolean" => "true or false".to_owned(),
        other => other.to_owned(),
    };
    match &field["type"] {
        Json::String(kind) => of(kind),
        Json::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Json::as_str).filter(|kind| *kind != "null");
            kinds.map(of).collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_owned(),
    }
}

fn conversation() -> String {
    let columns: Map = [("id", "m-1"), ("payload", "{}")].map(|(k, v)| (k.to_owned(), Value::from(v))).into();
    let params = IndexMap::from([("budget".to_owned(), 5), ("lease".to_owned(), 60)]);
    let hello = message::Hello::new("outbox", params, "/tmp/case/store.db");
    let greeting = message::Greeting {
        name: "my-worker".to_owned(),
        protocol: message::PROTOCOL,
        capabilities: vec!["lease".to_owned()],
        checkpoints: vec!["after_claim".to_owned(), "after_send".to_owned()],
        ..message::Greeting::default()
    };
    let call = message::Call {
        call: "deliver_one".to_owned(),
        args: [("worker".to_owned(), Value::from("w-1"))].into(),
        watch: message::WatchFor { everywhere: false, checkpoint: Some("after_send".to_owned()) },
    };
    let checkpoint = message::Checkpoint { name: "after_send".to_owned() };
    let failed = message::CallError { name: "store".to_owned(), definite: false, text: Octets(b"disk full".to_vec()) };
    let raised = message::Raised { kind: RaiseKind::Timeout, text: Octets(b"no answer".to_vec()) };
    let effect = message::Effect { name: "send".to_owned(), columns };
    let (one, two, three, four) = (Value::Int(1), Value::Int(2), Value::Int(3), Value::Int(4));
    let lines = [
        ("→", wire::request(1, message::HELLO, &hello)),
        ("←", wire::result(&one, &greeting)),
        ("→", wire::request(2, message::CALL, &call)),
        ("←", wire::request(1, message::NOW, &message::Nothing {})),
        ("→", wire::result(&one, &1_800_000_000)),
        ("←", wire::request(2, message::EFFECT, &effect)),
        ("→", wire::result(&two, &"accepted")),
        ("←", wire::request(3, message::CHECKPOINT, &checkpoint)),
        ("→", wire::result(&three, &message::Passed::default())),
        ("←", wire::result(&two, &"sent")),
        ("→", wire::request(3, message::CALL, &message::Call { watch: message::WatchFor::default(), ..call })),
        ("←", wire::request(4, message::EFFECT, &effect)),
        ("→", wire::error_with(&four, message::RAISED, "the outside raised an error", &raised)),
        ("←", wire::error_with(&three, message::CALL_FAILED, "disk full", &failed)),
    ];
    let lines = lines.map(|(arrow, line)| format!("    {arrow} {}", String::from_utf8_lossy(&line)));
    lines.concat()
}

#[test]
fn the_protocol_page_says_what_the_types_say() {
    let written = fs::read_to_string(path()).unwrap_or_default();
    let stale = "sdk/PROTOCOL.md is stale: `cargo test -p nack --lib page -- --ignored` writes it";
    assert!(written == page(), "{stale}");
}

#[test]
#[ignore = "writes the page"]
fn write_the_protocol_page() {
    fs::write(path(), page()).expect("the page can be written");
}
