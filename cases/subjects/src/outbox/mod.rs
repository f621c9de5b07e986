//! The reference for the `outbox` contract: a worker that sends a row only once it has claimed it, and calls it sent
//! only after an explicit acceptance. It stands here to show that every case of the contract can be passed by plain
//! code, and, with one planted defect at a time, that the gate refuses each wrong turn that such code can take.

mod claim;
mod decide;
mod record;
mod send;

use nack::inprocess::{Context, Db};
use nack::subject::{Failure, Hello, Program, Subject};
use nack_contracts::{Map, Value};

use crate::defect::Defect;
use crate::transaction::{begin, commit, roll_back};
use claim::{Claim, Claims};
use decide::{Next, decide};
use record::record;
use send::{Outcome, send};

/// The deliberate defects that this program can carry. The contract names two more, which only a transport over HTTP
/// can have.
pub const DEFECTS: &[&str] = &[
    "sent-before-send",
    "any-answer-is-success",
    "null-is-success",
    "case-insensitive-accept",
    "trimmed-accept",
    "permanent-retried",
    "transient-is-permanent",
    "no-budget",
    "budget-one-too-few",
    "budget-one-too-many",
    "timeout-to-sent",
    "timeout-to-dead",
    "exception-writes-sent",
    "interrupt-writes-sent",
    "flash-of-sent",
    "attempts-not-incremented",
    "attempts-incremented-twice",
    "attempts-reset-at-start",
    "sent-claimable",
    "start-up-steals-live",
    "claim-not-conditional",
    "lease-ignored",
    "late-worker-wins",
    "fenced-by-name",
    "two-sends-per-claim",
    "payload-reencoded",
    "accepted-at-max-is-dead",
    "newest-first",
    "poison-blocks",
    "error-text-unsavable",
    "busy-loses-the-record",
    "one-long-transaction",
    "decides-any-state",
    "lost-connection-is-permanent",
    "spent-pending-skipped",
    "spent-row-revived",
    "record-committed-late",
    "counts-before-it-claims",
    "idle-says-sent",
    "claim-in-two-writes",
    "claims-from-a-list",
    "gives-up-late",
    "dead-revived-by-clock",
    "oldest-ignored",
    "transient-costs-nothing",
];

/// `seq` keeps the order of insertion, which a bare rowid loses to VACUUM. `worker` and `last_error` are for people.
const SCHEMA: &str = "
    CREATE TABLE outbox (
        seq          INTEGER PRIMARY KEY,
        id           TEXT NOT NULL UNIQUE,
        state        TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'inflight', 'sent', 'dead')),
        attempts     INTEGER NOT NULL DEFAULT 0,
        payload      TEXT NOT NULL,
        created      INTEGER NOT NULL,
        leased_until INTEGER,
        worker       TEXT,
        last_error   TEXT
    );
    CREATE INDEX outbox_by_age ON outbox (state, created, seq);
";

/// The outbox worker's program.
#[derive(Debug)]
pub struct Outbox {
    defect: Defect,
}

impl Outbox {
    /// The worker with one defect or with none; `None` if it has no such defect.
    #[must_use]
    pub fn new(defect: Option<&str>) -> Option<Outbox> {
        Defect::among(DEFECTS, defect).map(|defect| Outbox { defect })
    }
}

impl Program for Outbox {
    fn hello(&self) -> Hello {
        Hello {
            name: "outbox".to_owned(),
            capabilities: ["decide", "lease", "created"].map(str::to_owned).to_vec(),
            checkpoints: ["before_claim", "after_claim", "after_send", "after_record"].map(str::to_owned).to_vec(),
        }
    }

    fn setup(&self, store: &rusqlite::Connection) -> rusqlite::Result<()> {
        store.execute_batch(SCHEMA)
    }

    fn start(&self, ctx: &Context) -> Result<Box<dyn Subject>, Failure> {
        let db = ctx.open()?;
        if self.defect.is("attempts-reset-at-start") {
            db.execute("UPDATE outbox SET attempts = 0 WHERE state = 'pending'", ())?;
        }
        if self.defect.is("start-up-steals-live") {
            db.execute("UPDATE outbox SET state = 'pending', leased_until = NULL WHERE state = 'inflight'", ())?;
        }
        Ok(Box::new(Worker { defect: self.defect, db, claims: Claims::new(self.defect) }))
    }
}

/// One running worker. All it must remember is in the store; every statement commits by itself.
#[derive(Debug)]
struct Worker {
    defect: Defect,
    db: Db,
    claims: Claims,
}

impl Subject for Worker {
    fn call(&mut self, call: &str, args: &Map, ctx: &Context) -> Result<Value, Failure> {
        match call {
            "decide" => {
                let state = args.get("state").unwrap_or(&Value::Null);
                let result = args.get("result").unwrap_or(&Value::Null);
                let attempts = args.get("attempts").and_then(Value::as_int).ok_or_else(|| bad_call("attempts"))?;
                Ok(decide(self.defect, ctx.param("budget"), state, attempts, result)?.as_str().into())
            }
            "deliver_one" => {
                let worker = args.get("worker").and_then(Value::as_text).ok_or_else(|| bad_call("worker"))?;
                let said = self.deliver_one(worker, ctx);
                if said.is_err() {
                    // Only a planted defect leaves one open.
                    roll_back(&self.db);
                }
                said
            }
            _ => Err(bad_call(call)),
        }
    }
}

impl Worker {
    /// Claims one row, sends it once and records what that showed.
    fn deliver_one(&mut self, worker: &str, ctx: &Context) -> Result<Value, Failure> {
        if self.defect.is("record-committed-late") {
            self.commit_open()?;
        }
        if self.defect.is("counts-before-it-claims") {
            self.claims.count_early(&self.db, ctx)?;
        }
        ctx.checkpoint("before_claim")?;
        if self.defect.is("one-long-transaction") {
            begin(&self.db)?;
        }
        let Some(claim) = self.claims.next(&self.db, worker, ctx)? else {
            self.commit_open()?;
            return Ok(if self.defect.is("idle-says-sent") { "sent".into() } else { Value::Null });
        };
        ctx.checkpoint("after_claim")?;
        let outcome = match &claim.message {
            Some(message) => send(self.defect, message, ctx)?,
            None => unsendable(),
        };
        let next = self.verdict(&claim, &outcome, ctx)?;
        if !record(self.defect, &self.db, &claim, next, outcome.note.as_deref())? {
            // Someone else took the row over, so how it ends is not ours to say.
            return Ok("lost".into());
        }
        if self.defect.is("one-long-transaction") {
            self.commit_open()?;
        }
        ctx.checkpoint("after_record")?;
        Ok(next.as_str().into())
    }

    /// What becomes of the row. That the lease may be over is no matter here: the record finds out who holds it.
    fn verdict(&self, claim: &Claim, outcome: &Outcome, ctx: &Context) -> Result<Next, Failure> {
        if self.defect.is("poison-blocks") && claim.message.is_none() {
            return Ok(Next::Pending);
        }
        if self.defect.is("gives-up-late") && ctx.now() >= claim.until {
            return Ok(Next::Dead);
        }
        decide(self.defect, ctx.param("budget"), &"inflight".into(), claim.attempts, &outcome.result)
    }

    /// Ends the transaction that a planted defect left open.
    fn commit_open(&self) -> Result<(), Failure> {
        if self.db.in_transaction() {
            commit(&self.db)?;
        }
        Ok(())
    }
}

/// What is known of a row that cannot be handed to the transport: no attempt can mend it.
fn unsendable() -> Outcome {
    Outcome { result: "permanent".into(), note: Some(b"the id or the payload is not text".to_vec()) }
}

fn bad_call(what: &str) -> Failure {
    Failure { text: what.as_bytes().to_vec(), ..Failure::refused("bad_call") }
}
