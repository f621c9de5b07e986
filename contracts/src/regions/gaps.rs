use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::Region;
use super::grid::Grid;
use super::search::search;

/// How far [`gaps`] goes.
///
/// Rows that come of thinking a table through stay far below both limits. Rows that are nearly random do not: what
/// they leave open can be more boxes than fit in memory, and finding it takes exponential time in the worst case.
/// Neither limit is a clock, so a result never depends on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// How many boxes to find, counted before they are merged.
    pub regions: usize,
    /// How many cells to look at, roughly. The default takes about half a second.
    pub work: u64,
}

impl Default for Limit {
    fn default() -> Self {
        Self { regions: 4096, work: 50_000_000 }
    }
}

/// What no row of a table covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gaps {
    /// Disjoint boxes without a row, in the order of their first points.
    pub regions: Vec<Region>,
    /// Whether these are all. If not, a [`Limit`] was reached: every region is a gap all the same, but there may be
    /// others, and no region at all does not mean that there is no gap.
    pub complete: bool,
}

/// What no row covers of the space whose column `c` has `sizes[c]` classes.
///
/// If the result is complete, the union of its regions is exactly the points in no row. The regions are merged until
/// no two of them differ in only one column, which makes them few but not always as few as could be. Rows may
/// overlap; one with an empty cell covers nothing; a class that its column does not have is ignored.
///
/// # Panics
///
/// If a row has not as many columns as `sizes`.
pub fn gaps(sizes: &[usize], rows: &[Region], limit: Limit) -> Gaps {
    let grid = Grid::new(sizes, rows);
    let space = Grid::new(sizes, [&Region::full(sizes)]);
    let mut found = Vec::new();
    let mut work = limit.work;
    let complete = search(&grid, space.row(0), &mut work, |gap| {
        let room = found.len() < limit.regions;
        if room {
            found.push(gap.to_vec());
        }
        room
    });
    merge(&grid, &mut found);
    let mut regions: Vec<Region> = found.iter().map(|gap| grid.region(gap)).collect();
    // Disjoint boxes have different first points, so there is one such order.
    regions.sort_by_cached_key(Region::first_point);
    Gaps { regions, complete }
}

/// Makes one box of boxes that are equal in all columns but one, for as long as there are any.
fn merge(grid: &Grid, boxes: &mut Vec<Vec<u64>>) {
    let mut unchanged = 0;
    for column in (0..grid.columns()).cycle() {
        let before = boxes.len();
        merge_along(grid, boxes, column);
        unchanged = if boxes.len() == before { unchanged + 1 } else { 1 };
        if unchanged >= grid.columns() {
            break;
        }
    }
}

fn merge_along(grid: &Grid, boxes: &mut Vec<Vec<u64>>, column: usize) {
    let span = grid.span(column);
    let mut merged: Vec<Vec<u64>> = Vec::with_capacity(boxes.len());
    let mut places = HashMap::with_capacity(boxes.len());
    for region in boxes.drain(..) {
        let mut others = region.clone();
        others[span.clone()].fill(0);
        match places.entry(others) {
            Entry::Occupied(place) => {
                let into: &mut Vec<u64> = &mut merged[*place.get()];
                into[span.clone()].iter_mut().zip(&region[span.clone()]).for_each(|(into, word)| *into |= word);
            }
            Entry::Vacant(place) => {
                place.insert(merged.len());
                merged.push(region);
            }
        }
    }
    *boxes = merged;
}
