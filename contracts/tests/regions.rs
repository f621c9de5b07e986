//! The linter's set algebra, held against counting through every point of small tables.

use std::collections::BTreeSet;

use nack_contracts::regions::{
    ClassSet, Limit, Mergeable, Overlap, Region, covered, covered_by_others, gaps, mergeable, overlapping, overlaps,
};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use rstest::rstest;

const ENDLESS: Limit = Limit { regions: usize::MAX, work: u64::MAX };

type Table = (Vec<usize>, Vec<Region>);

/// Tables of up to four columns of up to four classes and up to eight rows; cells may be empty.
fn small_table() -> impl Strategy<Value = Table> {
    vec(1..=4_usize, 1..=4).prop_flat_map(|sizes| {
        let rows = vec(sizes.iter().map(|size| cell(*size)).collect::<Vec<_>>(), 0..=8);
        (Just(sizes), rows.prop_map(|rows| rows.into_iter().map(|columns| Region { columns }).collect()))
    })
}

/// Tables of two columns, whose sets are more than one word long.
fn wide_table() -> impl Strategy<Value = Table> {
    let columns = [62..=67_usize, 127..=130_usize];
    columns.prop_flat_map(|sizes| {
        let rows = vec(sizes.map(cell), 0..=6);
        let rows = rows.prop_map(|rows| rows.into_iter().map(|row| Region { columns: row.to_vec() }).collect());
        (Just(sizes.to_vec()), rows)
    })
}

/// Any set of `0..size`; the full set and ranges, which real tables are made of, are as likely as all the others.
fn cell(size: usize) -> impl Strategy<Value = ClassSet> + Clone {
    let any = vec(any::<bool>(), size).prop_map(|bits| (0..bits.len()).filter(|class| bits[*class]).collect());
    let range = (0..size, 0..=size).prop_map(|(start, end)| (start..end).collect());
    prop_oneof![2 => any, 1 => range, 1 => Just(ClassSet::full(size))]
}

fn points(sizes: &[usize]) -> Vec<Vec<usize>> {
    let longer = |points: Vec<Vec<usize>>, size: &usize| {
        points.iter().flat_map(|point| (0..*size).map(move |class| [point.as_slice(), &[class]].concat())).collect()
    };
    sizes.iter().fold(vec![vec![]], longer)
}

fn rows_at<'a>(rows: &'a [Region], point: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
    (0..rows.len()).filter(|row| rows[*row].contains_point(point))
}

fn check_gaps((sizes, rows): &Table) -> Result<(), TestCaseError> {
    let gaps = gaps(sizes, rows, ENDLESS);
    prop_assert!(gaps.complete);
    for point in points(sizes) {
        let expected = usize::from(rows_at(rows, &point).next().is_none());
        prop_assert_eq!(rows_at(&gaps.regions, &point).count(), expected, "gaps at {:?}", point);
    }
    let first_points: Vec<_> = gaps.regions.iter().map(Region::first_point).collect();
    prop_assert!(first_points.is_sorted());
    for (index, gap) in gaps.regions.iter().enumerate() {
        for other in &gaps.regions[..index] {
            let differing = (0..sizes.len()).filter(|column| gap.columns[*column] != other.columns[*column]).count();
            prop_assert!(differing > 1, "{:?} and {:?} are one box", gap, other);
        }
    }
    Ok(())
}

fn check_overlaps((sizes, rows): &Table) -> Result<(), TestCaseError> {
    let overlaps = overlaps(rows);
    let pairs: Vec<_> = overlaps.iter().map(|overlap| (overlap.first, overlap.second)).collect();
    let mut expected = BTreeSet::new();
    for point in points(sizes) {
        let here: Vec<usize> = rows_at(rows, &point).collect();
        expected.extend(here.iter().flat_map(|a| here.iter().filter(move |b| a < *b).map(move |b| (*a, *b))));
        for Overlap { first, second, shared } in &overlaps {
            let both = here.contains(first) && here.contains(second);
            prop_assert_eq!(shared.contains_point(&point), both, "{} and {} at {:?}", first, second, point);
        }
    }
    prop_assert_eq!(pairs, Vec::from_iter(expected));
    Ok(())
}

fn check_covered((sizes, rows): &Table) -> Result<(), TestCaseError> {
    let mut own = BTreeSet::new();
    for point in points(sizes) {
        let here: Vec<usize> = rows_at(rows, &point).collect();
        if let [only] = here[..] {
            own.insert(only);
        }
    }
    let expected: Vec<usize> = (0..rows.len()).filter(|row| !own.contains(row)).collect();
    let one_by_one: Vec<usize> = (0..rows.len()).filter(|row| covered_by_others(rows, *row)).collect();
    prop_assert_eq!(&one_by_one, &expected);
    let all = covered(rows, u64::MAX);
    prop_assert!(all.complete);
    prop_assert_eq!(all.rows, expected);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn gaps_are_the_points_without_a_row(table in small_table()) {
        check_gaps(&table)?;
    }

    #[test]
    fn overlaps_are_the_points_with_two_rows(table in small_table()) {
        check_overlaps(&table)?;
    }

    #[test]
    fn a_row_is_covered_without_a_point_of_its_own(table in small_table()) {
        check_covered(&table)?;
    }

    /// Few classes, because rows that differ in one column only are rare otherwise.
    #[test]
    fn mergeable_rows_pair_with_the_first_of_their_kind(
        rows in vec((cell(2), cell(3), cell(2), 0..2_usize), 0..=12),
    ) {
        let outputs: Vec<usize> = rows.iter().map(|row| row.3).collect();
        let rows: Vec<Region> = rows.into_iter().map(|(a, b, c, _)| Region { columns: vec![a, b, c] }).collect();
        let mut expected = Vec::new();
        for column in 0..3 {
            let like = |a: usize, b: usize| outputs[a] == outputs[b]
                && (0..3).all(|other| other == column || rows[a].columns[other] == rows[b].columns[other]);
            for second in (0..rows.len()).filter(|row| !rows[*row].is_empty()) {
                let first = (0..second).find(|first| !rows[*first].is_empty() && like(*first, second));
                if let Some(first) = first.filter(|first| rows[*first] != rows[second]) {
                    expected.push(Mergeable { first, second, column });
                }
            }
        }
        let mut found = mergeable(&rows, &outputs);
        prop_assert!(found.is_sorted_by_key(|pair| (pair.column, pair.first, pair.second)));
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }

    /// A limit leaves out gaps, but makes none up and never claims to be complete when it is not.
    #[test]
    fn limits_are_told(table in small_table(), regions in 0..6_usize, work in 0..300_u64) {
        let (sizes, rows) = &table;
        let all = gaps(sizes, rows, ENDLESS);
        let some = gaps(sizes, rows, Limit { regions, work });
        prop_assert!(some.regions.len() <= regions);
        for point in points(sizes) {
            let here = rows_at(&some.regions, &point).count();
            prop_assert!(here <= rows_at(&all.regions, &point).count());
        }
        if some.complete {
            prop_assert_eq!(some, all);
        }
        let every = covered(rows, u64::MAX).rows;
        let few = covered(rows, work);
        prop_assert!(few.rows.iter().all(|row| every.contains(row)));
        prop_assert!(!few.complete || few.rows == every);
    }

    #[test]
    fn a_class_set_is_a_set(
        a in btree_set(0..200_usize, 0..12), b in btree_set(0..200_usize, 0..12), class in 0..200_usize,
    ) {
        let (left, right): (ClassSet, ClassSet) = (a.iter().copied().collect(), b.iter().copied().collect());
        let set = |classes: BTreeSet<&usize>| classes.into_iter().copied().collect::<ClassSet>();
        prop_assert_eq!(left.iter().collect::<Vec<_>>(), a.iter().copied().collect::<Vec<_>>());
        prop_assert_eq!((left.len(), left.is_empty()), (a.len(), a.is_empty()));
        prop_assert_eq!((left.first(), left.last()), (a.first().copied(), a.last().copied()));
        prop_assert_eq!(left.contains(class), a.contains(&class));
        prop_assert_eq!(left.union(&right), set(a.union(&b).collect()));
        prop_assert_eq!(left.intersection(&right), set(a.intersection(&b).collect()));
        prop_assert_eq!(left.difference(&right), set(a.difference(&b).collect()));
        prop_assert_eq!(left.intersects(&right), !a.is_disjoint(&b));
        prop_assert_eq!(left.is_subset(&right), a.is_subset(&b));
        prop_assert!(left.intersection(&right).is_subset(&right));
        let mut changed = left.clone();
        prop_assert_eq!(changed.insert(class), !a.contains(&class));
        prop_assert!(changed.contains(class));
        prop_assert!(changed.remove(class) && !changed.remove(class));
        prop_assert_eq!(changed, left.difference(&ClassSet::from_iter([class])));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn columns_may_be_longer_than_a_word(table in wide_table()) {
        check_gaps(&table)?;
        check_overlaps(&table)?;
        check_covered(&table)?;
    }
}

/// Rows from text: a row per word, cells between `/`, the classes as digits.
fn rows(text: &str) -> Vec<Region> {
    let cell = |cell: &str| cell.bytes().map(|digit| usize::from(digit - b'0')).collect();
    text.split_whitespace().map(|row| Region { columns: row.split('/').map(cell).collect() }).collect()
}

#[rstest]
#[case::no_row(&[2, 3], "", "01/012")]
#[case::a_corner(&[2, 2], "0/01 1/0", "1/1")]
#[case::everything(&[2, 2], "0/01 1/01", "")]
#[case::overlapping_rows(&[2, 2], "0/01 01/0 0/0", "1/1")]
#[case::an_empty_cell_covers_nothing(&[2, 2], "01/ 0/01", "1/01")]
#[case::one_box_and_not_two(&[3, 2], "1/01", "02/01")]
#[case::two_boxes(&[2, 2], "0/0 1/1", "0/1 1/0")]
#[case::the_middle_of_a_windmill(&[3, 3], "01/0 2/01 12/2 0/12", "1/1")]
#[case::a_class_that_is_none(&[2], "05", "1")]
#[case::a_column_without_classes(&[2, 0], "", "")]
fn gaps_of(#[case] sizes: &[usize], #[case] table: &str, #[case] expected: &str) {
    let found = gaps(sizes, &rows(table), Limit::default());
    assert!(found.complete);
    assert_eq!(found.regions, rows(expected));
}

#[rstest]
#[case::none("0/0 1/0 0/1", &[])]
#[case::every_pair("01/0 1/01 01/01", &[(0, 1, "1/0"), (0, 2, "01/0"), (1, 2, "1/01")])]
#[case::equal_rows("0/1 0/1", &[(0, 1, "0/1")])]
#[case::empty_cells("/01 /01 01/01", &[])]
fn overlaps_of(#[case] table: &str, #[case] expected: &[(usize, usize, &str)]) {
    let overlap = |(first, second, shared): &(usize, usize, &str)| Overlap {
        first: *first,
        second: *second,
        shared: rows(shared).remove(0),
    };
    assert_eq!(overlaps(&rows(table)), expected.iter().map(overlap).collect::<Vec<_>>());
    assert_eq!(overlapping(&rows(table)).count(), expected.len());
}

#[rstest]
#[case::one_column("0/1 1/1", &[0, 0], &[(0, 1, 0)])]
#[case::another_output("0/1 1/1", &[0, 1], &[])]
#[case::two_columns("0/1 1/0", &[0, 0], &[])]
#[case::three_are_one_row("0/1 2/1 1/1", &[0, 0, 0], &[(0, 1, 0), (0, 2, 0)])]
#[case::in_either_column("0/0 1/0 0/1", &[0, 0, 0], &[(0, 1, 0), (0, 2, 1)])]
#[case::equal_rows("0/1 0/1", &[0, 0], &[])]
#[case::empty_cells("0/ 1/ /0 1/0", &[0, 0, 0, 0], &[])]
fn mergeable_of(#[case] table: &str, #[case] outputs: &[usize], #[case] expected: &[(usize, usize, usize)]) {
    let found = mergeable(&rows(table), outputs);
    assert_eq!(found.iter().map(|pair| (pair.first, pair.second, pair.column)).collect::<Vec<_>>(), expected);
}

#[test]
fn a_table_without_columns_has_one_point() {
    let row = Region { columns: vec![] };
    let once = [row.clone()];
    let twice = [row.clone(), row.clone()];
    assert_eq!(gaps(&[], &[], Limit::default()).regions, once);
    assert_eq!(gaps(&[], &once, Limit::default()).regions, []);
    assert_eq!(overlaps(&twice), [Overlap { first: 0, second: 1, shared: row }]);
    assert_eq!(covered(&twice, u64::MAX).rows, [0, 1]);
    assert!(!covered_by_others(&once, 0));
}

#[test]
fn a_region_has_a_witness() {
    let region = &rows("13/02")[0];
    assert_eq!(region.first_point(), Some(vec![1, 0]));
    assert!(region.contains_point(&[3, 2]) && !region.contains_point(&[2, 2]) && !region.contains_point(&[3]));
    assert_eq!(region.intersect(&rows("3/12")[0]), Some(rows("3/2").remove(0)));
    assert_eq!(region.intersect(&rows("2/0")[0]), None);
    assert_eq!((rows("1/")[0].first_point(), rows("1/")[0].is_empty()), (None, true));
}
