//! `nack run --walks N`: random walks of each subject, next to the reference of its contract.

use std::path::Path;
use std::sync::Arc;

use nack::Target;
use nack::run::Options;
use nack::walk::{SCENARIO, walk};
use nack_contracts::Contract;
use nack_reports::CaseReport;

use super::{load_trouble, subjects};
use crate::trouble::Trouble;

/// The name that the walks of a target go by.
pub(super) fn name(target: &Target) -> String {
    format!("{}/{SCENARIO}", target.contract.name)
}

/// Walks every target whose walks are wanted.
pub(super) fn walks(
    targets: &[Target],
    contracts: &[Arc<Contract>],
    walks: u32,
    defect: Option<&str>,
    wanted: &dyn Fn(&str) -> bool,
    scratch: &Path,
    options: &Options,
) -> Result<Vec<CaseReport>, Trouble> {
    let home = scratch.join("walks");
    let mut reports = Vec::new();
    for target in targets.iter().filter(|target| wanted(&name(target))) {
        // A reference always agrees with itself.
        let itself = target.subject == subjects::REFERENCE && defect.is_none();
        let reference = match subjects::reference(&target.contract.name, None).filter(|_| !itself) {
            Some(adapter) => {
                let folder = home.join(&target.subject).join(&target.contract.name);
                std::fs::create_dir_all(&folder).map_err(|error| Trouble::File(error.to_string()))?;
                let loaded = Target::load("reference", Arc::clone(&target.contract), adapter, &folder);
                Some(loaded.map_err(|error| load_trouble(error, contracts))?)
            }
            None => None,
        };
        reports.push(walk(target, reference.as_ref(), walks, &home, options));
    }
    Ok(reports)
}
