//! Where contracts come from: the binary itself, a folder, or a folder in a git revision.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use indexmap::IndexMap;
use nack_contracts::freeze::LOCK_FILE;
use nack_contracts::{Contract, Source, shipped};

use crate::findings::Located;
use crate::trouble::Trouble;

/// The contracts of a run: shipped, or from `--contracts`. Each must be clean.
pub(crate) fn load(from: Option<&str>) -> Result<Vec<Arc<Contract>>, Trouble> {
    let sources = match from {
        None => shipped(),
        Some(place) if Path::new(place).exists() => of_folder(Path::new(place))?,
        Some(place) => match place.split_once(':') {
            Some((revision, folder)) => of_revision(revision, folder)?,
            None => return Err(Trouble::Usage(format!("--contracts {place}: there is no such folder"))),
        },
    };
    let mut contracts = Vec::new();
    let mut found = Vec::new();
    for source in sources {
        match read(source) {
            Ok((contract, findings)) => {
                found.extend(findings.into_iter().filter(|located| located.is_error()));
                contracts.push(Arc::new(contract));
            }
            Err(findings) => found.extend(findings),
        }
    }
    if found.is_empty() { Ok(contracts) } else { Err(Trouble::Findings(found)) }
}

/// Reads and lints one contract.
pub(crate) fn read(source: Source) -> Result<(Contract, Vec<Located>), Vec<Located>> {
    let source = Arc::new(source);
    let locate = |findings: Vec<nack_contracts::Finding>| -> Vec<Located> {
        findings.into_iter().map(|finding| Located { source: Arc::clone(&source), finding }).collect()
    };
    match Contract::read((*source).clone(), &IndexMap::new()) {
        Ok(contract) => {
            let findings = locate(nack_cases::check(&contract));
            Ok((contract, findings))
        }
        Err(findings) => Err(locate(findings)),
    }
}

/// A file as a source.
pub(crate) fn of_file(path: &Path) -> Result<Source, Trouble> {
    let file = path.display().to_string().replace('\\', "/");
    let bytes = fs::read(path).map_err(|error| Trouble::Usage(format!("{file}: {error}")))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source::new(file, text)),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
            Err(Trouble::Usage(format!("{file}:{line}: this is not UTF-8; save the file as UTF-8")))
        }
    }
}

/// The contracts of a folder, by name.
pub(crate) fn of_folder(folder: &Path) -> Result<Vec<Source>, Trouble> {
    let broken = |error: std::io::Error| Trouble::Usage(format!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(broken)? {
        let path = entry.map_err(broken)?.path();
        if path.extension().is_some_and(|ext| ext == "toml")
            && path.file_name().is_some_and(|name| name != "Cargo.toml")
        {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(Trouble::NothingMatched(format!("{}: there is no contract (*.toml) here", folder.display())));
    }
    paths.iter().map(|path| of_file(path)).collect()
}

/// The contracts of a folder, or of one file, in a git revision: read from there, nothing is checked out.
pub(crate) fn of_revision(revision: &str, folder: &str) -> Result<Vec<Source>, Trouble> {
    let git = |args: &[&str]| -> Result<String, Trouble> {
        let output =
            Command::new("git").args(args).output().map_err(|error| Trouble::Start(format!("git: {error}")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(Trouble::Usage(format!("git {}: {}", args.join(" "), said.trim())));
        }
        String::from_utf8(output.stdout).map_err(|_| Trouble::Usage(format!("{revision}:{folder}: not UTF-8")))
    };
    if revision.starts_with('-') || revision.is_empty() {
        return Err(Trouble::Usage(format!("{revision:?} is no git revision")));
    }
    git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{revision}^{{commit}}")])
        .map_err(|_| Trouble::Usage(format!("git knows no revision `{revision}` here; `git fetch` may bring it")))?;
    let tree = format!("{revision}:{}", folder.trim_end_matches('/'));
    if folder.ends_with(".toml") {
        return Ok(vec![Source::new(tree.clone(), git(&["show", &tree])?)]);
    }
    let names = git(&["ls-tree", "--name-only", &tree])?;
    let mut sources = Vec::new();
    for name in names.lines().filter(|name| name.ends_with(".toml") && *name != "Cargo.toml" && *name != LOCK_FILE) {
        let file = format!("{tree}/{name}");
        let text = git(&["show", &file])?;
        sources.push(Source::new(file, text));
    }
    if sources.is_empty() {
        return Err(Trouble::NothingMatched(format!("{tree}: there is no contract (*.toml) here")));
    }
    Ok(sources)
}
