//! Judges a server that knows nothing of nack: it is started on a port, asked over HTTP what the contract asks, and
//! killed, from outside.

mod adapter;
mod ports;
mod reply;
mod request;
mod session;
mod start;

pub use adapter::HttpAdapter;
