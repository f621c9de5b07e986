//! The guides are true: every command in them runs, and ends as the guide says it does.

use std::process::Command;

use rstest::rstest;

use crate::common::Nack;

const OUTBOX: &str = include_str!("../../../../contracts/outbox.toml");
const RELAY: &str = include_str!("../../../../contracts/order-relay.toml");

/// A repository as the guides have it: contracts, frozen, on `main` and on the branch under review.
fn repository(guide: &str) -> Nack {
    let nack = Nack::new();
    nack.write("contracts/outbox.toml", OUTBOX);
    nack.write("contracts/order-relay.toml", RELAY);
    for block in guide.split("```toml\n").skip(1).filter_map(|rest| rest.split_once("```").map(|(block, _)| block)) {
        if block.contains("format = 1") {
            nack.write("mine/door.toml", block);
        }
    }
    let _ = nack.run(&["freeze"]).code(0);
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["add", "."],
        &["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false", "commit", "-qm", "base"],
        &["update-ref", "refs/remotes/origin/main", "HEAD"],
    ] {
        let done = Command::new("git").args(args).current_dir(nack.path()).output().expect("git starts");
        assert!(done.status.success(), "git {args:?}: {done:?}");
    }
    nack
}

/// The commands of a guide that are not 0, each with the code that the guide's words promise.
fn code(line: &str) -> i32 {
    match line {
        _ if line.starts_with("nack compare here") => 1,
        _ if line.contains("--require") => 3,
        _ if line.contains("--defect") => 1,
        _ => 0,
    }
}

#[rstest]
#[case::gate(include_str!("../../../guides/gate.md"), 7)]
#[case::review(include_str!("../../../guides/review.md"), 5)]
#[case::contract(include_str!("../../../guides/contract.md"), 5)]
#[case::red(include_str!("../../../guides/red.md"), 7)]
fn every_command_of_a_guide_runs(#[case] guide: &str, #[case] commands: usize) {
    let nack = repository(guide);
    let blocks = guide.split("```sh\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let lines: Vec<&str> = blocks.flat_map(|(block, _)| block.lines()).collect();
    assert_eq!(lines.len(), commands);
    for line in lines {
        let args: Vec<&str> = line.strip_prefix("nack ").expect("a command of nack").split_whitespace().collect();
        let _ = nack.run(&args).code(code(line));
    }
}

#[test]
fn the_acceptance_in_the_guide_is_one() {
    let guide = include_str!("../../../guides/gate.md");
    let (_, accept) = guide.split_once("```toml\n").expect("the guide shows an acceptance");
    let (accept, _) = accept.split_once("```").expect("it ends");
    let nack = repository(guide);
    let raised = OUTBOX.replacen("lease  = 60 ", "lease  = 90 ", 1);
    nack.write("contracts/outbox.toml", &raised);
    let _ = nack.run(&["diff", "origin/main"]).code(1).says("weakened/param");
    nack.write("contracts/outbox.toml", &format!("{raised}\n{accept}"));
    let _ = nack.run(&["diff", "origin/main"]).code(0).says("the mail provider may take a minute and a half");
}
