//! The log's bytes: many files, unpacked, cut into chunks of whole records that know their lines. It runs on a thread of
//! its own and holds one chunk at a time; what cannot be read is a flaw with a place, and what comes behind it counts.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use memchr::{memchr, memchr_iter, memrchr};

use crate::layout::Format;
use crate::tally::{Flaw, FlawKind, Place};
use crate::{AuditError, Section, csv};

/// How much is judged at once; more than the longest record.
const CHUNK: usize = 2 << 20;

/// How much is looked at to guess a layout.
const HEAD: usize = 256 << 10;

/// The files of a log.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    files: Vec<Source>,
}

#[derive(Clone, Debug)]
enum Source {
    Stdin,
    File(PathBuf),
}

impl Inputs {
    /// Of the names that flags give, else of the section's. A name may be a glob, or `-` for what is piped in. Files of a
    /// glob are read in the order of their names.
    ///
    /// # Errors
    /// A glob that is none or matches nothing, or no name at all.
    pub fn of(flags: &[String], section: &Section) -> Result<Inputs, AuditError> {
        let mut files = Vec::new();
        let own = section.log.iter().map(|name| section.folder.join(name).display().to_string());
        let names: Vec<String> = if flags.is_empty() { own.collect() } else { flags.to_vec() };
        for name in &names {
            if name == "-" {
                files.push(Source::Stdin);
            } else if name.contains(['*', '?', '[']) && !std::path::Path::new(name).exists() {
                let wrong = |error: &dyn std::fmt::Display| AuditError::Usage(format!("--log {name}: {error}"));
                let mut found = Vec::new();
                for path in glob::glob(name).map_err(|error| wrong(&error))? {
                    let path = path.map_err(|error| wrong(&error))?;
                    found.extend(path.is_file().then_some(path));
                }
                if found.is_empty() {
                    return Err(AuditError::Usage(format!("--log {name}: no file has such a name")));
                }
                files.extend(found.into_iter().map(Source::File));
            } else {
                files.push(Source::File(PathBuf::from(name)));
            }
        }
        if files.is_empty() {
            return Err(AuditError::Usage(
                "name the log with --log FILE, or in `log` of a section of nack.toml".to_owned(),
            ));
        }
        Ok(Inputs { files })
    }

    /// Their names, in the order in which they are read.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let name = |source: &Source| match source {
            Source::Stdin => "standard input".to_owned(),
            Source::File(path) => path.display().to_string(),
        };
        self.files.iter().map(name).collect()
    }

    /// Opens the first file.
    ///
    /// # Errors
    /// A file that cannot be opened, or is packed in a way that this build cannot unpack.
    pub fn open(&self) -> Result<Chunks, AuditError> {
        // A name that is wrong is said before anything is judged.
        for source in &self.files {
            if let Source::File(path) = source {
                let wrong = |error| AuditError::File { file: path.display().to_string(), error };
                if std::fs::metadata(path).map_err(wrong)?.is_dir() {
                    return Err(AuditError::Usage(format!(
                        "{}: this is a folder; name its files, such as {0}/*.csv",
                        path.display()
                    )));
                }
            }
        }
        let mut chunks = Chunks {
            inputs: self.clone(),
            next: 0,
            reader: None,
            buffer: Vec::new(),
            line: 1,
            fresh: false,
            skipping: false,
            ended: false,
            cut: false,
            flaws: Vec::new(),
        };
        chunks.open_next()?;
        chunks.fill(HEAD);
        Ok(chunks)
    }
}

/// Whole records, and where they stand.
pub(crate) struct Chunk {
    /// The file's place among the inputs.
    pub(crate) file: usize,
    /// The line of the first record, from 1.
    pub(crate) line: u64,
    /// The records.
    pub(crate) data: Vec<u8>,
}

/// The log as a sequence of chunks.
pub struct Chunks {
    inputs: Inputs,
    /// The file to open next.
    next: usize,
    reader: Option<Box<dyn Read + Send>>,
    /// What was read and is not in a chunk yet.
    buffer: Vec<u8>,
    /// The line at which the buffer begins.
    line: u64,
    /// Whether the buffer begins with the file.
    fresh: bool,
    /// Whether the rest of a line that is too long is being passed over.
    skipping: bool,
    /// Whether the file has ended, and whether before its end.
    ended: bool,
    cut: bool,
    pub(crate) flaws: Vec<Flaw>,
}

impl Chunks {
    /// What the first file begins with.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.buffer
    }

    fn open_next(&mut self) -> Result<bool, AuditError> {
        let Some(source) = self.inputs.files.get(self.next) else { return Ok(false) };
        self.next += 1;
        let wrong = |error| AuditError::File {
            file: match source {
                Source::Stdin => "standard input".to_owned(),
                Source::File(path) => path.display().to_string(),
            },
            error,
        };
        let raw: Box<dyn Read + Send> = match source {
            Source::Stdin => Box::new(io::stdin()),
            Source::File(path) => Box::new(File::open(path).map_err(wrong)?),
        };
        self.reader = Some(unpacked(raw).map_err(wrong)?);
        (self.line, self.fresh, self.skipping, self.ended, self.cut) = (1, true, false, false, false);
        self.buffer.clear();
        Ok(true)
    }

    /// Reads until so much is there, or the file ends.
    fn fill(&mut self, wanted: usize) {
        let Some(reader) = &mut self.reader else { return };
        while !self.ended && self.buffer.len() < wanted {
            let from = self.buffer.len();
            self.buffer.resize(wanted, 0);
            let read = reader.read(&mut self.buffer[from..]);
            self.buffer.truncate(from + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    (self.ended, self.cut) = (true, true);
                    let line = self.line + newlines(&self.buffer);
                    let words = format!("the file cannot be read on: {error}");
                    let place = Place { file: self.next.saturating_sub(1), line };
                    self.flaws.push(Flaw::new(FlawKind::Cut, place, words));
                }
            }
        }
    }

    fn place(&self, line: u64) -> Place {
        Place { file: self.next.saturating_sub(1), line }
    }

    /// The next chunk; none at the end of the last file.
    pub(crate) fn next(&mut self, format: Format, header: &[String]) -> Result<Option<Chunk>, AuditError> {
        loop {
            if self.reader.is_none() && !self.open_next()? {
                return Ok(None);
            }
            self.fill(CHUNK);
            if self.fresh {
                self.begin(format, header);
            }
            if self.skipping {
                self.skip();
            }
            let end = if self.skipping { 0 } else { self.end(format) };
            if end > 0 {
                let rest = self.buffer.split_off(end);
                let data = std::mem::replace(&mut self.buffer, rest);
                let chunk = Chunk { file: self.next - 1, line: self.line, data };
                self.line += newlines(&chunk.data);
                return Ok(Some(chunk));
            }
            if self.ended {
                self.buffer.clear();
                self.reader = None;
            } else if self.buffer.len() > csv::LONGEST {
                self.flaws.push(Flaw::too_long(self.place(self.line)));
                self.skipping = true;
            }
        }
    }

    /// Where the whole records of the buffer end.
    fn end(&self, format: Format) -> usize {
        if self.ended && !self.cut {
            return self.buffer.len();
        }
        let last_line = || memrchr(b'\n', &self.buffer).map_or(0, |at| at + 1);
        match format {
            Format::Csv { delimiter, .. } if memchr(b'"', &self.buffer).is_some() => {
                let mut end = 0;
                while let Some((next, _)) = csv::record(&self.buffer, end, delimiter, false) {
                    end = next;
                }
                end
            }
            _ => last_line(),
        }
    }

    /// Passes over the rest of a line.
    fn skip(&mut self) {
        match memchr(b'\n', &self.buffer) {
            Some(at) => {
                self.buffer.drain(..=at);
                self.line += 1;
                self.skipping = false;
            }
            None => self.buffer.clear(),
        }
    }

    /// Takes the mark and the header off the beginning of a file. The header of every file must be that of the first.
    fn begin(&mut self, format: Format, header: &[String]) {
        self.fresh = false;
        if self.buffer.starts_with(csv::BOM) {
            self.buffer.drain(..csv::BOM.len());
        }
        let Format::Csv { delimiter, header: true } = format else { return };
        let Some((end, _)) = csv::record(&self.buffer, 0, delimiter, true) else { return };
        let names = csv::texts(&self.buffer, delimiter);
        let place = self.place(1);
        if names == header {
            self.line += newlines(&self.buffer[..end]);
            self.buffer.drain(..end);
        } else if names.iter().any(|name| header.contains(name)) {
            let words = "its columns are not those of the first file, so none of it is judged".to_owned();
            self.flaws.push(Flaw::new(FlawKind::Header, place, words));
            self.buffer.clear();
            (self.ended, self.cut) = (true, false);
        } else if !self.buffer.is_empty() {
            let words = "there is no header; its lines are read as those of the first file".to_owned();
            self.flaws.push(Flaw::new(FlawKind::Header, place, words));
        }
    }
}

fn newlines(data: &[u8]) -> u64 {
    memchr_iter(b'\n', data).count() as u64
}

/// Unpacks by the first bytes, not by the name.
fn unpacked(mut raw: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut first = Vec::new();
    raw.by_ref().take(4).read_to_end(&mut first)?;
    let magic = first.clone();
    let whole = io::Cursor::new(first).chain(raw);
    Ok(match magic.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(whole)),
        [0x28, 0xb5, 0x2f, 0xfd] => unpacked_zstd(whole)?,
        _ => Box::new(whole),
    })
}

#[cfg(feature = "zstd")]
fn unpacked_zstd(raw: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(zstd::stream::read::Decoder::new(raw)?))
}

#[cfg(not(feature = "zstd"))]
fn unpacked_zstd(_raw: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "this build of nack cannot unpack Zstandard; pipe it: zstdcat FILE | nack audit … --log -",
    ))
}
