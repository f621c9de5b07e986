use super::cut::{self, subtract};
use super::grid::{Grid, contains, meets};

/// A part of the space that is still to be searched.
pub(super) struct Node {
    pub(super) space: Vec<u64>,
    /// The rows that may meet it, those with the fewest conflicts first.
    pub(super) rows: Vec<usize>,
}

/// Hands boxes to `gap` that are disjoint and together all of `space` that no row covers, until `gap` returns
/// `false` or about `work` cells were looked at, which are taken off it. Says whether the search came to its end.
///
/// The space is cut in two or more where few rows are on both sides, and so on with the parts, until a part has no
/// row or is covered by one. Unlike subtracting row after row, this never has more pieces than it has cut itself.
pub(super) fn search(grid: &Grid, space: &[u64], work: &mut u64, mut gap: impl FnMut(&[u64]) -> bool) -> bool {
    // A stack of its own: a table with many classes is cut deeper than a thread's stack may be.
    let mut pending = vec![Node { space: space.to_vec(), rows: quiet_first(grid) }];
    while let Some(mut node) = pending.pop() {
        if *work == 0 {
            return false;
        }
        let (covered, looked_at) = shrink(grid, &mut node);
        *work = work.saturating_sub(looked_at);
        if covered {
            continue;
        }
        if node.rows.is_empty() {
            if !gap(&node.space) {
                return false;
            }
            continue;
        }
        let (cut, looked_at) = cut::choose(grid, &node);
        *work = work.saturating_sub(looked_at);
        let span = grid.span(cut.column);
        for part in cut.parts.chunks(span.len()) {
            let mut space = node.space.clone();
            space[span.clone()].copy_from_slice(part);
            let rows = node.rows.iter().copied().filter(|row| meets(grid.cell(*row, cut.column), part)).collect();
            pending.push(Node { space, rows });
        }
    }
    true
}

fn quiet_first(grid: &Grid) -> Vec<usize> {
    let meetings = grid.meetings();
    let mut rows: Vec<usize> = (0..grid.rows()).collect();
    rows.sort_by_cached_key(|row| meetings.of(*row).count());
    rows
}

/// Takes out of the space what needs no cut: a row that contains the space in all columns but one covers its cell
/// of that column. Says whether that covered all of it. If not, every row left in the node meets the space and has
/// two columns or more that do not contain it. The second value is how many cells were looked at.
fn shrink(grid: &Grid, node: &mut Node) -> (bool, u64) {
    let Node { space, rows } = node;
    let mut looked_at = 0;
    let mut covered = grid.is_empty(space);
    let mut changed = true;
    while changed && !covered {
        changed = false;
        looked_at += (rows.len() * grid.columns()) as u64;
        rows.retain(|row| {
            let row = grid.row(*row);
            if covered || !grid.meet(space, row) {
                return false;
            }
            let spans = (0..grid.columns()).map(|column| grid.span(column));
            let mut open = spans.filter(|span| !contains(&row[span.clone()], &space[span.clone()]));
            match (open.next(), open.next()) {
                (Some(_), Some(_)) => return true,
                // The row meets the space and does not contain it here: something is left.
                (Some(span), None) => subtract(&mut space[span.clone()], &row[span]),
                (None, _) => covered = true,
            }
            changed = true;
            false
        });
    }
    (covered, looked_at)
}
