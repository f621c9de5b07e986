//! A concrete case on disk: stored before it runs, with all it takes to run it again and to notice when that is no
//! longer the same case.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use nack_cases::Case;
use serde::{Deserialize, Serialize};

use crate::target::Target;

/// The file that a case is stored in.
const FILE: &str = "case.json";

/// A stored case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored<'a> {
    /// The version of this format.
    pub format: u32,
    /// The contract's digest when the case was made from it.
    pub digest: Cow<'a, str>,
    /// The seed it ran with.
    pub seed: u64,
    /// The subject it ran on.
    pub subject: Cow<'a, str>,
    /// The case.
    pub case: Cow<'a, Case>,
}

/// A file that holds no stored case.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// It cannot be read.
    #[error("{file} cannot be read: {error}")]
    Read {
        /// The file.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// It is something else.
    #[error("{file}:{}: this is no stored case: {error}", .error.line())]
    Parse {
        /// The file.
        file: String,
        /// Why.
        error: serde_json::Error,
    },
}

impl<'a> Stored<'a> {
    pub(crate) fn new(target: &'a Target, case: &'a Case, seed: u64) -> Stored<'a> {
        Stored {
            format: 1,
            digest: Cow::Borrowed(&target.digest),
            seed,
            subject: Cow::Borrowed(&target.subject),
            case: Cow::Borrowed(case),
        }
    }

    /// Writes it into a folder of its own below `keep`, and says where.
    pub(crate) fn keep(&self, keep: &Path) -> std::io::Result<PathBuf> {
        let home = super::free_folder(keep, &self.case.name);
        fs::create_dir_all(&home)?;
        self.write(&home)?;
        Ok(home.join(FILE))
    }
}

impl Stored<'_> {
    /// Reads a stored case.
    ///
    /// # Errors
    /// A file that is not there, or that is no stored case.
    pub fn read(path: &Path) -> Result<Stored<'static>, StoredError> {
        let file = path.display().to_string();
        let text = fs::read(path).map_err(|error| StoredError::Read { file: file.clone(), error })?;
        serde_json::from_slice(&text).map_err(|error| StoredError::Parse { file, error })
    }

    pub(super) fn write(&self, folder: &Path) -> std::io::Result<()> {
        fs::write(folder.join(FILE), serde_json::to_vec(self)?)
    }
}
