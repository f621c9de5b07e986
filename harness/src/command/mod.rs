//! Reaches an unmodified program that is started for each call: its binding says with which words, and what the last
//! word it prints or its exit code means. The program knows nothing of nack; what it calls is played by nack.

mod adapter;
mod reply;
mod session;
mod worker;

pub use adapter::CommandAdapter;
