//! Contracts of nack: decision tables kept as data.
//!
//! A contract is one TOML file that a team froze before the code was written. This crate reads it
//! ([`Contract`]), lints it ([`lint`]), and freezes it ([`freeze`]). It is the only place that holds an
//! expected value; everything else in nack derives from it.

mod value;

pub use value::{BYTES_KEY, Map, Value};
