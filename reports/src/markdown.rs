//! The summary to attach to a review: names instead of prose. It is kept shorter than a comment on GitHub may be; what
//! does not fit is counted where it is missing, and the counts at the top always hold everything.

use crate::escape::{markdown as words, markdown_code as code, markdown_fence as fence};
use crate::summary::{
    CHECKED_NOTHING, cells_line, checked_nothing, counts_line, cut, fates, fault, groups, known_reason, many,
    not_covered, not_made, outcome, overrides, proof_line, reason, red_names, scores, with,
};
use crate::{
    CaseReport, CellFate, CellReport, Fate, MutantReport, Proof, Report, SabotageFate, SabotageReport, Verdict,
};

/// GitHub refuses a comment of more than 65,536 characters. Each section may fill the page up to its own line, so that
/// many failures cannot push out what was not covered.
const FAILED: usize = 28_000;
const INCONCLUSIVE: usize = 34_000;
const KNOWN: usize = 37_000;
const UNCOVERED: usize = 43_000;
const PROOF: usize = 58_000;
const CLOSING: usize = 62_000;

/// The most names of other cases that see a mutant.
const SEEN: usize = 3;

/// The most characters of one value or sentence.
const VALUE: usize = 600;

/// Renders a report as GitHub's Markdown.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let (verdict, why) = outcome(report);
    let mut out = format!("## nack: {verdict}\n");
    if !why.is_empty() {
        out += &format!("\n{}\n", words(&why));
    }
    if report.counts.total() > 0 {
        out += &format!("\n**{}**\n", counts_line(&report.counts));
        subjects(&mut out, report);
    }
    section(&mut out, "Failed", FAILED, with(report, Verdict::Fail).map(refused));
    section(&mut out, "Inconclusive", INCONCLUSIVE, with(report, Verdict::Inconclusive).map(refused));
    let known = |case: &CaseReport| format!("- {}: {}\n", code(&case.name), words(&cut(known_reason(case), VALUE)));
    section(&mut out, "Known failures", KNOWN, with(report, Verdict::Known).map(known));
    let times = |(reason, cases): (String, Vec<&CaseReport>)| {
        format!("- {}: {}\n", many(cases.len(), "case"), words(&cut(&reason, VALUE)))
    };
    section(&mut out, "Not covered", UNCOVERED, not_covered(report).into_iter().map(times));
    section(&mut out, "Checks not made", UNCOVERED, not_made(report).into_iter().map(times));
    if let Some(proof) = &report.proof {
        proven(&mut out, proof);
    }
    section(
        &mut out,
        "What this run does not show",
        CLOSING,
        report.closing.iter().map(|line| format!("- {}\n", words(&cut(line, VALUE)))),
    );
    contracts(&mut out, report);
    out += &format!("\nnack {}, seed {}, exit {}\n", code(&report.nack), report.seed, report.exit);
    out
}

/// A section whose items go on the page as long as it is shorter than `most`; the rest is counted.
fn section(out: &mut String, title: &str, most: usize, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        return;
    }
    *out += &format!("\n### {title}\n\n");
    fill(out, most, &items, "- ");
}

fn fill(out: &mut String, most: usize, items: &[String], bullet: &str) {
    for (i, item) in items.iter().enumerate() {
        if out.len() + item.len() > most {
            *out += &format!("{bullet}… and {} more, which the JSON report names\n", items.len() - i);
            return;
        }
        *out += item;
    }
}

fn subjects(out: &mut String, report: &Report) {
    *out += "\n| contract | subject | adapter | passed | failed | inconclusive | not covered | known |\n";
    *out += "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n";
    for group in groups(report) {
        let counts = group.counts();
        let adapter = group.subject_info.map_or("", |info| info.adapter.as_str());
        *out += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            code(group.contract),
            code(group.subject),
            words(adapter),
            counts.pass,
            counts.fail,
            counts.inconclusive,
            counts.not_covered,
            counts.known
        );
    }
}

/// A case that did not pass: its name, its sentence and where that stands, then what a reviewer compares and pastes.
fn refused(case: &CaseReport) -> String {
    let mut out = format!("- {} on {}  \n", code(&case.name), code(&case.subject));
    let rows: Vec<String> = case.rows.iter().map(|place| code(&place.to_string())).collect();
    let rows = if rows.is_empty() { String::new() } else { format!(", rows {}", rows.join(", ")) };
    out += &format!("  {} ({}{rows})\n\n", words(&case.why), code(&case.source.to_string()));
    out += &indented(&fence(&evidence(case)));
    out += "\n";
    out
}

fn evidence(case: &CaseReport) -> String {
    let mut lines = Vec::new();
    let mut field = |label: &str, text: &str| {
        if !text.is_empty() {
            lines.push(format!("{label:<9} {}", cut(text, VALUE).replace('\n', "\n          ")));
        }
    };
    field("fault", &fault(case));
    if case.because.is_some() || case.verdict == Verdict::Inconclusive {
        field("reason", &reason(case.because.as_ref()));
    }
    if checked_nothing(case) {
        field("reason", CHECKED_NOTHING);
    }
    if case.broken.is_some() && case.broken != case.observed {
        field("broken", case.broken.as_deref().unwrap_or_default());
    }
    field("expected", case.expected.as_deref().unwrap_or_default());
    field("observed", case.observed.as_deref().unwrap_or_default());
    field("checks", &red_names(case));
    // Cut, such a line could not be pasted.
    let whole = case.by_hand.iter().filter(|line| line.len() <= VALUE);
    lines.extend(whole.map(|line| format!("by hand:  {}", line.replace('\n', "\n          "))));
    lines.push(format!("replay:   {}", case.replay));
    lines.join("\n")
}

/// Two spaces in front of each line, so that a block belongs to the list item above it.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

fn proven(out: &mut String, proof: &Proof) {
    *out += &format!("\n### Proof\n\n**{}**\n", proof_line(proof));
    section(out, "Mutants that survived", PROOF, of(proof, Fate::Survived).map(survivor));
    let bullet = |case: &String| format!("- {}\n", code(case));
    section(out, "Vacuous cases, which can convict nobody", PROOF, proof.vacuous.iter().map(bullet));
    let uncovered = |mutant: &MutantReport| {
        format!("- {}: {}\n", code(&mutant.name), words(&cut(&reason(mutant.because.as_ref()), VALUE)))
    };
    section(out, "Mutants not covered", PROOF, of(proof, Fate::NotCovered).map(uncovered));
    let null = |null: &crate::Null| {
        format!(
            "- {} on {}: refused by {} of {} cases\n",
            code(&null.name),
            code(&null.contract),
            null.refused,
            null.cases
        )
    };
    section(out, "Null subjects", PROOF, proof.nulls.iter().map(null));
    let undefended = proof.cells.iter().filter(|cell| cell.fate == CellFate::Undefended);
    section(out, "Cells that no case defends", PROOF, undefended.map(undefended_cell));
    let score = |(contract, counts)| format!("- {}: {}\n", code(contract), cells_line(counts));
    section(out, "Changed cells", PROOF, scores(proof).into_iter().map(score));
    let blind = proof.sabotage.iter().filter(|sabotage| sabotage.fate == SabotageFate::Blind);
    section(out, "Sabotage that nothing noticed", PROOF, blind.map(unseen));
    let seen = proof.sabotage.iter().filter(|sabotage| sabotage.fate == SabotageFate::Convicted);
    section(out, "Sabotage that was noticed", PROOF, seen.map(noticed));
    matrix(out, proof);
    depth(out, proof);
}

fn unseen(sabotage: &SabotageReport) -> String {
    let (what, why) = (words(&sabotage.what), words(sabotage.why.as_deref().unwrap_or("nothing is known of it")));
    format!("- {} on {} ({}): {what}: {why}\n", code(&sabotage.kind), code(&sabotage.subject), code(&sabotage.contract))
}

fn noticed(sabotage: &SabotageReport) -> String {
    let by = sabotage.by.as_deref().unwrap_or("nothing");
    format!("- {} on {}: by {}\n", code(&sabotage.kind), code(&sabotage.subject), code(by))
}

fn of(proof: &Proof, fate: Fate) -> impl Iterator<Item = &MutantReport> {
    proof.mutants.iter().filter(move |mutant| mutant.fate == fate)
}

fn survivor(mutant: &MutantReport) -> String {
    let mut out = format!(
        "- {}: {} ({})\n",
        code(&mutant.name),
        words(&cut(&mutant.defect, VALUE)),
        code(&mutant.source.to_string())
    );
    for kill in mutant.kills.iter().filter(|kill| kill.killed_by.is_none()) {
        let instead = kill.instead.as_deref().unwrap_or("nothing is known of it");
        out += &format!("  - expected {} to kill it through {}; ", code(&kill.expected), code(&kill.by.join(", ")));
        out += &format!("instead: {}\n", words(&cut(instead, VALUE)));
    }
    out
}

fn undefended_cell(cell: &CellReport) -> String {
    let instead = cell.instead.as_deref().unwrap_or("nothing is known of it");
    let (what, instead) = (words(&cut(&cell.what, VALUE)), words(&cut(instead, VALUE)));
    format!("- {}: {what} ({}): {instead}\n", code(&cell.name), code(&cell.source.to_string()))
}

fn matrix(out: &mut String, proof: &Proof) {
    let mut rows = Vec::new();
    for mutant in &proof.mutants {
        for kill in &mutant.kills {
            if let Some(killed_by) = &kill.killed_by {
                rows.push(format!(
                    "| {} | {} | {} |\n",
                    code(&mutant.name),
                    code(killed_by),
                    code(&kill.by.join(", "))
                ));
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    *out += &format!(
        "\n<details><summary>Which case killed which mutant ({} of {})</summary>\n\n",
        fates(proof)[0],
        proof.mutants.len()
    );
    *out += "| mutant | killed by | through |\n| --- | --- | --- |\n";
    fill(out, PROOF, &rows, "");
    *out += "\n</details>\n";
}

/// Which other cases also see each mutant.
fn depth(out: &mut String, proof: &Proof) {
    let seen: Vec<&MutantReport> = proof.mutants.iter().filter(|mutant| mutant.fate != Fate::NotCovered).collect();
    let rows: Vec<String> = { seen.iter() }
        .map(|mutant| {
            let named: Vec<String> = mutant.also_seen_by.iter().take(SEEN).map(|case| code(case)).collect();
            let more = mutant.also_seen_by.len().saturating_sub(SEEN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("| {} | {} | {}{more} |\n", code(&mutant.name), mutant.also_seen_by.len(), named.join(", "))
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    let alone = seen.iter().filter(|mutant| mutant.also_seen_by.is_empty()).count();
    *out +=
        &format!("\n<details><summary>Which other cases also see a mutant ({alone} seen by no other)</summary>\n\n");
    *out += "| mutant | others | such as |\n| --- | ---: | --- |\n";
    fill(out, PROOF, &rows, "");
    *out += "\n</details>\n";
}

fn contracts(out: &mut String, report: &Report) {
    if report.contracts.is_empty() {
        return;
    }
    *out += "\n### Contracts\n\n| contract | version | SHA-256 | |\n| --- | ---: | --- | --- |\n";
    for info in &report.contracts {
        *out += &format!(
            "| {} | {} | {} | {} |\n",
            code(&info.name),
            info.version,
            code(&info.digest),
            words(&overrides(info))
        );
    }
}
