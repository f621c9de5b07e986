//! `:column` in a binding's SQL as the numbered parameters that the server knows.

/// A statement with its parameters numbered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Numbered {
    /// With `$1`, `$2` and so on.
    pub(super) sql: String,
    /// The column behind each.
    pub(super) columns: Vec<String>,
}

/// Numbers each `:column`, but not in quotes and comments, and not a cast.
pub(super) fn numbered(sql: &str) -> Numbered {
    let mut out = Numbered { sql: String::new(), columns: Vec::new() };
    let mut rest = sql;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let name = rest.strip_prefix(':').map_or(0, name_length);
        let length = match first {
            _ if name > 0 => name + 1,
            ':' if rest.starts_with("::") => 2,
            _ => quoted(rest, before).unwrap_or(first.len_utf8()),
        };
        let (token, after) = rest.split_at(length);
        if name > 0 {
            let known = out.columns.iter().position(|column| *column == token[1..]);
            let number = known.unwrap_or_else(|| {
                out.columns.push(token[1..].to_owned());
                out.columns.len() - 1
            });
            out.sql.push_str(&format!("${}", number + 1));
        } else {
            out.sql.push_str(token);
        }
        before = token.chars().next_back().unwrap_or(' ');
        rest = after;
    }
    out
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn name_length(text: &str) -> usize {
    let length = text.find(|c| !in_name(c)).unwrap_or(text.len());
    if text.starts_with(|c: char| c.is_ascii_digit()) { 0 } else { length }
}

/// How long a quoted or commented piece at the beginning of `text` is; an unended one goes to the end.
fn quoted(text: &str, before: char) -> Option<usize> {
    let to = |from: usize, end: &str| text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
    if text.starts_with("--") {
        return Some(to(2, "\n"));
    }
    if text.starts_with("/*") {
        return Some(comment(text));
    }
    match text.chars().next()? {
        '"' => Some(to(1, "\"")),
        '\'' if before.eq_ignore_ascii_case(&'e') => Some(escaped(text)),
        '\'' => Some(to(1, "'")),
        '$' if !in_name(before) => {
            let tag = 1 + name_length(&text[1..]);
            text[tag..].starts_with('$').then(|| to(tag + 1, &text[..=tag]))
        }
        _ => None,
    }
}

/// Comments nest.
fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let (step, change) = match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (2, 1),
            [b'*', b'/', ..] => (2, -1),
            _ => (1, 0),
        };
        (at, depth) = (at + step, depth + change);
        if depth == 0 {
            break;
        }
    }
    at
}

/// In `E'…'` a backslash takes the next character with it.
fn escaped(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '\'' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::names("VALUES (:id, :state)", "VALUES ($1, $2)", &["id", "state"])]
    #[case::one_twice("(:a, :b, :a)", "($1, $2, $1)", &["a", "b"])]
    #[case::a_cast(":a::text, x::int", "$1::text, x::int", &["a"])]
    #[case::an_assignment("x := :a", "x := $1", &["a"])]
    #[case::a_slice("x[1:2]", "x[1:2]", &[])]
    #[case::text("':a', 'it''s :a', :b", "':a', 'it''s :a', $1", &["b"])]
    #[case::escaped_text(r"E'\':a', :b", r"E'\':a', $1", &["b"])]
    #[case::an_identifier(r#"":a" = :b"#, r#"":a" = $1"#, &["b"])]
    #[case::a_line_comment("-- :a\n:b", "-- :a\n$1", &["b"])]
    #[case::nested_comments("/* /* :a */ :a */ :b", "/* /* :a */ :a */ $1", &["b"])]
    #[case::dollar_quotes("$$:a$$, $x$ :a $$ $x$, :b", "$$:a$$, $x$ :a $$ $x$, $1", &["b"])]
    #[case::a_dollar_in_a_name("a$b$ :c $b$", "a$b$ $1 $b$", &["c"])]
    #[case::never_ended("'a :b", "'a :b", &[])]
    fn columns_are_numbered_where_sql_means_them(#[case] sql: &str, #[case] out: &str, #[case] columns: &[&str]) {
        let found = numbered(sql);
        assert_eq!((found.sql.as_str(), found.columns.iter().map(String::as_str).collect()), (out, columns.to_vec()));
    }

    proptest! {
        #[test]
        fn any_text_comes_through(sql in "[ a:'\"$*/\\\\E\n-é]{0,40}") {
            let found = numbered(&sql);
            if found.columns.is_empty() {
                prop_assert_eq!(found.sql, sql);
            }
        }
    }
}
