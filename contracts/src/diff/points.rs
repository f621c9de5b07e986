//! Two versions of a domain laid over each other: the values that either of them tells apart, each with the class that
//! holds it in the one and in the other.

use std::collections::{HashMap, HashSet};

use crate::hash::stable_hash;
use crate::model::{Class, Domain, Sample};
use crate::node::Kind;
use crate::value::Value;

/// A value, or all that no class names.
pub(super) struct Point {
    /// In words.
    pub(super) words: String,
    /// The class that holds it in the old version, by name or as any other value.
    pub(super) base: Option<usize>,
    /// The same in the new one.
    pub(super) head: Option<usize>,
}

/// A sample's value as a key, with which an absent value is not null. Samples may be a megabyte long, keys are not.
pub(super) fn key(sample: &Sample) -> String {
    const LONG: usize = 256;
    match &sample.node.kind {
        Kind::Absent => "absent".to_owned(),
        Kind::Value(Value::Text(text)) if text.len() > LONG => {
            format!("{} bytes of text, {:016x}", text.len(), stable_hash(text))
        }
        _ => super::sorted(&sample.node.value()).to_json(),
    }
}

/// The class of each value that a domain names.
pub(super) fn named(domain: &Domain) -> HashMap<String, usize> {
    let of = |(index, class): (usize, &Class)| class.samples.iter().map(|s| (key(s), index)).collect::<Vec<_>>();
    domain.classes.iter().enumerate().flat_map(of).collect()
}

/// The values that a class holds by name, sorted.
pub(super) fn keys(class: &Class) -> Vec<String> {
    let mut keys: Vec<String> = class.samples.iter().map(key).collect();
    keys.sort();
    keys
}

/// Every value at which the two versions could part: each sample, each end of a range and its neighbours, and the rest.
pub(super) fn points(base: &Domain, head: &Domain) -> Vec<Point> {
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    let (before, after) = (named(base), named(head));
    let mut add = |key: String, int: Option<i64>, words: String| {
        if seen.insert(key.clone()) {
            let at = |domain: &Domain, named: &HashMap<String, usize>| {
                named.get(&key).copied().or_else(|| around(domain, int?)).or(domain.otherwise)
            };
            out.push(Point { words, base: at(base, &before), head: at(head, &after) });
        }
    };
    for class in base.classes.iter().chain(&head.classes) {
        for sample in &class.samples {
            let (int, words) = match &sample.node.kind {
                Kind::Absent => (None, "nothing".to_owned()),
                Kind::Value(value) => (value.as_int(), value.to_string()),
                _ => (None, sample.node.value().to_string()),
            };
            add(key(sample), int, words);
        }
        for end in class.range.into_iter().flat_map(|(low, high)| [low, high]).flatten() {
            for int in [end.saturating_sub(1), end, end.saturating_add(1)] {
                add(Value::Int(int).to_json(), Some(int), int.to_string());
            }
        }
    }
    out.push(Point { words: "any other value".to_owned(), base: base.otherwise, head: head.otherwise });
    out
}

/// The class whose range holds an integer.
fn around(domain: &Domain, int: i64) -> Option<usize> {
    let holds = |class: &Class| {
        class.range.is_some_and(|(low, high)| low.is_none_or(|low| low <= int) && high.is_none_or(|high| int <= high))
    };
    domain.classes.iter().position(holds)
}

/// Whether a sample is there because a range ends at it: another end brings others with it.
pub(super) fn at_an_end(class: &Class, sample: &Sample) -> bool {
    let Some((low, high)) = class.range else { return false };
    let ends = [low, high, low.map(|low| low.saturating_add(1)), high.map(|high| high.saturating_sub(1))];
    sample.node.value().as_int().is_some_and(|int| ends.contains(&Some(int)))
}
