//! The Python workers from the binary itself, as a team's CI would judge them: they hold, their kills are real, and
//! one changed line is exit 1 by the name of the rule that it breaks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rstest::rstest;
use serde_json::Value;

use crate::common::Nack;
use crate::edits::{listed, replace_once};
use crate::subjects::{left_behind, python};

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/subjects/python")
}

/// The shipped Python subjects, copied, so that a test may change a line and a run leaves nothing in the repository.
pub(crate) fn workers() -> Nack {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let nack = Nack::new();
    let copy = |from: PathBuf| {
        let name = from.file_name().expect("a file has a name").to_owned();
        fs::copy(&from, nack.path().join(name)).expect("it can be copied");
    };
    for entry in fs::read_dir(shipped()).expect("the subjects are there").flatten() {
        // The SDK beside them is a link, which not every checkout keeps.
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            copy(entry.path());
        }
    }
    copy(root.join("harness/sdk/python/nack_sdk.py"));
    nack
}

/// Puts `to` where the outbox worker reads `from`.
pub(crate) fn edit(nack: &Nack, from: &str, to: &str) {
    replace_once(&nack.path().join("outbox_worker.py"), from, to);
}

/// Runs these cases of a subject, and gives the cases of the JSON report.
pub(crate) fn judged(nack: &Nack, subject: &str, prefixes: &[&str], code: i32) -> Vec<Value> {
    let args = ["run", "--subject", subject, "--jobs", "2", "--report", "json=nack.json"];
    let _ = nack.run(&[&args, prefixes].concat()).code(code);
    let text = fs::read_to_string(nack.path().join("nack.json")).expect("the report was written");
    let report: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(report["exit"], code);
    report["cases"].as_array().expect("it lists cases").clone()
}

pub(crate) fn name(case: &Value) -> &str {
    case["name"].as_str().expect("a case has a name")
}

/// The names of the cases with this verdict.
fn with_verdict<'a>(cases: &'a [Value], verdict: &str) -> Vec<&'a str> {
    cases.iter().filter(|case| case["verdict"] == verdict).map(name).collect()
}

#[rstest]
#[case::outbox("outbox", &["outbox/crash/after-send+kill", "outbox/recover/after-claim+kill", "outbox/sweep"])]
#[case::relay("relay", &["order-relay/crash/after-send+kill"])]
#[case::consumer("consumer", &["order-consumer/crash/after-effect+kill"])]
fn a_python_worker_holds_and_was_killed(#[case] subject: &str, #[case] killed: &[&str]) {
    if !python() {
        return;
    }
    let nack = workers();
    let cases = judged(&nack, subject, &[], 0);
    // What these programs cannot be given is an HTTP client's part, and nothing else.
    for case in cases.iter().filter(|case| case["verdict"] != "pass") {
        assert_eq!(case["verdict"], "not_covered", "{case}");
        assert!(case["because"]["detail"].as_str().is_some_and(|detail| detail.starts_with("http")), "{case}");
    }
    for wanted in killed {
        let case = cases.iter().find(|case| name(case) == *wanted).expect("the contract has it");
        assert_eq!(case["verdict"], "pass", "{case}");
        assert!(case["fault"][0].as_str().is_some_and(|fault| fault.starts_with("kill at ")), "{case}");
    }
    assert_eq!(left_behind(&nack), Vec::<String>::new());
}

/// The worker's own word for it. An error unwinds, so the code around the point runs; SIGKILL lets nothing run.
#[rstest]
#[case::killed("outbox/crash/after-claim+kill", &["reached"])]
#[case::raised("outbox/crash/after-claim+raise", &["reached", "unwound"])]
fn a_killed_worker_runs_nothing_more(#[case] case: &str, #[case] words: &[&str]) {
    if !python() {
        return;
    }
    let nack = workers();
    edit(
        &nack,
        "        checkpoint(\"after_claim\")\n",
        r#"
        import signal
        note = lambda word: open("words", "a").write(word + "\n")
        # What a gentler signal would run.
        signal.signal(signal.SIGTERM, lambda *_: note("terminated"))
        note("reached")
        try:
            checkpoint("after_claim")
        except BaseException:
            note("unwound")
            raise
"#,
    );
    let _ = nack.run(&["replay", case, "--subject", "outbox"]).code(0);
    let said = fs::read_to_string(nack.path().join("words")).expect("the worker reached the point");
    assert_eq!(said.lines().collect::<Vec<_>>(), words);
}

/// The mistakes that look right in a review.
#[rstest]
fn every_listed_defect_is_exit_1_as_its_contract_says(#[values("outbox", "relay", "consumer")] subject: &str) {
    if !python() {
        return;
    }
    for edit in listed(&shipped().join(format!("{subject}.edits.toml"))) {
        let nack = workers();
        edit.make(nack.path());
        edit.must_be_killed(&nack, subject);
    }
}

/// "ok" is a word that no contract knows, so it accepts nothing.
#[test]
fn a_worker_that_takes_ok_for_acceptance_is_exit_1_by_the_rows_of_other_answers() {
    if !python() {
        return;
    }
    let nack = workers();
    edit(&nack, "if result == ACCEPTED:", "if result in (ACCEPTED, 'ok'):");
    let cases = judged(&nack, "outbox", &["outbox/deliver/other+other", "outbox/decide/other"], 1);
    let failed = with_verdict(&cases, "fail");
    assert!(["outbox/deliver/other+other", "outbox/decide/other"].iter().all(|wanted| failed.contains(wanted)));
}

/// Several processes of the worker on one file, again and again.
fn races_end_alike(times: usize) {
    if !python() {
        return;
    }
    let nack = workers();
    let races = ["outbox/race-held", "outbox/race-many", "outbox/late-after-takeover"];
    let verdicts = || -> BTreeMap<String, String> {
        let cases = judged(&nack, "outbox", &races, 0);
        cases.iter().map(|case| (name(case).to_owned(), case["verdict"].to_string())).collect()
    };
    let first = verdicts();
    assert!(first.len() >= 6 && first.values().all(|verdict| verdict == "\"pass\""), "{first:?}");
    for time in 1..times {
        assert_eq!(verdicts(), first, "run {time}");
    }
    assert_eq!(left_behind(&nack), Vec::<String>::new());
}

#[test]
fn races_of_two_processes_on_one_file_end_alike_five_times() {
    races_end_alike(5);
}

/// The same at length: `cargo test -p nack-cli --test cli twenty_times -- --ignored`.
#[test]
#[ignore = "twenty runs take half a minute; five of them are in every run of the tests"]
fn races_of_two_processes_on_one_file_end_alike_twenty_times() {
    races_end_alike(20);
}
