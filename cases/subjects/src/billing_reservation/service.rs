//! Billing's side: an op_id names one reservation for ever, so whoever lost an answer can ask again. Each call looks and
//! writes under one lock.

use nack::inprocess::Context;
use nack::subject::Failure;
use rusqlite::params;

use super::Sides;
use crate::transaction::{begin, commit};

struct Reservation {
    amount: i64,
    state: String,
}

impl Sides {
    pub(super) fn reserve(&self, op_id: &str, amount: i64, ctx: &Context) -> Result<&'static str, Failure> {
        let known = self.begin_on(op_id, "race-loser-refused")?;
        match known {
            Some(_) if self.defect.is("double-reserve") => self.hold(op_id, amount, ctx)?,
            Some(known) if known.state == "released" && !self.defect.is("revived") => {
                return Err(Failure::refused("released"));
            }
            Some(known) if known.amount != amount && !self.defect.is("amount-overwritten") => {
                return Err(Failure::refused("conflict"));
            }
            Some(known) if known.amount != amount => self.set_amount(op_id, amount)?,
            Some(known) if known.state == "released" => self.set_state(op_id, "held")?,
            Some(_) if self.defect.is("hold-renewed") => self.hold_since(op_id, ctx.now())?,
            Some(_) => {}
            None if self.defect.is("first-is-not-kept") => {}
            None => self.hold(op_id, amount, ctx)?,
        }
        self.end(ctx)?;
        Ok("reserved")
    }

    pub(super) fn confirm(&self, op_id: &str, ctx: &Context) -> Result<&'static str, Failure> {
        let known = self.begin_on(op_id, "confirm-looks-outside")?;
        match known.as_ref().map(|known| known.state.as_str()) {
            Some("released") if !self.defect.is("confirm-after-release") => return Err(Failure::refused("released")),
            Some("confirmed") if self.defect.is("confirm-once") => return Err(Failure::refused("unknown")),
            Some("confirmed") => {}
            Some(_) if self.defect.is("confirm-forgets") => {}
            Some(_) => self.set_state(op_id, "confirmed")?,
            None if self.defect.is("unknown-is-fine") => {}
            None => return Err(Failure::refused("unknown")),
        }
        self.end(ctx)?;
        Ok("confirmed")
    }

    pub(super) fn release(&self, op_id: &str, ctx: &Context) -> Result<&'static str, Failure> {
        let known = self.begin_on(op_id, "")?;
        match known.as_ref().map(|known| known.state.as_str()) {
            Some("confirmed") if !self.defect.is("released-while-confirmed") => {
                return Err(Failure::refused("confirmed"));
            }
            Some("released") if self.defect.is("release-once") => return Err(Failure::refused("unknown")),
            Some("released") => {}
            Some(_) if self.defect.is("release-forgets") => {}
            Some(_) => self.set_state(op_id, "released")?,
            None if self.defect.is("unknown-is-fine") => {}
            None => return Err(Failure::refused("unknown")),
        }
        self.end(ctx)?;
        Ok("released")
    }

    /// Releases what was held for the limit or longer; how many these are.
    pub(super) fn sweep(&self, ctx: &Context) -> Result<i64, Failure> {
        let swept = if self.defect.is("released-while-confirmed") {
            "state IN ('held', 'confirmed')"
        } else if self.defect.is("released-again") {
            "state IN ('held', 'released')"
        } else if self.defect.is("never-released") {
            "0"
        } else {
            "state = 'held'"
        };
        let since = if self.defect.is("swept-early") {
            i64::MAX
        } else if self.defect.is("limit-off-by-one") {
            ctx.now() - ctx.param("limit") - 1
        } else {
            ctx.now() - ctx.param("limit")
        };
        begin(&self.db)?;
        let sql = format!("UPDATE reservations SET state = 'released' WHERE {swept} AND held_at <= ?1");
        let count = self.db.execute(&sql, [since])?;
        self.end(ctx)?;
        Ok(count as i64)
    }
}

/// What the calls have in common.
impl Sides {
    /// Begins, and looks the op_id up: nothing can change before what rests on it is written. The defect looks first.
    fn begin_on(&self, op_id: &str, looks_first: &str) -> Result<Option<Reservation>, Failure> {
        if !looks_first.is_empty() && self.defect.is(looks_first) {
            let known = self.reservation(op_id)?;
            begin(&self.db)?;
            return Ok(known);
        }
        begin(&self.db)?;
        self.reservation(op_id)
    }

    fn end(&self, ctx: &Context) -> Result<(), Failure> {
        ctx.checkpoint("before_commit")?;
        commit(&self.db)?;
        ctx.checkpoint("after_commit")
    }

    fn reservation(&self, op_id: &str) -> Result<Option<Reservation>, Failure> {
        self.db.first("SELECT amount, state FROM reservations WHERE op_id = ?1", [op_id], |row| {
            Ok(Reservation { amount: row.get(0)?, state: row.get(1)? })
        })
    }

    fn hold(&self, op_id: &str, amount: i64, ctx: &Context) -> Result<(), Failure> {
        self.db.execute(
            "INSERT INTO reservations(op_id, amount, state, held_at) VALUES (?1, ?2, 'held', ?3)",
            params![op_id, amount, ctx.now()],
        )?;
        Ok(())
    }

    fn set_state(&self, op_id: &str, state: &str) -> Result<(), Failure> {
        let whose = if self.defect.is("every-op-id-moves") { "?1 <> ''" } else { "op_id = ?1" };
        let sql = format!("UPDATE reservations SET state = ?2 WHERE {whose}");
        self.db.execute(&sql, params![op_id, state])?;
        Ok(())
    }

    fn set_amount(&self, op_id: &str, amount: i64) -> Result<(), Failure> {
        self.db.execute("UPDATE reservations SET amount = ?2 WHERE op_id = ?1", params![op_id, amount])?;
        Ok(())
    }

    fn hold_since(&self, op_id: &str, held_at: i64) -> Result<(), Failure> {
        self.db.execute("UPDATE reservations SET held_at = ?2 WHERE op_id = ?1", params![op_id, held_at])?;
        Ok(())
    }
}
