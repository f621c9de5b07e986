//! The answer over HTTP: a result for each row in request order, and one status for all of them.

use nack_contracts::{Map, Value};

use super::body::Row;
use super::judge::Verdict;
use crate::defect::Defect;

/// The answer to a body that cannot be split into keyed rows.
pub(super) fn malformed() -> Value {
    error(400, "malformed_payload")
}

/// An answer without results.
pub(super) fn error(http: i64, error: &str) -> Value {
    answer(http, [("error", error.into())])
}

/// The answer to rows that were judged.
pub(super) fn results(rows: &[Row], verdicts: &[Verdict], defect: Defect) -> Value {
    let mut judged: Vec<(&Row, &Verdict)> = rows.iter().zip(verdicts).collect();
    if defect.is("results-sorted") {
        judged.sort_by(|(a, _), (b, _)| a.key.cmp(&b.key));
    }
    if defect.is("rejected-first") {
        judged.sort_by_key(|(_, verdict)| !verdict.is_rejected());
    }
    if defect.is("invalid-omitted") {
        judged.retain(|(_, verdict)| **verdict != Verdict::Rejected("invalid_email"));
    }
    let results = judged.iter().map(|(row, verdict)| result(&row.key, verdict, defect)).collect();
    answer(status(verdicts, defect), [("results", Value::List(results))])
}

fn answer<const N: usize>(http: i64, body: [(&str, Value); N]) -> Value {
    object([("http", http.into()), ("body", object(body))])
}

fn result(key: &str, verdict: &Verdict, defect: Defect) -> Value {
    let (status, id, error) = match verdict {
        Verdict::Created(id) if defect.is("error-on-created") => ("created", id.as_str().into(), "none".into()),
        Verdict::Created(id) => ("created", id.as_str().into(), Value::Null),
        Verdict::Unchanged(id) => ("unchanged", id.as_str().into(), Value::Null),
        Verdict::Rejected(reason) if defect.is("status-failed") => ("failed", Value::Null, (*reason).into()),
        Verdict::Rejected(reason) => ("rejected", Value::Null, (*reason).into()),
    };
    object([("row_key", key.into()), ("status", status.into()), ("id", id), ("error", error)])
}

/// A rejected row is no failure of the request: it only keeps the status from being 200.
fn status(verdicts: &[Verdict], defect: Defect) -> i64 {
    let has = |reason| verdicts.contains(&Verdict::Rejected(reason));
    let rejected = verdicts.iter().filter(|verdict| verdict.is_rejected()).count();
    if has("invalid_email") && defect.is("bad-email-is-400") {
        400
    } else if has("invalid_email") && defect.is("bad-email-is-500") {
        500
    } else if has("email_taken") && defect.is("taken-email-is-409") {
        409
    } else if rejected == verdicts.len() && defect.is("all-rejected-is-400") {
        400
    } else if rejected < verdicts.len() && defect.is("mixed-is-200") {
        200
    } else if rejected > 0 {
        207
    } else {
        200
    }
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Map(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map>())
}
