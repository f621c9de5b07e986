//! What the renderers for people say alike: counts, reasons with how often they apply, and the one line that a run
//! comes to. Nothing is left out here: a case that was not covered is in a group, and the groups hold all of them.

use indexmap::{IndexMap, IndexSet};

use crate::{
    Because, BecauseKind, CaseReport, CellReport, Check, ContractInfo, Counts, Fate, MutantReport, Proof, Report,
    SubjectInfo, Verdict,
};

/// The cases of one contract on one subject.
pub(crate) struct Group<'a> {
    pub(crate) contract: &'a str,
    pub(crate) subject: &'a str,
    pub(crate) info: Option<&'a ContractInfo>,
    pub(crate) subject_info: Option<&'a SubjectInfo>,
    pub(crate) cases: Vec<&'a CaseReport>,
}

impl Group<'_> {
    pub(crate) fn counts(&self) -> Counts {
        self.cases.iter().map(|case| case.verdict).collect()
    }
}

impl FromIterator<Verdict> for Counts {
    fn from_iter<I: IntoIterator<Item = Verdict>>(verdicts: I) -> Counts {
        let mut counts = Counts::default();
        for verdict in verdicts {
            match verdict {
                Verdict::Pass => counts.pass += 1,
                Verdict::Fail => counts.fail += 1,
                Verdict::Inconclusive => counts.inconclusive += 1,
                Verdict::NotCovered => counts.not_covered += 1,
                Verdict::Known => counts.known += 1,
            }
        }
        counts
    }
}

/// The contract that a case belongs to: its name up to the first slash.
pub(crate) fn contract_of(case: &str) -> &str {
    case.split('/').next().unwrap_or(case)
}

/// The cases by contract and subject, in the order in which they come.
pub(crate) fn groups(report: &Report) -> Vec<Group<'_>> {
    let mut groups: IndexMap<(&str, &str), Vec<&CaseReport>> = IndexMap::new();
    for case in &report.cases {
        groups.entry((contract_of(&case.name), &case.subject)).or_default().push(case);
    }
    let mut out = Vec::new();
    for ((contract, subject), cases) in groups {
        let info = report.contracts.iter().find(|info| info.name == contract);
        let subject_info = report.subjects.iter().find(|info| info.name == subject && info.contract == contract);
        out.push(Group { contract, subject, info, subject_info, cases });
    }
    out
}

/// The cases with this verdict.
pub(crate) fn with(report: &Report, verdict: Verdict) -> impl Iterator<Item = &CaseReport> {
    report.cases.iter().filter(move |case| case.verdict == verdict)
}

/// The cases that were not covered, by reason in words: the most frequent first.
pub(crate) fn not_covered(report: &Report) -> Vec<(String, Vec<&CaseReport>)> {
    let mut reasons: IndexMap<String, Vec<&CaseReport>> = IndexMap::new();
    for case in with(report, Verdict::NotCovered) {
        reasons.entry(reason(case.because.as_ref())).or_default().push(case);
    }
    most_first(reasons)
}

/// The checks that were not made, by name and reason, with the cases that went without.
pub(crate) fn not_made(report: &Report) -> Vec<(String, Vec<&CaseReport>)> {
    let mut reasons: IndexMap<String, Vec<&CaseReport>> = IndexMap::new();
    for case in &report.cases {
        for check in case.checks.iter().filter(|check| check.held.is_none()) {
            let why = if check.words.is_empty() { "no reason is given" } else { &check.words };
            reasons.entry(format!("{}: {why}", check.name)).or_default().push(case);
        }
    }
    most_first(reasons)
}

fn most_first(reasons: IndexMap<String, Vec<&CaseReport>>) -> Vec<(String, Vec<&CaseReport>)> {
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, cases)| std::cmp::Reverse(cases.len()));
    reasons
}

/// Why a case did not count, in words.
pub(crate) fn reason(because: Option<&Because>) -> String {
    match because {
        // The harness may begin its own words with the kind already.
        Some(because) if because.detail.starts_with(kind_words(because.kind)) => because.detail.clone(),
        Some(because) => format!("{}: {}", kind_words(because.kind), because.detail),
        None => "no reason is given".to_owned(),
    }
}

/// Why a failure is known. The list of known failures gives the reason in free words, so its kind says nothing.
pub(crate) fn known_reason(case: &CaseReport) -> &str {
    case.because.as_ref().map_or("no reason is given", |because| because.detail.as_str())
}

/// A kind of reason in words.
pub(crate) fn kind_words(kind: BecauseKind) -> &'static str {
    match kind {
        BecauseKind::Capability => "capability",
        BecauseKind::Checkpoint => "checkpoint",
        BecauseKind::Clock => "clock",
        BecauseKind::Unsupported => "unsupported here",
        BecauseKind::Absent => "absent",
        BecauseKind::NotFired => "the fault did not strike",
        BecauseKind::Silence => "silence",
        BecauseKind::Start => "it would not start",
        BecauseKind::Known => "known",
    }
}

/// The checks of a case that did not hold.
pub(crate) fn red(case: &CaseReport) -> impl Iterator<Item = &Check> {
    case.checks.iter().filter(|check| check.held == Some(false))
}

/// Their names, each once: a check is made again after each step that expects something.
pub(crate) fn red_names(case: &CaseReport) -> String {
    let names: IndexSet<&str> = red(case).map(|check| check.name.as_str()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// A failure that no check and no breach of the protocol explains: nothing was checked.
pub(crate) fn checked_nothing(case: &CaseReport) -> bool {
    case.verdict == Verdict::Fail && case.broken.is_none() && red(case).next().is_none()
}

/// What such a failure is told as.
pub(crate) const CHECKED_NOTHING: &str = "no check was made, and a case that checks nothing has earned no pass";

/// The faults of a case in one line, or nothing.
pub(crate) fn fault(case: &CaseReport) -> String {
    let points = match case.points {
        Some(1) => ", at 1 point".to_owned(),
        Some(n) => format!(", at {n} points"),
        None => String::new(),
    };
    if case.fault.is_empty() { String::new() } else { format!("{}{points}", case.fault.join("; ")) }
}

/// A number with its noun.
pub(crate) fn many(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// All counts, the empty ones too: the line that stands in every output for people.
pub(crate) fn counts_line(counts: &Counts) -> String {
    format!(
        "{}: {} passed, {} failed, {} inconclusive, {} not covered, {} known",
        many(counts.total(), "case"),
        counts.pass,
        counts.fail,
        counts.inconclusive,
        counts.not_covered,
        counts.known
    )
}

/// The counts that are not empty.
pub(crate) fn counts_short(counts: &Counts) -> String {
    let all = [
        (counts.pass, "passed"),
        (counts.fail, "failed"),
        (counts.inconclusive, "inconclusive"),
        (counts.not_covered, "not covered"),
        (counts.known, "known"),
    ];
    let some: Vec<String> = all.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    format!("{}: {}", many(counts.total(), "case"), some.join(", "))
}

/// How many mutants met which fate: killed, survived, not covered.
pub(crate) fn fates(proof: &Proof) -> [usize; 3] {
    let of = |fate| proof.mutants.iter().filter(|mutant| mutant.fate == fate).count();
    [of(Fate::Killed), of(Fate::Survived), of(Fate::NotCovered)]
}

/// The line of counts of a proof.
pub(crate) fn proof_line(proof: &Proof) -> String {
    let [killed, survived, not_covered] = fates(proof);
    let total = many(proof.mutants.len(), "mutant");
    let vacuous = many(proof.vacuous.len(), "vacuous case");
    let mutants = format!("{total}: {killed} killed, {survived} survived, {not_covered} not covered");
    let mut parts = vec![mutants, vacuous];
    if proof.mutants.is_empty() && proof.nulls.is_empty() {
        parts.clear();
    }
    if !proof.cells.is_empty() {
        let total = many(proof.cells.len(), "changed cell");
        parts.push(format!("{total}: {}", cells_line(cells(proof.cells.iter()))));
    }
    if !proof.sabotage.is_empty() {
        let [seen, blind, not] = sabotage(proof);
        let total = many(proof.sabotage.len(), "sabotage");
        parts.push(format!("{total}: {seen} noticed, {blind} blind, {not} not applicable"));
    }
    parts.join("; ")
}

/// How many kinds of sabotage were noticed, were not, and could not be done.
pub(crate) fn sabotage(proof: &Proof) -> [usize; 3] {
    let mut counts = [0; 3];
    for sabotage in &proof.sabotage {
        counts[sabotage.fate as usize] += 1;
    }
    counts
}

/// The counts of [`cells`] in words.
pub(crate) fn cells_line([noticed, undefended, equivalent, not_covered]: [usize; 4]) -> String {
    let rest = if equivalent == 0 { String::new() } else { format!("{equivalent} that change nothing, ") };
    format!("{noticed} noticed, {undefended} undefended, {rest}{not_covered} not covered")
}

/// How many changed cells were noticed, undefended, equivalent and not covered.
pub(crate) fn cells<'a>(cells: impl Iterator<Item = &'a CellReport>) -> [usize; 4] {
    let mut counts = [0; 4];
    for cell in cells {
        counts[cell.fate as usize] += 1;
    }
    counts
}

/// The score of each contract, as its name and the counts of [`cells`].
pub(crate) fn scores(proof: &Proof) -> Vec<(&str, [usize; 4])> {
    let of = |cell: &CellReport| cell.name.find('/').unwrap_or(cell.name.len());
    let groups = proof.cells.chunk_by(|a, b| a.name[..of(a)] == b.name[..of(b)]);
    groups.map(|group| (&group[0].name[..of(&group[0])], cells(group.iter()))).collect()
}

/// How many cases saw a mutant without having to.
pub(crate) fn seen_by(mutant: &MutantReport) -> String {
    match mutant.also_seen_by.len() {
        0 => "no other".to_owned(),
        1 => "1 other".to_owned(),
        others => format!("{others} others"),
    }
}

/// Whether nothing in a proof speaks against the gate.
pub(crate) fn proven(proof: &Proof) -> bool {
    fates(proof)[1] == 0 && proof.vacuous.is_empty() && cells(proof.cells.iter())[1] == 0 && sabotage(proof)[1] == 0
}

/// Whether everything that was tried held, and something was tried.
pub(crate) fn held(report: &Report) -> bool {
    let proven = report.proof.as_ref().is_none_or(proven);
    tried(report) && report.exit == 0 && report.counts.fail == 0 && report.counts.inconclusive == 0 && proven
}

fn tried(report: &Report) -> bool {
    let proof = report.proof.as_ref();
    report.counts.total() > 0 || proof.is_some_and(|proof| !proof.is_empty())
}

/// What the run came to: in a word, and why, which may be empty.
pub(crate) fn outcome(report: &Report) -> (String, String) {
    let held = held(report);
    let mut parts: Vec<String> = if held { achieved(report) } else { refuted(report) };
    let exit = match report.exit {
        2 => "usage, or a contract or binding that is wrong",
        3 if report.counts.inconclusive == 0 => "something that is required did not count",
        4 => "nothing matched",
        70 => "a fault of nack itself",
        130 => "interrupted, and what was not run is not in this report",
        _ if !tried(report) => "nothing was run",
        _ => "",
    };
    parts.extend((!exit.is_empty()).then(|| exit.to_owned()));
    let verdict = if held { "held".to_owned() } else { format!("not held, exit {}", report.exit) };
    (verdict, parts.join("; "))
}

fn achieved(report: &Report) -> Vec<String> {
    let mut parts = Vec::new();
    let counts = &report.counts;
    let (total, left) = (counts.total(), counts.not_covered + counts.known);
    if total > 0 && left == 0 {
        parts.push(format!("all {} passed", many(total, "case")));
    } else if total > 0 {
        parts.push(format!("{} of {} passed", counts.pass, many(total, "case")));
        parts.extend((counts.not_covered > 0).then(|| format!("{} not covered", counts.not_covered)));
        parts.extend((counts.known > 0).then(|| many(counts.known, "known failure")));
    }
    if let Some(proof) = &report.proof {
        if !proof.mutants.is_empty() || !proof.nulls.is_empty() {
            let [killed, _, not_covered] = fates(proof);
            parts.push(format!("{killed} of {} killed", many(proof.mutants.len(), "mutant")));
            parts.extend((not_covered > 0).then(|| format!("{not_covered} not covered")));
            parts.push("no case is vacuous".to_owned());
        }
        parts.extend((!proof.cells.is_empty()).then(|| "no cell is undefended".to_owned()));
        parts.extend((!proof.sabotage.is_empty()).then(|| "no sabotage goes unseen".to_owned()));
    }
    parts
}

fn refuted(report: &Report) -> Vec<String> {
    let wrong =
        |proof: &Proof| [fates(proof)[1], proof.vacuous.len(), cells(proof.cells.iter())[1], sabotage(proof)[1]];
    let [survived, vacuous, undefended, blind] = report.proof.as_ref().map_or([0; 4], wrong);
    let all = [
        (report.counts.fail, "case", "failed"),
        (report.counts.inconclusive, "case", "inconclusive"),
        (survived, "mutant", "survived"),
        (vacuous, "case", "vacuous"),
        (undefended, "cell", "undefended"),
        (blind, "sabotage", "unseen"),
    ];
    all.iter().filter(|(n, ..)| *n > 0).map(|(n, noun, word)| format!("{} {word}", many(*n, noun))).collect()
}

/// A contract's parameters that a binding changed, or nothing.
pub(crate) fn overrides(info: &ContractInfo) -> String {
    let changed: Vec<String> = info.overrides.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if changed.is_empty() { String::new() } else { format!("overridden: {}", changed.join(", ")) }
}

/// Text of at most so many characters; what is cut off is counted.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}… ({} characters in all)", &text[..end], text.chars().count()),
    }
}
