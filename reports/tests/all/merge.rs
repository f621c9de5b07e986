//! Parts make the whole, or nothing: each way in which they could not is refused by name.

use nack_reports::merge::merge;
use nack_reports::{CaseReport, Counts, Report, Shard, Verdict, uncovered};
use rstest::rstest;

use crate::sample;

/// A whole run, cut into parts by every n-th case.
fn parts(whole: &Report, of: u32) -> Vec<(String, Report)> {
    let part = |k: u32| {
        let mine = |place: &usize| *place % of as usize == k as usize;
        let places: Vec<usize> = (0..whole.cases.len()).filter(mine).collect();
        let cases: Vec<CaseReport> = places.iter().map(|place| whole.cases[*place].clone()).collect();
        let shard = Shard { part: k + 1, of, cases: whole.cases.len(), selection: "0".repeat(16), places };
        let counts = Counts::of(&cases);
        let mut closing: Vec<String> = uncovered(&counts).into_iter().collect();
        closing.extend(whole.closing.iter().filter(|line| !line.contains("are not covered")).cloned());
        let exit = u8::from(cases.iter().any(|case| case.verdict == Verdict::Fail));
        Report { shard: Some(shard), counts, cases, closing, proof: None, exit, elapsed_ms: 1, ..whole.clone() }
    };
    (0..of).map(|k| (format!("{}.json", k + 1), part(k))).collect()
}

fn whole() -> Report {
    let mut whole = Report { proof: None, exit: 1, ..sample::everything() };
    whole.closing.insert(0, uncovered(&whole.counts).expect("some are not covered"));
    whole
}

#[rstest]
fn parts_make_the_whole_in_any_order(#[values(1, 2, 4, 20)] of: u32, #[values(false, true)] backwards: bool) {
    let whole = whole();
    let mut parts = parts(&whole, of);
    if backwards {
        parts.reverse();
    }
    let merged = merge(&parts).expect("they go together");
    assert_eq!(Report { elapsed_ms: whole.elapsed_ms, ..merged }, whole);
}

#[rstest]
#[case::none(|parts: &mut Vec<(String, Report)>| parts.clear(), "there is nothing to join")]
#[case::a_gap(|parts: &mut Vec<_>| { parts.remove(1); }, "of 3 parts these are missing: 2")]
#[case::a_huge_gap(
    |parts: &mut Vec<(String, Report)>| { shard(parts).of = u32::MAX; *parts = parts.split_off(1); parts.truncate(1); },
    "these are missing: 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, and 4294967284 more"
)]
#[case::no_such_part(|parts: &mut Vec<(String, Report)>| shard(parts).part = 9, "there is no part 9 of 3")]
#[case::twice(|parts: &mut Vec<(String, Report)>| parts[2].1 = parts[0].1.clone(), "are both part 1 of 3")]
#[case::a_whole_run(|parts: &mut Vec<(String, Report)>| parts[0].1.shard = None, "1.json is a whole run")]
#[case::other_parts(|parts: &mut Vec<(String, Report)>| shard(parts).of = 4, "one of 4")]
#[case::another_selection(|parts: &mut Vec<(String, Report)>| shard(parts).selection = "1".repeat(16), "two selections")]
#[case::another_seed(|parts: &mut Vec<(String, Report)>| parts[1].1.seed = 8, "seed 7 and 8")]
#[case::another_nack(|parts: &mut Vec<(String, Report)>| parts[1].1.nack = "9".to_owned(), "nack 0.1.0 and 9")]
#[case::another_digest(
    |parts: &mut Vec<(String, Report)>| parts[1].1.contracts[0].digest = "c".repeat(64),
    "the digest of `outbox`, aaaaaaaaaaaa and cccccccccccc"
)]
#[case::a_contract_less(|parts: &mut Vec<(String, Report)>| { parts[1].1.contracts.pop(); }, "is missing")]
#[case::other_subjects(
    |parts: &mut Vec<(String, Report)>| parts[1].1.subjects[0].capabilities.clear(),
    "what those are capable of"
)]
#[case::a_case_less(
    |parts: &mut Vec<(String, Report)>| { parts[1].1.cases.pop(); shard(parts).places.pop(); },
    "did not run to its end"
)]
#[case::a_case_twice(|parts: &mut Vec<(String, Report)>| shard(parts).places[0] = 0, "that another part holds, too")]
#[case::places_lost(|parts: &mut Vec<(String, Report)>| shard(parts).places.clear(), "not as nack wrote it")]
#[case::interrupted(|parts: &mut Vec<(String, Report)>| parts[1].1.exit = 130, "was interrupted")]
fn what_is_no_whole_is_refused(#[case] spoil: fn(&mut Vec<(String, Report)>), #[case] words: &str) {
    let mut parts = parts(&whole(), 3);
    spoil(&mut parts);
    let refused = merge(&parts).expect_err("it is refused").to_string();
    assert!(refused.contains(words), "{refused}");
}

fn shard(parts: &mut [(String, Report)]) -> &mut Shard {
    parts[1].1.shard.as_mut().expect("a part")
}
