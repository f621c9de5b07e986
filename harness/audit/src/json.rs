//! Lines of JSON objects: the values of the wanted keys as text, whatever their JSON type. A log does not keep types
//! reliably, so `5` and `"5"` say the same here, as they would in CSV.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// The value of one key: blank if it is null.
pub(crate) type Field<'a> = Option<Cow<'a, [u8]>>;

/// Reads one line. `names` are the wanted keys; a key that is missing is blank.
pub(crate) fn line<'a>(line: &'a str, names: &[String], out: &mut Vec<Field<'a>>) -> Result<(), serde_json::Error> {
    out.clear();
    out.resize(names.len(), None);
    let mut reader = serde_json::Deserializer::from_str(line);
    reader.deserialize_map(Wanted { names, out })?;
    reader.end()
}

struct Wanted<'n, 'o, 'a> {
    names: &'n [String],
    out: &'o mut Vec<Field<'a>>,
}

impl<'de> Visitor<'de> for Wanted<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let value = map.next_value::<&'de RawValue>()?;
            if let Some(at) = self.names.iter().position(|name| *name == key) {
                self.out[at] = text(value.get());
            }
        }
        Ok(())
    }
}

/// A raw value as the text that a log in CSV would hold.
fn text(raw: &str) -> Field<'_> {
    match raw.as_bytes() {
        b"null" => None,
        [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => Some(Cow::Borrowed(inner)),
        [b'"', ..] => match serde_json::from_str::<String>(raw) {
            Ok(text) => Some(Cow::Owned(text.into_bytes())),
            Err(_) => Some(Cow::Borrowed(raw.as_bytes())),
        },
        other => Some(Cow::Borrowed(other)),
    }
}

/// The keys of the first lines, in order of their first use.
pub(crate) fn names(head: &[u8]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in whole_lines(head) {
        let Ok(object) = serde_json::from_str::<indexmap::IndexMap<String, serde::de::IgnoredAny>>(line) else {
            continue;
        };
        for key in object.into_keys() {
            if !out.contains(&key) {
                out.push(key);
            }
        }
    }
    out
}

/// The first value of a key that is no blank.
pub(crate) fn sample(head: &[u8], name: &str) -> Option<String> {
    let names = [name.to_owned()];
    let mut fields = Vec::new();
    whole_lines(head).find_map(|text| {
        line(text, &names, &mut fields).ok()?;
        let field = fields.first_mut()?.take()?;
        Some(String::from_utf8_lossy(&field).into_owned())
    })
}

fn whole_lines(head: &[u8]) -> impl Iterator<Item = &str> {
    head.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok()).take(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_text_whatever_their_type() {
        let names = ["a", "b", "c", "d", "e"].map(str::to_owned);
        let mut out = Vec::new();
        line(r#"{"a":5,"b":"x\n","c":null,"z":[1],"e":{"k":1}}"#, &names, &mut out).expect("it is JSON");
        let text: Vec<_> = out.iter().map(|f| f.as_ref().map(|f| String::from_utf8_lossy(f).into_owned())).collect();
        assert_eq!(text, [Some("5".into()), Some("x\n".into()), None, None, Some(r#"{"k":1}"#.into())]);
        for broken in ["{", "[]", r#"{"a":1} x"#, ""] {
            assert!(line(broken, &names, &mut out).is_err(), "{broken}");
        }
    }
}
