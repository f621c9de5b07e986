//! The claim: takes the oldest row that nobody holds, for the length of a lease, and counts the attempt in the same
//! statement. SQLite runs a statement in a transaction of its own, so no two workers can take one row, and no crash
//! can leave a row taken and not counted.

use std::collections::VecDeque;

use nack::inprocess::{Context, Db};
use nack::subject::Failure;
use rusqlite::types::ValueRef;
use rusqlite::{Row, params};

use crate::defect::Defect;

/// A row that this worker holds.
#[derive(Debug)]
pub(super) struct Claim {
    /// The row.
    pub(super) seq: i64,
    /// The number of this attempt: the claim's token.
    pub(super) attempts: i64,
    /// Who claimed it.
    pub(super) worker: String,
    /// When the lease ends, in epoch seconds.
    pub(super) until: i64,
    /// What to send; `None` if it is not text and so cannot be sent at all.
    pub(super) message: Option<Message>,
}

/// What the transport is given.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) payload: String,
}

/// Claims rows, and ends those that nobody may claim any more.
#[derive(Debug)]
pub(super) struct Claims {
    defect: Defect,
    /// Of `claims-from-a-list`: the rows that were pending when this worker first looked.
    list: Option<VecDeque<i64>>,
}

impl Claims {
    pub(super) fn new(defect: Defect) -> Claims {
        Claims { defect, list: None }
    }

    /// The next row for `worker`, or `None` if there is none to take.
    pub(super) fn next(&mut self, db: &Db, worker: &str, ctx: &Context) -> Result<Option<Claim>, Failure> {
        let (now, budget) = (ctx.now(), ctx.param("budget"));
        let until = now + ctx.param("lease");
        if self.defect.is("dead-revived-by-clock") {
            let revive = "UPDATE outbox SET state = 'pending' WHERE state = 'dead' AND created + ?1 <= ?2";
            db.execute(revive, [ctx.param("lease"), now])?;
        }
        if self.is_idle(db, now, budget)? {
            return Ok(None);
        }
        if !self.defect.is("spent-row-revived") {
            self.bury(db, now, budget)?;
        }
        let Some(row) = self.row(db, now, budget)? else { return Ok(None) };
        let sql = format!(
            "UPDATE outbox SET state = '{}', attempts = attempts + {}, leased_until = ?3, worker = ?4
             WHERE seq = {row} RETURNING seq, attempts, id, payload",
            if self.defect.is("sent-before-send") { "sent" } else { "inflight" },
            self.cost(),
        );
        let read = |row: &Row<'_>| {
            Ok(Claim {
                seq: row.get(0)?,
                attempts: row.get(1)?,
                worker: worker.to_owned(),
                until,
                message: text(row.get_ref(2)?).zip(text(row.get_ref(3)?)).map(|(id, payload)| Message { id, payload }),
            })
        };
        let mut claim = db.first(&sql, params![now, budget, until, worker], read)?;
        if let Some(claim) = &mut claim
            && self.defect.is("claim-in-two-writes")
        {
            db.execute("UPDATE outbox SET attempts = attempts + 1 WHERE seq = ?1", [claim.seq])?;
            claim.attempts += 1;
        }
        Ok(claim)
    }

    /// Of `counts-before-it-claims`: counts an attempt of the row that the claim is about to take.
    pub(super) fn count_early(&self, db: &Db, ctx: &Context) -> Result<(), Failure> {
        let sql = format!("UPDATE outbox SET attempts = attempts + 1 WHERE seq = ({})", self.oldest_free());
        db.execute(&sql, [ctx.now(), ctx.param("budget")])?;
        Ok(())
    }

    /// Whether no row is free and none was abandoned. A worker that polls should not take the write lock to learn that.
    fn is_idle(&self, db: &Db, now: i64, budget: i64) -> Result<bool, Failure> {
        let sql = format!(
            "SELECT EXISTS ({}) OR EXISTS (SELECT 1 FROM outbox WHERE {})",
            self.oldest_free(),
            self.abandoned()
        );
        let waiting = db.first(&sql, [now, budget], |row| row.get::<_, bool>(0))?;
        Ok(waiting != Some(true))
    }

    /// Ends the rows whose worker never came back from their last attempt: a row that kills its worker must not live
    /// for ever. One statement, and it asks for nothing that is held, so it may run at any time.
    fn bury(&self, db: &Db, now: i64, budget: i64) -> Result<(), Failure> {
        let sql = format!(
            "UPDATE outbox SET state = 'dead', leased_until = NULL, last_error = 'abandoned on its last attempt'
             WHERE {} AND attempts >= ?2",
            self.abandoned()
        );
        db.execute(&sql, [now, budget])?;
        Ok(())
    }

    /// Which row to take, as SQL: it is looked for by the very statement that takes it.
    fn row(&mut self, db: &Db, now: i64, budget: i64) -> Result<Option<String>, Failure> {
        let seq: Option<i64> = if self.defect.is("claim-not-conditional") {
            db.first(&self.oldest_free(), [now, budget], |row| row.get(0))?
        } else if self.defect.is("claims-from-a-list") {
            self.next_of_list(db)?
        } else {
            return Ok(Some(format!("({})", self.oldest_free())));
        };
        Ok(seq.map(|seq| seq.to_string()))
    }

    fn next_of_list(&mut self, db: &Db) -> Result<Option<i64>, Failure> {
        let list = match &mut self.list {
            Some(list) => list,
            None => {
                let pending = "SELECT seq FROM outbox WHERE state = 'pending' ORDER BY created, seq";
                self.list.insert(db.query(pending, (), |row| row.get(0))?.into())
            }
        };
        Ok(list.pop_front())
    }

    /// The oldest row that nobody holds: ?1 is now, ?2 the budget. A pending row is taken however often it was
    /// tried, since a row that no query selects would wait for ever.
    fn oldest_free(&self) -> String {
        let pending = if self.defect.is("spent-pending-skipped") {
            "state = 'pending' AND attempts < ?2"
        } else if self.defect.is("sent-claimable") {
            "state IN ('pending', 'sent')"
        } else {
            "state = 'pending'"
        };
        // The budget is bound either way, and a statement refuses a parameter that it does not name.
        let below_budget = if self.defect.is("spent-row-revived") { "?2 IS NOT NULL" } else { "attempts < ?2" };
        let order = if self.defect.is("newest-first") {
            "created DESC, seq DESC"
        } else if self.defect.is("oldest-ignored") {
            "seq"
        } else {
            "created, seq"
        };
        format!(
            "SELECT seq FROM outbox WHERE {pending} OR ({} AND {below_budget}) ORDER BY {order} LIMIT 1",
            self.abandoned()
        )
    }

    /// Inflight, and held by nobody: the lease is over from its very second on, and without a lease nobody can prove
    /// to hold the row. ?1 is now.
    fn abandoned(&self) -> &'static str {
        if self.defect.is("lease-ignored") {
            return "state = 'inflight' AND false";
        }
        "state = 'inflight' AND (leased_until IS NULL OR leased_until <= ?1)"
    }

    /// How many attempts a claim counts.
    fn cost(&self) -> i64 {
        if self.defect.is_any(&["attempts-not-incremented", "counts-before-it-claims", "claim-in-two-writes"]) {
            return 0;
        }
        if self.defect.is("attempts-incremented-twice") { 2 } else { 1 }
    }
}

/// A column's text, unless it holds something else. Producers may have bound bytes, so a blob may well be text.
fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8(bytes.to_vec()).ok(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    }
}
