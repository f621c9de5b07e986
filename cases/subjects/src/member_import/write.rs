//! What the verdicts write. A sound importer inserts the rows it calls created and touches nothing else.

use nack::subject::Failure;
use rusqlite::params;

use super::Importer;
use super::body::Row;
use super::judge::Verdict;
use crate::transaction::{begin, commit};

impl Importer {
    pub(super) fn write(&self, rows: &[Row], verdicts: &[Verdict]) -> Result<(), Failure> {
        for (row, verdict) in rows.iter().zip(verdicts) {
            match verdict {
                Verdict::Created(id) => self.insert(id, row)?,
                Verdict::Unchanged(id) => self.write_again(id, row)?,
                Verdict::Rejected(_) => {}
            }
        }
        Ok(())
    }

    fn insert(&self, id: &str, row: &Row) -> Result<(), Failure> {
        self.db.execute(
            "INSERT INTO members(id, row_key, email, display_name) VALUES (?1, ?2, ?3, ?4)",
            params![id, row.key, row.email, row.display_name],
        )?;
        Ok(())
    }

    /// What a row of a known key writes: nothing, but for a defect.
    fn write_again(&self, id: &str, row: &Row) -> Result<(), Failure> {
        if self.defect.is("replay-inserts") {
            self.insert(&format!("{id}-again"), row)?;
        }
        if self.defect.is("replay-updates") {
            self.db.execute(
                "UPDATE members SET email = ?2, display_name = ?3 WHERE row_key = ?1",
                params![row.key, row.email, row.display_name],
            )?;
        }
        if self.defect.is("replay-new-id") {
            self.db.execute("UPDATE members SET id = ?2 WHERE row_key = ?1", params![row.key, id])?;
        }
        Ok(())
    }

    /// Commits the new members without their names.
    pub(super) fn part_from_names(&self, rows: &[Row], verdicts: &[Verdict]) -> Result<(), Failure> {
        self.set_names(verdicts, rows, |_| None)?;
        commit(&self.db)?;
        begin(&self.db)
    }

    /// Gives the new members their names.
    pub(super) fn name_members(&self, rows: &[Row], verdicts: &[Verdict]) -> Result<(), Failure> {
        self.set_names(verdicts, rows, |row| row.display_name.as_deref())
    }

    fn set_names(
        &self,
        verdicts: &[Verdict],
        rows: &[Row],
        name: impl Fn(&Row) -> Option<&str>,
    ) -> Result<(), Failure> {
        for (row, _) in rows.iter().zip(verdicts).filter(|(_, verdict)| matches!(verdict, Verdict::Created(_))) {
            self.db.execute("UPDATE members SET display_name = ?2 WHERE row_key = ?1", params![row.key, name(row)])?;
        }
        Ok(())
    }
}
