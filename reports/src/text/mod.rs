//! The report for a terminal: quiet when green, precise when red. Colours are plain escape sequences; whoever prints
//! decides through `anstream` whether they reach the terminal.

mod case;
mod page;
mod proof;

use self::page::{Page, Paint};
use crate::summary::{
    Group, counts_line, counts_short, groups, held, known_reason, many, not_covered, not_made, outcome, overrides, with,
};
use crate::{CaseReport, Report, Verdict};

/// How to write for a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to colour. Every other escape sequence is made visible in any case.
    pub color: bool,
    /// How much to say.
    pub verbose: Verbosity,
    /// Where sentences are wrapped, in columns. Names, paths, values and commands are not: they are there to be copied.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Style {
        Style { color: false, verbose: Verbosity::Normal, width: 120 }
    }
}

/// How much to say. What did not pass is told in full by each, and what was not covered is counted by each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Without the lines by contract, the matrix of a proof and what the run does not show.
    Quiet,
    /// A line by contract, and what the run does not show.
    #[default]
    Normal,
    /// Every case by name, and nothing cut short.
    Verbose,
}

/// Renders a report for a terminal.
#[must_use]
pub fn text(report: &Report, style: Style) -> String {
    let mut page = Page::new(style);
    if page.all() {
        every_case(&mut page, report);
    }
    for verdict in [Verdict::Fail, Verdict::Inconclusive] {
        with(report, verdict).for_each(|case| case::block(&mut page, case));
    }
    known(&mut page, report);
    if style.verbose != Verbosity::Quiet {
        contracts(&mut page, report);
    }
    if report.counts.total() > 0 || report.proof.is_none() {
        page.gap();
        page.line(Paint::Strong, &counts_line(&report.counts));
    }
    uncovered(&mut page, report);
    notes(&mut page, report);
    if let Some(proof) = &report.proof {
        proof::section(&mut page, proof);
    }
    if style.verbose != Verbosity::Quiet && !report.closing.is_empty() {
        page.heading("what this run does not show");
        for line in &report.closing {
            page.spaces(2).put(Paint::Quiet, "- ").prose(4, Paint::Plain, line);
        }
    }
    page.gap();
    let paint = if held(report) { Paint::Good } else { Paint::Bad };
    let (verdict, why) = outcome(report);
    let words = if why.is_empty() { verdict } else { format!("{verdict}: {why}") };
    page.put(paint, &words).put(Paint::Quiet, &run_words(report)).end();
    page.into_text()
}

/// One case as the terminal shows it, without colours.
pub(crate) fn plain(case: &CaseReport) -> String {
    let mut page = Page::new(Style::default());
    case::block(&mut page, case);
    page.into_text()
}

fn run_words(report: &Report) -> String {
    match report.elapsed_ms {
        0 => format!(" (seed {})", report.seed),
        ms => format!(" (seed {}, {}.{:03} s)", report.seed, ms / 1000, ms % 1000),
    }
}

fn every_case(page: &mut Page, report: &Report) {
    for case in report.cases.iter().filter(|case| matches!(case.verdict, Verdict::Pass | Verdict::NotCovered)) {
        let paint = if case.verdict == Verdict::Pass { Paint::Good } else { Paint::Doubt };
        page.put(paint, &format!("{:<11}", case.verdict)).put(Paint::Plain, "  ").put(Paint::Plain, &case.name);
        page.line(Paint::Quiet, &format!("  {}", case.subject));
    }
}

fn known(page: &mut Page, report: &Report) {
    let rows: Vec<Vec<String>> =
        with(report, Verdict::Known).map(|case| vec![case.name.clone(), page.cut(known_reason(case), 500)]).collect();
    if !rows.is_empty() {
        page.heading("known failures");
        page.table(2, Paint::Plain, &rows);
    }
}

fn contracts(page: &mut Page, report: &Report) {
    let groups = groups(report);
    page.gap();
    page.table(0, Paint::Strong, &groups.iter().map(contract).collect::<Vec<_>>());
}

/// One line a contract and subject. The digest says which contract it was: twelve digits to compare by eye.
fn contract(group: &Group<'_>) -> Vec<String> {
    let digest = group.info.map_or(String::new(), |info| info.digest.chars().take(12).collect());
    let subject = match group.subject_info {
        Some(info) => format!("{} ({})", info.name, info.adapter),
        None => group.subject.to_owned(),
    };
    let mut row = vec![group.contract.to_owned(), digest, subject, counts_short(&group.counts())];
    row.extend(group.info.map(overrides).filter(|words| !words.is_empty()));
    row
}

fn uncovered(page: &mut Page, report: &Report) {
    let sections = [
        ("not covered, so neither green nor red", not_covered(report)),
        ("checks not made, in cases that were", not_made(report)),
    ];
    for (heading, reasons) in sections.iter().filter(|(_, reasons)| !reasons.is_empty()) {
        page.heading(heading);
        let wide = reasons.iter().map(|(_, cases)| cases.len().to_string().len()).max().unwrap_or(0);
        for (reason, cases) in reasons {
            let reason = page.cut(reason, 500);
            page.spaces(2).put(Paint::Doubt, &format!("{:>wide$}", cases.len())).spaces(2).prose(
                wide + 4,
                Paint::Plain,
                &reason,
            );
        }
    }
}

/// Notes of cases that passed; those of the others stand with them.
fn notes(page: &mut Page, report: &Report) {
    let noted: Vec<&CaseReport> = with(report, Verdict::Pass).filter(|case| !case.notes.is_empty()).collect();
    if noted.is_empty() {
        return;
    }
    page.gap();
    if !page.all() {
        let words = format!("{} that passed left a note; -v shows them", many(noted.len(), "case"));
        return page.line(Paint::Quiet, &words);
    }
    page.line(Paint::Strong, "notes on cases that passed");
    for case in noted {
        for note in &case.notes {
            page.spaces(2).put(Paint::Strong, &case.name).put(Paint::Plain, "  ").prose(4, Paint::Plain, note);
        }
    }
}
