//! Runs the cases of a contract against a subject, crashes it where a crash can matter, and judges what is durable.

pub mod adapter;
pub mod binding;
pub mod clock;
#[cfg(unix)]
pub mod command;
pub mod conformance;
pub mod disk;

#[cfg(unix)]
pub mod http;
pub mod inprocess;
mod judge;
pub mod known;
#[cfg(unix)]
pub mod outside;
#[cfg(unix)]
pub mod process;
pub mod prove;
pub mod report;
pub mod run;
mod scratch;
#[cfg(unix)]
pub mod server;
pub mod session;
#[cfg(unix)]
pub mod stdio;
pub mod store;
pub mod subject;
mod target;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
pub mod tracer;
pub mod walk;

pub use scratch::scratch;
pub use target::{LoadError, Target};
