//! The reference for `member-import`: one transaction around the request, a verdict for every row in it, committed
//! before the answer. It is here to be green, and to be convicted once for each of its defects.

mod answer;
mod body;
mod judge;
mod write;

use std::collections::{HashMap, HashSet};

use nack::inprocess::{Context, Db};
use nack::subject::{Failure, Hello, Program, Subject};
use nack_contracts::{Map, Value};
use rusqlite::Connection;

use crate::defect::Defect;
use crate::transaction::{begin, commit, roll_back};
use body::{Malformed, Row};
use judge::Verdict;

/// The deliberate defects that this program can carry.
pub const DEFECTS: &[&str] = &[
    "siblings-rolled-back",
    "status-failed",
    "results-sorted",
    "rejected-first",
    "bad-email-is-400",
    "taken-email-is-409",
    "bad-email-is-500",
    "mixed-is-200",
    "all-rejected-is-400",
    "replay-inserts",
    "replay-new-id",
    "replay-updates",
    "no-index-on-email",
    "no-index-on-row-key",
    "check-then-insert",
    "loser-gets-500",
    "101-accepted",
    "duplicate-keys-accepted",
    "empty-accepted",
    "unknown-field-is-400",
    "invalid-omitted",
    "siblings-of-taken-rejected",
    "partial-write-on-400",
    "error-on-created",
    "reply-before-commit",
    "batch-not-compared",
    "rejected-row-owns-its-email",
    "broken-body-is-500",
    "rejected-key-used-up",
    "keys-known-until-restart",
    "member-in-two-commits",
    "answers-remembered",
    "emails-folded",
];

/// The importer's program.
#[derive(Debug)]
pub struct MemberImport {
    defect: Defect,
}

impl MemberImport {
    /// The importer with one defect or with none; `None` if it has no such defect.
    #[must_use]
    pub fn new(defect: Option<&str>) -> Option<MemberImport> {
        Defect::among(DEFECTS, defect).map(|defect| MemberImport { defect })
    }
}

impl Program for MemberImport {
    fn hello(&self) -> Hello {
        Hello {
            name: "member-import".to_owned(),
            capabilities: Vec::new(),
            checkpoints: ["after_lookup", "before_commit", "after_commit"].map(str::to_owned).to_vec(),
        }
    }

    fn setup(&self, store: &Connection) -> rusqlite::Result<()> {
        store.execute_batch(
            "CREATE TABLE members (id TEXT PRIMARY KEY, row_key TEXT NOT NULL, email TEXT NOT NULL, display_name TEXT);",
        )?;
        if !self.defect.is_any(&["no-index-on-row-key", "replay-inserts"]) {
            store.execute_batch("CREATE UNIQUE INDEX members_row_key ON members(row_key);")?;
        }
        if !self.defect.is_any(&["no-index-on-email", "replay-inserts"]) {
            store.execute_batch("CREATE UNIQUE INDEX members_email ON members(email);")?;
        }
        Ok(())
    }

    fn start(&self, ctx: &Context) -> Result<Box<dyn Subject>, Failure> {
        Ok(Box::new(Importer { db: ctx.open()?, defect: self.defect, memory: Memory::default() }))
    }
}

struct Importer {
    db: Db,
    defect: Defect,
    memory: Memory,
}

/// What only a defect keeps in memory, where a restart loses it.
#[derive(Default)]
struct Memory {
    ids: HashMap<String, String>,
    rejected: HashSet<String>,
    answers: HashMap<String, Value>,
}

impl Subject for Importer {
    fn call(&mut self, call: &str, args: &Map, ctx: &Context) -> Result<Value, Failure> {
        if call != "import_members" {
            return Err(Failure::refused("unknown_call"));
        }
        if self.db.in_transaction() {
            // Only an answer before its commit leaves one open.
            commit(&self.db)?;
        }
        let body = args.get("body").unwrap_or(&Value::Null);
        let remembered = self.memory.answers.get(&body.to_json()).filter(|_| self.defect.is("answers-remembered"));
        if let Some(answer) = remembered {
            return Ok(answer.clone());
        }
        let answer = self.answer(body, ctx);
        match &answer {
            Ok(answer) => drop(self.memory.answers.insert(body.to_json(), answer.clone())),
            Err(_) => roll_back(&self.db),
        }
        answer
    }
}

impl Importer {
    fn answer(&mut self, body: &Value, ctx: &Context) -> Result<Value, Failure> {
        match body::split(body, self.defect) {
            Ok(rows) => match self.import(&rows, ctx) {
                Ok(verdicts) => Ok(answer::results(&rows, &verdicts, self.defect)),
                Err(_) if self.defect.is("loser-gets-500") => {
                    roll_back(&self.db);
                    Ok(answer::error(500, "internal"))
                }
                Err(failure) => Err(failure),
            },
            Err(Malformed::Broken) if self.defect.is("broken-body-is-500") => Ok(answer::error(500, "internal")),
            Err(Malformed::After(rows)) if self.defect.is("partial-write-on-400") => {
                self.import(&rows, ctx)?;
                Ok(answer::malformed())
            }
            Err(_) => Ok(answer::malformed()),
        }
    }

    /// Judges all rows and writes those that are new, under one lock: nothing that a verdict rests on can change
    /// before it is true.
    fn import(&mut self, rows: &[Row], ctx: &Context) -> Result<Vec<Verdict>, Failure> {
        let looks_first = self.defect.is_any(&["check-then-insert", "loser-gets-500"]);
        if !looks_first {
            begin(&self.db)?;
        }
        let verdicts = self.judge(rows)?;
        ctx.checkpoint("after_lookup")?;
        if looks_first {
            begin(&self.db)?;
        }
        self.write(rows, &verdicts)?;
        if self.defect.is("member-in-two-commits") {
            self.part_from_names(rows, &verdicts)?;
        }
        ctx.checkpoint("before_commit")?;
        if self.defect.is("siblings-rolled-back") && verdicts.iter().any(Verdict::is_rejected) {
            roll_back(&self.db);
        } else if self.defect.is("member-in-two-commits") {
            self.name_members(rows, &verdicts)?;
            commit(&self.db)?;
        } else if !self.defect.is("reply-before-commit") {
            commit(&self.db)?;
        }
        ctx.checkpoint("after_commit")?;
        self.remember(rows, &verdicts);
        Ok(verdicts)
    }

    fn remember(&mut self, rows: &[Row], verdicts: &[Verdict]) {
        for (row, verdict) in rows.iter().zip(verdicts) {
            match verdict {
                Verdict::Created(id) => drop(self.memory.ids.insert(row.key.clone(), id.clone())),
                Verdict::Rejected(_) => drop(self.memory.rejected.insert(row.key.clone())),
                Verdict::Unchanged(_) => {}
            }
        }
    }
}
