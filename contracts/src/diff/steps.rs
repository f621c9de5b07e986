//! What a case does and judges, compared step by step. An expectation that says less is laxer; a step that does
//! something else is another test, which nobody can call as strict.

use super::names::Names;
use super::{Diff, sorted};
use crate::model::Scenario;
use crate::node::{Kind, Node};
use crate::value::{Map, Value};

/// How much a part refuses, beside what it refused before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strictness {
    Same,
    Stricter,
    Laxer,
    /// Another: neither can be shown.
    Other,
}

use Strictness::{Laxer, Other, Same, Stricter};

impl Strictness {
    /// Of two parts that judge together.
    fn and(self, other: Strictness) -> Strictness {
        match (self, other) {
            (Same, other) => other,
            (one, Same) => one,
            (Other, _) | (_, Other) => Other,
            (Laxer, _) | (_, Laxer) => Laxer,
            _ => Stricter,
        }
    }

    fn all(parts: impl IntoIterator<Item = Strictness>) -> Strictness {
        parts.into_iter().fold(Same, Strictness::and)
    }
}

/// A node as a value with its keys sorted, under the new names where it is an old one.
pub(super) fn plain(node: &Node, names: Option<&Names>) -> Value {
    match &node.kind {
        Kind::Template(text) => Value::Text(names.map_or_else(|| text.clone(), |names| variables(text, names))),
        Kind::List(items) => Value::List(items.iter().map(|item| plain(item, names)).collect()),
        Kind::Map(fields) => {
            let mut map: Vec<(String, Value)> =
                fields.iter().map(|(key, field)| (key.clone(), plain(&field.value, names))).collect();
            map.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Map(map.into_iter().collect())
        }
        Kind::Value(value) => sorted(value),
        Kind::Absent => Value::Map(Map::from_iter([("_absent".to_owned(), Value::Bool(true))])),
    }
}

/// The text with each `$name` under its new name.
fn variables(text: &str, names: &Names) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        out.push('$');
        let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.')).unwrap_or(after.len());
        let (name, left) = after.split_at(end);
        let word = name.trim_end_matches('.');
        out.push_str(&names.variable(word));
        out.push_str(&name[word.len()..]);
        rest = left;
        // A doubled sign is a sign.
        if let Some(left) = rest.strip_prefix('$').filter(|_| name.is_empty()) {
            out.push('$');
            rest = left;
        }
    }
    out + rest
}

/// An old step under the new names: calls, stores, effects and what templates refer to.
fn renamed(step: &Value, names: &Names) -> Value {
    let keys = |value: &Value, of: &dyn Fn(&str) -> String| match value {
        Value::Map(map) => sorted(&Value::Map(map.iter().map(|(key, value)| (of(key), value.clone())).collect())),
        other => other.clone(),
    };
    let relation = |name: &str| names.relation(name);
    match step {
        Value::Map(map) => {
            let field = |(key, value): (&String, &Value)| {
                let value = match (key.as_str(), value) {
                    ("call", Value::Text(name)) => Value::Text(names.calls.of(name)),
                    ("parallel", Value::List(calls)) => Value::List(calls.iter().map(|c| renamed(c, names)).collect()),
                    ("answers", value) => keys(value, &|name| names.effects.of(name)),
                    ("expect", Value::Map(expect)) => match expect.get("any_of") {
                        Some(Value::List(either)) => {
                            let either = either.iter().map(|one| keys(one, &relation)).collect();
                            Value::Map(Map::from_iter([("any_of".to_owned(), Value::List(either))]))
                        }
                        _ => keys(value, &relation),
                    },
                    (_, value) => value.clone(),
                };
                (key.clone(), value)
            };
            Value::Map(map.iter().map(field).collect())
        }
        other => other.clone(),
    }
}

/// What changed in the given rows and the steps: part, how strict it is now, and a sentence, or for what is
/// [`Strictness::Other`] the name of the thing.
pub(super) fn compare(diff: &Diff<'_>, old: &Scenario, new: &Scenario) -> Vec<(&'static str, Strictness, String)> {
    let names = &diff.names;
    let mut out = Vec::new();
    let given = |scenario: &Scenario, names: Option<&Names>| -> Value {
        let store = |name: &str| names.map_or_else(|| name.to_owned(), |names| names.stores.of(name));
        let rows = scenario.given.iter().map(|(name, field)| (store(name), plain(&field.value, names)));
        sorted(&Value::Map(rows.collect()))
    };
    if given(old, Some(names)) != given(new, None) {
        out.push(("given", Other, "what a case begins with".to_owned()));
    }
    let before: Vec<Value> = old.steps.iter().map(|step| renamed(&plain(step, Some(names)), names)).collect();
    let after: Vec<Value> = new.steps.iter().map(|step| plain(step, None)).collect();
    if before.len() == after.len() {
        for (index, (a, b)) in before.iter().zip(&after).enumerate() {
            step(diff, index + 1, a, b, &mut out);
        }
    } else if let Some(extra) = beyond(&before, &after) {
        let all = extra.iter().all(|step| matches!(step, Value::Map(map) if map.contains_key("expect")));
        match all {
            true => out.push(("step", Stricter, "it judges once more than before".to_owned())),
            false => out.push(("step", Other, "what the case does".to_owned())),
        }
    } else if beyond(&after, &before).is_some() {
        out.push(("step", Laxer, "a step is gone".to_owned()));
    } else {
        out.push(("step", Other, "what the case does".to_owned()));
    }
    out
}

/// What `longer` has besides `shorter`, if it has all of that, in order.
fn beyond<'a>(shorter: &[Value], longer: &'a [Value]) -> Option<Vec<&'a Value>> {
    let mut wanted = shorter.iter().peekable();
    let extra = longer.iter().filter(|step| wanted.next_if(|next| next == step).is_none()).collect();
    wanted.peek().is_none().then_some(extra)
}

fn step(diff: &Diff<'_>, number: usize, old: &Value, new: &Value, out: &mut Vec<(&'static str, Strictness, String)>) {
    let (Value::Map(a), Value::Map(b)) = (old, new) else { return };
    if a.keys()
        .chain(b.keys())
        .any(|key| !["reply", "expect", "fault"].contains(&key.as_str()) && a.get(key) != b.get(key))
    {
        out.push(("step", Other, format!("what step {number} does")));
        return;
    }
    match (a.get("fault"), b.get("fault")) {
        (Some(_), None) => out.push(("fault", Laxer, format!("step {number} is no longer struck by a fault"))),
        (was, is) if was != is => out.push(("fault", Other, format!("the fault of step {number}"))),
        _ => {}
    }
    let reply = match (a.get("reply"), b.get("reply")) {
        (Some(_), None) => Laxer,
        (None, Some(_)) => Stricter,
        (Some(was), Some(is)) => value(was, is),
        (None, None) => Same,
    };
    let told = |strictness, what: &str| match strictness {
        Other => format!("{what} step {number}"),
        Laxer => format!("{what} step {number} says less than before"),
        _ => format!("{what} step {number} says more than before"),
    };
    out.push(("reply", reply, told(reply, "the reply expected of")));
    if let (Some(was), Some(is)) = (a.get("expect"), b.get("expect")) {
        let strictness = expect(diff, was, is);
        out.push(("expect", strictness, told(strictness, "what is expected at")));
    }
}

fn expect(diff: &Diff<'_>, old: &Value, new: &Value) -> Strictness {
    let either = |value: &Value| match value {
        Value::Map(map) => map.get("any_of").cloned(),
        _ => None,
    };
    match (either(old), either(new)) {
        (None, None) => fields(old, new, |name, was, is| relation(diff, name, was, is)),
        (Some(Value::List(was)), Some(Value::List(is))) => subset(&was, &is),
        (None, Some(Value::List(is))) if is.contains(old) => Laxer,
        (Some(Value::List(was)), None) if was.contains(new) => Stricter,
        _ => Other,
    }
}

/// Alternatives: more of them are laxer.
fn subset(old: &[Value], new: &[Value]) -> Strictness {
    let within = |a: &[Value], b: &[Value]| a.iter().all(|value| b.contains(value));
    match (within(old, new), within(new, old)) {
        (true, true) => Same,
        (true, false) => Laxer,
        (false, true) => Stricter,
        (false, false) => Other,
    }
}

/// Two tables of expectations: a key less is laxer, one more is stricter.
fn fields(old: &Value, new: &Value, each: impl Fn(&str, &Value, &Value) -> Strictness) -> Strictness {
    let (Value::Map(a), Value::Map(b)) = (old, new) else { return if old == new { Same } else { Other } };
    let kept = a.iter().map(|(key, was)| b.get(key).map_or(Laxer, |is| each(key, was, is)));
    let added = b.keys().filter(|key| !a.contains_key(*key)).map(|_| Stricter);
    Strictness::all(kept.chain(added))
}

fn relation(diff: &Diff<'_>, name: &str, old: &Value, new: &Value) -> Strictness {
    // Rows of an effect have an order, rows of a store have none.
    let ordered = diff.head.effects.contains_key(name) || name.ends_with("_history");
    let wrapped = |value: &Value| matches!(value, Value::Map(_));
    match (old, new) {
        (a, b) if a == b => Same,
        (Value::List(a), Value::List(b)) => rows(a, b, ordered),
        (Value::Int(n), Value::List(list)) if count(list) == Some(*n) => Stricter,
        (Value::List(list), Value::Int(n)) if count(list) == Some(*n) => Laxer,
        (list @ (Value::List(_) | Value::Text(_)), Value::Map(map)) => match map.get("has").or(map.get("unordered")) {
            Some(rows) if rows == list && map.len() == 1 => Laxer,
            _ => Other,
        },
        (Value::Int(n), Value::Map(map)) => match (map.get("at_most"), map.get("at_least")) {
            (most, least)
                if most.is_none_or(|most| most.as_int() >= Some(*n))
                    && least.is_none_or(|least| least.as_int().is_some_and(|least| least <= *n))
                    && map.keys().all(|key| key == "at_most" || key == "at_least") =>
            {
                Laxer
            }
            _ => Other,
        },
        (map, other) if wrapped(map) && !wrapped(other) => match relation(diff, name, other, map) {
            Laxer => Stricter,
            _ => Other,
        },
        _ => fields(old, new, part),
    }
}

/// One key of a looser expectation.
fn part(key: &str, old: &Value, new: &Value) -> Strictness {
    match (key, old, new) {
        (_, a, b) if a == b => Same,
        ("at_least", Value::Int(a), Value::Int(b)) => {
            if b < a {
                Laxer
            } else {
                Stricter
            }
        }
        ("at_most", Value::Int(a), Value::Int(b)) => {
            if b > a {
                Laxer
            } else {
                Stricter
            }
        }
        ("none" | "has", Value::List(a), Value::List(b)) => match subset(a, b) {
            // More rows that must, or must not, be there ask for more.
            Laxer => Stricter,
            Stricter => Laxer,
            other => other,
        },
        ("unordered", Value::List(a), Value::List(b)) => rows(a, b, false),
        _ => Other,
    }
}

/// How many rows are written, unless one of them stands for several.
fn count(list: &[Value]) -> Option<i64> {
    let times = list.iter().any(|row| matches!(row, Value::Map(map) if map.contains_key("_times")));
    (!times).then(|| i64::try_from(list.len()).ok()).flatten()
}

fn rows(old: &[Value], new: &[Value], ordered: bool) -> Strictness {
    if old.len() != new.len() {
        return Other;
    }
    let pairs = |old: &[&Value], new: &[&Value]| {
        Strictness::all(old.iter().zip(new).map(|(a, b)| {
            fields(a, b, |key, was, is| match key {
                "_times" if was != is => Other,
                _ => value(was, is),
            })
        }))
    };
    let (mut a, mut b): (Vec<&Value>, Vec<&Value>) = (old.iter().collect(), new.iter().collect());
    if !ordered {
        // Equal rows belong together wherever they stand; the others are taken as they come.
        a.sort_by_key(|row| !new.contains(row));
        b.sort_by_key(|row| !old.contains(row));
        let same = |row: &&Value| old.contains(row) && new.contains(row);
        let (mut left, mut right): (Vec<&Value>, Vec<&Value>) =
            (a.iter().copied().filter(|r| same(r)).collect(), b.iter().copied().filter(|r| same(r)).collect());
        left.sort_by_key(|row| row.to_json());
        right.sort_by_key(|row| row.to_json());
        if left != right {
            return Other;
        }
        a.retain(|row| !same(row));
        b.retain(|row| !same(row));
    }
    pairs(&a, &b)
}

/// A value or a matcher.
fn value(old: &Value, new: &Value) -> Strictness {
    let matcher = |value: &Value, key: &str| match value {
        Value::Map(map) if map.len() == 1 => map.get(key).cloned(),
        _ => None,
    };
    let set = |value: &Value| match matcher(value, "_one_of") {
        Some(Value::List(items)) => Some(items),
        _ if is_matcher(value) => None,
        _ => Some(vec![value.clone()]),
    };
    if old == new {
        return Same;
    }
    if matcher(new, "_any").is_some() {
        return Laxer;
    }
    if matcher(old, "_any").is_some() {
        return Stricter;
    }
    match (matcher(old, "_not"), matcher(new, "_not")) {
        (Some(Value::List(was)), Some(Value::List(is))) => {
            return match subset(&was, &is) {
                Laxer => Stricter,
                Stricter => Laxer,
                other => other,
            };
        }
        (None, None) => {}
        _ => return Other,
    }
    match (matcher(old, "_error"), matcher(new, "_error")) {
        (Some(_), Some(Value::Text(any))) if any == "any" => return Laxer,
        (Some(Value::Text(any)), Some(_)) if any == "any" => return Stricter,
        (None, None) => {}
        _ => return Other,
    }
    let typed = |value: &Value, ty: &Value| match (value, ty) {
        (Value::Text(text), Value::Text(ty)) => ty == "string" && !text.is_empty() && !text.starts_with('$'),
        _ => false,
    };
    match (matcher(old, "_type"), matcher(new, "_type")) {
        (None, Some(ty)) if typed(old, &ty) => return Laxer,
        (Some(ty), None) if typed(new, &ty) => return Stricter,
        _ => {}
    }
    match (set(old), set(new)) {
        (Some(was), Some(is)) => subset(&was, &is),
        _ => Other,
    }
}

fn is_matcher(value: &Value) -> bool {
    matches!(value, Value::Map(map) if map.keys().any(|key| key.starts_with('_')))
}
