//! What a line says, for people: its columns in the contract's names. Free text other than the key is never shown, only
//! how long it is: a payload may hold what nobody but its owner should read.

use std::fmt::Write as _;

use crate::plan::{Kind, Plan};

/// The most characters of a value.
const LONGEST: usize = 60;

/// The line in words; `field` gives the text at a place of the log.
pub(crate) fn words<'a>(plan: &Plan, field: &dyn Fn(usize) -> Option<&'a [u8]>) -> String {
    let mut out = String::new();
    for (at, column) in plan.columns.iter().enumerate() {
        if !out.is_empty() {
            out.push(' ');
        }
        // Writing to a string cannot fail.
        let _ = match field(column.at) {
            None => write!(out, "{}=-", column.name),
            Some(text) if column.kind == Kind::Text && at != plan.key => {
                write!(out, "{}=({} bytes)", column.name, text.len())
            }
            Some(text) => write!(out, "{}={}", column.name, short(text)),
        };
    }
    out
}

/// A value of a log, cut and with nothing in it that a terminal would obey.
pub(crate) fn short(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let cut: String = text.chars().take(LONGEST).collect();
    let more = if text.chars().nth(LONGEST).is_some() { "…" } else { "" };
    format!("{}{more}", cut.escape_debug())
}
