//! One result model, and its renderings for people and machines.

mod model;

pub use model::*;
