use std::collections::HashMap;

use super::Region;
use super::grid::Grid;

/// Two rows that cover the same points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The row that comes first in the table.
    pub first: usize,
    /// The row that comes later.
    pub second: usize,
    /// The points, all of them.
    pub shared: Region,
}

/// Two rows that could be written as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mergeable {
    /// The row that comes first in the table.
    pub first: usize,
    /// The row that comes later.
    pub second: usize,
    /// The only column where their cells differ.
    pub column: usize,
}

/// All pairs of rows that have a point in common, ordered by the first row and then by the second.
///
/// # Panics
///
/// If the rows have not all as many columns.
pub fn overlaps(rows: &[Region]) -> Vec<Overlap> {
    overlapping(rows).collect()
}

/// [`overlaps`] one by one, for who wants to know only the first few of what may be as many as the rows squared.
///
/// # Panics
///
/// If the rows have not all as many columns.
pub fn overlapping(rows: &[Region]) -> impl Iterator<Item = Overlap> + '_ {
    let meetings = Grid::of_rows(rows).meetings();
    (0..rows.len()).flat_map(move |first| {
        let later: Vec<usize> = meetings.of(first).filter(|second| *second > first).collect();
        later.into_iter().filter_map(move |second| {
            rows[first].intersect(&rows[second]).map(|shared| Overlap { first, second, shared })
        })
    })
}

/// The rows with the same output that are equal in all columns but one, ordered by the column, then by the rows.
///
/// Of three rows or more that could be written as one, every later row is paired with the first of them, and not
/// with each other: the pairs of one `first` and `column` are one row. A row with an empty cell is left out, because
/// it says nothing that another row could say with it. So are equal rows, which overlap and do not differ.
///
/// # Panics
///
/// If there are not as many outputs as rows, or if the rows have not all as many columns.
pub fn mergeable(rows: &[Region], outputs: &[usize]) -> Vec<Mergeable> {
    assert_eq!(rows.len(), outputs.len(), "every row has one output");
    let grid = Grid::of_rows(rows);
    let numbers: Vec<Vec<usize>> = (0..grid.columns()).map(|column| grid.distinct(column).0).collect();
    let filled: Vec<usize> = (0..rows.len()).filter(|row| !rows[*row].is_empty()).collect();
    let mut found = Vec::new();
    for column in 0..grid.columns() {
        let mut firsts: HashMap<Vec<usize>, usize> = HashMap::with_capacity(filled.len());
        for second in filled.iter().copied() {
            let others = numbers.iter().enumerate().filter(|(other, _)| *other != column);
            let key = others.map(|(_, numbers)| numbers[second]).chain([outputs[second]]).collect();
            let first = *firsts.entry(key).or_insert(second);
            if numbers[column][first] != numbers[column][second] {
                found.push(Mergeable { first, second, column });
            }
        }
    }
    found.sort_by_key(|pair| (pair.column, pair.first, pair.second));
    found
}
