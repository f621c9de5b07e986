//! The README tells the truth: its transcript is what nack prints, and its counts are what the contracts give.

use crate::common::Nack;

const README: &str = include_str!("../../../../README.md");

/// Timings are the one thing that differs between two runs.
fn timeless(text: &str) -> String {
    text.lines()
        .map(|line| match line.split_once("(seed 0, ") {
            Some((head, _)) => format!("{head}(seed 0)"),
            None => line.trim_end().to_owned(),
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_failing_transcript_is_what_nack_prints() {
    let (_, rest) = README.split_once("`nack run ").expect("the README shows a command");
    let (command, rest) = rest.split_once('`').expect("it ends");
    let (_, rest) = rest.split_once("```text\n").expect("its output follows");
    let (shown, _) = rest.split_once("```").expect("it ends, too");
    let args: Vec<&str> = ["run"].into_iter().chain(command.split_whitespace()).collect();
    let ran = Nack::new().run(&args).code(1);
    assert_eq!(timeless(shown.trim_end()), timeless(ran.stdout.trim_end()));
}

#[test]
fn the_table_of_contracts_counts_right() {
    for source in nack_contracts::shipped() {
        let contract = nack_contracts::Contract::read(source, &Default::default()).expect("it reads");
        let cases = nack_cases::expand_all(&contract).expect("it expands").len();
        let row = README.lines().find(|line| line.starts_with(&format!("| `{}` |", contract.name)));
        let row = row.unwrap_or_else(|| panic!("{} is in the table", contract.name));
        assert!(row.ends_with(&format!("| {cases} | {} |", contract.mutants.len())), "{row}");
    }
}
