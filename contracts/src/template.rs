//! Filling in `$name`: the only computation a contract can ask for, and deliberately a small one.
//!
//! A whole text `$name` becomes the value itself; `-$name`, `$name + N` and `$name - N` need an integer; inside a
//! longer text `$name` is inserted as text; `$$` is a dollar sign. In a list, an element with `_times = N` stands N
//! times, with `$i` counting from 1.

use std::cell::Cell;

use crate::finding::Finding;
use crate::node::{Field, Fields, Kind, Node};
use crate::source::Span;
use crate::value::Value;

/// What a name stands for: a value, or the reason why it stands for none.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Result<Kind, String>;

/// What happens to names that stand for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// They are an error.
    Refuse,
    /// They stay as they are, to be filled in later.
    Keep,
}

/// The most elements that all `_times` of one template may make together, so that a slip does not fill the memory.
const MOST_TIMES: i64 = 100_000;

/// Fills in every name below `node`.
///
/// # Errors
/// A finding at the text that names something unknown or asks for more than a contract can say.
pub fn fill(node: &Node, unknown: Unknown, lookup: Lookup<'_>) -> Result<Node, Finding> {
    fill_within(node, unknown, lookup, &Cell::new(MOST_TIMES))
}

fn fill_within(node: &Node, unknown: Unknown, lookup: Lookup<'_>, left: &Cell<i64>) -> Result<Node, Finding> {
    let kind = match &node.kind {
        Kind::Value(_) | Kind::Absent => node.kind.clone(),
        Kind::Template(text) => fill_text(text, unknown, lookup).map_err(|message| broken(&node.span, message))?,
        Kind::List(items) => {
            let mut out = Vec::with_capacity(items.len());
            for item in items {
                match item.fields().and_then(|fields| fields.get("_times").map(|times| (fields, times))) {
                    Some((fields, times)) => repeat(item, (fields, times), unknown, lookup, left, &mut out)?,
                    None => out.push(fill_within(item, unknown, lookup, left)?),
                }
            }
            Kind::List(out)
        }
        Kind::Map(fields) => {
            let mut out = Fields::with_capacity(fields.len());
            for (key, field) in fields {
                let filled = Field { key: field.key.clone(), value: fill_within(&field.value, unknown, lookup, left)? };
                out.insert(key.clone(), filled);
            }
            Kind::Map(out)
        }
    };
    Ok(Node { kind, span: node.span.clone() })
}

fn repeat(
    item: &Node,
    (fields, times): (&Fields, &Field),
    unknown: Unknown,
    lookup: Lookup<'_>,
    left: &Cell<i64>,
    out: &mut Vec<Node>,
) -> Result<(), Finding> {
    let count = fill(&times.value, unknown, lookup)?;
    let Some(count) = count.value().as_int().filter(|count| (0..=MOST_TIMES).contains(count)) else {
        let message = format!("`_times` must be an integer from 0 to {MOST_TIMES}, and is {}", count.value());
        return Err(broken(&times.value.span, message));
    };
    left.set(left.get() - count);
    if left.get() < 0 {
        let message = format!("the `_times` of this template make more than {MOST_TIMES} elements");
        return Err(broken(&times.value.span, message));
    }
    let mut rest = fields.clone();
    rest.shift_remove("_times");
    let rest = Node { kind: Kind::Map(rest), span: item.span.clone() };
    for i in 1..=count {
        let numbered = |name: &str| match name {
            "i" => Ok(Kind::Value(Value::Int(i))),
            other => lookup(other),
        };
        out.push(fill_within(&rest, unknown, &numbered, left)?);
    }
    Ok(())
}

fn broken(span: &Span, message: String) -> Finding {
    Finding::error("scenario/template", "template", span.clone(), message)
}

fn fill_text(text: &str, unknown: Unknown, lookup: Lookup<'_>) -> Result<Kind, String> {
    if let Some(expression) = Expression::parse(text) {
        return match (lookup(expression.name), unknown) {
            (Err(_), Unknown::Keep) => Ok(Kind::Template(text.to_owned())),
            (Err(message), Unknown::Refuse) => Err(message),
            (Ok(kind), _) => expression.apply(kind),
        };
    }
    let mut out = String::with_capacity(text.len());
    let mut kept = false;
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(tail) = after.strip_prefix('$') {
            // A dollar that stays a dollar must survive a second filling, too.
            out.push_str(if unknown == Unknown::Keep { "$$" } else { "$" });
            rest = tail;
            continue;
        }
        let name = leading_name(after).ok_or_else(|| {
            format!("`$` in {} is followed by no name; a dollar sign is written `$$`", Value::from(text))
        })?;
        match (lookup(name), unknown) {
            (Ok(Kind::Value(Value::Text(value))), _) => out.push_str(&value),
            (Ok(Kind::Value(value @ (Value::Int(_) | Value::Bool(_)))), _) => out.push_str(&value.to_json()),
            (Ok(_), _) => {
                return Err(format!("`${name}` is neither text nor an integer, so it cannot stand inside a text"));
            }
            (Err(_), Unknown::Keep) => {
                kept = true;
                out.push('$');
                out.push_str(name);
            }
            (Err(message), Unknown::Refuse) => return Err(message),
        }
        rest = &after[name.len()..];
    }
    out.push_str(rest);
    let open = kept || (unknown == Unknown::Keep && out.contains('$'));
    Ok(if open { Kind::Template(out) } else { Kind::Value(Value::Text(out)) })
}

/// `$name`, `-$name`, and either with `+ N` or `- N`.
pub(crate) struct Expression<'a> {
    pub(crate) name: &'a str,
    pub(crate) negative: bool,
    pub(crate) plus: Option<i64>,
}

impl<'a> Expression<'a> {
    pub(crate) fn parse(text: &'a str) -> Option<Expression<'a>> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let rest = rest.strip_prefix('$')?;
        let name = leading_name(rest)?;
        let tail = &rest[name.len()..];
        let number = |digits: &str| digits.chars().all(|c| c.is_ascii_digit()).then(|| digits.parse::<i64>().ok())?;
        let plus = match tail {
            "" => None,
            _ => Some(match (tail.strip_prefix(" + "), tail.strip_prefix(" - ")) {
                (Some(digits), _) => number(digits)?,
                (_, Some(digits)) => -number(digits)?,
                _ => return None,
            }),
        };
        Some(Expression { name, negative, plus })
    }

    fn apply(&self, kind: Kind) -> Result<Kind, String> {
        if !self.negative && self.plus.is_none() {
            return Ok(kind);
        }
        let Kind::Value(Value::Int(int)) = kind else {
            return Err(format!("`${}` is no integer, so nothing can be added to it or turned about", self.name));
        };
        let signed = if self.negative { int.checked_neg() } else { Some(int) };
        let sum = signed.and_then(|int| int.checked_add(self.plus.unwrap_or(0)));
        sum.map(|int| Kind::Value(Value::Int(int))).ok_or_else(|| "the sum leaves 64 bits".to_owned())
    }
}

/// `word` or `alias.word` at the start of a text.
fn leading_name(text: &str) -> Option<&str> {
    let word = |text: &str| {
        let end = text.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
        let end = end.unwrap_or(text.len());
        let starts = text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
        (starts && end > 0).then_some(end)
    };
    let first = word(text)?;
    let dotted = text[first..].strip_prefix('.').and_then(word).map(|second| first + 1 + second);
    Some(&text[..dotted.unwrap_or(first)])
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn lookup(name: &str) -> Result<Kind, String> {
        Ok(Kind::Value(match name {
            "five" => Value::Int(5),
            "word" => Value::from("w"),
            "a.key" => Value::from("k"),
            "none" => Value::Null,
            _ => return Err(format!("`${name}` is unknown")),
        }))
    }

    fn filled(text: &str) -> Result<Value, String> {
        let node = Node::parse(&format!("x = {text}")).map_err(|findings| findings[0].message.clone())?;
        fill(&node["x"].value, Unknown::Refuse, &lookup).map(|node| node.value()).map_err(|finding| finding.message)
    }

    #[rstest]
    #[case::value_itself("\"$five\"", "5")]
    #[case::negative("\"-$five\"", "-5")]
    #[case::plus("\"$five + 1\"", "6")]
    #[case::minus("\"-$five - 1\"", "-6")]
    #[case::inside_a_text("\"m-$five!\"", "\"m-5!\"")]
    #[case::alias("\"$a.key\"", "\"k\"")]
    #[case::full_stop_after_a_name("\"$word.\"", "\"w.\"")]
    #[case::dollar("\"$$5\"", "\"$5\"")]
    #[case::null("\"$none\"", "null")]
    #[case::times("[{ _times = 2, id = \"m-$i\" }, 7]", "[{\"id\":\"m-1\"},{\"id\":\"m-2\"},7]")]
    #[case::nested_times_shadow(
        "[{ _times = 1, x = [{ _times = 2, id = \"$i\" }] }]",
        "[{\"x\":[{\"id\":1},{\"id\":2}]}]"
    )]
    #[case::times_zero("[{ _times = 0, id = 1 }]", "[]")]
    fn names_are_filled_in(#[case] text: &str, #[case] json: &str) {
        assert_eq!(filled(text).expect("it fills").to_json(), json);
    }

    #[rstest]
    #[case("\"$nobody\"")]
    #[case("\"-$word\"")]
    #[case("\"$word + 1\"")]
    #[case("\"x $\"")]
    #[case("\"x $none\"")]
    #[case("[{ _times = -1 }]")]
    #[case("[{ _times = 100000, x = [{ _times = 100000 }] }]")]
    #[case("[{ _times = \"$word\" }]")]
    fn what_cannot_be_filled_in_is_an_error(#[case] text: &str) {
        assert!(filled(text).is_err());
    }

    #[test]
    fn unknown_names_can_be_kept_for_later() {
        let node = Node::parse("x = \"mem-$slot-$five\"").expect("TOML");
        let kept = fill(&node["x"].value, Unknown::Keep, &lookup).expect("it fills");
        assert_eq!(kept.kind, Kind::Template("mem-$slot-5".to_owned()));
    }
}
