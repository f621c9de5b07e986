//! Histories that do not fit into memory: the states so far, then every further line of the part, in a temporary file
//! without a name, so that nothing is left of it however nack ends.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read as _, Seek as _, Write as _};

use crate::AuditError;
use crate::order::Shape;
use crate::table::StateTable;
use crate::tally::Place;

/// One part on disk.
pub(crate) struct Spill {
    file: BufWriter<File>,
}

/// The bits of a place's line.
const LINE_BITS: u32 = 48;

impl Spill {
    /// Begins with these states.
    pub(crate) fn of(states: &StateTable) -> Result<Spill, AuditError> {
        let file = tempfile::tempfile().map_err(AuditError::Spill)?;
        let mut spill = Spill { file: BufWriter::new(file) };
        spill.words(&[states.len() as u64])?;
        for entry in states.entries() {
            spill.words(entry)?;
        }
        Ok(spill)
    }

    fn words(&mut self, words: &[u64]) -> Result<(), AuditError> {
        for word in words {
            self.file.write_all(&word.to_le_bytes()).map_err(AuditError::Spill)?;
        }
        Ok(())
    }

    /// Puts lines behind what is there.
    pub(crate) fn lines(
        &mut self,
        lines: &[u64],
        shape: Shape,
        place: &dyn Fn(u64) -> Place,
    ) -> Result<(), AuditError> {
        for line in lines.chunks_exact(shape.width()) {
            let Place { file, line: number } = place(line[2]);
            self.words(&line[..2])?;
            self.words(&[(file as u64) << LINE_BITS | number])?;
            self.words(&line[3..])?;
        }
        Ok(())
    }

    /// The place in a word that was read back.
    pub(crate) fn place(word: u64) -> Place {
        // A log has fewer files than a machine has addresses.
        Place { file: (word >> LINE_BITS) as usize, line: word & ((1 << LINE_BITS) - 1) }
    }

    /// Reads the states back, then hands out the lines.
    pub(crate) fn read(self, states: &mut StateTable, shape: Shape) -> Result<SpilledLines, AuditError> {
        let mut file = self.file.into_inner().map_err(|error| AuditError::Spill(error.into_error()))?;
        file.rewind().map_err(AuditError::Spill)?;
        let mut lines =
            SpilledLines { file: BufReader::with_capacity(1 << 18, file), bytes: Vec::new(), words: Vec::new() };
        let count = lines.words(1)?.map_or(0, |words| words[0]);
        for _ in 0..count {
            let Some(entry) = lines.words(2 + shape.carried)? else { break };
            let (state, _) = states.state([entry[0], entry[1]]);
            state.copy_from_slice(&entry[2..]);
        }
        lines.bytes.resize(shape.width() * 8, 0);
        Ok(lines)
    }
}

/// The lines of a part, read back.
pub(crate) struct SpilledLines {
    file: BufReader<File>,
    bytes: Vec<u8>,
    words: Vec<u64>,
}

impl SpilledLines {
    /// The next line.
    pub(crate) fn next(&mut self) -> Result<Option<&[u64]>, AuditError> {
        let width = self.bytes.len() / 8;
        self.words(width)
    }

    fn words(&mut self, count: usize) -> Result<Option<&[u64]>, AuditError> {
        self.bytes.resize(count * 8, 0);
        match self.file.read_exact(&mut self.bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(AuditError::Spill(error)),
        }
        self.words.clear();
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        self.words.extend(self.bytes.chunks_exact(8).map(word));
        Ok(Some(&self.words))
    }
}
