//! `nack report`, `nack compare` and `nack merge`: what becomes of reports after their runs.

use std::path::{Path, PathBuf};

use nack_reports::compare::compare as compared;
use nack_reports::json::from_json;
use nack_reports::{Exit, Report, merge::merge as merged};

use crate::args::{CompareArgs, MergeArgs, ReportArgs, Review};
use crate::contracts::of_file;
use crate::run::Outputs;
use crate::trouble::Trouble;

/// A stored report.
pub(crate) fn read(path: &Path) -> Result<Report, Trouble> {
    let source = of_file(path)?;
    from_json(&source.text).map_err(|error| {
        Trouble::Usage(format!(
            "{}: this is no report of nack: {error}; reports are written by `nack run --report json={0}`",
            source.file
        ))
    })
}

/// Writes a stored report in every kind that is asked for. Its own verdict is not this command's.
pub(crate) fn report(args: &ReportArgs) -> Result<Exit, Trouble> {
    let outputs = Outputs::parse(&args.reports, args.quiet, args.verbose)?;
    outputs.write(&read(&args.file)?)?;
    Ok(Exit::Held)
}

/// Joins the parts of a run, and ends as the whole run would have.
pub(crate) fn merge(args: &MergeArgs) -> Result<Exit, Trouble> {
    let outputs = Outputs::parse(&args.reports, args.quiet, args.verbose)?;
    let read = |path: &PathBuf| Ok((path.display().to_string(), read(path)?));
    let parts = args.files.iter().map(read).collect::<Result<Vec<_>, Trouble>>()?;
    let whole = merged(&parts).map_err(|error| Trouble::Usage(format!("these parts make no whole: {error}")))?;
    outputs.write(&whole)?;
    Ok(Exit::of_code(whole.exit))
}

/// Holds two reports against each other.
pub(crate) fn compare(args: &CompareArgs) -> Result<Exit, Trouble> {
    let comparison = compared(&read(&args.a)?, &read(&args.b)?);
    match args.format {
        Review::Text => anstream::print!("{}", comparison.text()),
        Review::Md => anstream::print!("{}", comparison.markdown()),
        Review::Json => {
            let text = serde_json::to_string_pretty(&comparison).expect("a comparison holds text and numbers only");
            anstream::println!("{text}");
        }
    }
    Ok(Exit::of_code(comparison.exit))
}
