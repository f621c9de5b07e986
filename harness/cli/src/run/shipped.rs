//! The shipped references as subjects.

use std::path::Path;
use std::sync::Arc;

use nack::Target;
use nack::adapter::{Adapter, InProcessAdapter};
use nack_contracts::Contract;

use super::load_trouble;
use crate::args::Common;
use crate::trouble::Trouble;

/// The reference for a contract, or one of its defects.
pub(super) fn adapter(contract: &str, defect: Option<&str>) -> Option<Arc<dyn Adapter>> {
    let program = nack_subjects::reference(contract, defect)?;
    Some(Arc::new(InProcessAdapter::new(program)))
}

/// Refuses a subject that does not exist.
pub(super) fn known_subject(common: &Common) -> Result<(), Trouble> {
    match common.subject.as_deref() {
        None | Some("reference") => Ok(()),
        Some(other) => {
            let known = nack_contracts::suggest(other, ["reference"]);
            Err(Trouble::Usage(format!("there is no subject `{other}`; {known}")))
        }
    }
}

/// The references of these contracts, ready to be judged.
pub(super) fn targets(
    contracts: &[Arc<Contract>],
    common: &Common,
    defect: Option<&str>,
    scratch: &Path,
) -> Result<Vec<Target>, Trouble> {
    known_subject(common)?;
    let mut targets = Vec::new();
    for contract in contracts {
        let Some(adapter) = adapter(&contract.name, defect) else { continue };
        let target = Target::load("reference", Arc::clone(contract), adapter, scratch);
        targets.push(target.map_err(|error| load_trouble(error, contracts))?);
    }
    if targets.is_empty() {
        let names: Vec<&str> = contracts.iter().map(|contract| contract.name.as_str()).collect();
        let what =
            defect.map_or("no reference".to_owned(), |defect| format!("no reference with the defect `{defect}`"));
        return Err(Trouble::Usage(format!("{what} ships for {}", names.join(", "))));
    }
    Ok(targets)
}
