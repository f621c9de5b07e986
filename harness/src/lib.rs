//! Runs the cases of a contract against a subject.
pub mod clock;
pub mod inprocess;
pub mod session;
pub mod store;
pub mod subject;
