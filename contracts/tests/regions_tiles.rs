//! The linter's set algebra on tables that are far too large to enumerate and whose flaws are known all the same.

use nack_contracts::regions::{Limit, Overlap, Region, covered, covered_by_others, gaps, overlaps};
use rstest::rstest;

#[path = "../benches/tiles/mod.rs"]
mod tiles;

use tiles::{Random, Shape, plant, starred, tiles};

/// Twice what the hardest of these tables takes: unlike a clock, this tells a slower search on any machine.
const WORK: u64 = 1_000_000;

#[rstest]
fn tiles_have_exactly_their_planted_flaws(
    #[values(Shape::Bushy, Shape::Deep, Shape::Windmill)] shape: Shape,
    #[values((60, 7, 1500), (4, 9, 600), (150, 3, 600))] (size, columns, count): (usize, usize, usize),
    #[values(0, 1, 20)] flaws: usize,
) {
    let sizes = vec![size; columns];
    let mut random = Random(flaws as u64);
    let table = plant(&sizes, tiles(&sizes, count + flaws, shape, &mut random), flaws, &mut random);
    let found = overlaps(&table.rows);
    table.assert_found(&gaps(&sizes, &table.rows, Limit { work: WORK, ..Limit::default() }), &found);
    assert_eq!(found, all_pairs(&table.rows));
}

#[rstest]
fn a_tile_is_covered_only_if_it_was_written_twice(#[values(Shape::Bushy, Shape::Deep, Shape::Windmill)] shape: Shape) {
    let sizes = [12; 5];
    let mut rows = tiles(&sizes, 300, shape, &mut Random(3));
    let once = rows.len();
    assert_eq!(covered(&rows, Limit::default().work).rows, Vec::<usize>::new());
    // The last row now says what three others say, and all of its parts are found in turn.
    let whole = Region::full(&sizes);
    rows.push(whole);
    let all: Vec<usize> = (0..rows.len()).collect();
    let found = covered(&rows, Limit::default().work);
    assert_eq!((found.rows, found.complete), (all, true));
    rows.remove(0);
    assert!(covered_by_others(&rows, 0));
    assert!(!covered_by_others(&rows, once - 1), "only this row covers what the removed one did");
}

#[rstest]
#[case::few_classes(2, 5)]
#[case::half_of_the_classes(3, 10)]
#[case::between_open_and_covered(5, 19)]
fn hopeless_tables_end_and_say_so(#[case] cells: usize, #[case] classes: usize) {
    let sizes = [20; 12];
    let rows = starred(&sizes, 200, cells, classes, &mut Random(7));
    let limit = Limit { regions: 300, work: 1_000_000 };
    let found = gaps(&sizes, &rows, limit);
    assert!(!found.complete);
    assert!(found.regions.len() <= limit.regions);
    for (index, gap) in found.regions.iter().enumerate() {
        assert!(!rows.iter().any(|row| row.intersects(gap)), "a row covers part of {gap:?}");
        assert!(!found.regions[..index].iter().any(|other| other.intersects(gap)), "{gap:?} is there twice");
    }
    assert_eq!(found, gaps(&sizes, &rows, limit), "the same table has the same gaps");
    assert_eq!(overlaps(&rows), all_pairs(&rows));
}

fn all_pairs(rows: &[Region]) -> Vec<Overlap> {
    let mut pairs = Vec::new();
    for second in 0..rows.len() {
        for first in 0..second {
            if rows[first].intersects(&rows[second]) {
                let shared = rows[first].intersect(&rows[second]).expect("the rows intersect");
                pairs.push(Overlap { first, second, shared });
            }
        }
    }
    pairs.sort_by_key(|pair| (pair.first, pair.second));
    pairs
}
