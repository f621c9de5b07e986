//! Two runs held against each other: was it the same gate, and did it come to the same result? A case that vanished
//! is the worst of the differences, since nothing turns red when nobody asks.

use std::fmt::Write as _;

use indexmap::IndexMap;
use serde::Serialize;

use crate::escape::{Newlines, markdown, markdown_code, terminal};
use crate::summary::{contract_of, counts_line, many, reason};
use crate::{CaseReport, Exit, Report, Verdict};

/// What two reports have in common and what not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The version of this format.
    pub format: u32,
    /// What makes it another gate: contracts and their digests.
    pub gate: Vec<String>,
    /// What differs around it: versions, seeds, subjects.
    pub around: Vec<String>,
    /// Cases of the first report that the second has not.
    pub vanished: Vec<Mismatch>,
    /// Cases that only the second report has.
    pub new: Vec<Mismatch>,
    /// Cases with two verdicts.
    pub verdicts: Vec<Mismatch>,
    /// How many cases came to the same verdict.
    pub same: usize,
    /// The counts of both, in words.
    pub counts: [String; 2],
    /// The exit code.
    pub exit: u8,
}

/// One case that is not the same in both reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// The case.
    pub case: String,
    /// The subject.
    pub subject: String,
    /// Its verdict in the first report.
    pub a: Option<Verdict>,
    /// Its verdict in the second.
    pub b: Option<Verdict>,
    /// What it likely comes from.
    pub cause: String,
}

/// Compares two reports. The exit code is 1 if the gate is another, a case vanished or a verdict differs, 4 if no case
/// is in both, as where both hold a proof and no run, else 0.
#[must_use]
pub fn compare(a: &Report, b: &Report) -> Comparison {
    let cases = |report: &'_ Report| -> IndexMap<(String, String), usize> {
        let key = |(index, case): (usize, &CaseReport)| ((case.name.clone(), case.subject.clone()), index);
        report.cases.iter().enumerate().map(key).collect()
    };
    let (of_a, of_b) = (cases(a), cases(b));
    let gate = gate(a, b);
    let around = around(a, b);
    let (mut vanished, mut new, mut verdicts, mut same) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for (key, index) in &of_a {
        let case = &a.cases[*index];
        match of_b.get(key).map(|index| &b.cases[*index]) {
            None => vanished.push(mismatch(case, Some(case.verdict), None, missing(case, a, b))),
            Some(other) if other.verdict == case.verdict => same += 1,
            Some(other) => {
                verdicts.push(mismatch(case, Some(case.verdict), Some(other.verdict), cause(case, other, a, b)));
            }
        }
    }
    for (_, index) in of_b.iter().filter(|(key, _)| !of_a.contains_key(*key)) {
        let case = &b.cases[*index];
        new.push(mismatch(case, None, Some(case.verdict), missing(case, b, a)));
    }
    let held = gate.is_empty() && vanished.is_empty() && verdicts.is_empty();
    let exit = if held && same == 0 {
        Exit::NothingMatched
    } else if held {
        Exit::Held
    } else {
        Exit::Failed
    };
    Comparison {
        format: 1,
        gate,
        around,
        vanished,
        new,
        verdicts,
        same,
        counts: [counts_line(&a.counts), counts_line(&b.counts)],
        exit: exit.code(),
    }
}

fn mismatch(case: &CaseReport, a: Option<Verdict>, b: Option<Verdict>, cause: String) -> Mismatch {
    Mismatch { case: case.name.clone(), subject: case.subject.clone(), a, b, cause }
}

fn gate(a: &Report, b: &Report) -> Vec<String> {
    let mut out = Vec::new();
    for info in &a.contracts {
        let others: Vec<_> = b.contracts.iter().filter(|other| other.name == info.name).collect();
        if others.is_empty() {
            out.push(format!("only the first ran the contract {}", info.name));
        } else if !others.iter().any(|other| other.digest == info.digest) {
            let short = |digest: &str| digest.chars().take(12).collect::<String>();
            let numbers = if info.version == others[0].version {
                String::new()
            } else {
                format!(" (version {} and {})", info.version, others[0].version)
            };
            let digests = format!("{} and {}", short(&info.digest), short(&others[0].digest));
            out.push(format!("the contract {} says two things: {digests}{numbers}; `nack diff` says what", info.name));
        }
    }
    for info in b.contracts.iter().filter(|info| a.contracts.iter().all(|other| other.name != info.name)) {
        out.push(format!("only the second ran the contract {}", info.name));
    }
    out
}

fn around(a: &Report, b: &Report) -> Vec<String> {
    let mut out = Vec::new();
    if a.nack != b.nack {
        out.push(format!("nack {} and {}", a.nack, b.nack));
    }
    if a.seed != b.seed {
        out.push(format!("seed {} and {}", a.seed, b.seed));
    }
    for (report, which) in [(a, "first"), (b, "second")] {
        if let Some(shard) = &report.shard {
            out.push(format!("the {which} is part {} of {}", shard.part, shard.of));
        }
    }
    for subject in &a.subjects {
        let twin = b.subjects.iter().find(|other| other.name == subject.name && other.contract == subject.contract);
        let named = format!("subject {} of {}", subject.name, subject.contract);
        let Some(twin) = twin else {
            out.push(format!("only the first has the {named}"));
            continue;
        };
        for (what, one, other) in [("adapter", &subject.adapter, &twin.adapter), ("store", &subject.store, &twin.store)]
        {
            if one != other {
                out.push(format!("{named}: {what} {one} and {other}"));
            }
        }
        let lacks = |one: &[String], other: &[String]| -> Vec<String> {
            one.iter().filter(|capability| !other.contains(capability)).cloned().collect()
        };
        for (lost, which) in [
            (lacks(&subject.capabilities, &twin.capabilities), "first"),
            (lacks(&twin.capabilities, &subject.capabilities), "second"),
        ] {
            if !lost.is_empty() {
                out.push(format!("{named}: only the {which} has {}", lost.join(", ")));
            }
        }
    }
    for subject in &b.subjects {
        if a.subjects.iter().all(|other| (&other.name, &other.contract) != (&subject.name, &subject.contract)) {
            out.push(format!("only the second has the subject {} of {}", subject.name, subject.contract));
        }
    }
    out
}

/// Why a case of one report may not be in the other.
fn missing(case: &CaseReport, here: &Report, there: &Report) -> String {
    let contract = contract_of(&case.name);
    let digests = |report: &Report| -> Vec<String> {
        report.contracts.iter().filter(|info| info.name == contract).map(|info| info.digest.clone()).collect()
    };
    let (own, other) = (digests(here), digests(there));
    if other.is_empty() {
        format!("the contract {contract} was not run there")
    } else if !there.subjects.iter().any(|s| s.name == case.subject && s.contract == contract) {
        format!("the subject {} was not run there", case.subject)
    } else if !own.iter().any(|digest| other.contains(digest)) {
        "the contract says something else there".to_owned()
    } else if there.shard.is_some() {
        "only a part was run there".to_owned()
    } else if there.exit == Exit::Interrupted.code() {
        "the run was interrupted there".to_owned()
    } else {
        "it was not chosen there: other names were given, or the run stopped early".to_owned()
    }
}

/// What two verdicts of one case likely come from.
fn cause(one: &CaseReport, other: &CaseReport, a: &Report, b: &Report) -> String {
    let contract = contract_of(&one.name);
    let digest = |report: &Report| report.contracts.iter().find(|c| c.name == contract).map(|c| c.digest.clone());
    let subject =
        |report: &Report| report.subjects.iter().find(|s| s.name == one.subject && s.contract == contract).cloned();
    let mut causes = Vec::new();
    if digest(a) != digest(b) {
        causes.push("the contract says something else".to_owned());
    }
    for (case, which) in [(one, "first"), (other, "second")] {
        if matches!(case.verdict, Verdict::NotCovered | Verdict::Inconclusive) {
            causes.push(format!("in the {which}: {}", reason(case.because.as_ref())));
        }
    }
    if one.samples != other.samples {
        causes.push("it was run with another sample".to_owned());
    }
    if let (Some(one), Some(other)) = (subject(a), subject(b)) {
        if one.adapter != other.adapter {
            causes.push(format!("it was reached by {} and by {}", one.adapter, other.adapter));
        }
        if one.store.split(':').next() != other.store.split(':').next() {
            causes.push("its store is another".to_owned());
        }
    }
    if a.seed != b.seed {
        causes.push("the seed is another".to_owned());
    }
    if a.nack != b.nack {
        causes.push("nack is another".to_owned());
    }
    if causes.is_empty() {
        causes.push("the subject, or its environment, does something else under the same rules".to_owned());
    }
    causes.join("; ")
}

impl Comparison {
    /// What it comes to, in a line.
    #[must_use]
    pub fn outcome(&self) -> String {
        let mut parts = Vec::new();
        for (n, noun, verb) in [
            (self.gate.len(), "difference", "in the gate"),
            (self.vanished.len(), "case", "vanished"),
            (self.verdicts.len(), "verdict", "apart"),
        ] {
            if n > 0 {
                parts.push(format!("{} {verb}", many(n, noun)));
            }
        }
        match parts.is_empty() {
            true if self.same == 0 => format!("nothing was compared, exit {}: no case is in both reports", self.exit),
            true if self.new.is_empty() => format!("same gate, same result: {} agree", many(self.same, "case")),
            true => format!("same gate, same result for {}; {} new", many(self.same, "case"), self.new.len()),
            false => format!("not the same, exit {}: {}", self.exit, parts.join(", ")),
        }
    }

    fn sections(&self) -> [(&'static str, Vec<String>); 5] {
        let verdict = |verdict: Option<Verdict>| verdict.map_or("none".to_owned(), |verdict| verdict.to_string());
        let of = |list: &[Mismatch]| -> Vec<String> {
            let line = |m: &Mismatch| {
                format!("{} on {}: {} and {}; {}", m.case, m.subject, verdict(m.a), verdict(m.b), m.cause)
            };
            list.iter().map(line).collect()
        };
        [
            ("another gate", self.gate.clone()),
            ("vanished", of(&self.vanished)),
            ("verdicts apart", of(&self.verdicts)),
            ("only in the second", of(&self.new)),
            ("around the gate", self.around.clone()),
        ]
    }

    /// For a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (title, lines) in self.sections().into_iter().filter(|(_, lines)| !lines.is_empty()) {
            // Writing to a String does not fail.
            _ = writeln!(out, "{title}");
            lines.iter().for_each(|line| _ = writeln!(out, "  {}", terminal(line, Newlines::Show)));
            out.push('\n');
        }
        _ = writeln!(out, "first   {}\nsecond  {}\n\n{}", self.counts[0], self.counts[1], self.outcome());
        out
    }

    /// For a review.
    #[must_use]
    pub fn markdown(&self) -> String {
        const MOST: usize = 100;
        let mut out = format!("## nack compare: {}\n\n", markdown(&self.outcome()));
        _ = writeln!(out, "- first: {}\n- second: {}", self.counts[0], self.counts[1]);
        for (title, lines) in self.sections().into_iter().filter(|(_, lines)| !lines.is_empty()) {
            _ = writeln!(out, "\n### {title}\n");
            for line in lines.iter().take(MOST) {
                match line.split_once(" on ") {
                    Some((case, rest)) if case.contains('/') => {
                        _ = writeln!(out, "- {} on {}", markdown_code(case), markdown(rest));
                    }
                    _ => _ = writeln!(out, "- {}", markdown(line)),
                }
            }
            if lines.len() > MOST {
                _ = writeln!(out, "- … and {} more, which `--format json` names", lines.len() - MOST);
            }
        }
        out
    }
}
