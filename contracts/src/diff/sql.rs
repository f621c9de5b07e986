//! SQL as a list of words: layout, comments and the case of keywords mean nothing.

/// The words of a statement. What is quoted keeps its case, everything else is folded.
pub(super) fn words(sql: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut rest = sql.trim_start();
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '-' if rest.starts_with("--") => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]).trim_start();
                continue;
            }
            '/' if rest.starts_with("/*") => {
                rest = rest.find("*/").map_or("", |end| &rest[end + 2..]).trim_start();
                continue;
            }
            '\'' | '"' | '`' => quoted(rest, first),
            _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let word = &rest[..taken];
        out.push(if matches!(first, '\'' | '"' | '`') { word.to_owned() } else { word.to_lowercase() });
        rest = rest[taken..].trim_start();
    }
    // An end of the statement says nothing.
    while out.last().is_some_and(|word| word == ";") {
        out.pop();
    }
    out
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of a quoted word, in which a doubled quote is one of its characters.
fn quoted(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return at + c.len_utf8();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::layout("SELECT  id\nFROM t", "select id from t", true)]
    #[case::comments("SELECT id -- all\nFROM t /* every */;", "SELECT id FROM t", true)]
    #[case::quoted_case("SELECT 'A'", "SELECT 'a'", false)]
    #[case::doubled_quotes("SELECT 'a''b' x", "SELECT 'a' 'b' x", false)]
    #[case::operators("SELECT a<>b", "SELECT a <> b", true)]
    #[case::a_comment_in_a_string("SELECT '--' , a", "SELECT '--'", false)]
    #[case::a_quote_that_never_ends("SELECT 'a", "SELECT 'a", true)]
    fn statements_are_compared_by_their_words(#[case] a: &str, #[case] b: &str, #[case] same: bool) {
        assert_eq!(words(a) == words(b), same);
    }
}
