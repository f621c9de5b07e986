//! Logs of an outbox: which line breaks which row of which rule, and what becomes of lines that cannot be judged.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nack_audit::report::{About, report};
use nack_audit::run::{Options, judge};
use nack_audit::{Inputs, Layout, Overrides, Plan, Section};
use nack_contracts::{Contract, shipped};
use nack_reports::{CaseReport, Report, Verdict};
use rstest::rstest;

fn outbox() -> Arc<Contract> {
    let source = shipped().into_iter().find(|source| source.file.ends_with("outbox.toml")).expect("it ships");
    Arc::new(Contract::read(source, &indexmap::IndexMap::new()).expect("it reads"))
}

/// How a test audits.
struct Given<'a> {
    files: Vec<(&'a str, Vec<u8>)>,
    section: Section,
    flags: Overrides,
    threads: usize,
    memory: usize,
}

impl<'a> Given<'a> {
    fn log(text: impl Into<Vec<u8>>) -> Given<'a> {
        Given {
            files: vec![("moves", text.into())],
            section: Section::default(),
            flags: Overrides::default(),
            threads: 2,
            memory: usize::MAX,
        }
    }

    fn audited(&self) -> Report {
        self.try_audit().expect("the log can be audited")
    }

    fn try_audit(&self) -> Result<Report, nack_audit::AuditError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        for (name, bytes) in &self.files {
            std::fs::write(path(name), bytes).expect("a file");
        }
        let names: Vec<String> = self.files.iter().map(|(name, _)| path(name)).collect();
        let inputs = Inputs::of(&names, &self.section)?;
        let chunks = inputs.open()?;
        let contract = outbox();
        let audit = contract.audit.as_ref().expect("it says how logs are judged");
        let layout = Layout::of(&contract, audit, &self.section, &self.flags, chunks.head())?;
        let plan = Plan::new(Arc::clone(&contract), layout, &|_| true)?;
        let cancel = AtomicBool::new(false);
        let tally = judge(&plan, chunks, &Options { threads: self.threads, memory: self.memory, cancel: &cancel })?;
        let short =
            |name: String| Path::new(&name).file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or(name);
        let files = inputs.names().into_iter().map(short).collect();
        Ok(report(&plan, &tally, &About { subject: "log".to_owned(), files, ..About::default() }))
    }
}

/// The cases of a verdict, each with the lines that it names.
fn told(report: &Report, verdict: Verdict) -> Vec<String> {
    let of = |case: &CaseReport| {
        let found = case.found.as_ref();
        let offenders = found.map_or(&[][..], |found| &found.offenders).iter();
        let places: Vec<&str> = offenders.map(|line| line.place.rsplit(':').next().unwrap_or("?")).collect();
        format!("{} {}", case.name.trim_start_matches("outbox/audit/"), places.join(" ")).trim_end().to_owned()
    };
    report.cases.iter().filter(|case| case.verdict == verdict).map(of).collect()
}

const HEADER: &str = "id,at,from,result,attempts,to,payload\n";

/// A row's whole life, in which nothing is wrong.
const WELL: &str = "\
m-1,100,pending,,1,inflight,p
m-1,110,inflight,transient,1,pending,p
m-1,200,pending,,2,inflight,p
m-1,300,inflight,,3,inflight,p
m-1,310,inflight,accepted,3,sent,p
m-2,100,pending,,1,inflight,q
m-2,101,inflight,nonsense,1,dead,q
m-3,100,pending,,1,inflight,p
m-3,101,inflight,permanent,1,dead,p
";

#[test]
fn a_log_in_which_nothing_is_wrong_breaks_no_rule() {
    let report = Given::log(format!("{HEADER}{WELL}")).audited();
    assert_eq!(told(&report, Verdict::Fail), [""; 0]);
    assert_eq!(told(&report, Verdict::Inconclusive), [""; 0]);
    assert_eq!(report.exit, 0);
    // Rows that no line fell to are no passes.
    assert!(told(&report, Verdict::NotCovered).contains(&"decided/transient-at-max".to_owned()));
    assert!(told(&report, Verdict::Pass).contains(&"decided/accepted-below-max".to_owned()));
}

#[rstest]
#[case::accepted_is_sent("m-9,1,inflight,accepted,1,dead,p", "decided/accepted-below-max 11")]
#[case::accepted_at_the_budget("m-9,1,inflight,accepted,5,dead,p", "decided/accepted-at-max 11")]
#[case::transient_waits("m-9,1,inflight,transient,4,dead,p", "decided/transient-below-max 11")]
#[case::the_budget_ends("m-9,1,inflight,transient,5,pending,p", "decided/transient-at-max 11")]
#[case::permanent_is_dead("m-9,1,inflight,permanent,1,pending,p", "decided/permanent 11")]
#[case::sent_needs_an_acceptance("m-9,1,inflight,ACCEPTED,1,sent,p", "decided/other 11")]
#[case::blank_is_no_acceptance("m-9,1,inflight,,1,sent,p", "decided/other 11")]
#[case::nothing_is_decided_for_pending("m-9,1,pending,accepted,1,sent,p", "decided/not-inflight 11")]
#[case::an_attempt_has_a_number("m-9,1,inflight,transient,0,pending,p", "decided/no-row 11")]
#[case::sent_is_not_claimed("m-9,1,sent,,1,inflight,p", "claimed/terminal 11")]
#[case::a_spent_row_is_not_claimed("m-9,1,inflight,,6,inflight,p", "claimed/lease-live 11")]
#[case::a_finished_row_stays("m-9,1,inflight,accepted,1,sent,p\nm-9,2,pending,,2,inflight,p", "order/finished 12")]
#[case::one_claim_at_a_time(
    "m-9,1,pending,,1,inflight,p\nm-9,2,pending,,1,inflight,p",
    "attempts/claim-wrong 12; order/second-claim 12"
)]
#[case::a_claim_costs_an_attempt(
    "m-9,1,inflight,transient,1,pending,p\nm-9,2,pending,,1,inflight,p",
    "attempts/claim-wrong 12"
)]
#[case::an_outcome_costs_none(
    "m-9,1,pending,,1,inflight,p\nm-9,2,inflight,transient,2,pending,p",
    "attempts/record-wrong 12"
)]
#[case::a_lease_is_waited_for("m-9,1,pending,,1,inflight,p\nm-9,60,inflight,,2,inflight,p", "takeover/early 12")]
#[case::one_id_one_payload("m-9,1,pending,,1,inflight,p\nm-9,2,inflight,accepted,1,sent,q", "payload/changed 12")]
fn each_rule_names_the_line_that_breaks_it(#[case] lines: &str, #[case] wanted: &str) {
    let report = Given::log(format!("{HEADER}{WELL}{lines}\n")).audited();
    let mut told = told(&report, Verdict::Fail);
    told.sort();
    assert_eq!(told.join("; "), wanted);
    assert_eq!(report.exit, 1);
}

#[test]
fn every_rule_of_the_contract_is_broken_by_a_line_above() {
    let contract = outbox();
    let above = include_str!("log.rs");
    for rule in &contract.audit.as_ref().expect("it has one").rules {
        assert!(
            above.contains(&format!("\"{}/", rule.name)) || above.contains(&format!("; {}/", rule.name)),
            "{}",
            rule.name
        );
    }
}

#[rstest]
#[case::lost_claim(
    "m-9,1,pending,,1,inflight,p\nm-9,2,inflight,transient,1,pending,p\nm-9,3,inflight,accepted,2,sent,p",
    "order/lost-claim 13"
)]
#[case::lost_outcome("m-9,1,pending,,1,inflight,p\nm-9,2,pending,,2,inflight,p", "order/lost-end 12")]
#[case::lost_line("m-9,1,pending,,1,inflight,p\nm-9,2,sent,,1,inflight,p", "order/lost-line 12")]
#[case::begins_in_the_middle("m-9,1,inflight,accepted,3,sent,p", "history/begins 11")]
fn a_history_that_is_not_whole_is_said_and_convicts_nobody_of_what_is_missing(
    #[case] lines: &str,
    #[case] wanted: &str,
) {
    let report = Given::log(format!("{HEADER}{WELL}{lines}\n")).audited();
    assert!(
        told(&report, Verdict::NotCovered).contains(&wanted.to_owned()),
        "{:?}",
        told(&report, Verdict::NotCovered)
    );
    let convicted = told(&report, Verdict::Fail);
    assert!(convicted.iter().all(|case| case.starts_with("claimed/terminal")), "{convicted:?}");
}

#[rstest]
#[case::too_few_fields(b"m-9,1,inflight\n".to_vec(), "lines/columns 11", 1)]
#[case::unknown_word(b"m-9,1,flying,accepted,1,sent,p\n".to_vec(), "lines/unknown-word 11", 1)]
#[case::number(b"m-9,1,inflight,accepted,one,sent,p\n".to_vec(), "lines/number 11", 1)]
#[case::time(b"m-9,soon,inflight,accepted,1,sent,p\n".to_vec(), "lines/number 11", 1)]
#[case::blank(b",1,inflight,accepted,1,sent,p\n".to_vec(), "lines/blank 11", 1)]
#[case::utf8(b"m-\xff,1,inflight,accepted,1,sent,p\n".to_vec(), "lines/utf-8 11", 1)]
#[case::open_quote(b"\"m-9,1,inflight,accepted,1,sent,p\n".to_vec(), "lines/quote 11", 1)]
#[case::clock_going_back(b"m-3,99,dead,,2,inflight,p\n".to_vec(), "lines/backward 11", 1)]
#[case::huge_field([b"m-9,1,inflight,accepted,1,sent,".to_vec(), vec![b'x'; 10 << 20], b"\n".to_vec()].concat(), "lines/too-long 11", 1)]
#[case::huge_quoted([b"m-9,1,inflight,accepted,1,sent,\"".to_vec(), vec![b'x'; 10 << 20], b"\"\n".to_vec()].concat(), "lines/too-long 11", 1)]
fn a_broken_line_is_told_and_the_rest_still_judged(#[case] line: Vec<u8>, #[case] wanted: &str, #[case] count: u64) {
    let rest = b"m-8,1,inflight,ok,1,sent,p\n".to_vec();
    let log = [HEADER.as_bytes().to_vec(), WELL.as_bytes().to_vec(), line, rest].concat();
    let report = Given::log(log).audited();
    assert_eq!(told(&report, Verdict::Inconclusive), [wanted]);
    let broken: Vec<String> =
        told(&report, Verdict::Fail).into_iter().filter(|case| case != "claimed/terminal 11").collect();
    assert_eq!(broken, ["decided/other 12"], "what comes behind it is judged");
    let case = report.cases.iter().find(|case| wanted.starts_with(case.name.trim_start_matches("outbox/audit/")));
    assert_eq!(case.and_then(|case| case.found.as_ref()).map(|found| found.broken), Some(count));
}

#[test]
fn a_line_break_in_quotes_is_part_of_its_line() {
    let report =
        Given::log(format!("{HEADER}m-1,1,inflight,accepted,1,sent,\"p\nq\"\nm-2,1,inflight,ok,1,sent,p\n")).audited();
    assert_eq!(told(&report, Verdict::Inconclusive), [""; 0]);
    assert_eq!(told(&report, Verdict::Fail), ["decided/other 4"]);
}

#[test]
fn lines_of_json_say_the_same_as_csv() {
    let lines = r#"{"id":"m-1","at":1,"from":"inflight","result":"ok","attempts":1,"to":"sent","more":[1]}
{"id":"m-2","at":1,"from":"inflight","result":null,"attempts":1,"to":"sent"}
{"id":"m-3","at":1,"from":"inflight","result":{"status":"accepted"},"attempts":"1","to":"sent"}
{"id":"m-4","at":1,
{"id":"m-5","at":1,"from":"inflight","result":"accepted","attempts":1,"to":"sent"}
"#;
    let report = Given::log(lines).audited();
    assert_eq!(told(&report, Verdict::Fail), ["decided/other 1 2 3"]);
    assert_eq!(told(&report, Verdict::Inconclusive), ["lines/json 4"]);
}

fn packed(text: &str) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).expect("it packs");
    gzip.finish().expect("it packs")
}

#[test]
fn packed_logs_are_unpacked_whatever_their_name() {
    let report = Given::log(packed(&format!("{HEADER}m-1,1,inflight,ok,1,sent,p\n"))).audited();
    assert_eq!(told(&report, Verdict::Fail), ["decided/other 2"]);
}

#[test]
fn a_log_that_was_cut_says_where_and_judges_no_half_line() {
    let lines: String =
        (0..2000).map(|n| format!("m-{n},{n},inflight,accepted,{},sent,{}\n", n % 9 + 1, n * 7919)).collect();
    let whole = packed(&format!("{HEADER}{lines}"));
    let report = Given::log(&whole[..whole.len() / 2]).audited();
    assert_eq!(told(&report, Verdict::Fail), [""; 0]);
    let cut = told(&report, Verdict::Inconclusive);
    assert!(cut.len() == 1 && cut[0].starts_with("lines/cut "), "{cut:?}");
    assert_eq!(report.exit, 3);
}

#[rstest]
#[case::no_header("m-9,1,inflight,ok,1,sent,p\n", "lines/header 1", "decided/other 1")]
#[case::another_header("id,at,to\nm-9,1,sent\n", "lines/header 1", "")]
fn the_header_of_a_further_file_must_be_that_of_the_first(
    #[case] second: &str,
    #[case] told_of: &str,
    #[case] broken: &str,
) {
    let mut given = Given::log(format!("{HEADER}{WELL}"));
    given.files.push(("more", second.as_bytes().to_vec()));
    let report = given.audited();
    assert_eq!(told(&report, Verdict::Inconclusive), [told_of]);
    assert_eq!(told(&report, Verdict::Fail).join(""), broken);
}

#[test]
fn a_first_file_without_a_header_is_refused_with_its_mend() {
    let refused = Given::log(WELL).try_audit().expect_err("there is no header").to_string();
    assert!(refused.contains("--column id=1"), "{refused}");
}

#[test]
fn columns_and_words_are_those_that_the_section_names() {
    let log = "wann;wer;alt;neu;antwort;versuch\n2027-01-15T08:00:00Z;m-1;working;delivered;nope;1\n";
    let mut given = Given::log(log);
    let said =
        [("id", "wer"), ("at", "1"), ("from", "alt"), ("to", "neu"), ("result", "antwort"), ("attempts", "versuch")];
    given.section.columns = said.into_iter().map(|(column, name)| (column.to_owned(), name.to_owned())).collect();
    given.flags.words = vec![("working".into(), "inflight".into()), ("delivered".into(), "sent".into())];
    let report = given.audited();
    assert_eq!(told(&report, Verdict::Fail), ["decided/other 2"]);
    assert_eq!(told(&report, Verdict::Inconclusive), [""; 0]);
}

#[test]
fn a_column_that_is_missing_leaves_what_needs_it_uncovered() {
    let report = Given::log("id,from,to\nm-1,inflight,sent\nm-1,pending,inflight\nm-2,pending,sent\n").audited();
    assert_eq!(told(&report, Verdict::Fail), ["decided/not-inflight 4", "order/finished 3"]);
    let not_covered = told(&report, Verdict::NotCovered);
    for row in ["attempts/claim-wrong", "takeover/early", "payload/changed"] {
        assert!(not_covered.contains(&row.to_owned()), "{row} in {not_covered:?}");
    }
}

/// Many lines of many keys, with every kind of violation among them.
fn tangled() -> String {
    let mut lines = HEADER.to_owned();
    for n in 0..60_000u64 {
        let roll = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 33;
        let word = |words: &[&'static str], shift: u64| words[(roll >> shift) as usize % words.len()];
        let (from, to) =
            (word(&["pending", "inflight", "sent", "dead"], 1), word(&["pending", "inflight", "sent", "dead"], 5));
        let result = word(&["accepted", "transient", "permanent", "", "ok"], 9);
        let payload = word(&["\"a\nb\"", "p", "", "\"x\"\"y\"", "é"], 13);
        lines += &format!("m-{},{},{from},{result},{},{to},{payload}\n", roll % 4000, n / 3 + roll % 7, roll % 8);
        if n % 500 == 0 {
            lines += "m-1,\"broken\n";
        }
    }
    lines
}

#[rstest]
#[case::one_thread(1, usize::MAX)]
#[case::seven_threads(7, usize::MAX)]
#[case::on_disk(2, 0)]
fn what_is_counted_does_not_depend_on_threads_or_memory(#[case] threads: usize, #[case] memory: usize) {
    let wanted = Given::log(tangled()).audited();
    let found = Given { threads, memory, ..Given::log(tangled()) }.audited();
    assert!(told(&wanted, Verdict::Fail).len() > 10, "there is something to count");
    let counts = |report: &Report| -> Vec<_> {
        let of = |case: &CaseReport| {
            let found = case.found.as_ref();
            let places = found.map(|found| found.offenders.iter().map(|line| line.place.clone()).collect::<Vec<_>>());
            (case.name.clone(), case.verdict, found.map(|found| (found.lines, found.broken)), places)
        };
        report.cases.iter().map(of).collect()
    };
    assert_eq!(counts(&found), counts(&wanted));
}
