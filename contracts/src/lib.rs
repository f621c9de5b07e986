//! Contracts of nack: decision tables kept as data.
//!
//! A contract is one TOML file that a team froze before the code was written. This crate reads it
//! ([`Contract`]), lints it ([`lint::lint`]), and freezes it ([`freeze`]). It is the only place that holds an
//! expected value; everything else in nack derives from it.

pub mod diff;
mod finding;
pub mod freeze;
mod hash;
pub mod lint;
pub mod model;
mod node;
mod read;
pub mod regions;
pub mod relations;
mod shipped;
mod source;
pub mod template;
mod value;
mod variations;

pub use finding::{Finding, Severity, suggest};
pub use hash::stable_hash;
pub use model::Contract;
pub use node::{Field, Fields, Kind, Node, plain};
pub use shipped::{shipped, shipped_lock};
pub use source::{Position, Source, Span};
pub use value::{BYTES_KEY, Map, Value};
pub use variations::{Variation, variations};
