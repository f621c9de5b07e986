//! The verdict on each row: by itself first, then against the store and the rows in front of it.

use std::collections::HashSet;

use nack::subject::Failure;

use super::Importer;
use super::body::Row;

/// What becomes of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is a new member with this id.
    Created(String),
    /// Its key is known, and this is the member's first id.
    Unchanged(String),
    /// It leaves no trace, for this reason.
    Rejected(&'static str),
}

impl Verdict {
    pub(super) fn is_rejected(&self) -> bool {
        matches!(self, Verdict::Rejected(_))
    }
}

impl Importer {
    pub(super) fn judge(&self, rows: &[Row]) -> Result<Vec<Verdict>, Failure> {
        let mut next = self.db.first("SELECT COALESCE(MAX(rowid), 0) FROM members", (), |row| row.get::<_, i64>(0))?;
        let mut new_id = || {
            let number = next.get_or_insert(0);
            *number += 1;
            format!("mem-{number}")
        };
        // Emails that rows in front have made their own.
        let mut taken = HashSet::new();
        let mut verdicts = Vec::with_capacity(rows.len());
        for row in rows {
            let (email, verdict) = match self.judge_alone(row) {
                Err(reason) => (row.email.as_deref(), Verdict::Rejected(reason)),
                Ok(email) => (Some(email), self.judge_among(row, email, &taken, &mut new_id)?),
            };
            let owns = matches!(verdict, Verdict::Created(_)) || self.defect.is("rejected-row-owns-its-email");
            if let Some(email) = email.filter(|_| owns && !self.defect.is("batch-not-compared")) {
                taken.insert(self.compared(email));
            }
            verdicts.push(verdict);
        }
        if self.defect.is("siblings-of-taken-rejected") && verdicts.contains(&Verdict::Rejected("email_taken")) {
            verdicts.fill(Verdict::Rejected("email_taken"));
        }
        Ok(verdicts)
    }

    /// The email of a row that is sound by itself.
    fn judge_alone<'r>(&self, row: &'r Row) -> Result<&'r str, &'static str> {
        let email = row.email.as_deref().filter(|email| is_email(email)).ok_or("invalid_email")?;
        let blank = row.display_name.as_deref().is_none_or(|name| name.chars().all(char::is_whitespace));
        if blank { Err("display_name_blank") } else { Ok(email) }
    }

    fn judge_among(
        &self,
        row: &Row,
        email: &str,
        taken: &HashSet<String>,
        new_id: &mut impl FnMut() -> String,
    ) -> Result<Verdict, Failure> {
        if let Some(id) = self.known(&row.key)? {
            return Ok(Verdict::Unchanged(if self.defect.is("replay-new-id") { new_id() } else { id }));
        }
        if taken.contains(&self.compared(email)) || self.owned(email)? {
            return Ok(Verdict::Rejected("email_taken"));
        }
        Ok(Verdict::Created(new_id()))
    }

    /// The id of the member with this key.
    fn known(&self, key: &str) -> Result<Option<String>, Failure> {
        if self.defect.is("keys-known-until-restart") {
            return Ok(self.memory.ids.get(key).cloned());
        }
        if self.defect.is("rejected-key-used-up") && self.memory.rejected.contains(key) {
            return Ok(Some(String::new()));
        }
        self.db.first("SELECT id FROM members WHERE row_key = ?1", [key], |row| row.get(0))
    }

    fn owned(&self, email: &str) -> Result<bool, Failure> {
        let sql = if self.defect.is("emails-folded") {
            "SELECT 1 FROM members WHERE email = ?1 COLLATE NOCASE"
        } else {
            "SELECT 1 FROM members WHERE email = ?1"
        };
        Ok(self.db.first(sql, [email], |_| Ok(()))?.is_some())
    }

    /// An email as it is compared with others: as it is stored.
    fn compared(&self, email: &str) -> String {
        if self.defect.is("emails-folded") { email.to_lowercase() } else { email.to_owned() }
    }
}

/// Only what is surely one is told from what surely is none: a check that knows better refuses real people.
fn is_email(text: &str) -> bool {
    let parts = text.split_once('@');
    parts.is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty() && !domain.contains('@'))
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}
