//! The reference for `billing-reservation`: Ordering's side asks under the op_id that was minted with the order, and
//! Billing's side answers an op_id that it knows as it did the first time. Both stand in one program, as they do before
//! Billing leaves the monolith: neither calls the other or touches its table, so a case judges the side that it calls.
//! It is here to be green, and to be convicted once for each of its defects.

mod client;
mod service;

use nack::inprocess::{Context, Db};
use nack::subject::{Failure, Hello, Program, Subject};
use nack_contracts::{Map, Value};
use rusqlite::Connection;

use crate::defect::Defect;
use crate::transaction::roll_back;

/// The deliberate defects that this program can carry.
pub const DEFECTS: &[&str] = &[
    "new-op-id-per-retry",
    "unavailable-is-declined",
    "lost-is-declined",
    "double-reserve",
    "never-released",
    "confirm-after-release",
    "released-while-confirmed",
    "asks-again-when-settled",
    "declined-ignored",
    "amount-overwritten",
    "revived",
    "swept-early",
    "limit-off-by-one",
    "released-again",
    "confirm-forgets",
    "unknown-is-fine",
    "release-forgets",
    "first-is-not-kept",
    "answer-not-recorded",
    "confirm-once",
    "release-once",
    "reserved-before-asked",
    "race-loser-refused",
    "confirm-looks-outside",
    "hold-renewed",
    "every-order-settled",
    "every-op-id-moves",
];

/// The program of both sides.
#[derive(Debug)]
pub struct BillingReservation {
    defect: Defect,
}

impl BillingReservation {
    /// Both sides with one defect or with none; `None` if they have no such defect.
    #[must_use]
    pub fn new(defect: Option<&str>) -> Option<BillingReservation> {
        Defect::among(DEFECTS, defect).map(|defect| BillingReservation { defect })
    }
}

impl Program for BillingReservation {
    fn hello(&self) -> Hello {
        let checkpoints = ["before_ask", "after_ask", "after_record", "before_commit", "after_commit"];
        Hello {
            name: "billing-reservation".to_owned(),
            capabilities: ["client", "service"].map(str::to_owned).to_vec(),
            checkpoints: checkpoints.map(str::to_owned).to_vec(),
        }
    }

    fn setup(&self, store: &Connection) -> rusqlite::Result<()> {
        // Without its key the table takes an op_id twice.
        let key = if self.defect.is("double-reserve") { "" } else { " PRIMARY KEY" };
        store.execute_batch(&format!(
            "CREATE TABLE orders (id TEXT PRIMARY KEY, op_id TEXT NOT NULL, amount INTEGER NOT NULL, state TEXT NOT NULL);
             CREATE TABLE reservations (op_id TEXT{key}, amount INTEGER NOT NULL, state TEXT NOT NULL,
                                        held_at INTEGER NOT NULL);",
        ))
    }

    fn start(&self, ctx: &Context) -> Result<Box<dyn Subject>, Failure> {
        Ok(Box::new(Sides { db: ctx.open()?, defect: self.defect }))
    }
}

struct Sides {
    db: Db,
    defect: Defect,
}

impl Subject for Sides {
    fn call(&mut self, call: &str, args: &Map, ctx: &Context) -> Result<Value, Failure> {
        let id = |name: &str| args.get(name).and_then(Value::as_text).ok_or_else(|| Failure::refused("no_id"));
        let reply = match call {
            "reserve_order" => self.reserve_order(id("order_id")?, ctx).map(Value::Text),
            "reserve" => {
                let Some(Value::Int(amount)) = args.get("amount") else { return Err(Failure::refused("no_amount")) };
                self.reserve(id("op_id")?, *amount, ctx).map(Value::from)
            }
            "confirm" => self.confirm(id("op_id")?, ctx).map(Value::from),
            "release" => self.release(id("op_id")?, ctx).map(Value::from),
            "sweep" => self.sweep(ctx).map(Value::Int),
            _ => Err(Failure::refused("unknown_call")),
        };
        if reply.is_err() {
            roll_back(&self.db);
        }
        reply
    }
}
