//! `--known`: a listed failure is known and not green by silence, and the list can only get shorter.

use crate::common::{Nack, Ran};
use rstest::rstest;

const DEFECT: &[&str] = &["run", "outbox/deliver/permanent+permanent", "--defect", "permanent-retried"];
const CASE: &str = "outbox/deliver/permanent+permanent";

fn run(known: &str, args: &[&str]) -> Ran {
    let nack = Nack::new();
    nack.write("known.toml", known);
    nack.run(&[args, &["--known", "known.toml", "--subject", "reference"]].concat())
}

fn entry(case: &str, rest: &str) -> String {
    format!("[[known]]\ncase = \"{case}\"\n{rest}\n")
}

#[test]
fn a_listed_failure_is_known_with_its_reason_and_the_others_still_fail() {
    let all = run("", &["run", "outbox/deliver", "--defect", "permanent-retried"]).code(1);
    let names: Vec<String> = all
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with("outbox/deliver/")))
        .map(str::to_owned)
        .collect();
    assert!(names.iter().any(|name| name == CASE), "{}", all.stdout);
    let known = entry(CASE, "why = \"to be mended by the mail team\"");
    let _ = run(&known, DEFECT).code(1).says("1 known").says("to be mended by the mail team");
}

#[rstest]
#[case::no_such_case(&entry("outbox/delivr", "why = \"x\""), DEFECT, "known.toml:1")]
#[case::no_such_subject(&entry(CASE, "why = \"x\"\nsubject = \"refrence\""), DEFECT, "did you mean `reference`?")]
#[case::no_reason(&entry(CASE, "why = \" \""), DEFECT, "it has no reason")]
#[case::an_unknown_key(&entry(CASE, "why = \"x\"\nuntil = \"2027\""), DEFECT, "unknown field `until`")]
#[case::it_passes_now(&entry(CASE, "why = \"x\""), &["run", CASE], "this case passes now")]
fn a_list_that_is_wrong_is_an_error_with_its_line(#[case] known: &str, #[case] args: &[&str], #[case] says: &str) {
    let _ = run(known, args).code(2).says("known.toml:").says(says);
}

#[test]
fn a_list_that_is_not_there_is_an_error() {
    let _ = Nack::new().run(&["run", CASE, "--known", "nowhere.toml"]).code(2).says("nowhere.toml");
}
