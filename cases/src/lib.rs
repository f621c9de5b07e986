//! Cases.
mod case;
pub use case::*;
