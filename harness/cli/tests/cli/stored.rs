//! What becomes of a report after its run: parts joined, two compared, one written in another kind.

use nack_reports::Report;
use nack_reports::json::{from_json, without_timings};
use rstest::rstest;

use crate::common::Nack;

fn report(nack: &Nack, name: &str) -> Report {
    let text = std::fs::read_to_string(nack.path().join(name)).expect("the report was written");
    without_timings(&from_json(&text).expect("a report"))
}

#[rstest]
#[case::green(&[], 0)]
#[case::red(&["--subject", "reference", "--defect", "sent-before-send"], 1)]
fn four_parts_merged_equal_the_whole_run(#[case] more: &[&str], #[case] code: i32) {
    let nack = Nack::new();
    let (names, run) = (["outbox/deliver", "outbox/crash", "outbox/decide"], ["run", "-q"]);
    let _ = nack.run(&[&run[..], &names, more, &["--report", "json=whole.json"]].concat()).code(code);
    let mut files = Vec::new();
    for part in 1..=4 {
        let (shard, file) = (format!("{part}/4"), format!("{part}.json"));
        let to = format!("json={file}");
        let ran = nack.run(&[&run[..], &names, more, &["--shard", &shard, "--report", &to]].concat());
        assert!(ran.code == 0 || ran.code == code, "{}", ran.stdout);
        files.push(file);
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let _ = nack.run(&[&["merge"], &files[..], &["--report", "json=merged.json", "-q"]].concat()).code(code);
    let (whole, merged) = (report(&nack, "whole.json"), report(&nack, "merged.json"));
    assert_eq!(merged.counts, whole.counts);
    assert_eq!((merged.cases, merged.exit), (whole.cases, whole.exit));
    let sorted = |mut lines: Vec<String>| {
        lines.sort();
        lines
    };
    assert_eq!(sorted(merged.closing), sorted(whole.closing));
    let _ = nack.run(&["compare", "whole.json", "merged.json"]).code(0).says("same gate, same result");
    let _ = nack.run(&["merge", "1.json", "2.json", "4.json"]).code(2).says("of 4 parts these are missing: 3");
    let _ = nack.run(&["merge", "1.json", "1.json"]).code(2).says("are both part 1 of 4");
}

#[test]
fn a_part_without_a_case_is_no_failure_and_no_pass() {
    let nack = Nack::new();
    let one = ["run", "order-relay/empty", "--subject", "reference"];
    let mut files = Vec::new();
    for part in 1..=3 {
        let (shard, to) = (format!("{part}/3"), format!("json={part}.json"));
        let _ = nack.run(&[&one[..], &["--shard", &shard, "--report", &to]].concat()).code(0);
        files.push(format!("{part}.json"));
    }
    let empty = files.iter().filter(|file| report(&nack, file).cases.is_empty()).count();
    assert_eq!(empty, 2);
    let _ = nack.run(&["merge", &files[0], &files[1], &files[2]]).code(0).says("1 case: 1 passed");
    let text = files.iter().find(|file| report(&nack, file).cases.is_empty()).expect("one is empty");
    let _ = nack.run(&["report", text]).code(0).says("nothing to run").never_says("held:");
    let _ = nack.run(&["run", "order-relay/nothing", "--shard", "1/3"]).code(4);
}

#[test]
fn a_case_that_vanished_fails_the_comparison() {
    let nack = Nack::new();
    let run = |names: &[&str], file: &str| {
        let to = format!("json={file}");
        let _ = nack.run(&[&["run", "-q", "--subject", "reference"], names, &["--report", &to]].concat());
    };
    run(&["order-relay"], "all.json");
    run(&["order-relay/crash"], "some.json");
    let _ = nack.run(&["compare", "all.json", "some.json"]).code(1).says("vanished").says("order-relay/drain");
    let _ = nack.run(&["compare", "some.json", "all.json"]).code(0).says("only in the second");
    run(&["order-relay", "--defect", "mark-all"], "bad.json");
    let _ = nack
        .run(&["compare", "all.json", "bad.json", "--format", "md"])
        .code(1)
        .says("verdicts apart")
        .says("does something else under the same rules");
}

#[test]
fn a_stored_report_is_written_in_every_kind_as_its_run_wrote_it() {
    let nack = Nack::new();
    let kinds = ["text", "md", "junit", "json", "github"];
    let flags = |prefix: &str| -> Vec<String> {
        kinds.iter().flat_map(|kind| ["--report".to_owned(), format!("{kind}={prefix}.{kind}")]).collect()
    };
    let (run, again) = (flags("run"), flags("again"));
    let mut args = vec!["run", "outbox/deliver", "--defect", "any-answer-is-success"];
    args.extend(run.iter().map(String::as_str));
    let _ = nack.run(&args).code(1);
    let mut args = vec!["report", "run.json"];
    args.extend(again.iter().map(String::as_str));
    let _ = nack.run(&args).code(0);
    for kind in kinds {
        let read = |name: &str| std::fs::read_to_string(nack.path().join(format!("{name}.{kind}"))).expect("written");
        assert_eq!(read("run"), read("again"), "{kind}");
    }
    let _ = nack.run(&["report", "run.md"]).code(2).says("this is no report of nack");
    let _ = nack.run(&["report", "nowhere.json"]).code(2).says("nowhere.json");
}

#[test]
fn github_gets_annotations_and_a_summary() {
    let nack = Nack::new();
    let summary = nack.write("summary.md", "## an earlier step\n");
    let args = ["run", "outbox/deliver", "--defect", "any-answer-is-success", "--report", "github"];
    let output = nack.command(&args).env("GITHUB_STEP_SUMMARY", &summary).output().expect("nack starts");
    assert_eq!(output.status.code(), Some(1));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("::error file=contracts/outbox.toml,line="), "{stdout}");
    assert!(stdout.contains("not held, exit 1"), "{stdout}");
    let summary = std::fs::read_to_string(summary).expect("the summary");
    assert!(summary.starts_with("## an earlier step\n## nack: not held"), "{summary}");
    let output = nack.command(&args).env("GITHUB_STEP_SUMMARY", "nowhere/at/all.md").output().expect("nack starts");
    assert_eq!(output.status.code(), Some(2));
}
