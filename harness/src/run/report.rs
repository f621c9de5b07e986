//! What a case came to, as the result model says it. A case starts as failed and earns its pass here.

use nack_cases::{At, Case, FaultKind};
use nack_reports::{Because, BecauseKind, CaseReport, Place, Verdict};

use super::case::place;
use super::{Options, Ran, faults};
use crate::target::Target;

/// The report of a case about which nothing is known yet: failed.
fn blank(target: &Target, case: &Case, options: &Options) -> CaseReport {
    let convert = |place: &nack_cases::Place| Place { file: place.file.clone(), line: place.line };
    let rows = case.rows.iter().fold(case.scenario.clone(), |rule, row| format!("{rule} {row}"));
    CaseReport {
        name: case.name.clone(),
        subject: target.subject.clone(),
        verdict: Verdict::Fail,
        because: None,
        rule: rows,
        why: case.why.clone(),
        source: convert(&case.source),
        rows: case.row_places.iter().map(convert).collect(),
        samples: case.samples.clone(),
        fault: fault_words(case),
        points: None,
        checks: Vec::new(),
        broken: None,
        expected: None,
        observed: None,
        timeline: Vec::new(),
        said: Vec::new(),
        found: None,
        notes: Vec::new(),
        by_hand: Vec::new(),
        replay: replay_line(target, &case.name, options),
        elapsed_us: 0,
    }
}

/// Names hold letters, digits and `/ + = @ . _ -` only, so they paste into a shell as they are.
fn replay_line(target: &Target, name: &str, options: &Options) -> String {
    let subject = match target.subject.as_str() {
        "reference" => String::new(),
        other => format!(" --subject {other}"),
    };
    format!("nack replay {name}{subject} --seed {}{}", options.seed, options.replay_flags)
}

/// The faults of a case in words.
#[must_use]
pub fn fault_words(case: &Case) -> Vec<String> {
    let word = |by: FaultKind| match by {
        FaultKind::Raise => "raise".to_owned(),
        FaultKind::Kill => "kill".to_owned(),
        FaultKind::Hold => "hold".to_owned(),
        FaultKind::Stop => "stop".to_owned(),
        FaultKind::Storage(kind) => format!("{kind:?}").to_lowercase(),
        FaultKind::Lost => "answer lost".to_owned(),
    };
    faults(case)
        .map(|fault| match &fault.at {
            At::Everywhere => format!("{} at every point", word(fault.by)),
            at => format!("{} at {}", word(fault.by), place(at)),
        })
        .collect()
}

pub(crate) fn not_covered(target: &Target, case: &Case, because: Because, options: &Options) -> CaseReport {
    CaseReport { verdict: Verdict::NotCovered, because: Some(because), ..blank(target, case, options) }
}

pub(crate) fn not_started(target: &Target, case: &Case, detail: String, options: &Options) -> CaseReport {
    let because = Some(Because { kind: BecauseKind::Start, detail });
    CaseReport { verdict: Verdict::Inconclusive, because, ..blank(target, case, options) }
}

pub(crate) fn ran(target: &Target, case: &Case, ran: Ran, points: Option<u32>, options: &Options) -> CaseReport {
    if let Some(because) = ran.unheld {
        return not_covered(target, case, because, options);
    }
    let mut report = blank(target, case, options);
    report.points = points;
    report.verdict = match (&ran.trouble, ran.failed()) {
        (_, true) => Verdict::Fail,
        // From outside, that calls cannot meet at a checkpoint is only seen when they are to.
        (Some(because), false) if because.kind == BecauseKind::Checkpoint => Verdict::NotCovered,
        (Some(_), false) => Verdict::Inconclusive,
        // A run that checked nothing has earned nothing.
        (None, false) if ran.checks.iter().all(|check| check.held.is_none()) => Verdict::Fail,
        (None, false) => Verdict::Pass,
    };
    report.notes = ran.notes;
    if report.verdict == Verdict::Pass {
        report.checks = ran.checks;
        return report;
    }
    report.said = ran.said;
    report.by_hand = ran.by_hand;
    report.because = ran.trouble;
    if let Some(miss) = ran.checks.iter().find(|check| check.held == Some(false)) {
        report.expected = Some(miss.expected.clone());
        report.observed = Some(miss.observed.clone());
    }
    if let Some(broken) = ran.broken {
        report.expected = Some("a subject that keeps to the protocol".to_owned());
        report.observed = Some(broken.clone());
        report.broken = Some(broken);
    }
    report.timeline = ran.timeline;
    if let (Some(n), Some(struck)) = (points, &ran.struck_at) {
        report.replay = replay_line(target, &format!("{}@{n}-{struck}", case.name), options);
    }
    report.checks = ran.checks;
    report
}
