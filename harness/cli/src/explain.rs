//! `nack list` and `nack explain`: what would be tried, by name and in words.

use nack_cases::{Case, below, expand_all, row_words, steps_in_words};
use nack_contracts::Contract;
use nack_reports::Exit;
use serde::Serialize;

use crate::args::{ExplainArgs, Format, ListArgs};
use crate::contracts::load;
use crate::trouble::Trouble;

#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    why: &'a str,
    file: &'a str,
    line: usize,
    needs: &'a [String],
}

pub(crate) fn list(args: &ListArgs) -> Result<Exit, Trouble> {
    let contracts = load(args.source.contracts.as_deref())?;
    let mut cases = Vec::new();
    for contract in &contracts {
        cases.extend(cases_of(contract)?);
    }
    let chosen: Vec<&Case> = cases
        .iter()
        .filter(|case| args.prefixes.is_empty() || args.prefixes.iter().any(|prefix| below(&case.name, prefix)))
        .collect();
    if chosen.is_empty() {
        return Err(nothing(&args.prefixes, cases.iter().map(|case| case.name.as_str())));
    }
    match args.format {
        Format::Text => chosen.iter().for_each(|case| anstream::println!("{}", case.name)),
        Format::Json => {
            let listed: Vec<Listed<'_>> = chosen
                .iter()
                .map(|case| Listed {
                    name: &case.name,
                    why: &case.why,
                    file: &case.source.file,
                    line: case.source.line,
                    needs: &case.needs,
                })
                .collect();
            let text = serde_json::to_string_pretty(&listed).expect("a list holds text and numbers only");
            anstream::println!("{text}");
        }
    }
    Ok(Exit::Held)
}

pub(crate) fn explain(args: &ExplainArgs) -> Result<Exit, Trouble> {
    let contracts = load(args.source.contracts.as_deref())?;
    let mut names = Vec::new();
    for contract in &contracts {
        let cases = cases_of(contract)?;
        if let Some(case) = cases.iter().find(|case| case.name == args.name) {
            anstream::print!("{}", words(contract, case));
            return Ok(Exit::Held);
        }
        names.extend(cases.into_iter().map(|case| case.name));
    }
    Err(nothing(std::slice::from_ref(&args.name), names.iter().map(String::as_str)))
}

fn words(contract: &Contract, case: &Case) -> String {
    let mut out = format!("{}\n  {}\n  {}:{}\n", case.name, case.why, case.source.file, case.source.line);
    for (row, place) in case.rows.iter().zip(&case.row_places) {
        let words = row_words(contract, row).map_or(String::new(), |words| format!(": {words}"));
        out.push_str(&format!("\n  row {row}{words}\n      {}:{}", place.file, place.line));
    }
    if !case.rows.is_empty() {
        out.push('\n');
    }
    if let Some(name) = &case.gate {
        let unique = contract.gates.iter().find(|gate| gate.name == *name);
        let columns = unique.map_or(String::new(), |gate| format!("{}({})", gate.store, gate.unique.join(", ")));
        out.push_str(&format!(
            "\n  a full unique index on {columns} is in the catalogue, and a duplicate is refused\n"
        ));
    }
    if !case.samples.is_empty() {
        let samples: Vec<String> = case.samples.iter().map(|(column, label)| format!("{column} = {label}")).collect();
        out.push_str(&format!("\n  samples: {}\n", samples.join(", ")));
    }
    if !case.needs.is_empty() {
        out.push_str(&format!("  needs: {}\n", case.needs.join(", ")));
    }
    out.push('\n');
    for (index, step) in steps_in_words(case).iter().enumerate() {
        out.push_str(&format!("  {:>2}. {step}\n", index + 1));
    }
    out.push_str(&format!("\n  and in every case: {}\n", rules(contract)));
    out
}

fn rules(contract: &Contract) -> String {
    let names = contract.invariants.iter().map(|invariant| invariant.name.as_str());
    names.chain(["the closed words"]).collect::<Vec<_>>().join(", ")
}

/// The cases of a contract for a subject that can be given everything.
pub(crate) fn cases_of(contract: &Contract) -> Result<Vec<Case>, Trouble> {
    let source = std::sync::Arc::new(contract.source.clone());
    expand_all(contract).map_err(|findings| {
        let locate = |finding| crate::findings::Located { source: std::sync::Arc::clone(&source), finding };
        Trouble::Findings(findings.into_iter().map(locate).collect())
    })
}

/// A filter that matches nothing is no success: it is said, with the nearest names.
pub(crate) fn nothing<'a>(prefixes: &[String], names: impl Iterator<Item = &'a str>) -> Trouble {
    let names: Vec<&str> = names.collect();
    let wanted = prefixes.first().map_or("", String::as_str);
    let mut heads: Vec<&str> =
        names.iter().flat_map(|name| name.match_indices('/').map(|(at, _)| &name[..at])).collect();
    heads.sort_unstable();
    heads.dedup();
    let known = nack_contracts::suggest(wanted, heads.iter().copied().chain(names.iter().copied()));
    let known = if known.starts_with("did") { known } else { "`nack list` shows every name".to_owned() };
    Trouble::NothingMatched(format!("no case is called, or stands below, {}; {known}", prefixes.join(", ")))
}
