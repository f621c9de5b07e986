//! Where reports go: the terminal, and every `--report KIND=FILE`.

use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use nack_reports::text::{Style, Verbosity, text};
use nack_reports::{Kind, Report, render};

use crate::args::Common;
use crate::files::write_whole;
use crate::trouble::Trouble;

/// The outputs of a run.
pub(crate) struct Outputs {
    verbosity: Verbosity,
    files: Vec<(Kind, Option<PathBuf>)>,
}

impl Outputs {
    /// Reads the flags before anything runs, so that a slip does not cost a run.
    pub(super) fn of(common: &Common) -> Result<Outputs, Trouble> {
        Outputs::parse(&common.reports, common.quiet, common.verbose)
    }

    /// The same from the flags one by one.
    pub(crate) fn parse(reports: &[String], quiet: bool, verbose: bool) -> Result<Outputs, Trouble> {
        let mut files = Vec::new();
        for wanted in reports {
            let (kind, file) = wanted.split_once('=').unwrap_or((wanted, "-"));
            let kind = kind.parse::<Kind>().map_err(|error| Trouble::Usage(format!("--report {wanted}: {error}")))?;
            if file.is_empty() {
                return Err(Trouble::Usage(format!("--report {wanted}: name a file, or `-` for the terminal")));
            }
            files.push((kind, (file != "-").then(|| PathBuf::from(file))));
        }
        let verbosity = match (quiet, verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        Ok(Outputs { verbosity, files })
    }

    /// A replay shows everything unless it is told to be quiet.
    pub(crate) fn whole_story(&mut self) {
        if self.verbosity == Verbosity::Normal {
            self.verbosity = Verbosity::Verbose;
        }
    }

    /// Writes the report everywhere. What goes to the terminal by `KIND=-` takes the place of the usual text; GitHub's
    /// annotations stand beside it, since GitHub takes their lines out of the log.
    pub(crate) fn write(&self, report: &Report) -> Result<(), Trouble> {
        for (kind, file) in &self.files {
            let text = render(*kind, report);
            if *kind == Kind::Github {
                summary(report)?;
            }
            match file {
                Some(path) => write_whole(path, &text)?,
                None => anstream::print!("{text}"),
            }
        }
        if !self.files.iter().any(|(kind, file)| file.is_none() && *kind != Kind::Github) {
            let style = Style { color: true, verbose: self.verbosity, ..Style::default() };
            anstream::print!("{}", text(report, style));
        }
        Ok(())
    }
}

/// Under GitHub's actions the summary of the job gets the report for a review, behind what other steps wrote there.
fn summary(report: &Report) -> Result<(), Trouble> {
    let Some(path) = env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()).map(PathBuf::from) else {
        return Ok(());
    };
    let written = OpenOptions::new().append(true).create(true).open(&path).and_then(|mut file| {
        // In one piece: the steps of a job write one after the other.
        file.write_all(render(Kind::Md, report).as_bytes())
    });
    written.map_err(|error| {
        Trouble::Usage(format!(
            "{} cannot be written: {error}; GITHUB_STEP_SUMMARY names it, so unset that where it means nothing",
            path.display()
        ))
    })
}
