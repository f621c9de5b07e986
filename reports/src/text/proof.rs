//! The proof for a terminal: which mutant was killed by which case through which check, and in full what was not.

use super::Verbosity;
use super::page::{Page, Paint};
use crate::summary::{cells_line, proof_line, proven, reason, scores, seen_by};
use crate::{CellFate, Fate, MutantReport, Proof, SabotageFate, SabotageReport};

pub(super) fn section(page: &mut Page, proof: &Proof) {
    if page.style.verbose != Verbosity::Quiet {
        matrix(page, proof);
        nulls(page, proof);
        scored(page, proof);
        sabotaged(page, proof);
        not_covered(page, proof);
    }
    survivors(page, proof);
    vacuous(page, proof);
    undefended(page, proof);
    blind(page, proof);
    page.gap();
    page.line(if proven(proof) { Paint::Strong } else { Paint::Bad }, &proof_line(proof));
}

fn with(proof: &Proof, fate: Fate) -> impl Iterator<Item = &MutantReport> {
    proof.mutants.iter().filter(move |mutant| mutant.fate == fate)
}

/// One row a kill, also those of a mutant that another case should have killed too.
fn matrix(page: &mut Page, proof: &Proof) {
    let mut rows =
        vec![vec!["mutant".to_owned(), "killed by".to_owned(), "through".to_owned(), "also seen by".to_owned()]];
    for mutant in &proof.mutants {
        for kill in &mutant.kills {
            if let Some(killed_by) = &kill.killed_by {
                let also = seen_by(mutant);
                rows.push(vec![mutant.name.clone(), killed_by.clone(), kill.by.join(", "), also]);
            }
        }
    }
    if rows.len() > 1 {
        page.gap();
        page.table(0, Paint::Plain, &rows);
    }
}

fn nulls(page: &mut Page, proof: &Proof) {
    if proof.nulls.is_empty() {
        return;
    }
    page.heading("null subjects, which no gate may let pass");
    let row = |null: &crate::Null| {
        vec![null.contract.clone(), null.name.clone(), format!("refused by {} of {} cases", null.refused, null.cases)]
    };
    page.table(2, Paint::Plain, &proof.nulls.iter().map(row).collect::<Vec<_>>());
}

fn not_covered(page: &mut Page, proof: &Proof) {
    let rows: Vec<Vec<String>> = with(proof, Fate::NotCovered)
        .map(|mutant| vec![mutant.name.clone(), reason(mutant.because.as_ref())])
        .collect();
    if !rows.is_empty() {
        page.heading("mutants not covered");
        page.table(2, Paint::Plain, &rows);
    }
}

fn survivors(page: &mut Page, proof: &Proof) {
    for mutant in with(proof, Fate::Survived) {
        page.gap();
        page.put(Paint::Bad, "SURVIVED").put(Paint::Plain, "  ").line(Paint::Strong, &mutant.name);
        page.field("defect", &mutant.defect);
        page.field("stands at", &mutant.source.to_string());
        for kill in &mutant.kills {
            page.field("expected", &format!("killed by {} through {}", kill.expected, kill.by.join(", ")));
            let instead = match (&kill.killed_by, &kill.instead) {
                (Some(case), _) => format!("killed by {case}"),
                (None, Some(instead)) => instead.clone(),
                (None, None) => "nothing is known of it".to_owned(),
            };
            page.exact("happened", if kill.killed_by.is_some() { Paint::Good } else { Paint::Bad }, &instead);
        }
    }
}

fn vacuous(page: &mut Page, proof: &Proof) {
    if proof.vacuous.is_empty() {
        return;
    }
    page.heading("vacuous cases: no null subject fails them, so they can convict nobody");
    for case in &proof.vacuous {
        page.spaces(2).line(Paint::Bad, case);
    }
}

fn scored(page: &mut Page, proof: &Proof) {
    if proof.cells.is_empty() {
        return;
    }
    page.heading("changed cells: what a table would say otherwise, a case must notice");
    let row = |(contract, counts): (&str, _)| vec![contract.to_owned(), cells_line(counts)];
    page.table(2, Paint::Plain, &scores(proof).into_iter().map(row).collect::<Vec<_>>());
}

fn undefended(page: &mut Page, proof: &Proof) {
    for cell in proof.cells.iter().filter(|cell| cell.fate == CellFate::Undefended) {
        page.gap();
        page.put(Paint::Bad, "UNDEFENDED").put(Paint::Plain, "  ").line(Paint::Strong, &cell.name);
        page.field("changed", &cell.what);
        page.field("stands at", &cell.source.to_string());
        page.exact("happened", Paint::Bad, cell.instead.as_deref().unwrap_or("nothing is known of it"));
    }
}

fn sabotaged(page: &mut Page, proof: &Proof) {
    let seen = proof.sabotage.iter().filter(|sabotage| sabotage.fate != SabotageFate::Blind);
    let row = |sabotage: &SabotageReport| {
        let told = match (&sabotage.by, &sabotage.why) {
            (Some(case), _) => format!("seen by {case}"),
            (None, why) => format!("not done: {}", why.as_deref().unwrap_or("no reason is given")),
        };
        vec![format!("{} on {}", sabotage.contract, sabotage.subject), sabotage.kind.clone(), told]
    };
    let rows: Vec<Vec<String>> = seen.map(row).collect();
    if !rows.is_empty() {
        page.heading("sabotage: what is falsified behind a subject's back, a case must notice");
        page.table(2, Paint::Plain, &rows);
    }
}

fn blind(page: &mut Page, proof: &Proof) {
    for sabotage in proof.sabotage.iter().filter(|sabotage| sabotage.fate == SabotageFate::Blind) {
        page.gap();
        page.put(Paint::Bad, "BLIND TO").put(Paint::Plain, "  ").line(Paint::Strong, &sabotage.kind);
        page.field("subject", &format!("{} on {}", sabotage.contract, sabotage.subject));
        page.field("done", &sabotage.what);
        page.exact("happened", Paint::Bad, sabotage.why.as_deref().unwrap_or("nothing is known of it"));
    }
}
