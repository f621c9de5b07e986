//! The binary, as a user and a CI job meet it.

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod clock;
mod common;
mod edits;
mod exit_codes;
mod guide;
mod hostile;
mod known;
#[cfg(feature = "postgres")]
mod postgres;
mod python;
mod readme;
mod reports;
mod sabotage;
mod servers;
mod subjects;
mod workers;
