//! HTTP as nack speaks it: as the receiver that a subject calls, and as the caller of a server under test. Sockets
//! never block and nothing here has a thread, so whoever owns a receiver or an exchange waits on its descriptors
//! together with everything else, gives it a turn, and hears what came of it.

pub mod answers;
pub mod client;
pub mod columns;
mod connection;
mod curl;
mod framing;
pub mod message;
mod reading;
pub mod receiver;

pub use curl::curl_line;
pub use reading::{AnswerReader, Broken, RequestReader};

/// How much is read from one connection before the others have their turn.
const TURN: usize = 256 << 10;
