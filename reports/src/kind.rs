//! The kinds of output by name, as `--report KIND=FILE` takes them. A name that is not known is an error that lists the
//! valid ones, and so is one that is planned but not there yet: nothing is ever written in its place.

use std::fmt;
use std::str::FromStr;

use crate::text::{Style, text};
use crate::{Report, github, json, junit, markdown};

/// A kind of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// For a terminal, without colours.
    Text,
    /// GitHub's Markdown, to attach to a review.
    Md,
    /// JUnit XML, for CI services.
    Junit,
    /// JSON, for machines.
    Json,
    /// Annotations for GitHub's checks.
    Github,
}

impl Kind {
    /// All of them, in the order in which messages list them.
    pub const ALL: [Kind; 5] = [Kind::Text, Kind::Md, Kind::Junit, Kind::Json, Kind::Github];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Md => "md",
            Kind::Junit => "junit",
            Kind::Json => "json",
            Kind::Github => "github",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Kind, UnknownKind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| UnknownKind(name.to_owned()))
    }
}

/// A name that is no kind of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKind(String);

/// Kinds that have a name already, so that nobody takes it, and no renderer yet.
const PLANNED: [&str; 2] = ["html", "sarif"];

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = crate::escape::terminal(&self.0, crate::escape::Newlines::Show);
        if PLANNED.contains(&name.as_str()) {
            write!(f, "reports of kind `{name}` are not available in this version")?;
        } else {
            write!(f, "there is no kind of report `{name}`")?;
        }
        write!(f, "; valid kinds are {}", Kind::ALL.map(Kind::name).join(", "))
    }
}

impl std::error::Error for UnknownKind {}

/// Renders a report.
#[must_use]
pub fn render(kind: Kind, report: &Report) -> String {
    match kind {
        Kind::Text => text(report, Style::default()),
        Kind::Md => markdown::markdown(report),
        Kind::Junit => junit::junit(report),
        Kind::Json => json::to_json(report),
        Kind::Github => github::github(report),
    }
}
