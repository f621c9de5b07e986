//! A scenario that goes away takes a defence with it, and nobody may miss that: when any one scenario is deleted with
//! all trace of its cases, the lock says which it was and what it had to kill.

use indexmap::IndexMap;
use nack_contracts::freeze::Lock;
use nack_contracts::{Contract, Source, shipped, shipped_lock};
use rstest::rstest;

fn read(file: &str, text: String) -> Contract {
    Contract::read(Source::new(file, text), &IndexMap::new()).unwrap_or_else(|findings| panic!("{findings:#?}"))
}

fn is_below(case: &str, cases: &str) -> bool {
    case.strip_prefix(cases).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The text of a contract without this scenario, without its cases in any `killed_by`, and without the mutants that
/// nothing else kills.
fn without(text: &str, contract: &str, scenario: &str) -> String {
    let cases = format!("{contract}/{scenario}");
    let named = |line: &str| line.split_whitespace().eq(["name", "=", &format!("\"{scenario}\"")]);
    let mut kept = Vec::new();
    for block in text.split("\n[[") {
        if block.starts_with("scenario]]") && block.lines().any(named) {
            continue;
        }
        let literals = || block.split('"').skip(1).step_by(2);
        let killers = literals().filter(|literal| literal.starts_with(&format!("{contract}/")));
        let (gone, stay): (Vec<&str>, Vec<&str>) = killers.partition(|case| is_below(case, &cases));
        if !block.starts_with("mutant]]") || gone.is_empty() {
            kept.push(block.to_owned());
        } else if !stay.is_empty() {
            // A list may end in a comma.
            let drop = |block: String, case: &&str| {
                block.replace(&format!("\"{case}\","), "").replace(&format!("\"{case}\""), "")
            };
            let less = gone.iter().fold(block.to_owned(), drop);
            kept.push(less);
        }
    }
    kept.join("\n[[")
}

#[rstest]
fn a_deleted_scenario_is_named_with_what_it_had_to_kill(
    #[values("outbox", "order-producer", "order-relay", "order-consumer", "member-import", "billing-reservation")]
    name: &str,
) {
    let file = format!("contracts/{name}.toml");
    let source = shipped().into_iter().find(|source| source.file == file).expect("it ships");
    let lock = Lock::read(&shipped_lock()).expect("the lock reads");
    let whole = read(&file, source.text.clone());
    for scenario in &whole.scenarios {
        let less = read(&file, without(&source.text, name, &scenario.name));
        assert_eq!(less.scenarios.len() + 1, whole.scenarios.len(), "{} is deleted alone", scenario.name);
        let cases = format!("{name}/{}", scenario.name);
        let entries = less.mutants.iter().flat_map(|mutant| &mutant.killed_by);
        assert!({ entries }.all(|entry| !is_below(&entry.item, &cases)), "a mutant still names {cases}");
        let drift = lock.drift(&[less], false);
        let lost: Vec<_> = drift.iter().filter(|(_, finding)| finding.rule == "lock/lost").collect();
        let [(0, finding)] = lost[..] else { panic!("{}: {drift:#?}", scenario.name) };
        assert_eq!(finding.at, format!("scenario.{}", scenario.name));
        for mutant in &whole.mutants {
            if mutant.killed_by.iter().any(|entry| is_below(&entry.item, &cases)) {
                assert!(finding.message.contains(&mutant.name), "{}: {}", mutant.name, finding.message);
            }
        }
    }
}
