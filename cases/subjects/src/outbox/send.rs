//! The send: hands a claimed row to the transport once, and puts what came of it into the words of the decision.

use nack::inprocess::Context;
use nack::subject::{EffectError, EffectErrorKind, Failure};
use nack_contracts::Value;

use super::claim::Message;
use crate::defect::Defect;

/// What is known after an attempt.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The result that the decision is made on: a complete answer as it came, or the word for its absence.
    pub(super) result: Value,
    /// For whoever looks at the row later. Bytes, since an error's text may be no text.
    pub(super) note: Option<Vec<u8>>,
}

/// Sends once. An `Err` says nothing about the message, so the row stays inflight and its lease brings it back.
pub(super) fn send(defect: Defect, message: &Message, ctx: &Context) -> Result<Outcome, Failure> {
    let columns =
        [("id", Value::from(message.id.as_str())), ("payload", Value::from(payload_to_send(defect, &message.payload)))];
    let answer = ctx.effect("send", &columns);
    if defect.is("two-sends-per-claim") {
        // Whatever comes of it is not looked at.
        let _ = ctx.effect("send", &columns);
    }
    ctx.checkpoint("after_send")?;
    match answer {
        Ok(_) if defect.is("any-answer-is-success") => Ok(Outcome { result: "accepted".into(), note: None }),
        Ok(answer) => {
            let note = (answer.as_text() != Some("accepted")).then(|| format!("answered {answer}").into_bytes());
            Ok(Outcome { result: answer, note })
        }
        Err(error) => without_answer(defect, error),
    }
}

/// Without a complete answer nothing happened or nobody knows, so a timeout and a lost connection may be tried
/// again. Any other error of the transport would be met again by the next attempt. An interrupt is for the worker
/// and not for the message: it goes on to the caller.
fn without_answer(defect: Defect, error: EffectError) -> Result<Outcome, Failure> {
    use EffectErrorKind::{Cancelled, Connection, Error, Gone, Interrupt, SystemExit, Timeout};

    let result = match error.kind {
        Timeout if defect.is("timeout-to-sent") => "accepted",
        Timeout if defect.is("timeout-to-dead") => "permanent",
        Connection if defect.is("lost-connection-is-permanent") => "permanent",
        Error if defect.is("exception-writes-sent") => "accepted",
        Interrupt | Cancelled | SystemExit if defect.is("interrupt-writes-sent") => "accepted",
        Timeout | Connection => "transient",
        Error => "permanent",
        Interrupt | Cancelled | SystemExit | Gone => return Err(error.into()),
    };
    let mut note = format!("{}: ", error.kind).into_bytes();
    note.extend(error.text);
    Ok(Outcome { result: result.into(), note: Some(note) })
}

/// The stored text as it stands: the receiver may have signed it, or compare it byte for byte.
fn payload_to_send(defect: Defect, payload: &str) -> String {
    if defect.is("payload-reencoded")
        && let Ok(value) = Value::from_json(payload)
    {
        return value.to_json();
    }
    payload.to_owned()
}
