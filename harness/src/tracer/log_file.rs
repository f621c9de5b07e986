//! The file between the tracer and the harness. It grows with every operation before the program goes on, so even what
//! a killed tracer leaves is whole up to where it was.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::disk::log::Op;
use crate::disk::tree::Tree;

/// One entry. Each stands behind its length, four bytes, the lowest first.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Entry {
    /// The store before the program began.
    Start(Tree),
    /// One operation.
    Op(Op),
    /// Why the program could not be traced or started at all.
    Refused(Refusal),
    /// Something happened that the recording cannot tell.
    Unsupported(String),
    /// Something went wrong with the recording itself.
    Broken(String),
    /// Every process is gone, and everything before it was written down.
    End,
}

/// Why a program did not become a traced one.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Refusal {
    /// The system does not let it be traced.
    Unsupported(String),
    /// The program itself could not be started.
    NotStarted(String),
}

/// The tracer's end.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    buffer: Vec<u8>,
}

impl Writer {
    pub(super) fn create(path: &Path) -> io::Result<Writer> {
        Ok(Writer { file: File::options().create(true).append(true).open(path)?, buffer: Vec::new() })
    }

    pub(super) fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.buffer.clear();
        self.buffer.extend([0; 4]);
        self.buffer = postcard::to_extend(entry, std::mem::take(&mut self.buffer)).map_err(io::Error::other)?;
        let length = u32::try_from(self.buffer.len() - 4).map_err(io::Error::other)?;
        self.buffer[..4].copy_from_slice(&length.to_le_bytes());
        self.file.write_all(&self.buffer)
    }
}

/// Reads the entries of a log, each with the byte at which it begins. A last one that was cut short is left out.
pub(super) fn read(path: &Path) -> io::Result<Vec<(u64, Entry)>> {
    let all = std::fs::read(path)?;
    let (mut entries, mut rest) = (Vec::new(), all.as_slice());
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let Some((entry, behind)) = behind.split_at_checked(u32::from_le_bytes(*length) as usize) else { break };
        entries.push(((all.len() - rest.len()) as u64, postcard::from_bytes(entry).map_err(io::Error::other)?));
        rest = behind;
    }
    Ok(entries)
}
