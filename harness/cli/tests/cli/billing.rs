//! Both sides of the billing contract over HTTP, from the binary: Ordering's client calls a service that nack plays,
//! Billing's service is called. Each holds, and each listed defect is exit 1 as the contract says.

use std::fs;

use rstest::rstest;
use serde_json::Value;

use crate::common::Nack;
use crate::edits::listed;
use crate::servers::programs;
use crate::subjects::{left_behind, python};

fn sides() -> Nack {
    let nack = Nack::new();
    for file in ["nack.toml", "schema.sql", "python/ordering.py", "python/billing.py"] {
        nack.write(file, &fs::read_to_string(programs().join("billing").join(file)).expect("it is shipped"));
    }
    nack
}

#[rstest]
#[case::client("ordering", &["client/hang", "client/lost", "retry/hang", "client-crash/before_ask+kill"])]
#[case::service("billing", &["reserve-first/first", "confirm/released", "sweep/abandoned", "abandoned"])]
fn a_sound_side_holds_over_http(#[case] subject: &str, #[case] held: &[&str]) {
    if !python() {
        return;
    }
    let nack = sides();
    let _ = nack.run(&["run", "--subject", subject, "--jobs", "3", "--report", "json=nack.json"]).code(0);
    let text = fs::read_to_string(nack.path().join("nack.json")).expect("the report was written");
    let report: Value = serde_json::from_str(&text).expect("it is JSON");
    for wanted in held {
        let name = format!("billing-reservation/{wanted}");
        let cases = report["cases"].as_array().expect("it lists cases");
        let case = cases.iter().find(|case| case["name"] == name.as_str()).expect("the contract has it");
        assert_eq!(case["verdict"], "pass", "{case:#}");
    }
    assert_eq!(left_behind(&nack), Vec::<String>::new());
}

#[rstest]
fn every_listed_defect_is_exit_1_as_its_contract_says(#[values("ordering", "billing")] subject: &str) {
    if !python() {
        return;
    }
    for edit in listed(&programs().join(format!("billing/python/{subject}.edits.toml"))) {
        let nack = sides();
        edit.make(&nack.path().join("python"));
        edit.must_be_killed(&nack, subject);
    }
}

#[rstest]
#[case::no_such_error("_error = \"conflict\"", "_error = \"conflcit\"", "did you mean `conflict`?")]
#[case::no_such_word("201 = \"reserved\", 409", "201 = \"resrved\", 409", "which is no word of `told`")]
#[case::no_status("201 = \"reserved\", 409", "99 = \"reserved\", 409", "`99` is no status")]
fn a_mistake_in_what_a_status_means_is_one_message(#[case] from: &str, #[case] to: &str, #[case] says: &str) {
    let nack = sides();
    let binding = fs::read_to_string(nack.path().join("nack.toml")).expect("it was copied");
    assert!(binding.contains(from), "{binding}");
    nack.write("nack.toml", &binding.replacen(from, to, 1));
    let _ = nack.run(&["run", "--subject", "billing"]).code(2).says(says).says("nack.toml:").says("help");
}

#[test]
fn a_status_that_the_binding_does_not_name_is_no_word_of_the_contract() {
    if !python() {
        return;
    }
    let nack = sides();
    let binding = fs::read_to_string(nack.path().join("nack.toml")).expect("it was copied");
    nack.write("nack.toml", &binding.replacen("201 = \"reserved\", 409", "200 = \"reserved\", 409", 1));
    let run = ["run", "billing-reservation/reserve-first/first", "--subject", "billing"];
    let _ = nack.run(&run).code(1).says("HTTP 201 (not in the status map)");
}
