//! Reaches an unmodified program that is started for each call: its binding says with which words, and what the last
//! word it prints or its exit code means. The program knows nothing of nack; what it calls is played by nack.

mod adapter;
mod reply;
mod session;
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")), path = "untimed.rs")]
mod time;
mod worker;

pub use adapter::CommandAdapter;
