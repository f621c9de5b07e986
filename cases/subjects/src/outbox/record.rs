//! The record: writes the decision, if the claim still holds. The fence is the attempt's number, which every claim
//! raises: a name would let a worker that came back write over its own successor.

use nack::inprocess::Db;
use nack::subject::Failure;
use rusqlite::params;

use super::claim::Claim;
use super::decide::Next;
use crate::defect::Defect;
use crate::transaction::begin;

/// As much of an error's text as helps whoever reads it; a transport may answer with megabytes.
const NOTE_LENGTH: usize = 2_000;

/// Writes the decision in one statement and says whether the claim still held. If it does not, nothing is written.
pub(super) fn record(defect: Defect, db: &Db, claim: &Claim, next: Next, note: Option<&[u8]>) -> Result<bool, Failure> {
    let note = note.map(|note| savable(defect, note)).transpose()?;
    if defect.is("flash-of-sent") {
        db.execute("UPDATE outbox SET state = 'sent' WHERE seq = ?1 AND state = 'inflight'", [claim.seq])?;
    }
    if defect.is("record-committed-late") {
        begin(db)?;
    }
    let given_back = next == Next::Pending && defect.is("transient-costs-nothing");
    let refund = if given_back { ", attempts = attempts - 1" } else { "" };
    let sql = format!(
        "UPDATE outbox SET state = ?3, leased_until = NULL, last_error = ?4{refund} WHERE {} AND seq = ?5",
        fence(defect)
    );
    let written = db.execute(&sql, params![claim.attempts, claim.worker, next.as_str(), note, claim.seq]);
    match written {
        Err(failure) if defect.is("busy-loses-the-record") && failure.name == "store" => Ok(true),
        written => Ok(written? == 1),
    }
}

/// The condition under which a claim may write: ?1 is its attempt, ?2 its worker.
fn fence(defect: Defect) -> &'static str {
    if defect.is("late-worker-wins") {
        return "true";
    }
    if defect.is("fenced-by-name") {
        return "state = 'inflight' AND worker = ?2";
    }
    if defect.is_any(&["flash-of-sent", "sent-before-send"]) {
        return "state = 'sent' AND attempts = ?1";
    }
    "state = 'inflight' AND attempts = ?1"
}

/// An error's text in a form that any store takes. It must never be the reason why an outcome is not recorded.
fn savable(defect: Defect, note: &[u8]) -> Result<String, Failure> {
    if defect.is("error-text-unsavable") && (note.contains(&0) || str::from_utf8(note).is_err()) {
        return Err(Failure::unknown("store", "the error's text cannot be saved"));
    }
    Ok(String::from_utf8_lossy(note).replace('\0', "\u{fffd}").chars().take(NOTE_LENGTH).collect())
}
