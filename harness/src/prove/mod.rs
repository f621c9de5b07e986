//! Proof that the gate can fail: null subjects that must not pass, mutants that must be killed for their own reason, and
//! cells that must not be able to say anything else.

mod cells;
mod mutants;
mod nulls;
pub(crate) mod sabotage;

use std::path::Path;
use std::sync::Arc;

use nack_contracts::Contract;
use nack_reports::{CellFate, Exit, Fate, Proof, SabotageFate};

use crate::adapter::Adapter;
use crate::run::Options;
use crate::target::{LoadError, Target};

/// Where the references come from: contract and defect to a subject. `None` as defect is the reference itself.
pub type References<'a> = &'a dyn Fn(&str, Option<&str>) -> Option<Arc<dyn Adapter>>;

/// Proves that these contracts, under their references, can convict. Only cases and mutants that `wanted` names count.
///
/// # Errors
/// A reference or a null subject that cannot be loaded.
pub fn prove(
    contracts: &[Arc<Contract>],
    references: References<'_>,
    wanted: &dyn Fn(&str) -> bool,
    scratch: &Path,
    options: &Options,
) -> Result<(Vec<Target>, Proof), LoadError> {
    let mut targets = Vec::new();
    for contract in contracts {
        if let Some(adapter) = references(&contract.name, None) {
            targets.push(Target::load("reference", Arc::clone(contract), adapter, scratch)?);
        }
    }
    let mut proof = Proof::default();
    nulls::judge(&targets, wanted, scratch, options, &mut proof)?;
    mutants::judge(&targets, references, wanted, scratch, options, &mut proof)?;
    cells::judge(contracts, references, wanted, scratch, options, &mut proof)?;
    sabotage::judge(&targets, wanted, scratch, options, &mut proof);
    Ok((targets, proof))
}

/// Proves that these set-ups, a user's own, can convict: each is falsified behind its subject's back.
#[must_use]
pub fn prove_bound(targets: &[Target], wanted: &dyn Fn(&str) -> bool, scratch: &Path, options: &Options) -> Proof {
    let mut proof = Proof::default();
    sabotage::judge(targets, wanted, scratch, options, &mut proof);
    proof
}

/// What a proof comes to.
#[must_use]
pub fn exit_of(proof: &Proof) -> Exit {
    if proof.is_empty() {
        return Exit::NothingMatched;
    }
    let survived = proof.mutants.iter().any(|mutant| mutant.fate == Fate::Survived);
    let undefended = proof.cells.iter().any(|cell| cell.fate == CellFate::Undefended);
    let blind = proof.sabotage.iter().any(|sabotage| sabotage.fate == SabotageFate::Blind);
    if survived || undefended || blind || !proof.vacuous.is_empty() { Exit::ProofFailed } else { Exit::Held }
}
