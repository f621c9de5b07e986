//! A tally as a report: one case for each row of each rule. A row passes if lines fell to it and none broke it; a row no
//! line fell to, a rule the log has no column for, and a history that is not whole are not covered, and a line that
//! could not be judged is inconclusive: neither is ever a pass.

use nack_contracts::model::{AuditRule, Output, Row, Table};
use nack_reports::{Because, BecauseKind, CaseReport, Check, Found, Offender, Report, Verdict};

use crate::Plan;
pub use crate::frame::About;
use crate::frame::Frame;
use crate::plan::{Outcome, RulePlan};
use crate::tally::{Seen, Tally};
use crate::time::show;

/// The report of an audit.
#[must_use]
pub fn report(plan: &Plan, tally: &Tally, about: &About) -> Report {
    let teller = Teller { plan, tally, about, frame: Frame { contract: &plan.contract, about } };
    let mut cases = Vec::new();
    for (at, rule) in plan.rules.iter().enumerate() {
        teller.rule(at, rule, &mut cases);
    }
    for (index, why) in &plan.idle {
        teller.idle(*index, why, &mut cases);
    }
    cases.sort_by_key(|case| case.source.line);
    teller.histories(&mut cases);
    teller.flaws(&mut cases);
    let columns = plan.columns.iter().map(|column| column.name.clone()).collect();
    teller.frame.finish(cases, closing(plan, tally), "log", columns)
}

struct Teller<'a> {
    plan: &'a Plan,
    tally: &'a Tally,
    about: &'a About,
    frame: Frame<'a>,
}

impl Teller<'_> {
    fn of_row(&self, rule: &AuditRule, table: &Table, row: usize) -> CaseReport {
        let (id, span) = match table.rows.get(row) {
            Some(row) => (row.id.as_str(), &row.span),
            None => ("no-row", &table.span),
        };
        let mut case = self.frame.blank(
            &format!("{}/{id}", rule.name),
            &format!("{} {}.{id}", rule.name, table.name),
            &rule.why,
            &rule.span,
        );
        case.rows = vec![self.frame.place(span)];
        case.replay = format!("{} --only {}", self.about.command, rule.name);
        case
    }

    fn rule(&self, at: usize, rule: &RulePlan, cases: &mut Vec<CaseReport>) {
        let audit = &self.plan.audit().rules[rule.index];
        let table = self.plan.table(rule.index);
        let counts = &self.tally.cells[at];
        let judged: u64 = counts.iter().sum();
        for row in 0..=table.rows.len() {
            let falls = |outcome: &Outcome| match outcome {
                Outcome::Held(of) | Outcome::Broken(of) | Outcome::Incomplete(of) => *of == row,
            };
            let lines: u64 =
                counts.iter().zip(&rule.cells).filter(|(_, cell)| falls(cell)).map(|(count, _)| *count).sum();
            let can_hold = rule.cells.contains(&Outcome::Held(row));
            let (broken, incomplete) = (&self.tally.broken[at][row], &self.tally.incomplete[at][row]);
            let mut case = self.of_row(audit, table, row);
            if broken.count > 0 {
                let expected = table.rows.get(row).map_or_else(
                    || format!("values that a class of `{}` holds", table.name),
                    |row| says(self.plan, audit, table, row),
                );
                self.convict(&mut case, &format!("audit:{}", audit.name), broken, &expected);
            } else if incomplete.count > 0 {
                not_covered(&mut case, format!("{} show that lines are missing", many(incomplete.count)));
                case.found = Some(self.found(incomplete.count, incomplete));
            } else if lines > 0 || (!can_hold && judged > 0) {
                case.verdict = Verdict::Pass;
                case.checks.push(held(&format!("audit:{}", audit.name)));
                case.found = Some(self.found(lines, &Seen::default()));
            } else {
                not_covered(&mut case, "no line of this log falls to this row".to_owned());
            }
            cases.push(case);
        }
    }

    fn idle(&self, index: usize, why: &str, cases: &mut Vec<CaseReport>) {
        let rule = &self.plan.audit().rules[index];
        let table = self.plan.table(index);
        for row in 0..table.rows.len() {
            let mut case = self.of_row(rule, table, row);
            not_covered(&mut case, why.to_owned());
            cases.push(case);
        }
    }

    /// Fails a case by the lines that break it.
    fn convict(&self, case: &mut CaseReport, check: &str, seen: &Seen, expected: &str) {
        let found = self.found(seen.count, seen);
        let offenders: Vec<String> =
            found.offenders.iter().map(|line| format!("{}  {}", line.place, line.says)).collect();
        let more = seen.count - offenders.len() as u64;
        let more = if more > 0 { format!("\n… and {}", many_more(more)) } else { String::new() };
        let observed = format!("{}{more}", offenders.join("\n"));
        let words = format!("{} of {} ({}){}", seen.count, many(self.tally.lines), percent(found.share), when(seen));
        case.checks.push(Check {
            name: check.to_owned(),
            held: Some(false),
            words,
            expected: expected.to_owned(),
            observed: observed.clone(),
        });
        case.expected = Some(expected.to_owned());
        case.observed = Some(observed);
        case.found = Some(found);
    }

    fn found(&self, lines: u64, seen: &Seen) -> Found {
        let names = &self.about.files;
        let place = |place: &crate::tally::Place| {
            let file = names.get(place.file).map_or("?", String::as_str);
            format!("{file}:{}", place.line)
        };
        let offender = |(at, says): &(crate::tally::Place, String)| Offender { place: place(at), says: says.clone() };
        // Counts of lines stay far below where a double is exact.
        let share = if self.tally.lines == 0 { 0.0 } else { seen.count as f64 / self.tally.lines as f64 };
        Found {
            lines,
            broken: seen.count,
            share,
            first: seen.when.map(|(first, _)| first as f64 / 1000.0),
            last: seen.when.map(|(_, last)| last as f64 / 1000.0),
            offenders: seen.first.iter().map(offender).collect(),
        }
    }

    /// Whether the histories are whole, as far as a log can show.
    fn histories(&self, cases: &mut Vec<CaseReport>) {
        if !self.plan.in_order() {
            return;
        }
        let (audit, headless) = (self.plan.audit(), &self.tally.headless);
        let why = "A history that was cut tells nothing about what came before.";
        let mut case = self.frame.blank("history/begins", "history begins", why, &audit.span);
        if self.plan.begins.is_empty() {
            not_covered(&mut case, "the log has no column that shows how a history begins".to_owned());
        } else if headless.count > 0 {
            not_covered(
                &mut case,
                format!("the history of {} of {} begins in the middle", headless.count, keys(self.tally.keys)),
            );
            case.found = Some(self.found(self.tally.keys, headless));
        } else {
            case.verdict = Verdict::Pass;
            case.checks.push(held("audit:history"));
            case.found = Some(self.found(self.tally.keys, headless));
        }
        cases.push(case);
    }

    /// The lines that were not judged, by reason.
    fn flaws(&self, cases: &mut Vec<CaseReport>) {
        let span = &self.plan.audit().span;
        let why = "A line that cannot be judged is told, counted apart, and never taken for one that held.";
        if self.tally.flaws.is_empty() {
            let mut case = self.frame.blank("lines/readable", "lines readable", why, span);
            case.verdict = Verdict::Pass;
            case.checks.push(held("audit:lines"));
            case.found = Some(self.found(self.tally.lines, &Seen::default()));
            if self.tally.spanning > 0 {
                case.notes.push(format!("{} hold a line break in quotes", many(self.tally.spanning)));
            }
            cases.push(case);
        }
        for (kind, seen) in &self.tally.flaws {
            let mut case =
                self.frame.blank(&format!("lines/{}", kind.name()), &format!("lines {}", kind.name()), why, span);
            let found = self.found(seen.count, seen);
            case.verdict = Verdict::Inconclusive;
            let first: Vec<String> =
                found.offenders.iter().map(|line| format!("{}: {}", line.place, line.says)).collect();
            let detail = format!("{} ({})", many(seen.count), percent(found.share));
            case.because = Some(Because { kind: BecauseKind::Unreadable, detail });
            case.notes = first;
            case.found = Some(found);
            cases.push(case);
        }
    }
}

/// A check that held.
pub(crate) fn held(name: &str) -> Check {
    Check {
        name: name.to_owned(),
        held: Some(true),
        words: String::new(),
        expected: String::new(),
        observed: String::new(),
    }
}

/// Says why a case could not be judged.
pub(crate) fn not_covered(case: &mut CaseReport, detail: String) {
    case.verdict = Verdict::NotCovered;
    case.because = Some(Because { kind: BecauseKind::Absent, detail });
}

/// What a row says of the lines that fall to it.
fn says(plan: &Plan, rule: &AuditRule, table: &Table, row: &Row) -> String {
    let given: Vec<String> = (table.inputs.iter().zip(&row.inputs))
        .filter(|(input, cell)| {
            rule.given.contains_key(*input) && cell.classes.len() < plan.contract.domains[*input].classes.len()
        })
        .map(|(input, cell)| {
            let names: Vec<&str> =
                cell.classes.iter().map(|class| plan.contract.domains[input].classes[*class].name.as_str()).collect();
            format!("{input} = {}", names.join(" or "))
        })
        .collect();
    let gives = |(output, cell): (&String, &nack_contracts::model::OutputCell)| match &cell.gives {
        Output::Class(class) => format!("{output} = {}", plan.contract.domains[output].classes[*class].name),
        Output::Error(name) => format!("no such line, since it is the error {name}"),
        Output::Never(why) => format!("no such line: {why}"),
        Output::Nothing => format!("{output} has no meaning"),
    };
    let wanted: Vec<String> = table.outputs.iter().zip(&row.outputs).map(gives).collect();
    let given = if given.is_empty() { "any line".to_owned() } else { given.join(", ") };
    let found: Vec<String> = rule
        .found
        .iter()
        .filter_map(|(output, term)| match term {
            nack_contracts::model::Term::Word(word) => {
                Some(format!("this line says {output} = {}", word.to_json().trim_matches('"')))
            }
            nack_contracts::model::Term::Column { .. } => None,
        })
        .collect();
    let found = if found.is_empty() { String::new() } else { format!(" ({})", found.join(", ")) };
    format!("{given}: {}{found}", wanted.join(", "))
}

fn when(seen: &Seen) -> String {
    match seen.when {
        Some((first, last)) if first == last => format!(", at {}", show(first)),
        Some((first, last)) => format!(", from {} to {}", show(first), show(last)),
        None => String::new(),
    }
}

pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.001 { "below 0.001 %".to_owned() } else { format!("{percent:.3} %") }
}

fn many(count: u64) -> String {
    if count == 1 { "1 line".to_owned() } else { format!("{count} lines") }
}

fn many_more(count: u64) -> String {
    if count == 1 { "1 more".to_owned() } else { format!("{count} more") }
}

fn keys(count: u64) -> String {
    if count == 1 { "1 key".to_owned() } else { format!("{count} keys") }
}

/// What an audit of a log does not show.
fn closing(plan: &Plan, tally: &Tally) -> Vec<String> {
    let mut out: Vec<String> = plan.layout.guessed.iter().map(|guess| format!("guessed of the log: {guess}")).collect();
    let flaws: u64 = tally.flaws.values().map(|seen| seen.count).sum();
    if flaws > 0 {
        out.push(format!("{} of {} could not be judged, and nothing is known of them", flaws, many(tally.lines)));
    }
    let missing: u64 = tally.incomplete.iter().flatten().map(|seen| seen.count).sum();
    if missing > 0 {
        out.push(format!("in {missing} places lines are missing: what they would have shown is not known"));
    }
    if plan.in_order() {
        let order =
            if plan.time.is_some() { ", unless their times go back" } else { "; it has no times to hold that against" };
        out.push(format!("the lines of one key are taken to stand in the order in which they happened{order}"));
    }
    out.push("a log shows what was written into it: what was done and not logged, and what the outside saw, it does not show".to_owned());
    out
}
