//! Records and fields of CSV, as RFC 4180 has them, read in place. It is nack's own because a broken record must cost
//! no more than itself: after a quote that never closes the next line counts again, and every record knows its line.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// The mark that some programs put in front of UTF-8.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// The longest record, in bytes.
pub(crate) const LONGEST: usize = 1 << 20;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// It has no quoted field.
    Plain,
    /// It has quoted fields, all of them closed.
    Quoted,
    /// A quote opens and never closes, or something stands behind one that closes.
    Unclosed,
    /// It is longer than [`LONGEST`].
    TooLong,
}

/// Where the record that begins at `from` ends in data that holds no quote and ends with its last record.
#[inline]
pub(crate) fn line(data: &[u8], from: usize) -> (usize, Shape) {
    let end = memchr(b'\n', &data[from..]).map_or(data.len(), |at| from + at + 1);
    (end, if end - from > LONGEST { Shape::TooLong } else { Shape::Plain })
}

/// Where the record that begins at `from` ends: behind its line break, or at the end of the data if `last`. None: it
/// is not all there yet.
pub(crate) fn record(data: &[u8], from: usize, delimiter: u8, last: bool) -> Option<(usize, Shape)> {
    let rest = &data[from..];
    let line = memchr(b'\n', rest).map(|at| at + 1);
    let whole = line.or(last.then_some(rest.len()));
    // Most lines have no quote; it is looked for before anything else.
    let first = &rest[..line.unwrap_or(rest.len())];
    if memchr(b'"', first).is_none() {
        return match whole {
            Some(end) if end > LONGEST => Some((from + end, Shape::TooLong)),
            Some(end) => Some((from + end, Shape::Plain)),
            None => None,
        };
    }
    let broken = |shape| whole.map(|end| (from + end, shape));
    match quoted_end(rest, delimiter, last) {
        Walk::End(end, _) if end > LONGEST => broken(Shape::TooLong),
        Walk::End(end, true) => Some((from + end, Shape::Quoted)),
        Walk::End(end, false) => Some((from + end, Shape::Plain)),
        Walk::Stray => broken(Shape::Unclosed),
        Walk::Open if rest.len() > LONGEST => broken(Shape::TooLong),
        Walk::Open if last => broken(Shape::Unclosed),
        Walk::Open => None,
    }
}

enum Walk {
    /// The record ends here; whether a field of it is quoted.
    End(usize, bool),
    /// A quoted field is followed by something else than the end of a field.
    Stray,
    /// The data ends inside.
    Open,
}

fn quoted_end(rest: &[u8], delimiter: u8, last: bool) -> Walk {
    let (mut at, mut quoted) = (0, false);
    let limit = rest.len().min(LONGEST + 1);
    loop {
        if rest.get(at) == Some(&b'"') {
            quoted = true;
            at += 1;
            loop {
                match memchr(b'"', &rest[at..limit.max(at)]) {
                    None => return Walk::Open,
                    Some(quote) if rest.get(at + quote + 1) == Some(&b'"') => at += quote + 2,
                    Some(quote) => {
                        at += quote + 1;
                        break;
                    }
                }
            }
            match &rest[at..] {
                [] if last => return Walk::End(at, quoted),
                [] | [b'\r'] if !last => return Walk::Open,
                [b'\n', ..] => return Walk::End(at + 1, quoted),
                [b'\r', b'\n', ..] => return Walk::End(at + 2, quoted),
                [next, ..] if *next == delimiter => at += 1,
                _ => return Walk::Stray,
            }
        } else {
            match memchr2(delimiter, b'\n', &rest[at..]) {
                Some(end) if rest[at + end] == b'\n' => return Walk::End(at + end + 1, quoted),
                Some(end) => at += end + 1,
                None if last => return Walk::End(rest.len(), quoted),
                None => return Walk::Open,
            }
        }
        if at >= limit && limit > LONGEST {
            return Walk::Open;
        }
    }
}

/// A record without its line break.
pub(crate) fn trimmed(record: &[u8]) -> &[u8] {
    let record = record.strip_suffix(b"\n").unwrap_or(record);
    record.strip_suffix(b"\r").unwrap_or(record)
}

/// The fields of a plain record, into `out`. Returns how many there are, also beyond the room in `out`.
#[inline]
pub(crate) fn plain_fields<'a>(record: &'a [u8], delimiter: u8, out: &mut [&'a [u8]]) -> usize {
    let (mut count, mut start) = (0, 0);
    for (at, byte) in record.iter().enumerate() {
        if *byte == delimiter {
            if let Some(slot) = out.get_mut(count) {
                *slot = &record[start..at];
            }
            count += 1;
            start = at + 1;
        }
    }
    if let Some(slot) = out.get_mut(count) {
        *slot = &record[start..];
    }
    count + 1
}

/// The fields of any whole record.
pub(crate) fn fields(record: &[u8], delimiter: u8) -> Vec<Cow<'_, [u8]>> {
    let record = trimmed(record);
    let (mut out, mut at) = (Vec::new(), 0);
    loop {
        let field = if record.get(at) == Some(&b'"') {
            let mut text = Vec::new();
            at += 1;
            while let Some(quote) = memchr(b'"', &record[at..]) {
                text.extend_from_slice(&record[at..at + quote]);
                at += quote + 1;
                if record.get(at) != Some(&b'"') {
                    break;
                }
                text.push(b'"');
                at += 1;
            }
            Cow::Owned(text)
        } else {
            let end = memchr(delimiter, &record[at..]).map_or(record.len(), |end| at + end);
            let field = &record[at..end];
            at = end;
            Cow::Borrowed(field)
        };
        out.push(field);
        if record.get(at) != Some(&delimiter) {
            return out;
        }
        at += 1;
    }
}

/// The fields of the first record as text.
pub(crate) fn texts(head: &[u8], delimiter: u8) -> Vec<String> {
    let Some((end, _)) = record(head, 0, delimiter, true) else { return Vec::new() };
    let text = |field: &Cow<'_, [u8]>| String::from_utf8_lossy(field).trim().to_owned();
    fields(&head[..end], delimiter).iter().map(text).collect()
}

/// What follows the header; the beginning itself if there is none.
pub(crate) fn second(head: &[u8], header: bool) -> Option<&[u8]> {
    if !header {
        return Some(head);
    }
    memchr(b'\n', head).map(|end| &head[end + 1..])
}

/// What stands between the names of a header: whichever of the usual ones is most frequent.
pub(crate) fn delimiter(head: &[u8]) -> u8 {
    let line = &head[..memchr(b'\n', head).unwrap_or(head.len())];
    let count = |delimiter: u8| line.iter().filter(|byte| **byte == delimiter).count();
    let best = [b'|', b'\t', b';', b','].into_iter().max_by_key(|delimiter| count(*delimiter));
    best.unwrap_or(b',')
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("a,b\nc", false, Some((4, Shape::Plain)))]
    #[case::not_all_there("a,b", false, None)]
    #[case::last_without_a_break("a,b", true, Some((3, Shape::Plain)))]
    #[case::quoted("\"a\",b\nc", false, Some((6, Shape::Quoted)))]
    #[case::line_break_in_quotes("\"a\nb\",c\nd", false, Some((8, Shape::Quoted)))]
    #[case::doubled_quote("\"a\"\"\nb\"\r\nc", false, Some((9, Shape::Quoted)))]
    #[case::quote_inside_a_field("a\"b,c\nd", false, Some((6, Shape::Plain)))]
    #[case::open_so_far("\"a\nb", false, None)]
    #[case::never_closed("\"a\nb", true, Some((3, Shape::Unclosed)))]
    #[case::stray("\"a\"x\nb\n", false, Some((5, Shape::Unclosed)))]
    fn a_record_ends_where_it_must(#[case] data: &str, #[case] last: bool, #[case] end: Option<(usize, Shape)>) {
        assert_eq!(record(data.as_bytes(), 0, b',', last), end);
    }

    #[test]
    fn a_record_that_is_too_long_costs_one_line() {
        let open = format!("\"a\n{}", "x\n".repeat(LONGEST));
        assert_eq!(record(open.as_bytes(), 0, b',', false), Some((3, Shape::TooLong)));
        let long = format!("{},b\nc", "x".repeat(LONGEST));
        assert_eq!(record(long.as_bytes(), 0, b',', false), Some((LONGEST + 3, Shape::TooLong)));
    }

    #[rstest]
    #[case("a,b,c", &["a", "b", "c"])]
    #[case("\"a,\"\"b\"\"\",\r\n", &["a,\"b\"", ""])]
    #[case("", &[""])]
    fn fields_lose_their_quotes(#[case] record: &str, #[case] wanted: &[&str]) {
        let fields: Vec<_> =
            fields(record.as_bytes(), b',').iter().map(|f| String::from_utf8_lossy(f).into_owned()).collect();
        assert_eq!(fields, wanted);
    }
}
