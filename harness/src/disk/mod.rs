//! From the log of what a run did to its store to every disk that a crash could have left.

pub mod file;
pub mod folder;
pub mod kill;
mod laying;
pub mod log;
pub mod model;
mod pending;
pub mod power;
pub mod search;
pub mod shrink;
pub mod sweep;
pub mod timeline;
pub mod tree;
