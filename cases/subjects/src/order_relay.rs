//! The reference for `order-relay`: an event is marked sent only after its send returned, so that a crash can repeat a
//! delivery and never lose one. It is here to be green, and to be convicted once for each of its defects.

use nack::inprocess::{Context, Db};
use nack::subject::{Failure, Hello, Program, Subject};
use nack_contracts::{Map, Value};
use rusqlite::{Connection, params};

use crate::defect::Defect;
use crate::transaction::{begin, commit};

/// The deliberate defects that this program can carry.
pub const DEFECTS: &[&str] = &[
    "mark-before-send",
    "mark-all",
    "new-id-on-redelivery",
    "error-swallowed-and-marked",
    "newest-first",
    "skips-a-failing-row",
    "payload-changed-on-redelivery",
    "mark-committed-late",
    "true-when-empty",
    "restart-forgets",
    "mark-by-replace",
];

/// The defects that must know, also after a crash, that a row was tried before. They keep a count beside it.
const COUNT_ATTEMPTS: &[&str] = &["new-id-on-redelivery", "payload-changed-on-redelivery", "skips-a-failing-row"];

/// The relay's program.
#[derive(Debug)]
pub struct OrderRelay {
    defect: Defect,
}

impl OrderRelay {
    /// The relay with one defect or with none; `None` if it has no such defect.
    #[must_use]
    pub fn new(defect: Option<&str>) -> Option<OrderRelay> {
        Defect::among(DEFECTS, defect).map(|defect| OrderRelay { defect })
    }
}

impl Program for OrderRelay {
    fn hello(&self) -> Hello {
        Hello {
            name: "order-relay".to_owned(),
            capabilities: Vec::new(),
            checkpoints: ["before_send", "after_send", "after_mark"].map(str::to_owned).to_vec(),
        }
    }

    /// The producer owns the outbox; where both share a store, it made the table already.
    fn setup(&self, store: &Connection) -> rusqlite::Result<()> {
        store.execute_batch(
            "CREATE TABLE IF NOT EXISTS outbox (
                 event_id TEXT PRIMARY KEY,
                 order_id TEXT NOT NULL,
                 amount INTEGER NOT NULL,
                 sent INTEGER NOT NULL DEFAULT 0
             );",
        )?;
        if self.defect.is_any(COUNT_ATTEMPTS) {
            store.execute_batch("ALTER TABLE outbox ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;")?;
        }
        Ok(())
    }

    fn start(&self, ctx: &Context) -> Result<Box<dyn Subject>, Failure> {
        let db = ctx.open()?;
        if self.defect.is("restart-forgets") {
            db.execute("UPDATE outbox SET sent = 0", ())?;
        }
        Ok(Box::new(Relay { db, defect: self.defect }))
    }
}

struct Relay {
    db: Db,
    defect: Defect,
}

#[derive(Clone)]
struct Event {
    event_id: String,
    order_id: String,
    amount: i64,
}

impl Subject for Relay {
    fn call(&mut self, call: &str, _args: &Map, ctx: &Context) -> Result<Value, Failure> {
        if call != "relay_once" {
            return Err(Failure::refused("unknown_call"));
        }
        if self.defect.is("mark-committed-late") && self.db.in_transaction() {
            commit(&self.db)?;
        }
        self.relay_once(ctx).map(Value::Bool)
    }
}

impl Relay {
    /// Sends the oldest unsent event. Its failure is the caller's to see, and the events behind it wait.
    fn relay_once(&self, ctx: &Context) -> Result<bool, Failure> {
        let Some(event) = self.next()? else { return Ok(self.defect.is("true-when-empty")) };
        let message = self.message(&event)?;
        if self.defect.is("mark-before-send") {
            self.mark(&event)?;
        }
        ctx.checkpoint("before_send")?;
        // Whatever the answer says, it is a return: the consumer deduplicates, so delivery is all that counts.
        let returned = ctx.effect(
            "send",
            &[
                ("event_id", message.event_id.into()),
                ("order_id", message.order_id.into()),
                ("amount", message.amount.into()),
            ],
        );
        if let Err(error) = returned
            && !self.defect.is("error-swallowed-and-marked")
        {
            return Err(error.into());
        }
        ctx.checkpoint("after_send")?;
        if !self.defect.is("mark-before-send") {
            self.mark(&event)?;
        }
        ctx.checkpoint("after_mark")?;
        Ok(true)
    }

    fn next(&self) -> Result<Option<Event>, Failure> {
        let sql = if self.defect.is("newest-first") {
            "SELECT event_id, order_id, amount FROM outbox WHERE sent = 0 ORDER BY rowid DESC LIMIT 1"
        } else if self.defect.is("skips-a-failing-row") {
            "SELECT event_id, order_id, amount FROM outbox WHERE sent = 0 AND attempts = 0 ORDER BY rowid LIMIT 1"
        } else {
            "SELECT event_id, order_id, amount FROM outbox WHERE sent = 0 ORDER BY rowid LIMIT 1"
        };
        self.db.first(sql, (), |row| Ok(Event { event_id: row.get(0)?, order_id: row.get(1)?, amount: row.get(2)? }))
    }

    /// What is sent for a stored event: the same, every time.
    fn message(&self, event: &Event) -> Result<Event, Failure> {
        let mut message = event.clone();
        if !self.defect.is_any(COUNT_ATTEMPTS) {
            return Ok(message);
        }
        let attempts: Option<i64> = self.db.first(
            "UPDATE outbox SET attempts = attempts + 1 WHERE event_id = ?1 RETURNING attempts",
            [&event.event_id],
            |row| row.get(0),
        )?;
        let again = attempts.is_some_and(|attempts| attempts > 1);
        if again && self.defect.is("new-id-on-redelivery") {
            message.event_id.push_str(":again");
        }
        if again && self.defect.is("payload-changed-on-redelivery") {
            message.amount += 1;
        }
        Ok(message)
    }

    fn mark(&self, event: &Event) -> Result<(), Failure> {
        if self.defect.is("mark-all") {
            self.db.execute("UPDATE outbox SET sent = 1", ())?;
            return Ok(());
        }
        if self.defect.is("mark-by-replace") {
            self.db.execute("DELETE FROM outbox WHERE event_id = ?1", [&event.event_id])?;
            self.db.execute(
                "INSERT INTO outbox(event_id, order_id, amount, sent) VALUES (?1, ?2, ?3, 1)",
                params![event.event_id, event.order_id, event.amount],
            )?;
            return Ok(());
        }
        if self.defect.is("mark-committed-late") {
            begin(&self.db)?;
        }
        let marked = self.db.execute("UPDATE outbox SET sent = 1 WHERE event_id = ?1", [&event.event_id])?;
        if marked == 1 { Ok(()) } else { Err(Failure::unknown("row_vanished", "the sent row is no longer there")) }
    }
}
