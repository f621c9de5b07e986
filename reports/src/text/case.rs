//! One case that did not pass, told so that nobody has to run it again to see why: the requirement, where it stands,
//! what was tried, expected beside observed, what happened, and last the command that replays it.

use std::collections::BTreeSet;

use indexmap::IndexSet;

use super::page::{Page, Paint};
use crate::escape::{Newlines, terminal};
use crate::summary::{CHECKED_NOTHING, checked_nothing, fault, many, reason, red};
use crate::{CaseReport, Check, Moment, Verdict};

/// Of a long timeline: as much of its start, of its end, and on both sides of each fault is shown.
const START: usize = 20;
const END: usize = 40;
const AROUND: usize = 5;

/// The most characters of one moment, and of a lane before it pushes the others aside.
const MOMENT: usize = 240;
const LANE: usize = 24;

/// How many lines of what a subject said are shown, and how many characters of each.
const SAID: usize = 32;
const SAID_LINE: usize = 500;

/// The longest line for a shell that is shown.
const BY_HAND: usize = 2000;

pub(super) fn block(page: &mut Page, case: &CaseReport) {
    let (word, paint) = match case.verdict {
        Verdict::Pass => ("PASS", Paint::Good),
        Verdict::Fail => ("FAIL", Paint::Bad),
        Verdict::Inconclusive => ("INCONCLUSIVE", Paint::Doubt),
        Verdict::NotCovered => ("NOT COVERED", Paint::Doubt),
        Verdict::Known => ("KNOWN FAILURE", Paint::Doubt),
    };
    page.gap();
    page.put(paint, word).put(Paint::Plain, "  ").line(Paint::Strong, &case.name);
    requirement(page, case);
    outcome(page, case);
    timeline(page, case);
    said(page, &case.said);
    for note in &case.notes {
        page.field("note", note);
    }
    by_hand(page, &case.by_hand);
    page.spaces(2).put(Paint::Strong, "replay:").put(Paint::Plain, " ").line(Paint::Plain, &case.replay);
}

fn requirement(page: &mut Page, case: &CaseReport) {
    page.field("why", &case.why);
    page.field("subject", &case.subject);
    page.field("rule", &format!("{} at {}", case.rule, case.source));
    let rows: Vec<String> = case.rows.iter().map(ToString::to_string).collect();
    page.field("rows", &rows.join(", "));
    let samples: Vec<String> = case.samples.iter().map(|(column, label)| format!("{column} = {label}")).collect();
    page.field("sample", &samples.join(", "));
    page.field("fault", &fault(case));
}

fn outcome(page: &mut Page, case: &CaseReport) {
    if case.because.is_some() || case.verdict == Verdict::Inconclusive {
        page.field("reason", &reason(case.because.as_ref()));
    }
    if let Some(broken) = &case.broken {
        page.field("broken", broken);
    }
    if checked_nothing(case) {
        page.field("reason", CHECKED_NOTHING);
    }
    let shown = case.expected.as_deref().zip(case.observed.as_deref());
    let told = red(case).any(|check| shown == Some((&check.expected, &check.observed)));
    if let Some((expected, observed)) = shown
        && !told
        && case.broken.as_deref() != Some(observed)
    {
        pair(page, expected, observed);
    }
    for check in red(case).collect::<IndexSet<_>>() {
        page.label("check").put(Paint::Bad, &check.name).end();
        page.field("", &check.words);
        if !(check.expected.is_empty() && check.observed.is_empty()) {
            pair(page, &check.expected, &check.observed);
        }
    }
    if page.all() {
        unmade(page, case.checks.iter().filter(|check| check.held.is_none()));
    }
}

fn unmade<'a>(page: &mut Page, checks: impl Iterator<Item = &'a Check>) {
    for check in checks {
        page.field("not made", &format!("{}: {}", check.name, check.words));
    }
}

/// Expected above observed in the same column, and where they part.
fn pair(page: &mut Page, expected: &str, observed: &str) {
    page.exact("expected", Paint::Good, expected);
    page.exact("observed", Paint::Bad, observed);
    let (expected, observed) = (terminal(expected, Newlines::Keep), terminal(observed, Newlines::Keep));
    let same = expected.chars().zip(observed.chars()).take_while(|(a, b)| a == b).count();
    let fits = same + 14 < page.style.width && !expected.contains('\n') && !observed.contains('\n');
    if same > 0 && fits && expected != observed {
        page.caret(same, "they part here");
    }
}

fn timeline(page: &mut Page, case: &CaseReport) {
    let moments = &case.timeline;
    if moments.is_empty() {
        return;
    }
    let struck = moments.iter().any(|moment| moment.fault);
    page.spaces(2).line(
        Paint::Quiet,
        match (struck, case.fault.is_empty()) {
            (true, _) => "timeline (! is where the fault struck)",
            (false, false) => "timeline (its fault never struck)",
            (false, true) => "timeline",
        },
    );
    let lane = |moment: &Moment| terminal(&moment.lane, Newlines::Show).chars().count();
    let wide = moments.iter().map(lane).max().unwrap_or(0).min(LANE);
    let mut next = 0;
    for i in kept(moments, page.all()) {
        skipped(page, i - next);
        next = i + 1;
        let moment = &moments[i];
        let paint = if moment.fault { Paint::Bad } else { Paint::Plain };
        page.spaces(4).put(paint, if moment.fault { "!" } else { " " }).spaces(1);
        page.put(Paint::Quiet, &moment.lane).spaces(wide.saturating_sub(lane(moment)) + 2);
        let what = page.cut(&joined(&moment.what), MOMENT);
        page.prose(8 + wide, paint, &what);
    }
    skipped(page, moments.len() - next);
}

fn skipped(page: &mut Page, n: usize) {
    if n > 0 {
        page.spaces(6).line(Paint::Quiet, &format!("… {}", many(n, "moment")));
    }
}

/// Which moments of a timeline are shown.
fn kept(moments: &[Moment], all: bool) -> BTreeSet<usize> {
    let n = moments.len();
    if all || n <= START + END {
        return (0..n).collect();
    }
    let faults = moments.iter().enumerate().filter(|(_, moment)| moment.fault);
    let around = faults.flat_map(|(i, _)| i.saturating_sub(AROUND)..=(i + AROUND).min(n - 1));
    (0..START).chain(n - END..n).chain(around).collect()
}

/// A statement of several lines in one: the indentation of a program's source says nothing here.
fn joined(text: &str) -> String {
    text.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Each on a line of its own and whole, or else it could not be pasted.
fn by_hand(page: &mut Page, lines: &[String]) {
    for (i, line) in lines.iter().enumerate() {
        page.label(if i == 0 { "by hand" } else { "" });
        if page.all() || line.len() <= BY_HAND {
            page.line(Paint::Plain, line);
        } else {
            page.line(Paint::Quiet, &format!("… a line of {} characters; -v shows it", line.chars().count()));
        }
    }
}

/// Quoted, so that blanks at the ends are seen.
fn said(page: &mut Page, lines: &[String]) {
    let from = if page.all() { 0 } else { lines.len().saturating_sub(SAID) };
    for (i, line) in lines[from..].iter().enumerate() {
        let line = page.cut(line, SAID_LINE);
        page.label(if i == 0 { "said last" } else { "" }).line(Paint::Plain, &format!("\"{line}\""));
    }
}
