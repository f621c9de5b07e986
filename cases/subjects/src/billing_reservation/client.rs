//! Ordering's side: one attempt to reserve for an order. Only a word of the service settles an order; without one it
//! stays pending, and the next attempt asks under the same op_id.

use nack::inprocess::Context;
use nack::subject::{EffectError, EffectErrorKind, Failure};
use nack_contracts::Value;
use rusqlite::params;

use super::Sides;

struct Order {
    op_id: String,
    amount: i64,
    state: String,
}

impl Sides {
    /// The state that the order is in afterwards.
    pub(super) fn reserve_order(&self, id: &str, ctx: &Context) -> Result<String, Failure> {
        let order = self.order(id)?;
        if order.state != "pending" && !self.defect.is("asks-again-when-settled") {
            return Ok(order.state);
        }
        if self.defect.is("reserved-before-asked") {
            self.settle(id, "reserved")?;
        }
        ctx.checkpoint("before_ask")?;
        let answer = ctx.effect("ask", &[("op_id", order.op_id.as_str().into()), ("amount", order.amount.into())]);
        let word = self.word(answer)?;
        ctx.checkpoint("after_ask")?;
        match word {
            Some(word) if self.defect.is("answer-not-recorded") => return Ok(word.to_owned()),
            Some(word) => self.settle(id, word)?,
            None if self.defect.is("new-op-id-per-retry") => self.mint_again(id)?,
            None => {}
        }
        ctx.checkpoint("after_record")?;
        Ok(self.order(id)?.state)
    }

    /// The final word in the service's answer. `None`: nobody knows yet what it says, so the order must ask again.
    fn word(&self, answer: Result<Value, EffectError>) -> Result<Option<&'static str>, Failure> {
        use EffectErrorKind::{Cancelled, Connection, Error, Gone, Interrupt, SystemExit, Timeout};

        Ok(match answer {
            Ok(answer) => match answer.as_text() {
                Some("reserved") => Some("reserved"),
                Some("declined") if !self.defect.is("declined-ignored") => Some("declined"),
                Some("unavailable") if self.defect.is("unavailable-is-declined") => Some("declined"),
                _ => None,
            },
            Err(error) => match error.kind {
                Timeout | Connection if self.defect.is("lost-is-declined") => Some("declined"),
                Timeout | Connection | Error => None,
                Interrupt | Cancelled | SystemExit | Gone => return Err(error.into()),
            },
        })
    }

    fn order(&self, id: &str) -> Result<Order, Failure> {
        let order = self.db.first("SELECT op_id, amount, state FROM orders WHERE id = ?1", [id], |row| {
            Ok(Order { op_id: row.get(0)?, amount: row.get(1)?, state: row.get(2)? })
        })?;
        order.ok_or_else(|| Failure::refused("unknown"))
    }

    /// An order is settled once: what another worker has written by now stands.
    fn settle(&self, id: &str, state: &str) -> Result<(), Failure> {
        let whose = if self.defect.is("every-order-settled") { "?1 <> ''" } else { "id = ?1" };
        let sql = format!("UPDATE orders SET state = ?2 WHERE {whose} AND state = 'pending'");
        self.db.execute(&sql, params![id, state])?;
        Ok(())
    }

    fn mint_again(&self, id: &str) -> Result<(), Failure> {
        self.db.execute("UPDATE orders SET op_id = op_id || '-again' WHERE id = ?1", [id])?;
        Ok(())
    }
}
