//! Parts of one run joined to the whole. Only parts of the same run go together: what overlaps, leaves a gap or was
//! run under other rules is refused, since a joined report that hides it would look green.

use std::collections::HashSet;

use crate::summary::many;
use crate::{Counts, Exit, Report, Shard, uncovered};

/// The most missing parts that are named.
const MISSING: usize = 10;

/// Why reports do not make a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoWhole(String);

impl std::fmt::Display for NoWhole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::escape::terminal(&self.0, crate::escape::Newlines::Show))
    }
}

impl std::error::Error for NoWhole {}

/// Joins the parts of a run, each with the name it is told by.
///
/// # Errors
/// The first thing that keeps them from being the parts of one run.
pub fn merge(parts: &[(String, Report)]) -> Result<Report, NoWhole> {
    let no = |words: String| Err(NoWhole(words));
    let Some(((first_name, first), rest)) = parts.split_first() else {
        return no("there is nothing to join: name the reports of all parts".to_owned());
    };
    let mut seen: Vec<(u32, &str)> = Vec::new();
    let mut whole: Option<&Shard> = None;
    for (name, report) in parts {
        let Some(shard) = &report.shard else {
            return no(format!("{name} is a whole run; parts come from `nack run --shard K/N`"));
        };
        if report.proof.is_some() {
            return no(format!("{name} holds a proof, which has no parts"));
        }
        if report.exit == Exit::Interrupted.code() {
            return no(format!("{name} was interrupted; run that part again"));
        }
        if !(1..=shard.of).contains(&shard.part) {
            return no(format!("{name} is not as nack wrote it: there is no part {} of {}", shard.part, shard.of));
        }
        if let Some((_, other)) = seen.iter().find(|(part, _)| *part == shard.part) {
            return no(format!("{other} and {name} are both part {} of {}: name each part once", shard.part, shard.of));
        }
        let known = *whole.get_or_insert(shard);
        if known.of != shard.of {
            return no(format!("{first_name} is one of {} parts, {name} one of {}", known.of, shard.of));
        }
        if (known.cases, &known.selection) != (shard.cases, &shard.selection) {
            return no(format!(
                "{first_name} and {name} are parts of two selections, of {} and of {}: give every part the same names, \
                 subjects and flags",
                many(known.cases, "case"),
                many(shard.cases, "case")
            ));
        }
        seen.push((shard.part, name));
    }
    let Some(whole) = whole else { return no("there is nothing to join".to_owned()) };
    for (name, report) in rest {
        if let Some(difference) = difference(first, report) {
            return no(format!("{first_name} and {name} were run under other rules: {difference}"));
        }
    }
    // A report may claim any number of parts, so those that are missing are counted, not listed.
    let missing = (whole.of as usize).saturating_sub(seen.len());
    if missing > 0 {
        let absent = (1..=whole.of).filter(|part| !seen.iter().any(|(k, _)| k == part));
        let mut named: Vec<String> = absent.take(MISSING.min(missing)).map(|part| part.to_string()).collect();
        if missing > named.len() {
            named.push(format!("and {} more", missing - named.len()));
        }
        return no(format!("of {} parts these are missing: {}", whole.of, named.join(", ")));
    }
    join(parts, whole.cases).map_err(NoWhole)
}

/// The first thing in which two runs differ that every part of a run has in common.
fn difference(a: &Report, b: &Report) -> Option<String> {
    if a.nack != b.nack {
        return Some(format!("nack {} and {}", a.nack, b.nack));
    }
    if a.seed != b.seed {
        return Some(format!("seed {} and {}", a.seed, b.seed));
    }
    for contract in a.contracts.iter().chain(&b.contracts) {
        let of = |report: &Report| {
            let same = |info: &&crate::ContractInfo| info.name == contract.name && info.overrides == contract.overrides;
            report.contracts.iter().find(same).map(|info| info.digest.clone())
        };
        let (one, other) = (of(a), of(b));
        if one != other {
            let short = |digest: Option<String>| {
                digest.map_or("is missing".to_owned(), |digest| digest.chars().take(12).collect())
            };
            return Some(format!("the digest of `{}`, {} and {}", contract.name, short(one), short(other)));
        }
    }
    let subjects = |report: &Report| -> Vec<String> {
        let of = |s: &crate::SubjectInfo| format!("{} {} {} {:?}", s.name, s.contract, s.adapter, s.capabilities);
        report.subjects.iter().map(of).collect()
    };
    (subjects(a) != subjects(b)).then(|| "their subjects, or what those are capable of".to_owned())
}

fn join(parts: &[(String, Report)], expected: usize) -> Result<Report, String> {
    let mut placed = Vec::new();
    let mut places = HashSet::new();
    for (name, report) in parts {
        let shard = report.shard.as_ref().ok_or_else(|| format!("{name} is no part"))?;
        if shard.places.len() != report.cases.len() {
            return Err(format!("{name} is not as nack wrote it: its cases and their places do not go together"));
        }
        for (place, case) in shard.places.iter().zip(&report.cases) {
            if !places.insert(*place) {
                return Err(format!("{name} holds a case that another part holds, too: {}", case.name));
            }
            placed.push((*place, case));
        }
    }
    if placed.len() != expected {
        return Err(format!(
            "together the parts hold {} of {}: one of them did not run to its end",
            placed.len(),
            many(expected, "case")
        ));
    }
    placed.sort_by_key(|(place, _)| *place);
    let cases: Vec<_> = placed.into_iter().map(|(_, case)| case.clone()).collect();
    let counts = Counts::of(&cases);
    let mut closing: Vec<String> = uncovered(&counts).into_iter().collect();
    for (_, report) in parts {
        let own = uncovered(&report.counts);
        for line in report.closing.iter().filter(|line| Some(*line) != own.as_ref()) {
            if !closing.contains(line) {
                closing.push(line.clone());
            }
        }
    }
    let first = &parts[0].1;
    let exits = parts.iter().map(|(_, report)| Exit::of_code(report.exit));
    Ok(Report {
        exit: exits.fold(Exit::Held, Exit::and).code(),
        counts,
        cases,
        closing,
        shard: None,
        elapsed_ms: parts.iter().map(|(_, report)| report.elapsed_ms).sum(),
        ..first.clone()
    })
}
