//! How far the body of a message goes: so many bytes, chunks, or whatever comes until the connection is closed.

use httparse::Status;

use super::message::Headers;
use super::reading::{BODY_LIMIT, Broken, HEAD_LIMIT, HEADERS_LIMIT};

/// How far a body goes.
#[derive(Debug)]
pub(super) enum Framing {
    /// So many more bytes.
    Length(usize),
    Chunked(Chunk),
    UntilClose,
}

/// What is expected next of a body in chunks.
#[derive(Debug)]
pub(super) enum Chunk {
    Size,
    /// So many more bytes of this chunk.
    Data(usize),
    EndOfData,
    Trailer,
}

/// Takes one step into a body: how many bytes that used, or `None` when more must come first.
pub(super) fn step(
    framing: &mut Framing,
    rest: &[u8],
    body: &mut Vec<u8>,
    whole: &mut bool,
) -> Result<Option<usize>, Broken> {
    let mut take = |upto: usize| {
        let taken = upto.min(rest.len());
        within(body.len() + taken, BODY_LIMIT, Broken::LongBody)?;
        body.extend_from_slice(&rest[..taken]);
        Ok(taken)
    };
    match framing {
        Framing::Length(0) => *whole = true,
        _ if rest.is_empty() => return Ok(None),
        Framing::Length(left) => {
            let taken = take(*left)?;
            *left -= taken;
            return Ok(Some(taken));
        }
        Framing::UntilClose => return take(rest.len()).map(Some),
        Framing::Chunked(chunk) => return step_of_chunks(chunk, rest, take, whole),
    }
    Ok(Some(0))
}

fn step_of_chunks(
    chunk: &mut Chunk,
    rest: &[u8],
    mut take: impl FnMut(usize) -> Result<usize, Broken>,
    whole: &mut bool,
) -> Result<Option<usize>, Broken> {
    let (used, next) = match chunk {
        Chunk::Size => {
            if !rest[0].is_ascii_hexdigit() {
                return Err(Broken::Chunk);
            }
            let read = httparse::parse_chunk_size(rest).map_err(|_| Broken::Chunk)?;
            let Some((used, size)) = line(read, rest)? else { return Ok(None) };
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            within(size, BODY_LIMIT, Broken::LongBody)?;
            (used, if size == 0 { Chunk::Trailer } else { Chunk::Data(size) })
        }
        Chunk::Data(left) => {
            let taken = take(*left)?;
            (taken, if taken == *left { Chunk::EndOfData } else { Chunk::Data(*left - taken) })
        }
        Chunk::EndOfData => match rest {
            [b'\r', b'\n', ..] => (2, Chunk::Size),
            [b'\r'] => return Ok(None),
            _ => return Err(Broken::Chunk),
        },
        Chunk::Trailer => {
            let mut headers = [httparse::EMPTY_HEADER; HEADERS_LIMIT];
            let read = httparse::parse_headers(rest, &mut headers).map_err(Broken::Head)?;
            let Some((used, _)) = line(read, rest)? else { return Ok(None) };
            *whole = true;
            (used, Chunk::Trailer)
        }
    };
    *chunk = next;
    Ok(Some(used))
}

/// What was read of lines between data, which are to have an end.
fn line<T>(read: Status<(usize, T)>, rest: &[u8]) -> Result<Option<(usize, T)>, Broken> {
    let (length, read) = match read {
        Status::Complete((used, read)) => (used, Some((used, read))),
        Status::Partial => (rest.len(), None),
    };
    within(length, HEAD_LIMIT, Broken::Chunk).map(|()| read)
}

pub(super) fn within(length: usize, limit: usize, otherwise: Broken) -> Result<(), Broken> {
    if length > limit { Err(otherwise) } else { Ok(()) }
}

/// What the headers say of the body's length.
pub(super) fn framing(headers: &Headers) -> Result<Option<Framing>, Broken> {
    let all = |wanted: &str| -> Vec<String> {
        let named = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        named.map(|(_, value)| String::from_utf8_lossy(value).trim().to_owned()).collect()
    };
    let wrong = |what: String| Err(Broken::Framing(what));
    match (all("transfer-encoding").as_slice(), all("content-length").as_slice()) {
        ([], []) => Ok(None),
        ([coding], []) if coding.eq_ignore_ascii_case("chunked") => Ok(Some(Framing::Chunked(Chunk::Size))),
        ([..], []) => wrong("a transfer-encoding other than `chunked`".to_owned()),
        ([], [length, others @ ..]) => {
            let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
            if !digits || others.iter().any(|other| other != length) {
                return wrong("a content-length that is not one number".to_owned());
            }
            let length = length.parse().unwrap_or(usize::MAX);
            within(length, BODY_LIMIT, Broken::LongBody)?;
            Ok(Some(Framing::Length(length)))
        }
        _ => wrong("both a content-length and a transfer-encoding".to_owned()),
    }
}
