//! Times of logs, which come as numbers of some unit or as ISO 8601, in milliseconds since 1970.

use std::fmt;

/// What a log's times count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Seconds since 1970.
    Seconds,
    /// Milliseconds since 1970.
    Millis,
    /// Microseconds since 1970.
    Micros,
    /// Nanoseconds since 1970.
    Nanos,
    /// ISO 8601 with a date, a time and perhaps an offset; without one it is UTC.
    Iso,
}

impl Unit {
    /// All of them by their names in a `nack.toml`.
    pub const ALL: [(&str, Unit); 5] = [
        ("seconds", Unit::Seconds),
        ("millis", Unit::Millis),
        ("micros", Unit::Micros),
        ("nanos", Unit::Nanos),
        ("iso", Unit::Iso),
    ];

    /// The unit in which this text is likely to be a time of this century.
    #[must_use]
    pub(crate) fn guess(text: &str) -> Unit {
        match text.parse::<f64>() {
            Err(_) => Unit::Iso,
            Ok(number) if number < 1e11 => Unit::Seconds,
            Ok(number) if number < 1e14 => Unit::Millis,
            Ok(number) if number < 1e17 => Unit::Micros,
            Ok(_) => Unit::Nanos,
        }
    }

    /// Milliseconds since 1970.
    pub(crate) fn millis(self, text: &[u8]) -> Option<i64> {
        match self {
            Unit::Seconds => match int(text) {
                Some(seconds) => seconds.checked_mul(1000),
                None => decimal(text),
            },
            Unit::Millis => int(text),
            Unit::Micros => int(text).map(|micros| micros.div_euclid(1000)),
            Unit::Nanos => int(text).map(|nanos| nanos.div_euclid(1_000_000)),
            Unit::Iso => iso(text),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Unit::ALL.iter().find(|(_, unit)| unit == self).map_or("", |(name, _)| name);
        f.pad(name)
    }
}

/// An integer in decimal digits.
pub(crate) fn int(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 {
        return std::str::from_utf8(text).ok()?.parse().ok();
    }
    let mut out: i64 = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        // At most 18 digits fit.
        out = out * 10 + i64::from(digit);
    }
    Some(if negative { -out } else { out })
}

/// Seconds with a fraction.
fn decimal(text: &[u8]) -> Option<i64> {
    let at = text.iter().position(|byte| *byte == b'.')?;
    let (whole, fraction) = (int(&text[..at])?, &text[at + 1..]);
    let millis = fraction_millis(fraction)?;
    let signed = if text[0] == b'-' { -millis } else { millis };
    whole.checked_mul(1000)?.checked_add(signed)
}

/// The milliseconds of the digits behind a point.
fn fraction_millis(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let padded: Vec<u8> = digits.iter().copied().chain(*b"000").take(3).collect();
    int(&padded)
}

/// `YYYY-MM-DD`, `T` or a blank, `HH:MM:SS`, perhaps a fraction, perhaps `Z` or an offset.
fn iso(text: &[u8]) -> Option<i64> {
    let number = |from: usize, to: usize| {
        let digits = text.get(from..to)?;
        if digits.iter().all(u8::is_ascii_digit) { int(digits) } else { None }
    };
    let is = |at: usize, bytes: &[u8]| text.get(at).is_some_and(|byte| bytes.contains(byte));
    if !(is(4, b"-") && is(7, b"-") && is(10, b"Tt ") && is(13, b":") && is(16, b":")) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !((1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60) {
        return None;
    }
    let rest = &text[19..];
    let (millis, rest) = match rest {
        [b'.' | b',', tail @ ..] => {
            let end = tail.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(tail.len());
            (fraction_millis(&tail[..end])?, &tail[end..])
        }
        _ => (0, rest),
    };
    let offset = offset_seconds(rest)?;
    Some(((days(year, month, day) * 24 + hour) * 3600 + minute * 60 + second - offset) * 1000 + millis)
}

fn offset_seconds(text: &[u8]) -> Option<i64> {
    let (sign, rest) = match text {
        [] | [b'Z' | b'z'] => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let digits: Vec<u8> = rest.iter().copied().filter(|byte| *byte != b':').collect();
    match digits.len() {
        2 => Some(sign * int(&digits)? * 3600),
        4 => Some(sign * (int(&digits[..2])? * 3600 + int(&digits[2..])? * 60)),
        _ => None,
    }
}

/// Days from 1970-01-01 in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // The year begins in March, so that the leap day is its last.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (month * 153 + 2) / 5 + day
        - 1
        - 719_468
}

/// Milliseconds since 1970 as people read them.
#[must_use]
pub(crate) fn show(millis: i64) -> String {
    let (days, second) = (millis.div_euclid(86_400_000), millis.div_euclid(1000).rem_euclid(86_400));
    // The same calendar backward, in eras of 400 years.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year + era * 400, month + 3) } else { (year + era * 400 + 1, month - 9) };
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(Unit::Seconds, "1800000000", Some(1_800_000_000_000))]
    #[case(Unit::Seconds, "1800000000.25", Some(1_800_000_000_250))]
    #[case(Unit::Seconds, "-1.5", Some(-1500))]
    #[case(Unit::Seconds, "soon", None)]
    #[case(Unit::Millis, "1800000000250", Some(1_800_000_000_250))]
    #[case(Unit::Micros, "1800000000250999", Some(1_800_000_000_250))]
    #[case(Unit::Iso, "2027-01-15T08:00:00Z", Some(1_800_000_000_000))]
    #[case(Unit::Iso, "2027-01-15 10:00:00.25+02:00", Some(1_800_000_000_250))]
    #[case(Unit::Iso, "2024-02-29 00:00:00", Some(1_709_164_800_000))]
    #[case(Unit::Iso, "2027-13-15T08:00:00Z", None)]
    #[case(Unit::Iso, "2027-01-15", None)]
    fn times_are_milliseconds_since_1970(#[case] unit: Unit, #[case] text: &str, #[case] millis: Option<i64>) {
        assert_eq!(unit.millis(text.as_bytes()), millis);
    }

    #[rstest]
    #[case(0, "1970-01-01 00:00:00")]
    #[case(1_709_164_799_999, "2024-02-28 23:59:59")]
    #[case(-1, "1969-12-31 23:59:59")]
    fn times_are_shown_in_utc(#[case] millis: i64, #[case] shown: &str) {
        assert_eq!(show(millis), shown);
    }
}
