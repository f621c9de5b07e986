//! The reference for `order-producer`: an order, its debit and its event are one transaction, so that no crash can
//! part them. It is here to be green, and to be convicted once for each of its defects.

use std::hash::{DefaultHasher, Hash, Hasher};

use nack::inprocess::{Context, Db};
use nack::subject::{Failure, Hello, Program, Subject};
use nack_contracts::{Map, Value};
use rusqlite::{Connection, params};

use crate::defect::Defect;
use crate::transaction::{begin, commit, roll_back};

/// The deliberate defects that this program can carry.
pub const DEFECTS: &[&str] = &[
    "commit-before-outbox",
    "outbox-in-own-transaction",
    "no-balance-check",
    "check-then-debit",
    "no-rollback",
    "random-event-id",
    "event-for-failed-order",
    "amount-mismatched",
    "second-order-debits",
    "caller-trusted",
    "committed-late",
];

/// The wallet that pays for every order.
const WALLET: &str = "demo";
const HIGHEST_AMOUNT: i64 = 1_000_000;
/// In code points: with `order-created:` in front of it, the id fills the 200 that a consumer accepts.
const LONGEST_ID: usize = 186;

/// The producer's program.
#[derive(Debug)]
pub struct OrderProducer {
    defect: Defect,
}

impl OrderProducer {
    /// The producer with one defect or with none; `None` if it has no such defect.
    #[must_use]
    pub fn new(defect: Option<&str>) -> Option<OrderProducer> {
        Defect::among(DEFECTS, defect).map(|defect| OrderProducer { defect })
    }
}

impl Program for OrderProducer {
    fn hello(&self) -> Hello {
        Hello {
            name: "order-producer".to_owned(),
            capabilities: ["input-validation", "number-types"].map(str::to_owned).to_vec(),
            checkpoints: ["after_debit", "before_outbox", "before_commit", "after_commit"].map(str::to_owned).to_vec(),
        }
    }

    fn setup(&self, store: &Connection) -> rusqlite::Result<()> {
        store.execute_batch(
            "CREATE TABLE wallet (id TEXT PRIMARY KEY, balance INTEGER NOT NULL);
             CREATE TABLE orders (id TEXT PRIMARY KEY, amount INTEGER NOT NULL);
             CREATE TABLE outbox (
                 event_id TEXT PRIMARY KEY,
                 order_id TEXT NOT NULL,
                 amount INTEGER NOT NULL,
                 sent INTEGER NOT NULL DEFAULT 0
             );",
        )
    }

    fn start(&self, ctx: &Context) -> Result<Box<dyn Subject>, Failure> {
        Ok(Box::new(Producer { db: ctx.open()?, defect: self.defect }))
    }
}

struct Producer {
    db: Db,
    defect: Defect,
}

struct Order<'a> {
    id: &'a str,
    amount: i64,
}

impl Subject for Producer {
    fn call(&mut self, call: &str, args: &Map, ctx: &Context) -> Result<Value, Failure> {
        if call != "place_order" {
            return Err(Failure::refused("unknown_call"));
        }
        if self.defect.is("committed-late") && self.db.in_transaction() {
            commit(&self.db)?;
        }
        let order = self.order(args)?;
        let placed = self.place(&order, ctx);
        if placed.is_err() {
            if !self.defect.is("no-rollback") {
                roll_back(&self.db);
            }
            if self.defect.is("event-for-failed-order") {
                self.write_event(&order, ctx)?;
            }
        }
        placed.map(|()| "placed".into())
    }
}

impl Producer {
    /// The order that the arguments describe. Beyond these bounds an amount would raise the balance, and the event
    /// would be one that a consumer must refuse for ever.
    fn order<'a>(&self, args: &'a Map) -> Result<Order<'a>, Failure> {
        let (Some(Value::Text(id)), Some(&Value::Int(amount))) = (args.get("order_id"), args.get("amount")) else {
            return Err(Failure::refused("invalid"));
        };
        let within_bounds = (1..=LONGEST_ID).contains(&id.chars().count()) && (1..=HIGHEST_AMOUNT).contains(&amount);
        if !within_bounds && !self.defect.is("caller-trusted") {
            return Err(Failure::refused("invalid"));
        }
        Ok(Order { id, amount })
    }

    fn place(&self, order: &Order<'_>, ctx: &Context) -> Result<(), Failure> {
        if self.defect.is("check-then-debit") && self.balance()?.is_some_and(|balance| balance < order.amount) {
            return Err(Failure::refused("insufficient_balance"));
        }
        begin(&self.db)?;
        let is_new = self.write_order(order)?;
        if !is_new && !self.defect.is("second-order-debits") {
            return Err(Failure::refused("order_exists"));
        }
        self.debit(order.amount)?;
        ctx.checkpoint("after_debit")?;
        if self.defect.is("commit-before-outbox") {
            commit(&self.db)?;
            begin(&self.db)?;
        }
        ctx.checkpoint("before_outbox")?;
        if is_new && !self.defect.is("outbox-in-own-transaction") {
            self.write_event(order, ctx)?;
        }
        ctx.checkpoint("before_commit")?;
        if self.defect.is("outbox-in-own-transaction") {
            commit(&self.db)?;
            begin(&self.db)?;
            self.write_event(order, ctx)?;
        }
        if !self.defect.is("committed-late") {
            commit(&self.db)?;
        }
        ctx.checkpoint("after_commit")
    }

    /// Whether the order is new; if it is not, nothing is written.
    fn write_order(&self, order: &Order<'_>) -> Result<bool, Failure> {
        let written = self.db.execute(
            "INSERT INTO orders(id, amount) VALUES (?1, ?2) ON CONFLICT(id) DO NOTHING",
            params![order.id, order.amount],
        )?;
        Ok(written == 1)
    }

    /// Takes the amount out of the wallet. The condition is part of the write, so that it holds when the write does.
    fn debit(&self, amount: i64) -> Result<(), Failure> {
        let sql = if self.defect.is_any(&["no-balance-check", "check-then-debit"]) {
            "UPDATE wallet SET balance = balance - ?1 WHERE id = ?2"
        } else {
            "UPDATE wallet SET balance = balance - ?1 WHERE id = ?2 AND balance >= ?1"
        };
        if self.db.execute(sql, params![amount, WALLET])? == 1 {
            return Ok(());
        }
        let reason = if self.balance()?.is_some() { "insufficient_balance" } else { "no_wallet" };
        Err(Failure::refused(reason))
    }

    fn balance(&self) -> Result<Option<i64>, Failure> {
        self.db.first("SELECT balance FROM wallet WHERE id = ?1", [WALLET], |row| row.get(0))
    }

    fn write_event(&self, order: &Order<'_>, ctx: &Context) -> Result<(), Failure> {
        let event_id = if self.defect.is("random-event-id") {
            random_id(order, ctx)
        } else {
            format!("order-created:{}", order.id)
        };
        let amount = if self.defect.is("amount-mismatched") { order.amount + 1 } else { order.amount };
        self.db.execute(
            "INSERT INTO outbox(event_id, order_id, amount) VALUES (?1, ?2, ?3)",
            params![event_id, order.id, amount],
        )?;
        Ok(())
    }
}

/// An id as good as random for who reads the outbox, drawn from the clock and the order so that a run can be repeated.
fn random_id(order: &Order<'_>, ctx: &Context) -> String {
    let mut hasher = DefaultHasher::new();
    (ctx.now(), order.id).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
