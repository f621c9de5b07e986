//! Placeholders in a binding's words: `{store}`, `{port}`, `{now}`, `{downstream.NAME}`, `{arg.NAME}`, `{file.NAME}`.
//! Braces that hold anything else than a name are text, so JSON can be written as it is.

use std::fmt;

use nack_contracts::Value;
use nack_contracts::model::{Base, Type};

/// A placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// The store's path or connection string.
    Store,
    /// The port that the server is to listen on.
    Port,
    /// Epoch seconds of the case's clock, read once at the start.
    Now,
    /// The address of the receiver that stands for an effect.
    Downstream(String),
    /// An argument of the call.
    Arg(String),
    /// The path of a file that holds an argument of the call.
    File(String),
}

/// The kinds of placeholders that a place allows, by their first word.
pub(super) type Allowed = &'static [&'static str];

/// In the words of a command that is started for each call.
pub(super) const IN_COMMAND: Allowed = &["store", "now", "downstream.NAME", "arg.NAME", "file.NAME"];
/// In the words of a command that starts a server.
pub(super) const IN_SERVER: Allowed = &["store", "port", "now", "downstream.NAME"];
/// In what a call sends.
pub(super) const IN_REQUEST: Allowed = &["now", "arg.NAME"];
/// In the words of a command that makes the tables.
pub(super) const IN_SETUP: Allowed = &["store"];

/// A text with placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Placeholder(Placeholder),
}

/// A placeholder that does not exist, or not here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no placeholder {{{name}}} here; there are {}", .allowed.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(", "))]
pub struct UnknownPlaceholder {
    /// What stands between the braces.
    pub name: String,
    /// What could.
    pub allowed: &'static [&'static str],
}

impl Template {
    /// Reads a text.
    ///
    /// # Errors
    /// A name in braces that is no placeholder of this place.
    pub fn parse(text: &str, allowed: Allowed) -> Result<Template, UnknownPlaceholder> {
        let (mut parts, mut rest) = (Vec::new(), text);
        let mut plain = String::new();
        while let Some(open) = rest.find('{') {
            plain.push_str(&rest[..open]);
            rest = &rest[open..];
            match named(rest) {
                Some(name) => {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                    parts.push(Part::Placeholder(placeholder(name, allowed)?));
                    rest = &rest[name.len() + 2..];
                }
                None => {
                    plain.push('{');
                    rest = &rest[1..];
                }
            }
        }
        plain.push_str(rest);
        parts.push(Part::Text(plain));
        parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        Ok(Template(parts))
    }

    /// The placeholders in it.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.0.iter().filter_map(|part| match part {
            Part::Placeholder(placeholder) => Some(placeholder),
            Part::Text(_) => None,
        })
    }

    /// The text, with each placeholder replaced by what `with` gives for it.
    ///
    /// # Errors
    /// The first error of `with`.
    pub fn fill<E>(&self, mut with: impl FnMut(&Placeholder) -> Result<Vec<u8>, E>) -> Result<Vec<u8>, E> {
        let mut out = Vec::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => out.extend_from_slice(text.as_bytes()),
                Part::Placeholder(placeholder) => out.extend(with(placeholder)?),
            }
        }
        Ok(out)
    }
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Placeholder::Store => f.write_str("{store}"),
            Placeholder::Port => f.write_str("{port}"),
            Placeholder::Now => f.write_str("{now}"),
            Placeholder::Downstream(name) => write!(f, "{{downstream.{name}}}"),
            Placeholder::Arg(name) => write!(f, "{{arg.{name}}}"),
            Placeholder::File(name) => write!(f, "{{file.{name}}}"),
        }
    }
}

/// The name in the braces that a text begins with, if they hold one.
fn named(text: &str) -> Option<&str> {
    let name = &text[1..text.find('}')?];
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    (begins && name.chars().all(legal)).then_some(name)
}

fn placeholder(name: &str, allowed: Allowed) -> Result<Placeholder, UnknownPlaceholder> {
    let known = match name.split_once('.') {
        None => allowed.contains(&name),
        Some((kind, _)) => allowed.iter().any(|allowed| allowed.strip_suffix(".NAME") == Some(kind)),
    };
    let of = |what: &str| what.to_owned();
    match (name.split_once('.'), name) {
        _ if !known => Err(UnknownPlaceholder { name: name.to_owned(), allowed }),
        (Some(("downstream", what)), _) => Ok(Placeholder::Downstream(of(what))),
        (Some(("arg", what)), _) => Ok(Placeholder::Arg(of(what))),
        (Some(("file", what)), _) => Ok(Placeholder::File(of(what))),
        (None, "store") => Ok(Placeholder::Store),
        (None, "port") => Ok(Placeholder::Port),
        (None, "now") => Ok(Placeholder::Now),
        _ => Err(UnknownPlaceholder { name: name.to_owned(), allowed }),
    }
}

/// An argument as bytes: bytes as they are, what is declared as `any` as JSON, and a text as it stands.
#[must_use]
pub fn argument(ty: &Type, value: &Value) -> Vec<u8> {
    match value {
        Value::Bytes(bytes) => bytes.clone(),
        Value::Text(text) if ty.base != Base::Any => text.clone().into_bytes(),
        value => value.to_json().into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::the_path("--db={store}", "--db=«{store}»")]
    #[case::several("{arg.id}/{arg.n}", "«{arg.id}»/«{arg.n}»")]
    #[case::json_is_text(r#"{"ack":"a-1"}"#, r#"{"ack":"a-1"}"#)]
    #[case::json_around_one(r#"{"id":{arg.id}}"#, r#"{"id":«{arg.id}»}"#)]
    #[case::no_name("{} { } {1}", "{} { } {1}")]
    #[case::never_closed("{store", "{store")]
    fn a_name_in_braces_is_a_placeholder_and_nothing_else_is(#[case] text: &str, #[case] filled: &str) {
        let template = Template::parse(text, IN_COMMAND).expect("every name is known");
        let out = template.fill(|placeholder| Ok::<_, ()>(format!("«{placeholder}»").into_bytes()));
        assert_eq!(out, Ok(filled.as_bytes().to_vec()));
    }

    #[rstest]
    #[case::typo("{stor}")]
    #[case::not_here("{port}")]
    #[case::no_such_kind("{args.id}")]
    #[case::half("{arg}")]
    fn an_unknown_placeholder_is_refused_with_what_there_is(#[case] text: &str) {
        let error = Template::parse(text, IN_COMMAND).expect_err("it is unknown").to_string();
        assert!(error.contains(text) && error.contains("{downstream.NAME}"), "{error}");
    }
}
