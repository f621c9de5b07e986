//! The outside that nack plays for a subject: who listens where the subject calls, what its binding says of that, and
//! what comes of it for the runner. A session has one downstream for each worker whose deliveries are told apart.

mod downstream;
mod effects;

pub(crate) use downstream::Downstream;
pub use effects::Effects;
