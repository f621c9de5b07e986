//! What ends a command early, said once with its mend, and the exit code that it means.

use std::sync::Arc;

use nack::store::hide_passwords;
use nack_contracts::{Finding, Source};
use nack_reports::Exit;

use crate::findings::{self, Located};

/// Why a command ended before it could judge anything.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// Usage, a contract or a binding that is wrong.
    #[error("{0}")]
    Usage(String),
    /// Findings in contracts.
    #[error("the contracts have findings")]
    Findings(Vec<Located>),
    /// No case has such a name.
    #[error("{0}")]
    NothingMatched(String),
    /// Something that had to start did not.
    #[error("{0}")]
    Start(String),
    /// A file or folder that nack itself needs.
    #[error("{0}")]
    File(String),
}

impl Trouble {
    /// Findings in one file.
    pub(crate) fn findings(source: &Source, findings: Vec<Finding>) -> Trouble {
        let source = Arc::new(source.clone());
        let located = |finding| Located { source: Arc::clone(&source), finding };
        Trouble::Findings(findings.into_iter().map(located).collect())
    }

    /// Says it and gives the exit code.
    pub(crate) fn tell(self) -> Exit {
        match &self {
            Trouble::Findings(found) => {
                findings::print(found);
                Exit::Usage
            }
            other => {
                anstream::eprintln!("nack: {}", hide_passwords(&other.to_string()));
                match other {
                    Trouble::NothingMatched(_) => Exit::NothingMatched,
                    Trouble::Start(_) => Exit::Inconclusive,
                    Trouble::File(_) => Exit::Internal,
                    Trouble::Usage(_) | Trouble::Findings(_) => Exit::Usage,
                }
            }
        }
    }
}
