//! The binary, as a user and a CI job meet it.

mod audit;
mod billing;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod clock;
mod common;
mod diff;
mod edits;
mod exit_codes;
mod github;
mod guide;
mod guides;
mod help;
mod hostile;
mod init;
mod known;
mod live;
#[cfg(feature = "postgres")]
mod postgres;
mod python;
mod readme;
mod reports;
mod sabotage;
mod servers;
mod stored;
mod subjects;
mod warehouse;
mod workers;
