use std::collections::HashSet;

use super::grid::{Grid, contains, meets};
use super::search::Node;

/// One row in so many may reach across a cut of [`between_rows`]: such a row stays in every part.
const ROWS_PER_STRADDLER: usize = 4;

/// How many cells [`along_a_cell`] tries. More of them make a cut a little better and a search not shorter.
const CELLS: usize = 16;

/// Splits the classes that a space has in one column.
pub(super) struct Cut {
    pub(super) column: usize,
    /// Two sets or more, not one of them empty, each as the words of the column, one after the other.
    pub(super) parts: Vec<u64>,
}

/// Chooses a cut of a space. Every row meets it and fails to contain it in two columns at least, so there is one. The
/// second value is how many cells were looked at.
///
/// A table in practice was thought up case by case, so its rows fall apart cleanly and [`between_rows`] finds where.
/// If they do not, this is a satisfiability problem like any other, and [`along_a_cell`] is the usual way through.
pub(super) fn choose(grid: &Grid, node: &Node) -> (Cut, u64) {
    let rows = node.rows.len() as u64;
    let mut best = None;
    let mut allowed = node.rows.len() / ROWS_PER_STRADDLER;
    for column in 0..grid.columns() {
        let Some((parts, straddling)) = between_rows(grid, node, column, allowed) else { continue };
        best = Some(Cut { column, parts });
        if straddling == 0 {
            break;
        }
        allowed = straddling - 1;
    }
    match best {
        Some(cut) => (cut, rows * grid.columns() as u64),
        None => (along_a_cell(grid, node), rows * (grid.columns() + CELLS) as u64),
    }
}

/// Puts classes that occur together in a cell into one part, row by row, except for rows that would leave a single
/// part: those straddle the cut. `None` if more than `allowed` do, or if there is nothing to cut.
///
/// The rows come in the order of their conflicts, so where a widened cell crosses an otherwise clean cut it is the
/// widened row that straddles, and not the many rows of one side.
fn between_rows(grid: &Grid, node: &Node, column: usize, allowed: usize) -> Option<(Vec<u64>, usize)> {
    let span = grid.span(column);
    let width = span.len();
    let space = &node.space[span];
    let mut parts: Vec<u64> = Vec::new();
    let mut straddling = 0;
    let mut merged = vec![0; width];
    let mut touched = Vec::new();
    for row in &node.rows {
        intersect(&mut merged, grid.cell(*row, column), space);
        touched.clear();
        touched.extend((0..parts.len() / width).filter(|part| meets(&parts[part * width..][..width], &merged)));
        for part in &touched {
            merged.iter_mut().zip(&parts[part * width..]).for_each(|(merged, part)| *merged |= part);
        }
        if merged == space {
            straddling += 1;
            if straddling > allowed {
                return None;
            }
            continue;
        }
        let Some((first, absorbed)) = touched.split_first() else {
            parts.extend(&merged);
            continue;
        };
        parts[first * width..][..width].copy_from_slice(&merged);
        for part in absorbed.iter().rev() {
            parts.drain(part * width..(part + 1) * width);
        }
    }
    let mut untouched = space.to_vec();
    for part in parts.chunks(width) {
        subtract(&mut untouched, part);
    }
    if untouched.iter().any(|word| *word != 0) {
        parts.extend(untouched);
    }
    (parts.len() > width).then_some((parts, straddling))
}

/// Cuts into the classes of some row's cell and the others.
///
/// A row is done when it has no open column left, which is a column where it does not contain the whole space. So
/// the cut is the one that closes columns on both of its sides, above all for rows with few open ones.
fn along_a_cell(grid: &Grid, node: &Node) -> Cut {
    let open = |row| (0..grid.columns()).filter(move |column| is_open(grid, node, row, *column));
    let mut rows: Vec<(usize, usize)> = node.rows.iter().map(|row| (open(*row).count(), *row)).collect();
    rows.sort_by_key(|(open, _)| *open);

    let mut tried = HashSet::new();
    let mut best: Option<(f64, Cut)> = None;
    for (row, column) in rows.iter().flat_map(|(_, row)| open(*row).map(|column| (*row, column))) {
        if tried.len() == CELLS {
            break;
        }
        let space = &node.space[grid.span(column)];
        let mut inside = vec![0; space.len()];
        intersect(&mut inside, grid.cell(row, column), space);
        if !tried.insert((column, inside.clone())) {
            continue;
        }
        let mut outside = space.to_vec();
        subtract(&mut outside, &inside);

        let (mut closed_inside, mut closed_outside) = (0.0, 0.0);
        for (open, row) in &rows {
            let cell = grid.cell(*row, column);
            let weight = || 4_f64.powi(-i32::try_from(*open).unwrap_or(i32::MAX));
            match (contains(cell, &inside), contains(cell, &outside)) {
                (true, false) => closed_inside += weight(),
                (false, true) => closed_outside += weight(),
                _ => {}
            }
        }
        // Where no cut closes anything on its other side, the first side still counts.
        let score = closed_inside * (closed_outside + 1e-9);
        if best.as_ref().is_none_or(|(most, _)| score > *most) {
            best = Some((score, Cut { column, parts: [outside, inside].concat() }));
        }
    }
    best.expect("a row that does not cover the space has a cell to cut along").1
}

/// Whether the space reaches out of the row in `column`.
fn is_open(grid: &Grid, node: &Node, row: usize, column: usize) -> bool {
    !contains(grid.cell(row, column), &node.space[grid.span(column)])
}

fn intersect(into: &mut [u64], a: &[u64], b: &[u64]) {
    into.iter_mut().zip(a.iter().zip(b)).for_each(|(into, (a, b))| *into = a & b);
}

/// Takes the classes of `other` out of `set`.
pub(super) fn subtract(set: &mut [u64], other: &[u64]) {
    set.iter_mut().zip(other).for_each(|(set, other)| *set &= !other);
}
