//! Reading one table of the file key by key: every key is asked for once, and what nobody asked for is an error.

use std::cell::RefCell;
use std::collections::HashSet;

use crate::finding::{Finding, suggest};
use crate::model::Spanned;
use crate::node::{Field, Fields, Kind, Node};
use crate::source::Span;
use crate::value::Value;

/// Collects findings while a contract is read.
#[derive(Default)]
pub(super) struct Findings(pub(super) Vec<Finding>);

impl Findings {
    pub(super) fn error(&mut self, rule: &'static str, at: &str, span: &Span, message: impl Into<String>) {
        self.0.push(Finding::error(rule, at, span.clone(), message));
    }
}

/// One table of the file while it is read.
pub(super) struct Section<'a> {
    pub(super) at: String,
    pub(super) span: Span,
    fields: &'a Fields,
    asked: RefCell<HashSet<String>>,
}

impl<'a> Section<'a> {
    pub(super) fn new(at: impl Into<String>, span: Span, fields: &'a Fields) -> Section<'a> {
        Section { at: at.into(), span, fields, asked: RefCell::default() }
    }

    /// A section of a node that must be a table.
    pub(super) fn of(at: impl Into<String>, node: &'a Node, findings: &mut Findings) -> Option<Section<'a>> {
        let at = at.into();
        match &node.kind {
            Kind::Map(fields) => Some(Section::new(at, node.span.clone(), fields)),
            _ => {
                findings.error(
                    "format/type",
                    &at,
                    &node.span,
                    format!("this must be a table, and is {}", node.describe()),
                );
                None
            }
        }
    }

    pub(super) fn field(&self, key: &str) -> Option<&'a Field> {
        self.asked.borrow_mut().insert(key.to_owned());
        self.fields.get(key)
    }

    pub(super) fn node(&self, key: &str) -> Option<&'a Node> {
        self.field(key).map(|field| &field.value)
    }

    fn wrong(&self, node: &Node, key: &str, wanted: &str, findings: &mut Findings) {
        findings.error(
            "format/type",
            &self.at,
            &node.span,
            format!("`{key}` must be {wanted}, and is {}", node.describe()),
        );
    }

    pub(super) fn text(&self, key: &str, findings: &mut Findings) -> Option<String> {
        let node = self.node(key)?;
        match node.text() {
            Some(text) => Some(text.to_owned()),
            None => {
                self.wrong(node, key, "text", findings);
                None
            }
        }
    }

    /// Text that must be there and must say something.
    pub(super) fn required(&self, key: &str, findings: &mut Findings) -> String {
        if self.field(key).is_none() {
            let message = format!("`{key}` is missing");
            findings.0.push(
                Finding::error("format/missing", &self.at, self.head(), message)
                    .help(format!("add `{key} = \"…\"` to this section")),
            );
            return String::new();
        }
        let text = self.text(key, findings).unwrap_or_default();
        if text.trim().is_empty()
            && let Some(node) = self.node(key)
            && node.text().is_some()
        {
            findings.error("format/missing", &self.at, &node.span, format!("`{key}` says nothing"));
        }
        text
    }

    pub(super) fn int(&self, key: &str, findings: &mut Findings) -> Option<i64> {
        let node = self.node(key)?;
        match node.value() {
            Value::Int(int) => Some(int),
            _ => {
                self.wrong(node, key, "an integer", findings);
                None
            }
        }
    }

    pub(super) fn items(&self, key: &str, findings: &mut Findings) -> &'a [Node] {
        match self.node(key) {
            None => &[],
            Some(node) => match &node.kind {
                Kind::List(items) => items,
                _ => {
                    self.wrong(node, key, "a list", findings);
                    &[]
                }
            },
        }
    }

    pub(super) fn texts(&self, key: &str, findings: &mut Findings) -> Vec<Spanned<String>> {
        let items = self.items(key, findings);
        items.iter().filter_map(|item| text_of(item, &self.at, findings)).collect()
    }

    pub(super) fn strings(&self, key: &str, findings: &mut Findings) -> Vec<String> {
        self.texts(key, findings).into_iter().map(|text| text.item).collect()
    }

    pub(super) fn map(&self, key: &str, findings: &mut Findings) -> &'a Fields {
        static NONE: std::sync::LazyLock<Fields> = std::sync::LazyLock::new(Fields::new);
        match self.node(key) {
            None => &NONE,
            Some(node) => match &node.kind {
                Kind::Map(fields) => fields,
                _ => {
                    self.wrong(node, key, "a table", findings);
                    &NONE
                }
            },
        }
    }

    /// A table of lists of text, such as `needs = { row = ["cap"] }`.
    pub(super) fn lists(&self, key: &str, findings: &mut Findings) -> Vec<(Spanned<String>, Vec<Spanned<String>>)> {
        let mut out = Vec::new();
        for (name, field) in self.map(key, findings) {
            let items: Vec<_> = match &field.value.kind {
                Kind::List(items) => items.iter().filter_map(|item| text_of(item, &self.at, findings)).collect(),
                _ => text_of(&field.value, &self.at, findings).into_iter().collect(),
            };
            out.push((Spanned { item: name.clone(), span: field.key.clone() }, items));
        }
        out
    }

    /// Reports every key that nobody asked for.
    pub(super) fn finish(self, findings: &mut Findings) {
        let asked = self.asked.into_inner();
        for (key, field) in self.fields.iter().filter(|(key, _)| !asked.contains(*key)) {
            let mut known: Vec<&str> = asked.iter().map(String::as_str).collect();
            known.sort_unstable();
            findings.0.push(
                Finding::error("format/unknown-key", &self.at, field.key.clone(), format!("`{key}` is no key here"))
                    .help(suggest(key, known)),
            );
        }
    }

    /// The section's own place, for what is missing from it: the first key's, since a table's span may be long.
    pub(super) fn head(&self) -> Span {
        self.fields.values().next().map_or(self.span.clone(), |field| field.key.clone())
    }
}

/// Text, a number or a boolean as the name of a class: `30` and `true` name the classes of those values.
pub(super) fn text_of(node: &Node, at: &str, findings: &mut Findings) -> Option<Spanned<String>> {
    let item = match &node.kind {
        Kind::Value(Value::Text(text)) | Kind::Template(text) => text.clone(),
        Kind::Value(value @ (Value::Int(_) | Value::Bool(_))) => value.to_json(),
        _ => {
            findings.error("format/type", at, &node.span, format!("this must be a name, and is {}", node.describe()));
            return None;
        }
    };
    Some(Spanned { item, span: node.span.clone() })
}

/// Whether a name is made of lower-case letters, digits, `-` and `_`.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
}
