//! The in-process adapter: workers are threads that run one at a time, and stop where the runner wants them to.

mod context;
mod db;
mod session;

pub use context::Context;
pub use db::Db;
pub use session::InProcess;
