//! The report for machines, and the schema that says what they may rely on. Keys are added, never renamed, so a reader
//! of format 1 goes on reading it.

use std::fmt::Write;

use serde::de::Error;

use crate::Report;
use crate::escape::unseen;

/// The version of the format that this crate writes and reads.
pub const FORMAT: u32 = 1;

/// Renders a report as JSON. A character that a terminal would obey or hide is written by its number, so that the
/// document can be looked at safely and still reads back as the same report.
#[must_use]
pub fn to_json(report: &Report) -> String {
    // Fails only for a map with keys that are no strings, or an infinite number: the model has neither.
    visible(&serde_json::to_string_pretty(report).expect("a report is always JSON"))
}

/// Reads a report back.
///
/// # Errors
/// Text that is no JSON, no report, or one of a format that this version does not know.
pub fn from_json(json: &str) -> Result<Report, serde_json::Error> {
    let report: Report = serde_json::from_str(json)?;
    if report.format == FORMAT {
        Ok(report)
    } else {
        let message =
            format!("this report is of format {}, and this version of nack reads format {FORMAT}", report.format);
        Err(serde_json::Error::custom(message))
    }
}

/// The report with every duration set to zero: what two runs of one seed have in common.
#[must_use]
pub fn without_timings(report: &Report) -> Report {
    let mut report = Report { elapsed_ms: 0, ..report.clone() };
    for case in &mut report.cases {
        case.elapsed_us = 0;
    }
    report
}

/// The JSON Schema of a report.
#[must_use]
pub fn schema() -> String {
    // As for a report: a schema is always JSON.
    visible(&serde_json::to_string_pretty(&schemars::schema_for!(Report)).expect("a schema is always JSON"))
}

/// Line breaks between a document's own lines are all that stays: serde_json has escaped those in strings.
fn visible(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        if c == '\n' || !unseen(c) {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String does not fail.
                _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out.push('\n');
    out
}
