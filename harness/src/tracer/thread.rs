//! A stopped thread as the system shows it: its memory, its descriptors, and where its paths lead.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::sys::{self, Tid};

/// The longest path the kernel takes, with its end.
const LONGEST_PATH: usize = 4096;
/// What is read at once: less than a page, and never across the end of one, behind which there may be nothing.
const PAGE: u64 = 4096;
/// The most vectors the kernel takes.
const MOST_VECTORS: u64 = 1024;

/// These bytes of its memory, as far as there is memory.
pub(super) fn prefix(tid: Tid, address: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut done = 0;
    while done < length {
        match sys::read_memory(tid, address.wrapping_add(done as u64), &mut bytes[done..]) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.raw_os_error() == Some(libc::EFAULT) => break,
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(done);
    Ok(bytes)
}

/// Exactly these bytes of its memory.
pub(super) fn bytes(tid: Tid, address: u64, length: usize) -> io::Result<Vec<u8>> {
    let bytes = prefix(tid, address, length)?;
    if bytes.len() == length { Ok(bytes) } else { Err(io::Error::from_raw_os_error(libc::EFAULT)) }
}

/// A number in its memory.
pub(super) fn word(tid: Tid, address: u64) -> io::Result<u64> {
    let bytes = bytes(tid, address, 8)?;
    Ok(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
}

/// A string that ends with a zero.
pub(super) fn string(tid: Tid, address: u64) -> io::Result<OsString> {
    let mut string = Vec::new();
    while string.len() < LONGEST_PATH {
        let from = address + string.len() as u64;
        let chunk = bytes(tid, from, ((PAGE - from % PAGE) as usize).min(256))?;
        match chunk.iter().position(|byte| *byte == 0) {
            Some(end) => {
                string.extend_from_slice(&chunk[..end]);
                return Ok(OsString::from_vec(string));
            }
            None => string.extend_from_slice(&chunk),
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// The bytes that a list of vectors stands for, up to a limit.
pub(super) fn vectors(tid: Tid, address: u64, count: u64, limit: usize) -> io::Result<Vec<u8>> {
    let mut gathered = Vec::new();
    for index in 0..count.min(MOST_VECTORS) {
        let (base, length) = (word(tid, address + 16 * index)?, word(tid, address + 16 * index + 8)?);
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(limit - gathered.len());
        gathered.extend(prefix(tid, base, length)?);
    }
    Ok(gathered)
}

/// Where one of its descriptors leads: following it reaches the open file, whatever its names are.
pub(super) fn descriptor(tid: Tid, fd: i32) -> PathBuf {
    PathBuf::from(format!("/proc/{tid}/fd/{fd}"))
}

/// What the system says of what stands at a path; nothing if there is none. An error is one that the thread itself may
/// not have met, so what it does there cannot be seen.
pub(super) fn found(metadata: io::Result<Metadata>) -> io::Result<Option<Metadata>> {
    match metadata {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the system says of the file behind a descriptor.
pub(super) fn behind(tid: Tid, fd: i32) -> io::Result<Option<Metadata>> {
    found(fs::metadata(descriptor(tid, fd)))
}

/// Where a path leads that it would look up from a folder it has open, or from its own.
pub(super) fn path(tid: Tid, folder: i32, path: &OsStr) -> PathBuf {
    let text = path.as_bytes();
    if text.first() != Some(&b'/') {
        let base =
            if folder == libc::AT_FDCWD { PathBuf::from(format!("/proc/{tid}/cwd")) } else { descriptor(tid, folder) };
        return if text.is_empty() { base } else { base.join(path) };
    }
    // These mean whoever looks them up.
    let own = [
        ("/proc/self/", ""),
        ("/proc/thread-self/", ""),
        ("/dev/fd/", "fd/"),
        ("/dev/stdin", "fd/0"),
        ("/dev/stdout", "fd/1"),
        ("/dev/stderr", "fd/2"),
    ];
    let own = own.iter().find_map(|(prefix, instead)| Some((text.strip_prefix(prefix.as_bytes())?, *instead)));
    match own {
        Some((rest, instead)) => PathBuf::from(format!("/proc/{tid}/{instead}")).join(OsStr::from_bytes(rest)),
        None => {
            let mut rooted = OsString::from(format!("/proc/{tid}/root"));
            rooted.push(path);
            PathBuf::from(rooted)
        }
    }
}

/// What the kernel says of an open file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Description {
    /// Where the next read or write begins.
    pub(super) position: u64,
    /// The flags of its open.
    pub(super) flags: i32,
}

/// Looks up what the kernel says of an open file.
pub(super) fn description(tid: Tid, fd: i32) -> io::Result<Description> {
    // Position and flags come first, and one read is all it takes.
    let mut start = [0; 128];
    let read = File::open(format!("/proc/{tid}/fdinfo/{fd}"))?.read(&mut start)?;
    let text = str::from_utf8(&start[..read]).map_err(io::Error::other)?;
    let field = |name| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let position = field("pos:").and_then(|position| position.parse().ok());
    let flags = field("flags:").and_then(|flags| i32::from_str_radix(flags, 8).ok());
    match position.zip(flags) {
        Some((position, flags)) => Ok(Description { position, flags }),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The process that it belongs to.
pub(super) fn process(tid: Tid) -> io::Result<Tid> {
    let status = fs::read_to_string(format!("/proc/{tid}/status"))?;
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:")).and_then(|tgid| tgid.trim().parse().ok());
    process.ok_or_else(|| io::ErrorKind::InvalidData.into())
}
