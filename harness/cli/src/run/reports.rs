//! Where reports go: the terminal, and every `--report KIND=FILE`.

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
    pub(super) fn parse(common: &Common) -> Result<Outputs, Trouble> {
        Outputs::of(&common.reports, common.quiet, common.verbose)
    }

    /// The same, of the flags themselves.
    pub(crate) fn of(reports: &[String], quiet: bool, verbose: bool) -> Result<Outputs, Trouble> {
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
    pub(super) fn whole_story(&mut self) {
        if self.verbosity == Verbosity::Normal {
            self.verbosity = Verbosity::Verbose;
        }
    }

    /// Writes the report everywhere. What goes to the terminal by `KIND=-` takes the place of the usual text.
    pub(crate) fn write(&self, report: &Report) -> Result<(), Trouble> {
        for (kind, file) in &self.files {
            let text = render(*kind, report);
            match file {
                Some(path) => write_whole(path, &text)?,
                None => anstream::print!("{text}"),
            }
        }
        if !self.files.iter().any(|(_, file)| file.is_none()) {
            let style = Style { color: true, verbose: self.verbosity, ..Style::default() };
            anstream::print!("{}", text(report, style));
        }
        Ok(())
    }
}
