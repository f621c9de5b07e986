//! The two sides of a comparison: a file, a folder, a git revision, or the report of an earlier run.

use std::collections::BTreeSet;
use std::path::Path;

use nack_cases::expand_all;
use nack_contracts::diff::Direction;
use nack_contracts::{Contract, freeze, shipped};
use nack_reports::{Exit, Report};

use super::written::{Changed, Written};
use crate::contracts::{of_file, of_folder, of_revision, read};
use crate::findings::Located;
use crate::stored;
use crate::trouble::Trouble;

/// Where contracts stand in a repository, unless something else is said.
const FOLDER: &str = "contracts";

/// The same as git reads it: from the folder that nack runs in, not from the repository's own.
const FOLDER_HERE: &str = "./contracts";

/// What a side was read as.
pub(super) enum Side {
    Contracts(Contracts),
    Report(Box<Report>),
}

/// One side's contracts.
pub(super) struct Contracts {
    /// As it was named.
    pub(super) told: String,
    pub(super) contracts: Vec<Contract>,
    /// Whether one file was named, and so one contract is meant.
    pub(super) single: bool,
}

impl Side {
    /// Reads a side. `clean`: findings refuse it, as they would refuse a run.
    pub(super) fn read(place: &str, clean: bool) -> Result<Side, Trouble> {
        let path = Path::new(place);
        if path.is_dir() {
            return of(place, of_folder(path)?, false, clean);
        }
        if path.is_file() {
            if path.extension().is_some_and(|ext| ext == "json") {
                return Ok(Side::Report(Box::new(stored::read(path)?)));
            }
            return of(place, vec![of_file(path)?], true, clean);
        }
        let (revision, inside) = place.split_once(':').unwrap_or((place, FOLDER_HERE));
        let sources = of_revision(revision, inside).map_err(|trouble| match trouble {
            Trouble::Usage(said) => Trouble::Usage(format!(
                "{place}: there is no such file or folder, and as a git revision it gives no contracts: {said}; write a \
                 file, a folder, a report (*.json), REV or REV:FOLDER"
            )),
            other => other,
        })?;
        of(place, sources, inside.ends_with(".toml"), clean)
    }

    /// What stands here: `./contracts`, or else what ships.
    pub(super) fn present() -> Result<Side, Trouble> {
        let folder = Path::new(FOLDER);
        match folder.is_dir() {
            true => of(FOLDER, of_folder(folder)?, false, true),
            false => of("the shipped contracts", shipped(), false, true),
        }
    }
}

fn of(told: &str, sources: Vec<nack_contracts::Source>, single: bool, clean: bool) -> Result<Side, Trouble> {
    let (mut contracts, mut found) = (Vec::new(), Vec::new());
    for source in sources {
        match read(source) {
            Ok((contract, findings)) => {
                found.extend(findings.into_iter().filter(|located| clean && located.is_error()));
                contracts.push(contract);
            }
            Err(findings) => found.extend(findings),
        }
    }
    let found: Vec<Located> = found;
    match found.is_empty() {
        true => Ok(Side::Contracts(Contracts { told: told.to_owned(), contracts, single })),
        false => Err(Trouble::Findings(found)),
    }
}

/// A report names its cases and digests and holds no rules, so it can only tell which cases are gone.
pub(super) fn against_report(told: &str, base: &Report, head: &Contracts) -> Result<(Written, Exit), Trouble> {
    let mut written = Written::new(told, &head.told);
    let mut changes = Vec::new();
    for info in &base.contracts {
        let prefix = format!("{}/", info.name);
        let named = base.cases.iter().map(|case| case.name.as_str()).filter(|name| name.starts_with(&prefix));
        let before: BTreeSet<&str> = named.filter(|name| !name.ends_with("/walk")).collect();
        // A contract that was loaded and not run has no case to lose.
        if before.is_empty() {
            continue;
        }
        let told = |direction: Direction, part: &str, at: String, what: String| Changed {
            contract: info.name.clone(),
            direction,
            rule: format!("{direction}/{part}"),
            at,
            what,
            base: None,
            head: None,
            accepted: None,
        };
        let Some(now) = head.contracts.iter().find(|contract| contract.name == info.name) else {
            if !head.single {
                changes.push(told(
                    Direction::Weakened,
                    "contract",
                    format!("contract.{}", info.name),
                    format!("the contract `{}` is gone, and with it every case", info.name),
                ));
            }
            continue;
        };
        written.digests(&info.name, Some(info.digest.clone()), Some(freeze::digest(now)));
        let cases = expand_all(now).map_err(|findings| Trouble::findings(&now.source, findings))?;
        let now: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        for name in before.iter().filter(|name| !now.contains(*name)) {
            changes.push(told(Direction::Weakened, "case", (*name).to_owned(), "the case is gone".to_owned()));
        }
    }
    written.extend(changes);
    written.note("a report holds no rules: only the names of its cases were compared, and what they expect was not");
    let exit = written.exit();
    Ok((written, exit))
}
