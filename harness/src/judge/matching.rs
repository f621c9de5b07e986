//! Expected against observed: values, rows and relations.

use indexmap::IndexMap;
use nack_cases::{Expected, Matcher, RowPattern, Rows, ValueType, matcher_words};
use nack_contracts::{Map, Value};

use super::{Observed, Outcome};

/// Whether the end of a call is what was expected of it.
pub(crate) fn outcome_meets(matcher: &Matcher, outcome: &Outcome) -> bool {
    match (matcher, outcome) {
        (Matcher::Any, _) => true,
        (Matcher::OneOf(some), _) => some.iter().any(|matcher| outcome_meets(matcher, outcome)),
        (Matcher::Not(none), _) => !none.iter().any(|matcher| outcome_meets(matcher, outcome)),
        (Matcher::Error(wanted), Outcome::Error { name, .. }) => wanted == "any" || wanted == name,
        (Matcher::Error(_), _) | (_, Outcome::Unobserved | Outcome::Error { .. } | Outcome::Nothing(_)) => false,
        (matcher, Outcome::Reply(value)) => value_meets(matcher, value),
    }
}

fn value_meets(matcher: &Matcher, value: &Value) -> bool {
    match (matcher, value) {
        (Matcher::Exactly(wanted), value) => wanted == value,
        (Matcher::Any, _) => true,
        (Matcher::Error(_), _) => false,
        (Matcher::Type(ValueType::String), Value::Text(text)) => !text.is_empty(),
        (Matcher::Type(ValueType::Int), Value::Int(_))
        | (Matcher::Type(ValueType::Bool), Value::Bool(_))
        | (Matcher::Type(ValueType::List), Value::List(_))
        | (Matcher::Type(ValueType::Object), Value::Map(_)) => true,
        (Matcher::Type(_), _) => false,
        (Matcher::OneOf(some), value) => some.iter().any(|matcher| value_meets(matcher, value)),
        (Matcher::Not(none), value) => !none.iter().any(|matcher| value_meets(matcher, value)),
        (Matcher::List(items), Value::List(values)) => {
            items.len() == values.len() && items.iter().zip(values).all(|(item, value)| value_meets(item, value))
        }
        (Matcher::Map(fields), Value::Map(values)) => {
            fields.len() == values.len()
                && fields.iter().all(|(key, field)| values.get(key).is_some_and(|value| value_meets(field, value)))
        }
        (Matcher::List(_) | Matcher::Map(_), _) => false,
    }
}

fn row_meets(pattern: &RowPattern, row: &Map) -> bool {
    // A column that this subject lacks is not judged.
    pattern.iter().all(|(column, matcher)| row.get(column).is_none_or(|value| value_meets(matcher, value)))
}

/// What did not hold of an `expect`: in words, expected, observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Miss {
    pub(crate) words: String,
    pub(crate) expected: String,
    pub(crate) observed: String,
}

/// Holds observed relations against the alternatives of an `expect`.
pub(crate) fn expectation(alternatives: &[IndexMap<String, Expected>], observed: &Observed) -> Result<(), Miss> {
    let mut misses = Vec::new();
    for relations in alternatives {
        let judged = relations.iter().filter(|(name, _)| *name != "reply" || !observed.unobserved);
        let miss = judged.into_iter().find_map(|(name, expected)| relation(name, expected, observed).err());
        match miss {
            None => return Ok(()),
            Some(miss) => misses.push(miss),
        }
    }
    let Some(first) = misses.first() else { return Ok(()) };
    if misses.len() == 1 {
        return Err(first.clone());
    }
    let words = misses.iter().map(|miss| miss.words.as_str()).collect::<Vec<_>>().join("; or ");
    let expected = misses.iter().map(|miss| miss.expected.as_str()).collect::<Vec<_>>().join("\nor ");
    let mut seen: Vec<&str> = misses.iter().map(|miss| miss.observed.as_str()).collect();
    seen.dedup();
    Err(Miss { words: format!("none of the alternatives holds: {words}"), expected, observed: seen.join("\n") })
}

fn relation(name: &str, expected: &Expected, observed: &Observed) -> Result<(), Miss> {
    let rows = observed.relation(name);
    let miss = |words: String, expected: String| Miss { words, expected, observed: format!("{name}: {}", show(&rows)) };
    let count = rows.len() as u64;
    if let Some(wanted) = &expected.rows {
        match wanted {
            Rows::Count(n) if count != *n => {
                return Err(miss(format!("{name} holds {count} rows, not {n}"), format!("{name}: {n} rows")));
            }
            Rows::Count(_) => {}
            Rows::Given => {
                let given = observed.relation(&format!("{name}_given"));
                let patterns: Vec<RowPattern> = given.iter().map(exactly).collect();
                if !unordered(&patterns, &rows) {
                    return Err(miss(format!("{name} is not as it was given"), format!("{name}: {}", show(&given))));
                }
            }
            Rows::These(patterns) => {
                let holds = patterns.len() == rows.len()
                    && patterns.iter().zip(&rows).all(|(pattern, row)| row_meets(pattern, row));
                if !holds {
                    let words = format!("{name} does not hold exactly these rows, in this order");
                    return Err(miss(words, format!("{name}: {}", show_patterns(patterns))));
                }
            }
            Rows::Unordered(patterns) => {
                if !unordered(patterns, &rows) {
                    let words = format!("{name} does not hold exactly these rows");
                    return Err(miss(words, format!("{name}: {}", show_patterns(patterns))));
                }
            }
        }
    }
    if let Some(has) = &expected.has {
        let patterns = match has {
            Rows::Given => observed.relation(&format!("{name}_given")).iter().map(exactly).collect(),
            Rows::These(patterns) | Rows::Unordered(patterns) => patterns.clone(),
            Rows::Count(_) => Vec::new(),
        };
        if !injective(&patterns, &rows) {
            let words = format!("{name} lacks a row that it must have");
            return Err(miss(words, format!("{name} has: {}", show_patterns(&patterns))));
        }
    }
    if let Some(pattern) = expected.none.iter().find(|pattern| rows.iter().any(|row| row_meets(pattern, row))) {
        let words = format!("{name} holds a row that it must not have");
        return Err(miss(words, format!("{name} has none: {}", show_patterns(std::slice::from_ref(pattern)))));
    }
    if let Some(least) = expected.at_least.filter(|least| count < *least) {
        return Err(miss(format!("{name} holds only {count} rows"), format!("{name}: at least {least} rows")));
    }
    if let Some(most) = expected.at_most.filter(|most| count > *most) {
        return Err(miss(format!("{name} holds {count} rows"), format!("{name}: at most {most} rows")));
    }
    if let Some(column) = &expected.same
        && let Some(first) = rows.first().and_then(|row| row.get(column))
        && rows.iter().any(|row| row.get(column) != Some(first))
    {
        return Err(miss(
            format!("the rows of {name} differ in {column}"),
            format!("{name}: one value of {column} in all rows"),
        ));
    }
    Ok(())
}

fn exactly(row: &Map) -> RowPattern {
    row.iter().map(|(column, value)| (column.clone(), Matcher::Exactly(value.clone()))).collect()
}

fn unordered(patterns: &[RowPattern], rows: &[Map]) -> bool {
    patterns.len() == rows.len() && injective(patterns, rows)
}

/// Whether each pattern can have a row of its own: augmenting paths, since a greedy choice may take the only row that
/// another pattern fits.
fn injective(patterns: &[RowPattern], rows: &[Map]) -> bool {
    fn place(
        pattern: usize,
        patterns: &[RowPattern],
        rows: &[Map],
        owner: &mut [Option<usize>],
        tried: &mut [bool],
    ) -> bool {
        for row in 0..rows.len() {
            if tried[row] || !row_meets(&patterns[pattern], &rows[row]) {
                continue;
            }
            tried[row] = true;
            let free = match owner[row] {
                None => true,
                Some(other) => place(other, patterns, rows, owner, tried),
            };
            if free {
                owner[row] = Some(pattern);
                return true;
            }
        }
        false
    }
    let mut owner = vec![None; rows.len()];
    (0..patterns.len()).all(|pattern| place(pattern, patterns, rows, &mut owner, &mut vec![false; rows.len()]))
}

const SHOWN_ROWS: usize = 6;

fn show(rows: &[Map]) -> String {
    if rows.is_empty() {
        return "no rows".to_owned();
    }
    let mut shown: Vec<String> = rows.iter().take(SHOWN_ROWS).map(|row| show_row(row, |v| v.to_string())).collect();
    if rows.len() > SHOWN_ROWS {
        shown.push(format!("… {} rows in all", rows.len()));
    }
    shown.join(" ")
}

fn show_patterns(patterns: &[RowPattern]) -> String {
    if patterns.is_empty() {
        return "no rows".to_owned();
    }
    let mut shown: Vec<String> = patterns.iter().take(SHOWN_ROWS).map(|row| show_row(row, matcher_words)).collect();
    if patterns.len() > SHOWN_ROWS {
        shown.push(format!("… {} rows in all", patterns.len()));
    }
    shown.join(" ")
}

fn show_row<V>(row: &IndexMap<String, V>, value: impl Fn(&V) -> String) -> String {
    let fields: Vec<String> = row.iter().map(|(column, v)| format!("{column}={}", value(v))).collect();
    format!("({})", fields.join(" "))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn value(json: &str) -> Value {
        Value::from_json(json).expect("JSON")
    }

    #[rstest]
    #[case::same("1", "1", true)]
    #[case::one_is_not_true("1", "true", false)]
    #[case::one_is_not_one_point_zero("1", "1.0", false)]
    #[case::objects_do_not_look_at_the_order("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true)]
    #[case::objects_are_exact("{\"a\":1}", "{\"a\":1,\"b\":2}", false)]
    fn a_value_is_compared_with_its_type(#[case] wanted: &str, #[case] seen: &str, #[case] meets: bool) {
        assert_eq!(value_meets(&Matcher::Exactly(value(wanted)), &value(seen)), meets);
    }

    #[test]
    fn not_is_met_by_an_error_and_by_no_reply() {
        let not = Matcher::Not(vec![Matcher::Exactly("sent".into())]);
        let error = Outcome::Error { name: "store".to_owned(), definite: false, text: Vec::new() };
        assert!(outcome_meets(&not, &error));
        assert!(outcome_meets(&not, &Outcome::Nothing("killed".to_owned())));
        assert!(!outcome_meets(&not, &Outcome::Reply("sent".into())));
    }

    #[test]
    fn a_pattern_that_fits_two_rows_leaves_the_other_its_own() {
        let row = |id: &str| Map::from([("id".to_owned(), Value::from(id))]);
        let any = RowPattern::new();
        let a = RowPattern::from([("id".to_owned(), Matcher::Exactly("a".into()))]);
        assert!(unordered(&[any.clone(), a.clone()], &[row("a"), row("b")]));
        assert!(!unordered(&[a.clone(), a], &[row("a"), row("b")]));
    }
}
