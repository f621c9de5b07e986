//! One result model, and its renderings for people and machines. Every output is rendered from the same [`Report`], so
//! their counts agree; every string in it is taken for hostile, so none can forge a line of the output.

pub mod compare;
pub mod escape;
pub mod github;
pub mod json;
pub mod junit;
mod kind;
pub mod markdown;
pub mod merge;
mod model;
mod proof;
mod summary;
pub mod text;

pub use kind::{Kind, UnknownKind, render};
pub use model::*;
pub use proof::*;
pub use summary::uncovered;
