//! Annotations for GitHub's checks: one workflow command a line, at the contract's line. What a subject said cannot
//! close a command or begin another.

use std::fmt::Write as _;

use crate::escape::{Newlines, terminal};
use crate::summary::{CHECKED_NOTHING, checked_nothing, cut, outcome, reason, red_names, with};
use crate::{CaseReport, CellFate, Fate, Place, Report, SabotageFate, Verdict};

/// GitHub shows ten annotations of a kind for a step, and drops the others without a word.
const SHOWN: usize = 10;

/// The most characters of one message.
const MESSAGE: usize = 1_000;

/// Renders a report as workflow commands.
#[must_use]
pub fn github(report: &Report) -> String {
    let mut out = String::new();
    commands(&mut out, "error", errors(report));
    let warnings = with(report, Verdict::Inconclusive);
    commands(
        &mut out,
        "warning",
        warnings.map(|case| (Some(&case.source), case.name.clone(), unclear(case))).collect(),
    );
    let (verdict, why) = outcome(report);
    let verdict = if why.is_empty() { verdict } else { format!("{verdict}: {why}") };
    command(&mut out, "notice", None, "nack", &format!("{verdict} (nack {}, seed {})", report.nack, report.seed));
    out
}

type Annotation<'a> = (Option<&'a Place>, String, String);

fn errors(report: &Report) -> Vec<Annotation<'_>> {
    let mut out: Vec<Annotation<'_>> =
        with(report, Verdict::Fail).map(|case| (Some(&case.source), case.name.clone(), refused(case))).collect();
    if let Some(proof) = &report.proof {
        for mutant in proof.mutants.iter().filter(|mutant| mutant.fate == Fate::Survived) {
            out.push((Some(&mutant.source), mutant.name.clone(), format!("survived: {}", mutant.defect)));
        }
        out.extend(proof.vacuous.iter().map(|case| (None, case.clone(), "no null subject fails this case".to_owned())));
        for cell in proof.cells.iter().filter(|cell| cell.fate == CellFate::Undefended) {
            out.push((Some(&cell.source), cell.name.clone(), format!("undefended: {}", cell.what)));
        }
        for sabotage in proof.sabotage.iter().filter(|sabotage| sabotage.fate == SabotageFate::Blind) {
            let name = format!("{}/{} on {}", sabotage.contract, sabotage.kind, sabotage.subject);
            out.push((None, name, format!("nothing turned red: {}", sabotage.what)));
        }
    }
    out
}

fn refused(case: &CaseReport) -> String {
    let mut lines = vec![case.why.clone()];
    match &case.broken {
        Some(broken) => lines.push(broken.clone()),
        None if checked_nothing(case) => lines.push(CHECKED_NOTHING.to_owned()),
        None => lines.push(format!("{} does not hold", red_names(case))),
    }
    let pairs = [("expected", &case.expected), ("observed", &case.observed)];
    lines.extend(pairs.iter().filter_map(|(label, text)| Some(format!("{label}: {}", text.as_ref()?))));
    lines.push(format!("replay: {}", case.replay));
    lines.iter().map(|line| cut(line, MESSAGE)).collect::<Vec<_>>().join("\n")
}

fn unclear(case: &CaseReport) -> String {
    format!("{}\n{}\nreplay: {}", case.why, cut(&reason(case.because.as_ref()), MESSAGE), case.replay)
}

fn commands(out: &mut String, level: &str, annotations: Vec<Annotation<'_>>) {
    let most = if annotations.len() > SHOWN { SHOWN - 1 } else { SHOWN };
    for (place, title, message) in annotations.iter().take(most) {
        command(out, level, *place, title, message);
    }
    if annotations.len() > most {
        let more = format!("{} more, which the job summary names", annotations.len() - most);
        command(out, level, None, "nack", &more);
    }
}

fn command(out: &mut String, level: &str, place: Option<&Place>, title: &str, message: &str) {
    let place = place.map_or(String::new(), |place| format!("file={},line={},", property(&place.file), place.line));
    // Writing to a String does not fail.
    _ = writeln!(out, "::{level} {place}title={}::{}", property(title), data(message));
}

/// The text of a command: a line break in it would end the command.
fn data(text: &str) -> String {
    terminal(text, Newlines::Keep).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property, which further signs would end.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
