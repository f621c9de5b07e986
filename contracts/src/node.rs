//! The contract's text as a tree in which every value still knows its place. The values that TOML cannot write
//! (`_json`, `_raw`, `_hex`, `_repeat`, `_absent`) are read here, so the rest of nack never sees them.

use indexmap::IndexMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::finding::Finding;
use crate::source::Span;
use crate::value::{Map, Value};

/// One value of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Where it stands.
    pub span: Span,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A value that stands for itself.
    Value(Value),
    /// Text in which `$name` is to be filled in.
    Template(String),
    /// A list.
    List(Vec<Node>),
    /// A table.
    Map(Fields),
    /// The key that holds it vanishes.
    Absent,
}

/// The fields of a table, in the file's order, each with the place of its key.
pub type Fields = IndexMap<String, Field>;

/// One field of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Where its key stands.
    pub key: Span,
    /// Its value.
    pub value: Node,
}

impl Node {
    /// A node of this kind at this place.
    #[must_use]
    pub fn new(kind: Kind, span: Span) -> Node {
        Node { kind, span }
    }

    /// Reads TOML text.
    ///
    /// # Errors
    /// A finding for broken TOML, and for each malformed special value.
    pub fn parse(text: &str) -> Result<Fields, Vec<Finding>> {
        let table = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            vec![Finding::error("format/toml", "file", span, format!("this is not TOML: {}", error.message()))]
        })?;
        let mut findings = Vec::new();
        let fields = fields(table.get_ref(), &mut findings);
        if findings.is_empty() { Ok(fields) } else { Err(findings) }
    }

    /// The text, if it is plain text or a template.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Value(Value::Text(text)) | Kind::Template(text) => Some(text),
            _ => None,
        }
    }

    /// The fields, if it is a table.
    #[must_use]
    pub fn fields(&self) -> Option<&Fields> {
        match &self.kind {
            Kind::Map(fields) => Some(fields),
            _ => None,
        }
    }

    /// The value without its places. A template stands for its own text, an absent value for null.
    #[must_use]
    pub fn value(&self) -> Value {
        match &self.kind {
            Kind::Value(value) => value.clone(),
            Kind::Template(text) => Value::Text(text.clone()),
            Kind::List(items) => Value::List(items.iter().map(Node::value).collect()),
            Kind::Map(fields) => Value::Map(plain(fields)),
            Kind::Absent => Value::Null,
        }
    }

    /// What it is, for messages.
    #[must_use]
    pub fn describe(&self) -> &'static str {
        match &self.kind {
            Kind::Value(Value::Null) => "null",
            Kind::Value(Value::Bool(_)) => "true or false",
            Kind::Value(Value::Int(_)) => "an integer",
            Kind::Value(Value::Float(_)) => "a number with a fraction",
            Kind::Value(Value::Text(_)) | Kind::Template(_) => "text",
            Kind::Value(Value::Bytes(_)) => "bytes",
            Kind::Value(Value::List(_)) | Kind::List(_) => "a list",
            Kind::Value(Value::Map(_)) | Kind::Map(_) => "a table",
            Kind::Absent => "an absent value",
        }
    }
}

/// The fields without their places; absent ones are left out.
#[must_use]
pub fn plain(fields: &Fields) -> Map {
    let present = fields.iter().filter(|(_, field)| field.value.kind != Kind::Absent);
    present.map(|(key, field)| (key.clone(), field.value.value())).collect()
}

fn fields(table: &DeTable<'_>, findings: &mut Vec<Finding>) -> Fields {
    let mut out = Fields::new();
    for (key, value) in table {
        let field = Field { key: key.span(), value: node(value, findings) };
        out.insert(key.get_ref().to_string(), field);
    }
    out
}

fn node(value: &Spanned<DeValue<'_>>, findings: &mut Vec<Finding>) -> Node {
    let span = value.span();
    let kind = match value.get_ref() {
        DeValue::String(text) if text.contains('$') => Kind::Template(text.to_string()),
        DeValue::String(text) => Kind::Value(Value::Text(text.to_string())),
        DeValue::Boolean(b) => Kind::Value(Value::Bool(*b)),
        DeValue::Integer(int) => match i64::from_str_radix(int.as_str(), int.radix()) {
            Ok(int) => Kind::Value(Value::Int(int)),
            Err(_) => broken(findings, &span, "an integer must fit into 64 bits"),
        },
        DeValue::Float(float) => match float.as_str().parse::<f64>() {
            Ok(float) if float.is_finite() => Kind::Value(Value::Float(float)),
            _ => broken(findings, &span, "a number must be finite; write others as `{ _raw = \"…\" }`"),
        },
        DeValue::Datetime(_) => broken(findings, &span, "dates are no values of a contract; time is whole seconds"),
        DeValue::Array(items) => Kind::List(items.iter().map(|item| node(item, findings)).collect()),
        DeValue::Table(table) => special(fields(table, findings), &span, findings),
    };
    Node { kind, span }
}

fn broken(findings: &mut Vec<Finding>, span: &Span, message: &str) -> Kind {
    findings.push(Finding::error("format/value", "file", span.clone(), message));
    Kind::Value(Value::Null)
}

/// Tables that stand for one value. Each is known by its first key; any other key beside it is an error.
fn special(fields: Fields, span: &Span, findings: &mut Vec<Finding>) -> Kind {
    let Some(key) = fields.keys().find(|key| SPECIAL.contains(&key.as_str())) else { return Kind::Map(fields) };
    let allowed: &[&str] = match key.as_str() {
        "_repeat" | "_count" => &["_repeat", "_count"],
        other => &[other],
    };
    if let Some(stray) = fields.keys().find(|key| !allowed.contains(&key.as_str())) {
        return broken(findings, span, &format!("`{stray}` has no meaning beside `{key}`"));
    }
    let text = |key: &str| fields.get(key).and_then(|field| field.value.text());
    match key.as_str() {
        "_json" => match text("_json").map(Value::from_json) {
            Some(Ok(value)) => kind_of(value, span),
            Some(Err(error)) => broken(findings, span, &format!("`_json` holds no JSON: {error}")),
            None => broken(findings, span, "`_json` takes the JSON as text"),
        },
        "_raw" => match text("_raw") {
            Some(raw) => Kind::Value(Value::Bytes(raw.as_bytes().to_vec())),
            None => broken(findings, span, "`_raw` takes text"),
        },
        "_hex" => match text("_hex").and_then(bytes_of_hex) {
            Some(bytes) => Kind::Value(Value::Bytes(bytes)),
            None => broken(findings, span, "`_hex` takes pairs of hexadecimal digits, such as \"ff fe\""),
        },
        "_absent" => match fields["_absent"].value.kind {
            Kind::Value(Value::Bool(true)) => Kind::Absent,
            _ => broken(findings, span, "`_absent` can only be true"),
        },
        _ => {
            let count = fields.get("_count").and_then(|count| count.value.value().as_int());
            match (text("_repeat"), count.and_then(|count| usize::try_from(count).ok())) {
                (Some(text), Some(count)) if text.len().saturating_mul(count) <= LONGEST => {
                    Kind::Value(Value::Text(text.repeat(count)))
                }
                (Some(_), Some(_)) => broken(findings, span, "that is longer than 64 MiB"),
                _ => broken(findings, span, "`_repeat` takes text, and `_count` beside it says how often"),
            }
        }
    }
}

const SPECIAL: [&str; 6] = ["_json", "_raw", "_hex", "_repeat", "_count", "_absent"];
const LONGEST: usize = 64 << 20;

/// JSON inside a contract becomes ordinary nodes, so that matchers and rows need not know how a value was written.
fn kind_of(value: Value, span: &Span) -> Kind {
    match value {
        Value::List(items) => {
            Kind::List(items.into_iter().map(|item| Node::new(kind_of(item, span), span.clone())).collect())
        }
        Value::Map(map) => Kind::Map(
            map.into_iter()
                .map(|(key, value)| {
                    let value = Node::new(kind_of(value, span), span.clone());
                    (key, Field { key: span.clone(), value })
                })
                .collect(),
        ),
        scalar => Kind::Value(scalar),
    }
}

fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    // Two hexadecimal digits are below 256.
    pairs.map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok()).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::json_null("x = { _json = 'null' }", Kind::Value(Value::Null))]
    #[case::hex("x = { _hex = \"ff fe\" }", Kind::Value(Value::Bytes(vec![0xff, 0xfe])))]
    #[case::raw("x = { _raw = \"{}\" }", Kind::Value(Value::Bytes(b"{}".to_vec())))]
    #[case::repeat("x = { _repeat = \"é\", _count = 3 }", Kind::Value("ééé".into()))]
    #[case::template("x = \"$a - 1\"", Kind::Template("$a - 1".to_owned()))]
    #[case::json_with_a_dollar_is_no_template("x = { _json = '\"$a\"' }", Kind::Value("$a".into()))]
    #[case::absent("x = { _absent = true }", Kind::Absent)]
    #[case::underscores_in_numbers("x = 1_000_001", Kind::Value(Value::Int(1_000_001)))]
    fn special_values_are_read(#[case] text: &str, #[case] kind: Kind) {
        assert_eq!(Node::parse(text).expect("it parses")["x"].value.kind, kind);
    }

    #[rstest]
    #[case("x = { _hex = \"f\" }")]
    #[case("x = { _json = \"{\" }")]
    #[case("x = { _absent = false }")]
    #[case("x = { _repeat = \"x\" }")]
    #[case("x = { _json = \"1\", y = 2 }")]
    #[case("x = 2026-01-01")]
    #[case("x = nan")]
    #[case("x = 99999999999999999999")]
    #[case("x = ")]
    fn broken_values_are_findings_with_a_place(#[case] text: &str) {
        let findings = Node::parse(text).expect_err("it is broken");
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].span().start <= text.len());
    }
}
