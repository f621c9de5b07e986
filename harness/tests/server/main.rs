//! Servers that know nothing of nack: started, asked and killed from outside.

mod cases;
mod common;
mod start;
