//! Whether a store reads back as it was seeded. A seed that seeds nothing, or a query that observes something else,
//! would let every later check look past the subject.

use indexmap::IndexMap;
use nack_contracts::{Map, Value};

/// The first given value that is not observed, in words.
pub(crate) fn unseen(given: &IndexMap<String, Vec<Map>>, observed: &IndexMap<String, Vec<Map>>) -> Option<String> {
    given.iter().find_map(|(store, rows)| {
        let seen = observed.get(store).map_or(&[][..], Vec::as_slice);
        if seen.len() != rows.len() {
            return Some(format!("{} rows of {store} were seeded, and {} are observed", rows.len(), seen.len()));
        }
        rows.iter().find_map(|row| unseen_row(store, row, seen))
    })
}

fn unseen_row(store: &str, row: &Map, seen: &[Map]) -> Option<String> {
    let differs = |other: &Map| {
        let of = |(column, value): (&String, &Value)| {
            let got = other.get(column)?;
            (!same(value, got)).then(|| format!("{store}.{column} was seeded as {value} and is observed as {got}"))
        };
        row.iter().find_map(of)
    };
    let mut nearest = None;
    for other in seen {
        nearest = Some(differs(other)?);
    }
    nearest
}

/// A store keeps lists and objects as their text.
fn same(given: &Value, seen: &Value) -> bool {
    given == seen || (matches!(given, Value::List(_) | Value::Map(_)) && seen.as_text() == Some(&given.to_json()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn rows(json: &str) -> IndexMap<String, Vec<Map>> {
        let Value::List(rows) = Value::from_json(json).expect("it is JSON") else { panic!("it is a list") };
        let rows = rows.into_iter().map(|row| if let Value::Map(map) = row { map } else { panic!("it is a row") });
        IndexMap::from([("t".to_owned(), rows.collect())])
    }

    #[rstest]
    #[case::the_same(r#"[{"id":"a","n":1}]"#, r#"[{"id":"a","n":1,"more":2}]"#, None)]
    #[case::another_order(r#"[{"id":"a"},{"id":"b"}]"#, r#"[{"id":"b"},{"id":"a"}]"#, None)]
    #[case::a_column_that_is_not_observed(r#"[{"id":"a","n":1}]"#, r#"[{"id":"a"}]"#, None)]
    #[case::nothing(r#"[{"id":"a"}]"#, "[]", Some("1 rows of t were seeded, and 0 are observed"))]
    #[case::a_constant(
        r#"[{"id":"a","s":"x"}]"#,
        r#"[{"id":"a","s":"sent"}]"#,
        Some("t.s was seeded as \"x\" and is observed as \"sent\"")
    )]
    fn what_was_seeded_is_observed(#[case] given: &str, #[case] observed: &str, #[case] says: Option<&str>) {
        assert_eq!(unseen(&rows(given), &rows(observed)).as_deref(), says);
    }
}
