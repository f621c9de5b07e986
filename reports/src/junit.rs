//! The report as JUnit XML, which CI services draw as a list of tests. That format knows a failure, an error and a
//! skipped test, and each means one thing here: the subject was refuted; the harness could not tell; nothing was
//! claimed. A case that was not covered is skipped with its reason, never left out and never passed.

use std::time::Duration;

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use crate::escape::{Newlines, xml};
use crate::summary::{
    CHECKED_NOTHING, Group, checked_nothing, groups, kind_words, known_reason, overrides, reason, red_names,
};
use crate::text::plain;
use crate::{CaseReport, CellFate, Fate, MutantReport, Proof, Report, SabotageFate, Verdict};

/// Renders a report as JUnit XML: a suite for each contract and subject, and one for the proof, if there is one.
#[must_use]
pub fn junit(report: &Report) -> String {
    let mut out = quick_junit::Report::new("nack");
    out.set_time(Duration::from_millis(report.elapsed_ms));
    for group in groups(report) {
        out.add_test_suite(suite(report, &group));
    }
    if let Some(proof) = &report.proof {
        out.add_test_suite(proof_suite(report, proof));
    }
    // The writer is memory, and every string went through `xml`: nothing is left that could fail.
    out.to_string().expect("writing XML into memory does not fail")
}

fn line(text: &str) -> String {
    xml(text, Newlines::Show)
}

fn suite(report: &Report, group: &Group<'_>) -> TestSuite {
    let mut suite = TestSuite::new(line(&format!("{} on {}", group.contract, group.subject)));
    run_properties(&mut suite, report);
    suite.add_property(("contract", line(group.contract).as_str()));
    if let Some(info) = group.info {
        suite.add_property(("contract.version", info.version.to_string().as_str()));
        suite.add_property(("contract.digest", line(&info.digest).as_str()));
        suite.add_property(("contract.file", line(&info.file).as_str()));
        if !info.overrides.is_empty() {
            suite.add_property(("contract.overrides", line(&overrides(info)).as_str()));
        }
    }
    if let Some(info) = group.subject_info {
        suite.add_property(("subject.adapter", line(&info.adapter).as_str()));
        suite.add_property(("subject.store", line(&info.store).as_str()));
        suite.add_property(("subject.capabilities", line(&info.capabilities.join(" ")).as_str()));
    }
    let classname = line(&format!("{}.{}", group.contract, group.subject));
    for case in &group.cases {
        suite.add_test_case(test_case(case, &classname));
    }
    suite.set_time(group.cases.iter().map(|case| Duration::from_micros(case.elapsed_us)).sum());
    suite
}

fn run_properties(suite: &mut TestSuite, report: &Report) {
    suite.add_property(("nack", line(&report.nack).as_str()));
    suite.add_property(("seed", report.seed.to_string().as_str()));
    suite.add_property(("exit", report.exit.to_string().as_str()));
}

fn test_case(case: &CaseReport, classname: &str) -> TestCase {
    let mut test = TestCase::new(line(&case.name), status(case));
    test.set_classname(classname).set_time(Duration::from_micros(case.elapsed_us));
    test.extra.insert("file".into(), line(&case.source.file).into());
    test.extra.insert("line".into(), case.source.line.to_string().into());
    if case.verdict == Verdict::Pass && !case.notes.is_empty() {
        test.set_system_out(xml(&case.notes.join("\n"), Newlines::Keep));
    }
    test
}

fn status(case: &CaseReport) -> TestCaseStatus {
    match case.verdict {
        Verdict::Pass => TestCaseStatus::success(),
        Verdict::Fail => {
            let (kind, message) = match &case.broken {
                Some(broken) => ("protocol".to_owned(), broken.as_str()),
                None if checked_nothing(case) => ("nothing checked".to_owned(), CHECKED_NOTHING),
                None => (red_names(case), case.why.as_str()),
            };
            refuted(NonSuccessKind::Failure, &kind, message, &plain(case))
        }
        Verdict::Inconclusive => {
            let kind = case.because.as_ref().map_or("inconclusive", |because| kind_words(because.kind));
            refuted(NonSuccessKind::Error, kind, &reason(case.because.as_ref()), &plain(case))
        }
        Verdict::NotCovered => skipped("not covered", &reason(case.because.as_ref())),
        Verdict::Known => skipped("known failure", known_reason(case)),
    }
}

fn refuted(kind: NonSuccessKind, ty: &str, message: &str, description: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(line(ty)).set_message(line(message)).set_description(xml(description.trim(), Newlines::Keep));
    status
}

fn skipped(ty: &str, reason: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_type(ty).set_message(line(&format!("{ty}: {reason}")));
    status
}

/// A mutant that survived, a vacuous case or an undefended cell is a failure of the proof: a list of tests without it would look green.
fn proof_suite(report: &Report, proof: &Proof) -> TestSuite {
    let mut suite = TestSuite::new("proof");
    run_properties(&mut suite, report);
    for info in &report.contracts {
        suite.add_property((line(&format!("contract.digest.{}", info.name)), line(&info.digest)));
    }
    for mutant in &proof.mutants {
        let mut test = TestCase::new(line(&mutant.name), fate(mutant));
        test.set_classname("proof.mutants");
        suite.add_test_case(test);
    }
    for case in &proof.vacuous {
        let words = "no null subject fails this case, so it can convict nobody";
        let mut test = TestCase::new(line(case), refuted(NonSuccessKind::Failure, "vacuous", words, words));
        test.set_classname("proof.vacuous");
        suite.add_test_case(test);
    }
    for cell in &proof.cells {
        let instead = cell.instead.as_deref().unwrap_or("nothing is known of it");
        let status = match cell.fate {
            CellFate::Defended | CellFate::Equivalent => TestCaseStatus::success(),
            CellFate::NotCovered => skipped("not covered", instead),
            CellFate::Undefended => refuted(NonSuccessKind::Failure, "undefended", &cell.what, instead),
        };
        let mut test = TestCase::new(line(&cell.name), status);
        test.set_classname("proof.cells");
        suite.add_test_case(test);
    }
    for sabotage in &proof.sabotage {
        let why = sabotage.why.as_deref().unwrap_or("nothing is known of it");
        let status = match sabotage.fate {
            SabotageFate::Convicted => TestCaseStatus::success(),
            SabotageFate::Inapplicable => skipped("not applicable", why),
            SabotageFate::Blind => refuted(NonSuccessKind::Failure, "blind", &sabotage.what, why),
        };
        let name = format!("{}/{} on {}", sabotage.contract, sabotage.kind, sabotage.subject);
        let mut test = TestCase::new(line(&name), status);
        test.set_classname("proof.sabotage");
        suite.add_test_case(test);
    }
    suite
}

fn fate(mutant: &MutantReport) -> TestCaseStatus {
    match mutant.fate {
        Fate::Killed => TestCaseStatus::success(),
        Fate::NotCovered => skipped("not covered", &reason(mutant.because.as_ref())),
        Fate::Survived => {
            let missed = mutant.kills.iter().filter(|kill| kill.killed_by.is_none());
            let told: Vec<String> = missed
                .map(|kill| {
                    let instead = kill.instead.as_deref().unwrap_or("nothing is known of it");
                    format!("{} through {}: {instead}", kill.expected, kill.by.join(", "))
                })
                .collect();
            refuted(NonSuccessKind::Failure, "survived", &mutant.defect, &told.join("\n"))
        }
    }
}
