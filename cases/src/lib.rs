//! From a contract to named, serialisable cases.
//!
//! Expansion is pure: a contract goes in, and cases come out under names that stay the same when rows and samples are
//! added. A case holds everything a run needs, so it can be stored, sent and replayed.

mod bind;
mod case;
mod expand;
mod explain;
mod lint;
mod matchers;
mod steps;
mod surroundings;

pub use case::*;
pub use expand::{expand, expand_all};
pub use explain::{matcher_words, row_words, steps_in_words};
pub use lint::{below, check};
pub use surroundings::Surroundings;
