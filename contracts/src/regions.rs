//! The exact set algebra under the linter: which points of a table no row covers, and which more than one.
//!
//! A table's columns have classes, numbered from zero, and a row's input is a box: a set of classes per column. The
//! points are the choices of one class per column. Under the hit policy UNIQUE exactly one row contains a point,
//! for all of them:
//!
//! - [`gaps`] is what no row contains,
//! - [`overlaps`] is what two rows contain, and [`covered`] is the rows that only repeat others,
//! - [`mergeable`] is what two rows say and one could.
//!
//! The space of a real table has far more points than could be counted through, so nothing here enumerates it: the
//! answers are boxes, and yet exact. Memory grows with the square of the rows, by one bit for a pair of them.

mod class_set;
mod covered;
mod cut;
mod gaps;
mod grid;
mod pairs;
mod region;
mod search;

pub use class_set::ClassSet;
pub use covered::{Covered, covered, covered_by_others};
pub use gaps::{Gaps, Limit, gaps};
pub use pairs::{Mergeable, Overlap, mergeable, overlapping, overlaps};
pub use region::Region;
