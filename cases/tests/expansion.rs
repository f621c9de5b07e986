//! Expansion is pure and its names are stable: they are what reviews quote and what `killed_by` names.

use std::collections::HashSet;

use indexmap::IndexMap;
use nack_cases::{Action, Case, Step, Surroundings, expand, expand_all};
use nack_contracts::{Contract, Source, shipped};
use proptest::prelude::*;

fn contracts() -> Vec<Contract> {
    let read = |source: Source| Contract::read(source, &IndexMap::new()).expect("a shipped contract reads");
    shipped().into_iter().map(read).collect()
}

fn cases(contract: &Contract) -> Vec<Case> {
    expand_all(contract).unwrap_or_else(|findings| panic!("{}: {findings:#?}", contract.name))
}

#[test]
fn the_names_of_the_shipped_cases_are_pinned() {
    let names: Vec<String> = contracts().iter().flat_map(cases).map(|case| case.name).collect();
    assert_eq!(names.len(), 645);
    insta::assert_snapshot!(names.join("\n"));
}

#[test]
fn a_case_survives_its_json_form() {
    for case in contracts().iter().flat_map(cases) {
        let json = serde_json::to_string(&case).expect("a case is data");
        assert_eq!(serde_json::from_str::<Case>(&json).expect("and reads back"), case);
    }
}

#[test]
fn the_same_contract_gives_the_same_cases() {
    for contract in contracts() {
        assert_eq!(cases(&contract), cases(&contract));
    }
}

#[test]
fn capabilities_choose_the_base_sample_and_drop_no_case() {
    for contract in contracts() {
        let without = expand(&contract, &Surroundings::default()).expect("it expands");
        assert_eq!(without.len(), cases(&contract).len(), "{}", contract.name);
    }
}

/// Outside a subject whose outside answers `transient` in two ways.
fn two_ways() -> Surroundings {
    let words = IndexMap::from([("accepted".to_owned(), 1), ("transient".to_owned(), 2)]);
    Surroundings { capabilities: vec!["http".to_owned()], answers: IndexMap::from([("send".to_owned(), words)]) }
}

/// The samples of the answers to `send` in a case.
fn sent(case: &Case) -> Vec<(String, Action)> {
    let calls = case.steps.iter().filter_map(|step| match step {
        Step::Call(call) => Some(call),
        _ => None,
    });
    let answers = calls.filter_map(|call| call.answers.get("send")).flat_map(|script| script.all());
    answers.map(|answer| (answer.sample.clone(), answer.does.clone())).collect()
}

#[test]
fn a_further_answer_for_a_word_is_a_further_sample_of_its_class() {
    let outbox = contracts().into_iter().find(|contract| contract.name == "outbox").expect("it ships");
    let cases = expand(&outbox, &two_ways()).expect("it expands");
    let named = |name: &str| cases.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no {name}"));
    let transient = || Action::Return("transient".into());
    let base = named("outbox/deliver/transient+transient-below-max");
    assert_eq!(sent(base), [("transient".to_owned(), transient())]);
    let second = named("outbox/deliver/transient+transient-below-max/does=transient-2");
    assert_eq!(sent(second), [("transient-2".to_owned(), transient())]);
    assert_eq!(second.samples["does"], "transient-2");
    // Two rows of transient answers, and nothing else has a case more.
    assert_eq!(cases.len(), expand(&outbox, &Surroundings::default()).expect("it expands").len() + 2);
}

#[test]
fn answers_of_an_effect_that_the_contract_lacks_change_nothing() {
    let outbox = contracts().into_iter().find(|contract| contract.name == "outbox").expect("it ships");
    let mut elsewhere = two_ways();
    elsewhere.answers = elsewhere.answers.into_iter().map(|(_, words)| ("post".to_owned(), words)).collect();
    let count = |surroundings: &Surroundings| expand(&outbox, surroundings).expect("it expands").len();
    assert_eq!(count(&elsewhere), count(&Surroundings::of(elsewhere.capabilities.clone())));
}

#[test]
fn a_name_pastes_into_a_shell_as_it_is() {
    for case in contracts().iter().flat_map(cases) {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/+=._-".contains(c);
        assert!(case.name.chars().all(plain), "{}", case.name);
    }
}

/// A contract with one table of one bound column and any number of values, extra rows and samples.
fn generated(values: &[String], extra: &[String], vary: &str) -> Contract {
    let quoted = |items: &[String]| items.iter().map(|item| format!("\"{item}\"")).collect::<Vec<_>>().join(", ");
    let rows: Vec<String> =
        values.iter().map(|value| format!("[\"row-{value}\", \"{value}\", \"*\", \"yes\"]")).collect();
    let samples: Vec<String> = extra.iter().enumerate().map(|(i, label)| format!("{label} = {i}")).collect();
    let text = format!(
        r#"
        format = 1
        name   = "made"
        title  = "Made up"
        owner  = "nobody"
        [store.s]
        columns = {{ x = "any" }}
        [call.c]
        args  = {{ v = "any", n = "any" }}
        reply = "answer"
        [domain.answer]
        values = ["yes"]
        [domain.v]
        values = [{}]
        [domain.n]
        class.some = {{ {} }}
        [table.t]
        inputs  = ["v", "n"]
        outputs = ["answer"]
        rows    = [{}]
        [[scenario]]
        name  = "tried"
        why   = "Each value is tried."
        bind  = ["t"]
        vary  = "{vary}"
        steps = [{{ call = "c", args = {{ v = "$v", n = "$n" }}, reply = "$answer" }}, {{ expect = {{ s = 0 }} }}]
        "#,
        quoted(values),
        samples.join(", "),
        rows.join(", ")
    );
    Contract::read(Source::new("made.toml", text.clone()), &IndexMap::new())
        .unwrap_or_else(|f| panic!("{text}\n{f:#?}"))
}

fn names(contract: &Contract) -> Vec<String> {
    cases(contract).into_iter().map(|case| case.name).collect()
}

fn words(prefix: &'static str) -> impl Strategy<Value = Vec<String>> {
    (1..6_usize).prop_map(move |n| (0..n).map(|i| format!("{prefix}{i}")).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn names_are_unique(values in words("v"), extra in words("e"), vary in prop::sample::select(vec!["one", "all", "none"])) {
        let names = names(&generated(&values, &extra, vary));
        let distinct: HashSet<&String> = names.iter().collect();
        prop_assert_eq!(distinct.len(), names.len());
        let wanted = match vary { "none" => values.len(), _ => values.len() * extra.len() };
        prop_assert_eq!(names.len(), wanted);
    }

    #[test]
    fn a_new_row_and_a_new_sample_behind_the_others_rename_nothing(
        values in words("v"), extra in words("e"), vary in prop::sample::select(vec!["one", "all", "none"])
    ) {
        let before: HashSet<String> = names(&generated(&values, &extra, vary)).into_iter().collect();
        let (mut more_values, mut more_extra) = (values.clone(), extra.clone());
        more_values.push("vnew".to_owned());
        more_extra.push("enew".to_owned());
        let after: HashSet<String> = names(&generated(&more_values, &more_extra, vary)).into_iter().collect();
        prop_assert!(before.is_subset(&after), "{:?}", before.difference(&after).collect::<Vec<_>>());
    }
}
