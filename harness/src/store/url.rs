//! Connection strings of PostgreSQL, as a binding writes them, and the passwords in them, which nobody may read.

use std::fmt;
use std::ops::Range;

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// A connection string, `postgres://user:password@host:port/database?options`. Shown, its password is hidden.
#[derive(Clone, PartialEq, Eq)]
pub struct Url(String);

/// A text that is no connection string of PostgreSQL: what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UrlError(&'static str);

impl Url {
    /// Takes a text that begins as a connection string does. What the server or its client makes of the rest is seen
    /// when it is used.
    ///
    /// # Errors
    /// Another beginning, or characters that must be percent-encoded.
    pub fn parse(text: &str) -> Result<Url, UrlError> {
        if !SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
            return Err(UrlError("it does not begin with postgres://"));
        }
        if text.contains(|c: char| ends_word(c) || c == '#') {
            return Err(UrlError("a space, a quote, < or > or # in it must be percent-encoded"));
        }
        Ok(Url(text.to_owned()))
    }

    /// The whole text, password and all.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The same server, user and options with another database.
    #[must_use]
    pub fn with_database(&self, name: &str) -> Url {
        let (before, query) = self.0.split_once('?').map_or((self.0.as_str(), None), |(url, query)| (url, Some(query)));
        let authority = before.find("://").map_or(0, |at| at + 3);
        let end = before[authority..].find('/').map_or(before.len(), |at| authority + at);
        let kept = query.into_iter().flat_map(|query| query.split('&')).filter(|pair| !pair.starts_with("dbname="));
        let kept = kept.collect::<Vec<_>>().join("&");
        let query = if kept.is_empty() { String::new() } else { format!("?{kept}") };
        Url(format!("{}/{name}{query}", &before[..end]))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hide_passwords(&self.0))
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text with `***` for the password in every connection string in it.
#[must_use]
pub fn hide_passwords(text: &str) -> String {
    replaced(text, |_| "***".to_owned())
}

/// The same, with nothing moved: each byte of a password becomes a star.
pub(crate) fn star_passwords(text: &str) -> String {
    replaced(text, |password| "*".repeat(password.len()))
}

fn replaced(text: &str, put: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut done = 0;
    for range in passwords(text) {
        out.push_str(&text[done..range.start]);
        out.push_str(&put(&text[range.clone()]));
        done = range.end;
    }
    out.push_str(&text[done..]);
    out
}

/// Where a connection string in running text ends.
fn ends_word(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '`' | '<' | '>')
}

/// Where passwords stand: between the first colon of a connection string and its last @, however broken it is, and as
/// its option `password`.
fn passwords(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = SCHEMES.iter().filter_map(|s| Some(from + text[from..].find(s)? + s.len())).min() {
        let end = text[start..].find(ends_word).map_or(text.len(), |at| start + at);
        let word = &text[start..end];
        let mut options = start;
        if let Some(at) = word.rfind('@') {
            options = start + at;
            found.extend(word[..at].find(':').map(|colon| start + colon + 1..start + at));
        }
        for (at, key) in text[options..end].match_indices("password=") {
            let value = options + at + key.len();
            let length = text[value..end].find('&').unwrap_or(end - value);
            found.push(value..value + length);
        }
        from = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("postgres://ann:s3cret@db:5432/app", "postgres://ann:***@db:5432/app")]
    #[case::the_long_scheme("postgresql://ann:s3cret@db", "postgresql://ann:***@db")]
    #[case::none("postgres://ann@db/app and ann:x@y", "postgres://ann@db/app and ann:x@y")]
    #[case::no_user("postgres://db:5432/app", "postgres://db:5432/app")]
    #[case::not_encoded("postgres://ann:s3/c:r?e@t@db/app", "postgres://ann:***@db/app")]
    #[case::an_option("postgres://db/app?password=s3cret&x=1", "postgres://db/app?password=***&x=1")]
    #[case::an_option_with_an_at("postgres://db:1/app?password=s3@cret", "postgres://db:***@cret")]
    #[case::in_running_text(
        "no route from 'postgres://a:b@c/d' to \"postgres://e:f@g/h\", says x",
        "no route from 'postgres://a:***@c/d' to \"postgres://e:***@g/h\", says x"
    )]
    fn a_password_is_never_shown(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(hide_passwords(text), shown);
        assert_eq!(star_passwords(text).len(), text.len());
    }

    #[test]
    fn a_url_hides_its_password_however_it_is_shown() {
        let url = Url::parse("postgres://ann:s3cret@db/app").expect("it is one");
        assert_eq!(format!("{url} {url:?}"), "postgres://ann:***@db/app postgres://ann:***@db/app");
    }

    #[rstest]
    #[case::with_one("postgres://ann:pw@db:5432/app", "postgres://ann:pw@db:5432/other")]
    #[case::without("postgres://db", "postgres://db/other")]
    #[case::with_options("postgres://db/app?options=-c%20a%3Db", "postgres://db/other?options=-c%20a%3Db")]
    #[case::options_only("postgres://db?connect_timeout=3", "postgres://db/other?connect_timeout=3")]
    #[case::named_by_an_option("postgres://db/?dbname=app", "postgres://db/other")]
    fn another_database_is_of_the_same_server(#[case] url: &str, #[case] other: &str) {
        assert_eq!(Url::parse(url).expect("it is one").with_database("other").reveal(), other);
    }

    #[rstest]
    #[case::another_scheme("mysql://db/app")]
    #[case::a_space("postgres://db/my app")]
    #[case::a_quote("postgres://ann:it's@db/app")]
    fn another_text_is_refused(#[case] text: &str) {
        assert!(Url::parse(text).is_err());
    }
}
