//! From the log of what a run did to its store to every disk that a crash could have left.

pub mod file;
pub mod log;
pub mod tree;
