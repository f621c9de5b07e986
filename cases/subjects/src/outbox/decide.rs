//! The decision: what becomes of an inflight row, given what is known of its send. This is the only place that
//! yields `sent`, and it fails closed: a result it does not know ends the row.

use nack::subject::Failure;
use nack_contracts::Value;

use crate::defect::Defect;

/// What becomes of a row after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Accepted by the other side.
    Sent,
    /// To be tried again.
    Pending,
    /// Never to be tried again.
    Dead,
}

impl Next {
    /// The state as the table stores it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Next::Sent => "sent",
            Next::Pending => "pending",
            Next::Dead => "dead",
        }
    }
}

/// Decides for a row in `state`, whose claim made it attempt number `attempts` of at most `budget`.
pub(super) fn decide(
    defect: Defect,
    budget: i64,
    state: &Value,
    attempts: i64,
    result: &Value,
) -> Result<Next, Failure> {
    if state.as_text() != Some("inflight") && !defect.is("decides-any-state") {
        return Err(Failure::refused("not_inflight"));
    }
    let spent = attempts >= last_attempt(defect, budget);
    if is_accepted(defect, result) {
        let too_late = spent && defect.is("accepted-at-max-is-dead");
        return Ok(if too_late { Next::Dead } else { Next::Sent });
    }
    Ok(match result.as_text() {
        Some("transient") if defect.is("transient-is-permanent") => Next::Dead,
        Some("transient") if !spent || defect.is("no-budget") => Next::Pending,
        Some("permanent") if defect.is("permanent-retried") => Next::Pending,
        _ => Next::Dead,
    })
}

/// The attempt after which a row is not tried again.
fn last_attempt(defect: Defect, budget: i64) -> i64 {
    if defect.is("budget-one-too-few") {
        return budget - 1;
    }
    if defect.is("budget-one-too-many") { budget + 1 } else { budget }
}

/// Only the exact word is an acceptance.
fn is_accepted(defect: Defect, result: &Value) -> bool {
    match result {
        Value::Text(text) if defect.is("case-insensitive-accept") => text.eq_ignore_ascii_case("accepted"),
        Value::Text(text) if defect.is("trimmed-accept") => text.trim() == "accepted",
        Value::Text(text) => text == "accepted",
        Value::Null => defect.is("null-is-success"),
        _ => false,
    }
}
