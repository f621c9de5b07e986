//! `nack diff`: two versions of a contract from everywhere they can come from.

use std::process::Command;

use rstest::rstest;

use crate::common::Nack;

const RELAY: &str = include_str!("../../../../contracts/order-relay.toml");
const OUTBOX: &str = include_str!("../../../../contracts/outbox.toml");

fn weakened() -> String {
    let weak =
        OUTBOX.replacen(r#""other",     "*",             "dead"]"#, r#""other",     "*",             "sent"]"#, 1);
    assert_ne!(weak, OUTBOX);
    // The linter refuses a table in which an unknown value succeeds, so whoever weakens it so has to silence that, too.
    weak + "\n[[accept]]\nrule = \"table/open-success\"\nat = \"table.decide.other\"\nwhy = \"nobody will look\"\n"
}

const ACCEPTED: &str = "\n[[accept]]\nrule = \"weakened/success\"\nat = \"table.decide.other\"\ndate = \"2026-12-01\"\nwhy = \"the transport says ok now\"\n[[accept]]\nrule = \"weakened/accept\"\nat = \"table.decide.other\"\ndate = \"2026-12-01\"\nwhy = \"it follows\"\n";

#[test]
fn a_weakened_file_is_1_and_names_the_row_the_line_and_the_mend() {
    let nack = Nack::new();
    nack.write("old.toml", OUTBOX);
    nack.write("new.toml", &weakened());
    let line = 1 + weakened().lines().zip(OUTBOX.lines()).take_while(|(new, old)| new == old).count();
    let _ = nack
        .run(&["diff", "old.toml", "new.toml"])
        .code(1)
        .says("`next` was `dead` and is `sent`, for asked = inflight, result = other")
        .says("weakened/success")
        .says(&format!("new.toml:{line}"))
        .says("[[accept]]");
    let _ = nack.run(&["diff", "new.toml", "old.toml"]).code(0).says("strengthened");
    let _ = nack.run(&["diff", "old.toml", "old.toml"]).code(0).says("nothing that a contract says has changed");
}

#[test]
fn a_dated_reason_in_the_newer_contract_is_0_and_is_printed() {
    let nack = Nack::new();
    nack.write("old.toml", OUTBOX);
    nack.write("new.toml", &(weakened() + ACCEPTED));
    let _ =
        nack.run(&["diff", "old.toml", "new.toml"]).code(0).says("accepted on 2026-12-01: the transport says ok now");
    nack.write("same.toml", &(OUTBOX.to_owned() + ACCEPTED));
    let _ = nack.run(&["diff", "old.toml", "same.toml"]).code(2).says("accept/unused").says("same.toml");
}

#[rstest]
#[case::of_a_folder("base")]
#[case::of_a_revision("HEAD")]
#[case::of_a_folder_in_a_revision("HEAD:contracts")]
#[case::of_a_file_in_a_revision("HEAD:contracts/outbox.toml")]
fn the_base_may_be_a_folder_or_a_revision(#[case] base: &str) {
    let nack = Nack::new();
    for folder in ["contracts", "base"] {
        nack.write(&format!("{folder}/outbox.toml"), OUTBOX);
        nack.write(&format!("{folder}/order-relay.toml"), RELAY);
    }
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"];
        let done = Command::new("git").args(who).args(args).current_dir(nack.path()).output().expect("git starts");
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "base"]);
    let _ = nack.run(&["diff", base]).code(0).says("nothing that a contract says has changed");
    nack.write("contracts/outbox.toml", &weakened());
    let _ = nack.run(&["diff", base]).code(1).says("weakened/success");
    if !base.ends_with(".toml") {
        std::fs::remove_file(nack.path().join("contracts/order-relay.toml")).expect("it was there");
        let _ = nack.run(&["diff", base]).code(1).says("the contract `order-relay` is gone");
    }
    git(&["diff", "--quiet", "--", "base"]);
}

#[test]
fn a_report_tells_which_cases_are_gone() {
    let nack = Nack::new();
    nack.write("contracts/order-relay.toml", RELAY);
    let _ = nack.run(&["run", "order-relay", "--report", "json=base.json", "-q"]).code(0);
    let _ = nack.run(&["diff", "base.json", "contracts"]).code(0).says("a report holds no rules");
    let renamed = RELAY.replace("\"drain\"", "\"drained\"").replace("order-relay/drain", "order-relay/drained");
    nack.write("new/order-relay.toml", &renamed);
    let _ =
        nack.run(&["diff", "base.json", "new"]).code(1).says("weakened/case").says("order-relay order-relay/drain/0");
    let _ = nack.run(&["diff", "contracts", "new"]).code(0).says("`drain` is called `drained` now");
    let _ = nack.run(&["diff", "contracts", "base.json"]).code(2).says("HEAD is a report");
}

#[test]
fn the_markdown_and_the_json_say_the_same() {
    let nack = Nack::new();
    nack.write("old.toml", OUTBOX);
    nack.write("new.toml", &weakened());
    let _ = nack
        .run(&["diff", "old.toml", "new.toml", "--format", "md"])
        .code(1)
        .says("## nack diff: weakened, exit 1: 2 weakened")
        .says("| outbox `table.decide.other` |");
    let ran = nack.run(&["diff", "old.toml", "new.toml", "--format", "json"]).code(1);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((json["exit"].as_u64(), json["changes"].as_array().map(Vec::len)), (Some(1), Some(2)), "{json:#}");
}

#[rstest]
#[case::nothing_there(&["diff", "nowhere"], 2, "there is no such file or folder")]
#[case::an_option_for_git(&["diff", "--", "--upload-pack=x"], 2, "is no git revision")]
#[case::no_report(&["diff", "x.json"], 2, "this is no report of nack")]
#[case::broken(&["diff", "broken.toml", "broken.toml"], 2, "broken.toml")]
fn what_cannot_be_compared_is_2_with_the_mend(#[case] args: &[&str], #[case] code: i32, #[case] words: &str) {
    let nack = Nack::new();
    nack.write("x.json", "{}");
    nack.write("broken.toml", "format = 1\n[");
    let _ = nack.run(args).code(code).says(words).never_says("panicked");
}

#[test]
fn what_is_gone_is_accepted_by_a_contract_that_stays() {
    let nack = Nack::new();
    nack.write("old/outbox.toml", OUTBOX);
    nack.write("old/order-relay.toml", RELAY);
    nack.write("new/outbox.toml", OUTBOX);
    let _ = nack.run(&["diff", "old", "new"]).code(1).says("weakened/contract");
    let accept = "\n[[accept]]\nrule = \"weakened/contract\"\nat = \"contract.order-relay\"\ndate = \"2026-12-01\"\nwhy = \"the relay is a library's now\"\n";
    nack.write("new/outbox.toml", &(OUTBOX.to_owned() + accept));
    let _ = nack.run(&["diff", "old", "new"]).code(0).says("the relay is a library's now");
}
