//! The nack command.
fn main() {}
