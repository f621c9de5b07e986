//! The stdio adapter: a subject in any language, as a process that speaks JSON-RPC 2.0 over its standard input and
//! output, one message a line, both ways. The harness side is [`StdioSession`]; [`serve`] puts an in-process
//! program behind the same protocol; `harness/sdk/PROTOCOL.md` is written from the types in [`message`].

mod adapter;
mod ask;
pub mod message;
#[cfg(test)]
mod page;
mod serve;
mod session;
mod wire;
mod worker;

pub use adapter::StdioAdapter;
pub use serve::{serve, serve_on};
pub use session::{StdioSession, probe};
