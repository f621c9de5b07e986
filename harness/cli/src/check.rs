//! `nack check` and `nack freeze`: contracts are linted, frozen, and held against what was frozen.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nack_contracts::freeze::{LOCK_FILE, Lock};
use nack_contracts::{Contract, Source, shipped, shipped_lock};
use nack_reports::Exit;

use crate::args::{CheckArgs, Format, FreezeArgs};
use crate::contracts::{of_file, of_folder, read};
use crate::files::write_whole;
use crate::findings::{self, Located};
use crate::trouble::Trouble;

/// Contracts that share a lock.
struct Group {
    sources: Vec<Source>,
    /// The lock's place, or its text for the shipped contracts.
    lock: Result<Source, PathBuf>,
    /// Whether these are all contracts of the lock.
    whole: bool,
}

pub(crate) fn check(args: &CheckArgs) -> Result<Exit, Trouble> {
    let mut found = Vec::new();
    let mut count = 0;
    for group in groups(&args.paths)? {
        let mut contracts = Vec::new();
        for source in group.sources {
            count += 1;
            match read(source) {
                Ok((contract, findings)) => {
                    found.extend(findings);
                    contracts.push(contract);
                }
                Err(findings) => found.extend(findings),
            }
        }
        if args.locked {
            found.extend(drift(&contracts, group.lock, group.whole));
        }
    }
    let errors = found.iter().filter(|located| located.is_error()).count();
    let advice = found.len() - errors;
    match args.format {
        Format::Json => anstream::println!("{}", findings::to_json(&found)),
        Format::Text => {
            let shown: Vec<Located> = found.into_iter().filter(|located| args.advice || located.is_error()).collect();
            findings::print(&shown);
            let locked = if args.locked { ", as frozen" } else { "" };
            let words = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
            if errors == 0 {
                let told = if advice == 0 || args.advice {
                    String::new()
                } else {
                    format!("; --advice shows {}", words(advice, "hint"))
                };
                anstream::println!("{}: no errors{locked}{told}", words(count, "contract"));
            } else {
                anstream::println!("{}: {}", words(count, "contract"), words(errors, "error"));
            }
        }
    }
    Ok(if errors == 0 { Exit::Held } else { Exit::Usage })
}

fn groups(paths: &[PathBuf]) -> Result<Vec<Group>, Trouble> {
    let of_dir = |folder: &Path| -> Result<Group, Trouble> {
        let lock = folder.join(LOCK_FILE);
        let lock = if lock.exists() { Ok(of_file(&lock)?) } else { Err(lock) };
        Ok(Group { sources: of_folder(folder)?, lock, whole: true })
    };
    if paths.is_empty() {
        let folder = Path::new("contracts");
        return match folder.is_dir() && of_folder(folder).is_ok() {
            true => Ok(vec![of_dir(folder)?]),
            false => Ok(vec![Group { sources: shipped(), lock: Ok(shipped_lock()), whole: true }]),
        };
    }
    let mut out = Vec::new();
    for path in paths {
        if path.is_dir() {
            out.push(of_dir(path)?);
            continue;
        }
        let lock = path.with_file_name(LOCK_FILE);
        let lock = if lock.exists() { Ok(of_file(&lock)?) } else { Err(lock) };
        out.push(Group { sources: vec![of_file(path)?], lock, whole: false });
    }
    Ok(out)
}

fn drift(contracts: &[Contract], lock: Result<Source, PathBuf>, whole: bool) -> Vec<Located> {
    let source = match lock {
        Ok(source) => Arc::new(source),
        Err(path) => {
            let source = Source::new(path.display().to_string(), "");
            let finding = nack_contracts::Finding::error("lock/missing", LOCK_FILE, 0..0, "there is no lock file here")
                .help("freeze the contracts with `nack freeze` in a reviewed change");
            return vec![Located { source: Arc::new(source), finding }];
        }
    };
    match Lock::read(&source) {
        Err(finding) => vec![Located { source, finding }],
        Ok(lock) => lock
            .drift(contracts, whole)
            .into_iter()
            .map(|(index, finding)| {
                let home = contracts.get(index).map(|contract| Arc::new(contract.source.clone()));
                Located { source: home.unwrap_or_else(|| Arc::clone(&source)), finding }
            })
            .collect(),
    }
}

pub(crate) fn freeze(args: &FreezeArgs) -> Result<Exit, Trouble> {
    let mut contracts = Vec::new();
    let mut found = Vec::new();
    for source in of_folder(&args.folder)? {
        match read(source) {
            Ok((contract, findings)) => {
                found.extend(findings.into_iter().filter(Located::is_error));
                contracts.push(contract);
            }
            Err(findings) => found.extend(findings),
        }
    }
    if !found.is_empty() {
        return Err(Trouble::Findings(found));
    }
    let lock = Lock::of(&contracts);
    let path = args.folder.join(LOCK_FILE);
    write_whole(&path, &lock.to_text())?;
    for frozen in &lock.contract {
        anstream::println!("{}  {} version {}", &frozen.sha256[..12], frozen.name, frozen.version);
    }
    anstream::println!("frozen in {}", path.display());
    Ok(Exit::Held)
}
