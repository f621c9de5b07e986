//! `nack audit`: a log in, a report and an exit code out, and nothing else touched.

use std::io::Write as _;
use std::process::Stdio;

use rstest::rstest;

use crate::common::Nack;

const LOG: &str =
    "id,at,from,result,attempts,to\nm-1,1800000000,inflight,accepted,1,sent\nm-2,1800000001,inflight,ok,1,sent\n";

fn with_log(log: &str) -> Nack {
    let nack = Nack::new();
    nack.write("moves.csv", log);
    nack
}

#[test]
fn a_log_that_breaks_a_rule_is_convicted_with_line_count_and_time() {
    let _ = with_log(LOG)
        .run(&["audit", "outbox", "--log", "moves.csv"])
        .code(1)
        .says("FAIL  outbox/audit/decided/other")
        .says("1 of 2 lines (50.000 %), at 2027-01-15 08:00:01")
        .says("moves.csv:3  id=m-2")
        .says("replay: nack audit outbox --log moves.csv --only decided")
        .says("guessed of the log: it is CSV");
}

#[rstest]
#[case::nothing_wrong("m-1,1,pending,,1,inflight\nm-1,2,inflight,accepted,1,sent\n", 0)]
#[case::a_rule_broken("m-1,1,inflight,ok,1,sent\n", 1)]
#[case::a_line_not_judged("m-1,1,inflight\n", 3)]
#[case::both("m-1,1,inflight\nm-2,1,inflight,ok,1,sent\n", 1)]
#[case::no_line("", 4)]
fn the_exit_code_says_what_came_of_it(#[case] lines: &str, #[case] code: i32) {
    let log = format!("id,at,from,result,attempts,to\n{lines}");
    let _ = with_log(&log).run(&["audit", "outbox", "--log", "moves.csv"]).code(code);
}

#[rstest]
#[case::no_such_file(&["outbox", "--log", "nowhere.csv"], 2, "nowhere.csv")]
#[case::no_such_glob(&["outbox", "--log", "x*.csv"], 2, "no file has such a name")]
#[case::a_folder(&["outbox", "--log", "."], 2, "this is a folder")]
#[case::no_log(&["outbox"], 2, "name the log with --log")]
#[case::no_such_contract(&["outbx", "--log", "moves.csv"], 4, "did you mean `outbox`?")]
#[case::no_audit(&["member-import", "--log", "moves.csv"], 2, "has no [audit]")]
#[case::no_such_rule(&["outbox", "--log", "moves.csv", "--only", "decide"], 4, "did you mean `decided`?")]
#[case::no_such_column(&["outbox", "--log", "moves.csv", "--column", "form=from"], 2, "did you mean `from`?")]
#[case::not_in_the_log(&["outbox", "--log", "moves.csv", "--column", "from=frm"], 2, "did you mean `from`?")]
#[case::no_such_word(&["outbox", "--log", "moves.csv", "--word", "x=y"], 2, "the contract has no word `y`")]
#[case::no_such_section(&["outbox", "--log", "moves.csv", "--name", "x"], 2, "there is no [audit.x]")]
#[case::no_such_unit(&["outbox", "--log", "moves.csv", "--time", "weeks"], 2, "weeks")]
#[case::no_such_kind(&["outbox", "--log", "moves.csv", "--report", "xml=x"], 2, "valid kinds")]
fn what_is_wrong_is_said_once_with_its_mend(#[case] args: &[&str], #[case] code: i32, #[case] says: &str) {
    let _ = with_log(LOG).run(&[&["audit"], args].concat()).code(code).says(says).never_says("panicked");
}

#[test]
fn what_is_piped_in_is_a_log_too() {
    let nack = Nack::new();
    let mut command = nack.command(&["audit", "outbox", "--log", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(LOG.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("standard input:3"));
}

#[test]
fn a_section_of_the_binding_says_where_the_log_lies_and_how_it_spells() {
    let nack = Nack::new();
    nack.write("logs/a.csv", "wer,alt,neu,ergebnis,versuch\nm-1,working,delivered,fine,7\n");
    nack.write("logs/b.csv", "wer,alt,neu,ergebnis,versuch\nm-2,working,queued,transient,7\n");
    nack.write(
        "nack.toml",
        "[audit.mail]\ncontract = \"outbox\"\nlog = \"logs/*.csv\"\nparams = { budget = 8 }\n\
         columns = { id = \"wer\", from = \"alt\", to = \"neu\", result = \"ergebnis\", attempts = \"versuch\" }\n\
         words.state = { working = \"inflight\", delivered = \"sent\", queued = \"pending\" }\n",
    );
    let _ = nack
        .run(&["audit", "outbox"])
        .code(1)
        .says("FAIL  outbox/audit/decided/other")
        .says("logs/a.csv:2  id=m-1 from=working")
        .says("1 failed")
        .says("overridden: budget = 8");
}

#[test]
fn a_known_failure_is_known_and_one_that_is_gone_is_an_error() {
    let nack = with_log(LOG);
    let entry = |row: &str| format!("[[known]]\ncase = \"outbox/audit/decided/{row}\"\nwhy = \"mended in May\"\n");
    nack.write("known.toml", &entry("other"));
    let args = ["audit", "outbox", "--log", "moves.csv", "--known", "known.toml"];
    let _ = nack.run(&args).code(0).says("1 known");
    nack.write("known.toml", &(entry("other") + &entry("accepted-below-max")));
    let _ = nack.run(&args).code(2).says("this case passes now");
    nack.write("known.toml", &entry("othr"));
    let _ = nack.run(&args).code(2).says("there is no case");
}

#[test]
fn every_kind_of_report_is_written_and_the_json_fits_its_schema() {
    let nack = with_log(&format!("{LOG}m-<b>|@x,1,inflight\u{1b}[31m,accepted,1,sent\nm-3,1,sent\n"));
    let kinds = ["--report", "json=a.json", "--report", "md=a.md", "--report", "junit=a.xml"];
    let _ =
        nack.run(&[&["audit", "outbox", "--log", "moves.csv"], &kinds[..]].concat()).code(1).never_says("\u{1b}[31m");
    let read = |name: &str| std::fs::read_to_string(nack.path().join(name)).expect("it was written");
    let report: serde_json::Value = serde_json::from_str(&read("a.json")).expect("it is JSON");
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../reports/report.schema.json")).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
    let found: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
    assert!(found.is_empty(), "{found:#?}");
    let cases = report["cases"].as_array().expect("cases");
    let other = cases.iter().find(|case| case["name"] == "outbox/audit/decided/other").expect("the case");
    assert_eq!(other["found"]["broken"], 1);
    assert_eq!(other["found"]["offenders"][0]["place"], "moves.csv:3");
    assert!(
        read("a.md").contains("outbox/audit/decided/other") && read("a.xml").contains("outbox/audit/decided/other")
    );
}

#[test]
fn the_payload_of_a_row_is_never_shown() {
    let log = "id,at,from,result,attempts,to,payload\nm-1,1,inflight,ok,1,sent,secret-of-ann\n";
    let nack = with_log(log);
    let _ = nack
        .run(&["audit", "outbox", "--log", "moves.csv", "-v"])
        .code(1)
        .says("payload=(13 bytes)")
        .never_says("secret");
}
