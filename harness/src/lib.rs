//! Runs the cases of a contract against a subject, crashes it where a crash can matter, and judges what is durable.

pub mod adapter;
pub mod binding;
pub mod clock;
pub mod conformance;
pub mod disk;

pub mod inprocess;
mod judge;
#[cfg(unix)]
pub mod process;
pub mod prove;
pub mod report;
pub mod run;
mod scratch;
pub mod session;
#[cfg(unix)]
pub mod stdio;
pub mod store;
pub mod subject;
mod target;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
pub mod tracer;

pub use scratch::scratch;
pub use target::{LoadError, Target};
