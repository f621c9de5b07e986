use super::Region;
use super::grid::Grid;
use super::search::search;

/// The rows that decide nothing alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Covered {
    /// Rows of which the others cover every point, in order.
    pub rows: Vec<usize>,
    /// Whether these are all. If not, the work was used up, and some rows were left undecided.
    pub complete: bool,
}

/// All rows that [`covered_by_others`] is true for, as far as looking at about `work` cells finds out.
///
/// Two rows that cover the same points are both covered, each by the other: that one of them can go does not mean
/// that both can.
///
/// # Panics
///
/// If the rows have not all as many columns.
pub fn covered(rows: &[Region], mut work: u64) -> Covered {
    let meetings = Grid::of_rows(rows).meetings();
    let mut found = Covered { rows: Vec::new(), complete: true };
    for (index, row) in rows.iter().enumerate() {
        let others: Vec<usize> = meetings.of(index).filter(|other| *other != index).collect();
        if others.is_empty() && !row.is_empty() {
            continue;
        }
        match is_covered(row, others.iter().map(|other| &rows[*other]), &mut work) {
            Some(true) => found.rows.push(index),
            Some(false) => {}
            None => found.complete = false,
        }
    }
    found
}

/// Whether the other rows together cover all of a row. A row with an empty cell always is.
///
/// This comes to an answer, whatever it takes: see [`covered`] for all rows of a table that may be anything.
///
/// # Panics
///
/// If there is no row `index`.
pub fn covered_by_others(rows: &[Region], index: usize) -> bool {
    let row = &rows[index];
    let others = rows.iter().enumerate().filter(|(other, region)| *other != index && region.intersects(row));
    let mut boundless = u64::MAX;
    is_covered(row, others.map(|(_, region)| region), &mut boundless) == Some(true)
}

/// `None` if the work is used up before there is an answer. One point of the row's own is answer enough.
fn is_covered<'a>(row: &Region, others: impl Iterator<Item = &'a Region>, work: &mut u64) -> Option<bool> {
    let sizes: Vec<usize> = row.columns.iter().map(|set| set.last().map_or(0, |class| class + 1)).collect();
    let space = Grid::new(&sizes, [row]);
    let mut own_point = false;
    let complete = search(&Grid::new(&sizes, others), space.row(0), work, |_| {
        own_point = true;
        false
    });
    if complete || own_point { Some(!own_point) } else { None }
}
