//! The reference for `order-consumer`: the marker of an event and the notification it leads to are one transaction, so
//! that a redelivery neither repeats nor loses it. It is here to be green, and to be convicted once for each of its
//! defects.

use std::fmt;

use nack::inprocess::{Context, Db};
use nack::subject::{Failure, Hello, Program, Subject};
use nack_contracts::{Map, Value};
use rusqlite::{Connection, params};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use crate::defect::Defect;
use crate::transaction::{begin, commit, roll_back};

/// The deliberate defects that this program can carry.
pub const DEFECTS: &[&str] = &[
    "no-dedup",
    "marker-first",
    "effect-first",
    "conflict-ignored",
    "conflict-on-amount-only",
    "invalid-swallowed",
    "bool-accepted",
    "float-accepted",
    "extra-field-accepted",
    "length-in-bytes",
    "rollback-missing",
    "dedup-by-order",
    "markers-pruned",
    "lookup-outside",
    "ids-trimmed",
    "ids-folded",
    "ids-normalised",
    "conflict-overwrites",
    "loser-refused",
    "outside-after-commit",
];

const HIGHEST_AMOUNT: i64 = 1_000_000;
/// In code points.
const LONGEST_ID: usize = 200;

/// The consumer's program.
#[derive(Debug)]
pub struct OrderConsumer {
    defect: Defect,
}

impl OrderConsumer {
    /// The consumer with one defect or with none; `None` if it has no such defect.
    #[must_use]
    pub fn new(defect: Option<&str>) -> Option<OrderConsumer> {
        Defect::among(DEFECTS, defect).map(|defect| OrderConsumer { defect })
    }
}

impl Program for OrderConsumer {
    fn hello(&self) -> Hello {
        Hello {
            name: "order-consumer".to_owned(),
            capabilities: ["number-types", "outside"].map(str::to_owned).to_vec(),
            checkpoints: ["after_dedup", "after_effect", "before_commit", "after_commit"].map(str::to_owned).to_vec(),
        }
    }

    fn setup(&self, store: &Connection) -> rusqlite::Result<()> {
        store.execute_batch(
            "CREATE TABLE processed (event_id TEXT PRIMARY KEY, order_id TEXT NOT NULL, amount INTEGER NOT NULL);
             CREATE TABLE notifications (order_id TEXT NOT NULL, amount INTEGER NOT NULL);",
        )
    }

    fn start(&self, ctx: &Context) -> Result<Box<dyn Subject>, Failure> {
        Ok(Box::new(Consumer { db: ctx.open()?, defect: self.defect }))
    }
}

struct Consumer {
    db: Db,
    defect: Defect,
}

struct Event {
    event_id: String,
    order_id: String,
    amount: i64,
}

impl Subject for Consumer {
    fn call(&mut self, call: &str, args: &Map, ctx: &Context) -> Result<Value, Failure> {
        let outside = match call {
            "consume" => false,
            "consume_outside" => true,
            _ => return Err(Failure::refused("unknown_call")),
        };
        let Some(event) = args.get("event").and_then(|event| self.read(event)) else {
            let swallowed = self.defect.is("invalid-swallowed");
            return if swallowed { Ok(Value::Bool(false)) } else { Err(Failure::refused("invalid_event")) };
        };
        let applied = self.consume(&event, outside, ctx);
        if applied.is_err() && !self.defect.is("rollback-missing") {
            roll_back(&self.db);
        }
        applied.map(Value::Bool)
    }
}

/// What is stored for an event.
impl Consumer {
    fn consume(&self, event: &Event, outside: bool, ctx: &Context) -> Result<bool, Failure> {
        let looks_first = self.defect.is_any(&["lookup-outside", "loser-refused"]);
        if looks_first && self.marked(event)?.is_some() {
            return self.redelivered(event);
        }
        if self.defect.is("effect-first") && self.marked(event)?.is_none() {
            self.notify(event)?;
        }
        begin(&self.db)?;
        if !self.mark(event)? {
            let applied = self.redelivered(event)?;
            commit(&self.db)?;
            return Ok(applied);
        }
        if self.defect.is("marker-first") {
            commit(&self.db)?;
            begin(&self.db)?;
        }
        ctx.checkpoint("after_dedup")?;
        if !self.defect.is("effect-first") {
            self.notify(event)?;
        }
        ctx.checkpoint("after_effect")?;
        if outside && !self.defect.is("outside-after-commit") {
            deliver(event, ctx)?;
        }
        if self.defect.is("markers-pruned") {
            self.db.execute("DELETE FROM processed WHERE rowid <= (SELECT MAX(rowid) FROM processed) - 100", ())?;
        }
        ctx.checkpoint("before_commit")?;
        commit(&self.db)?;
        if outside && self.defect.is("outside-after-commit") {
            deliver(event, ctx)?;
        }
        ctx.checkpoint("after_commit")?;
        Ok(true)
    }

    /// Writes the event's marker. False: the event was processed before.
    fn mark(&self, event: &Event) -> Result<bool, Failure> {
        if self.defect.is("dedup-by-order") && self.marked(event)?.is_some() {
            return Ok(false);
        }
        let sql = if self.defect.is("loser-refused") {
            "INSERT INTO processed(event_id, order_id, amount) VALUES (?1, ?2, ?3)"
        } else {
            "INSERT INTO processed(event_id, order_id, amount) VALUES (?1, ?2, ?3) ON CONFLICT(event_id) DO NOTHING"
        };
        let written = self.db.execute(sql, params![event.event_id, event.order_id, event.amount])?;
        Ok(written == 1 || self.defect.is_any(&["no-dedup", "lookup-outside"]))
    }

    /// The order and the amount that the event's marker was written with.
    fn marked(&self, event: &Event) -> Result<Option<(String, i64)>, Failure> {
        let (sql, key) = if self.defect.is("dedup-by-order") {
            ("SELECT order_id, amount FROM processed WHERE order_id = ?1", &event.order_id)
        } else {
            ("SELECT order_id, amount FROM processed WHERE event_id = ?1", &event.event_id)
        };
        self.db.first(sql, [key], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// What the sender of a known event is told: false if it says the same again, and else that it cannot be.
    fn redelivered(&self, event: &Event) -> Result<bool, Failure> {
        let same = self.marked(event)?.is_some_and(|(order_id, amount)| {
            amount == event.amount && (order_id == event.order_id || self.defect.is("conflict-on-amount-only"))
        });
        if same || self.defect.is("conflict-ignored") {
            return Ok(false);
        }
        if self.defect.is("conflict-overwrites") {
            self.db.execute(
                "UPDATE processed SET order_id = ?2, amount = ?3 WHERE event_id = ?1",
                params![event.event_id, event.order_id, event.amount],
            )?;
            commit(&self.db)?;
        }
        Err(Failure::refused("conflict"))
    }

    fn notify(&self, event: &Event) -> Result<(), Failure> {
        self.db.execute(
            "INSERT INTO notifications(order_id, amount) VALUES (?1, ?2)",
            params![event.order_id, event.amount],
        )?;
        Ok(())
    }
}

/// Reaches outside the database: no rollback takes it back.
fn deliver(event: &Event, ctx: &Context) -> Result<(), Failure> {
    ctx.effect("deliver", &[("event_id", event.event_id.as_str().into())])?;
    Ok(())
}

/// What is an event at all.
impl Consumer {
    /// The event in what was sent, an object or the bytes of one; `None` if there is none.
    fn read(&self, sent: &Value) -> Option<Event> {
        let fields = match sent {
            Value::Map(fields) => fields,
            Value::Bytes(body) => &serde_json::from_str::<Fields>(std::str::from_utf8(body).ok()?).ok()?.0,
            _ => return None,
        };
        if fields.len() != 3 && !self.defect.is("extra-field-accepted") {
            return None;
        }
        Some(Event {
            event_id: self.read_id(fields.get("event_id")?)?,
            order_id: self.read_id(fields.get("order_id")?)?,
            amount: self.read_amount(fields.get("amount")?)?,
        })
    }

    /// Ids are opaque: none is trimmed, folded or normalised, since that would make two events one.
    fn read_id(&self, sent: &Value) -> Option<String> {
        let id = sent.as_text()?;
        let length = if self.defect.is("length-in-bytes") { id.len() } else { id.chars().count() };
        if !(1..=LONGEST_ID).contains(&length) {
            return None;
        }
        Some(if self.defect.is("ids-trimmed") {
            id.trim().to_owned()
        } else if self.defect.is("ids-folded") {
            id.to_lowercase()
        } else if self.defect.is("ids-normalised") {
            // One pair is enough to show what composing does: `e` with a combining acute accent becomes `é`.
            id.replace("e\u{301}", "é")
        } else {
            id.to_owned()
        })
    }

    fn read_amount(&self, sent: &Value) -> Option<i64> {
        let amount = match sent {
            Value::Int(amount) => *amount,
            Value::Bool(true) if self.defect.is("bool-accepted") => 1,
            Value::Float(amount) if self.defect.is("float-accepted") && amount.fract() == 0.0 => *amount as i64,
            _ => return None,
        };
        (1..=HIGHEST_AMOUNT).contains(&amount).then_some(amount)
    }
}

/// The fields of a JSON object that names each of them once. Ready-made maps let the last of two win in silence.
struct Fields(Map);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fields, D::Error> {
        struct OnceEach;
        impl<'de> Visitor<'de> for OnceEach {
            type Value = Fields;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object that names each field once")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Fields, A::Error> {
                let mut fields = Map::new();
                while let Some((key, value)) = access.next_entry::<String, Value>()? {
                    if fields.insert(key, value).is_some() {
                        return Err(A::Error::custom("a field stands twice"));
                    }
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(OnceEach)
    }
}
