//! Where no program can be kept in the case's time.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::clock::Clock;

/// Why programs cannot be kept in the case's time here.
pub(super) fn refused() -> Option<String> {
    Some("that takes Linux on x86-64".to_owned())
}

/// The number of the process that runs a call's program, where this one was started for it.
pub(super) fn program(_: u32) -> Option<u32> {
    None
}

/// There is none.
#[derive(Debug)]
pub(super) enum Time {}

impl Time {
    pub(super) fn begin(_: &Clock, _: &Path) -> io::Result<Time> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn meet(&mut self, _: &Clock) {
        match *self {}
    }

    pub(super) fn words(&mut self, _: &Clock, _: &str, _: Vec<OsString>) -> io::Result<(Vec<OsString>, PathBuf)> {
        match *self {}
    }

    pub(super) fn hold(&self, _: &str, _: bool) {
        match *self {}
    }

    pub(super) fn stand_still(&self, _: bool) {
        match *self {}
    }

    pub(super) fn leave(&self, _: &str) {
        match *self {}
    }

    pub(super) fn left(_: &Path) -> Option<String> {
        None
    }
}
