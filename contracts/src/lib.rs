//! placeholder

pub mod regions;
