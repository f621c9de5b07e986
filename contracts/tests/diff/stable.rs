//! The verdict of a change does not depend on how the contract is written.

use nack_contracts::diff::{Change, Direction};
use proptest::prelude::*;
use rstest::rstest;

use crate::changes::{OUTBOX, between, counted, prepared};
use crate::rewrite::{RENAMES, laid_out, renamed, shuffled};

fn rules(changes: &[Change]) -> Vec<String> {
    let mut rules: Vec<String> = counted(changes).into_iter().map(|(rule, _)| rule).collect();
    rules.sort();
    rules
}

#[test]
fn another_order_or_layout_is_no_change() {
    assert_eq!(between(OUTBOX, &laid_out(&shuffled(OUTBOX, 7))), []);
    assert_ne!(shuffled(OUTBOX, 7), OUTBOX);
}

#[rstest]
fn another_name_is_only_a_rename(#[values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)] which: usize) {
    assert!(which < RENAMES);
    let changes = between(OUTBOX, &renamed(OUTBOX, which));
    assert!(!changes.is_empty(), "nothing was renamed");
    let other = changes.iter().filter(|change| change.direction != Direction::Renamed).count();
    assert_eq!(other, 0, "{changes:#?}");
}

/// The two at once, where the name is that of the very thing that changed.
#[rstest]
#[case::a_scenario_that_expects_less("what is expected says less", 0)]
#[case::a_parameter_that_is_raised("the budget is raised", 5)]
#[case::a_parameter_that_is_lowered("the budget is lowered", 5)]
fn what_changed_and_is_called_otherwise_is_still_the_same_thing(#[case] name: &str, #[case] which: usize) {
    let change = (0..20).map(prepared).find(|change| change.name == name).expect("it is prepared");
    let expected: Vec<String> = change.counts.iter().map(|(rule, _)| (*rule).to_owned()).collect();
    let changes = between(OUTBOX, &renamed(&change.text(), which));
    assert_eq!(rules(&changes), expected, "{changes:#?}");
    assert!(changes.iter().any(|change| change.direction == Direction::Renamed));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn a_change_counts_the_same_in_every_order_layout_and_naming(
        number in 0..20_usize,
        seed: u64,
        layout: bool,
        name in proptest::option::of(0..RENAMES),
    ) {
        let change = prepared(number);
        let mut head = shuffled(&change.text(), seed);
        if layout {
            head = laid_out(&head);
        }
        let expected: Vec<String> = change.counts.iter().map(|(rule, _)| (*rule).to_owned()).collect();
        match name {
            None => {
                let counts: Vec<_> =
                    change.counts.iter().map(|(rule, at)| ((*rule).to_owned(), (*at).to_owned())).collect();
                prop_assert_eq!(counted(&between(OUTBOX, &head)), counts);
            }
            Some(which) => {
                let changes = between(OUTBOX, &renamed(&head, which));
                prop_assert_eq!(rules(&changes), expected, "{:#?}", changes);
                prop_assert!(changes.iter().any(|change| change.direction == Direction::Renamed));
            }
        }
    }
}
