//! Reading requests and answers from bytes as they come, however they are cut. `httparse` reads the heads; what is
//! here keeps what came between the turns, and refuses what is too much.

use httparse::Status;

use super::framing::{Framing, framing, step, within};
use super::message::{Answer, Headers, Request, bodiless};

/// How long a head, a line of a chunk, or what follows the last chunk may be, in bytes.
pub(super) const HEAD_LIMIT: usize = 64 << 10;
/// How long a body may be, in bytes.
pub(super) const BODY_LIMIT: usize = 64 << 20;
/// How many headers a message may have.
pub(super) const HEADERS_LIMIT: usize = 256;

/// Bytes that are no HTTP, or no more of it than is read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The head cannot be read.
    #[error("no HTTP: {0}")]
    Head(httparse::Error),
    /// The head is too long.
    #[error("the head is longer than {} KiB", HEAD_LIMIT >> 10)]
    LongHead,
    /// The body is too long.
    #[error("the body is longer than {} MiB", BODY_LIMIT >> 20)]
    LongBody,
    /// It is not clear how long the body is.
    #[error("no HTTP: {0}")]
    Framing(String),
    /// A chunk of the body cannot be read.
    #[error("no HTTP: a chunk of the body is broken")]
    Chunk,
    /// The bytes ended before the message did.
    #[error("it ended in the middle of {0}")]
    Truncated(String),
}

/// Reads the requests of one connection.
#[derive(Debug, Default)]
pub struct RequestReader {
    reader: Reader<Request>,
    persistent: bool,
    waits_for_word: bool,
}

impl RequestReader {
    /// Takes bytes in.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.reader.buffer.extend_from_slice(bytes);
    }

    /// The next request, once it is there whole.
    ///
    /// # Errors
    /// When the bytes are no request. Nothing more can be read then.
    #[expect(clippy::should_implement_trait, reason = "it fails, and it may go on after None")]
    pub fn next(&mut self) -> Result<Option<Request>, Broken> {
        let (persistent, waits_for_word) = (&mut self.persistent, &mut self.waits_for_word);
        let whole = self.reader.next(|bytes| {
            let mut headers = [httparse::EMPTY_HEADER; HEADERS_LIMIT];
            let mut read = httparse::Request::new(&mut headers);
            let Status::Complete(length) = read.parse(bytes).map_err(Broken::Head)? else { return Ok(None) };
            let headers = owned(read.headers);
            let version = read.version.unwrap_or_default();
            *persistent =
                says(&headers, "connection", "keep-alive") || (version == 1 && !says(&headers, "connection", "close"));
            *waits_for_word = version == 1 && says(&headers, "expect", "100-continue");
            let framing = framing(&headers)?.unwrap_or(Framing::Length(0));
            let (method, target) = (read.method.unwrap_or_default(), read.path.unwrap_or_default());
            let message = Request { method: method.to_owned(), target: target.to_owned(), headers, body: Vec::new() };
            Ok(Some(Head { length, message, framing }))
        })?;
        Ok(whole.map(|(request, body)| Request { body, ..request }))
    }

    /// Whether the caller sends its body only after a `100 Continue`; said once for each request.
    pub fn waits_for_word(&mut self) -> bool {
        let waits = self.waits_for_word && self.reader.head.is_some();
        self.waits_for_word &= !waits;
        waits
    }

    /// Whether the connection stays open after the last request that was read.
    #[must_use]
    pub fn persistent(&self) -> bool {
        self.persistent
    }

    /// Whether there are bytes beyond the last request that was read.
    #[must_use]
    pub fn has_more(&self) -> bool {
        !self.reader.buffer.is_empty()
    }

    /// What the request lacks, if the bytes end here.
    #[must_use]
    pub fn lacks(&self) -> Broken {
        self.reader.truncated("a request")
    }
}

/// Reads the answer to one request.
#[derive(Debug)]
pub struct AnswerReader {
    reader: Reader<Answer>,
    to_head: bool,
}

impl AnswerReader {
    /// A reader of the answer to a request of this method.
    #[must_use]
    pub fn new(method: &str) -> AnswerReader {
        AnswerReader { reader: Reader::default(), to_head: method == "HEAD" }
    }

    /// Takes bytes in.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.reader.buffer.extend_from_slice(bytes);
    }

    /// The answer, once it is there whole. Interim answers, such as `100 Continue`, are passed over.
    ///
    /// # Errors
    /// When the bytes are no answer. Nothing more can be read then.
    #[expect(clippy::should_implement_trait, reason = "it fails, and it may go on after None")]
    pub fn next(&mut self) -> Result<Option<Answer>, Broken> {
        let to_head = self.to_head;
        loop {
            let whole = self.reader.next(|bytes| {
                let mut headers = [httparse::EMPTY_HEADER; HEADERS_LIMIT];
                let mut read = httparse::Response::new(&mut headers);
                let Status::Complete(length) = read.parse(bytes).map_err(Broken::Head)? else { return Ok(None) };
                let (headers, status) = (owned(read.headers), read.code.unwrap_or_default());
                let framing = match framing(&headers)? {
                    _ if to_head || bodiless(status) => Framing::Length(0),
                    said => said.unwrap_or(Framing::UntilClose),
                };
                Ok(Some(Head { length, message: Answer { status, headers, body: Vec::new() }, framing }))
            })?;
            match whole {
                Some((Answer { status: 100 | 102..=199, .. }, _)) => {}
                whole => return Ok(whole.map(|(answer, body)| Answer { body, ..answer })),
            }
        }
    }

    /// The answer, if it is one that goes on until the connection is closed.
    ///
    /// # Errors
    /// What the answer lacks otherwise.
    pub fn end(&mut self) -> Result<Answer, Broken> {
        if matches!(self.reader.head, Some((_, Framing::UntilClose)))
            && let Some((answer, _)) = self.reader.head.take()
        {
            return Ok(Answer { body: std::mem::take(&mut self.reader.body), ..answer });
        }
        Err(self.lacks())
    }

    /// What the answer lacks, if the bytes end here.
    #[must_use]
    pub fn lacks(&self) -> Broken {
        self.reader.truncated("an answer")
    }
}

struct Head<M> {
    length: usize,
    message: M,
    framing: Framing,
}

/// What is the same for requests and answers.
#[derive(Debug)]
struct Reader<M> {
    /// What came and was not yet understood.
    buffer: Vec<u8>,
    head: Option<(M, Framing)>,
    body: Vec<u8>,
}

impl<M> Default for Reader<M> {
    fn default() -> Reader<M> {
        Reader { buffer: Vec::new(), head: None, body: Vec::new() }
    }
}

impl<M> Reader<M> {
    fn next(
        &mut self,
        read_head: impl FnOnce(&[u8]) -> Result<Option<Head<M>>, Broken>,
    ) -> Result<Option<(M, Vec<u8>)>, Broken> {
        let mut at = 0;
        if self.head.is_none() {
            let head = read_head(&self.buffer)?;
            let length = head.as_ref().map_or(self.buffer.len(), |head| head.length);
            within(length, HEAD_LIMIT, Broken::LongHead)?;
            let Some(head) = head else { return Ok(None) };
            at = head.length;
            self.head = Some((head.message, head.framing));
        }
        let mut whole = false;
        while let Some((_, framing)) = &mut self.head
            && !whole
        {
            let rest = &self.buffer[at..];
            let Some(used) = step(framing, rest, &mut self.body, &mut whole)? else { break };
            at += used;
        }
        self.buffer.drain(..at);
        let body = std::mem::take(if whole { &mut self.body } else { return Ok(None) });
        Ok(self.head.take().map(|(message, _)| (message, body)))
    }

    fn truncated(&self, what: &str) -> Broken {
        Broken::Truncated(match &self.head {
            None => format!("the head of {what}, after {} bytes", self.buffer.len()),
            Some(_) => format!("the body of {what}, after {} bytes", self.body.len()),
        })
    }
}

fn owned(headers: &[httparse::Header<'_>]) -> Headers {
    headers.iter().map(|header| (header.name.to_owned(), header.value.to_vec())).collect()
}

/// Whether a header lists this word.
fn says(headers: &Headers, name: &str, word: &str) -> bool {
    let named = headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
    named
        .flat_map(|(_, value)| value.split(|&byte| byte == b','))
        .any(|said| said.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    /// Feeds the bytes in pieces of these sizes, one size after another and round again.
    fn requests(bytes: &[u8], sizes: &[usize]) -> Result<Vec<Request>, Broken> {
        let (mut reader, mut out, mut at) = (RequestReader::default(), Vec::new(), 0);
        for size in sizes.iter().cycle() {
            let upto = (at + size).min(bytes.len());
            reader.feed(&bytes[at..upto]);
            at = upto;
            while let Some(request) = reader.next()? {
                out.push(request);
            }
            if at == bytes.len() {
                break;
            }
        }
        if reader.has_more() || reader.reader.head.is_some() { Err(reader.lacks()) } else { Ok(out) }
    }

    fn answer(bytes: &[u8], size: usize, method: &str) -> Result<Answer, Broken> {
        let mut reader = AnswerReader::new(method);
        for piece in bytes.chunks(size) {
            reader.feed(piece);
            if let Some(answer) = reader.next()? {
                return Ok(answer);
            }
        }
        reader.end()
    }

    fn chunked(body: &[u8], size: usize) -> Vec<u8> {
        let mut out = b"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for piece in body.chunks(size) {
            out.extend(format!("{:X};why=not\r\n", piece.len()).bytes());
            out.extend(piece);
            out.extend(b"\r\n");
        }
        out.extend(b"0\r\nx-trailer: y\r\n\r\n");
        out
    }

    fn a_request() -> impl Strategy<Value = Request> {
        let headers = vec(("x-[a-z]{1,8}", "[!-~]([ -~]{0,20}[!-~])?"), 0..4);
        let headers = headers
            .prop_map(|all| all.into_iter().map(|(name, value)| (name, value.into_bytes())).collect::<Headers>());
        ("[A-Z]{1,7}", "/[!-~]{0,20}", headers, vec(any::<u8>(), 0..200))
            .prop_map(|(method, target, headers, body)| Request { method, target, headers, body })
    }

    /// Without the length that the writer adds.
    fn as_meant(mut request: Request) -> Request {
        request.headers.retain(|(name, _)| name != "content-length");
        request
    }

    proptest! {
        #[test]
        fn requests_come_out_as_they_were_meant_wherever_they_are_cut(
            meant in vec(a_request(), 1..4),
            sizes in vec(1usize..40, 1..6),
        ) {
            let bytes: Vec<u8> = meant.iter().flat_map(|request| request.to_bytes().expect("sendable")).collect();
            let read = requests(&bytes, &sizes).expect("it is HTTP");
            prop_assert_eq!(read.into_iter().map(as_meant).collect::<Vec<_>>(), meant);
        }

        #[test]
        fn chunks_are_one_body_wherever_they_are_cut(
            body in vec(any::<u8>(), 0..300),
            size in 1usize..50,
            sizes in vec(1usize..40, 1..6),
        ) {
            let read = requests(&chunked(&body, size), &sizes).expect("it is HTTP");
            prop_assert_eq!(read.into_iter().map(|request| request.body).collect::<Vec<_>>(), [body]);
        }

        #[test]
        fn an_answer_comes_out_as_it_was_meant_wherever_it_is_cut(
            status in 200u16..600,
            body in vec(any::<u8>(), 0..200),
            size in 1usize..40,
        ) {
            let meant = Answer { status, headers: vec![], body: if bodiless(status) { vec![] } else { body } };
            let mut read = answer(&meant.to_bytes("POST").expect("sendable"), size, "POST").expect("it is HTTP");
            read.headers.clear();
            prop_assert_eq!(read, meant);
        }

        #[test]
        fn garbage_is_the_same_garbage_wherever_it_is_cut(
            bytes in vec(prop_oneof![any::<u8>(), prop::sample::select(b"GET /\r\n: HTTP1.0".to_vec())], 0..300),
            sizes in vec(1usize..40, 1..6),
        ) {
            prop_assert_eq!(requests(&bytes, &sizes), requests(&bytes, &[bytes.len().max(1)]));
        }
    }

    #[rstest]
    #[case::garbage("\u{16}\u{3}\u{1}", "no HTTP: invalid token")]
    #[case::http2("PRI * HTTP/2.0\r\n\r\n", "no HTTP: invalid HTTP version")]
    #[case::two_lengths("POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", "not one number")]
    #[case::signed_length("POST / HTTP/1.1\r\ncontent-length: +1\r\n\r\n", "not one number")]
    #[case::both("POST / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n", "both")]
    #[case::coding("POST / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", "other than `chunked`")]
    #[case::huge("POST / HTTP/1.1\r\ncontent-length: 99999999999999999999999\r\n\r\n", "longer than 64 MiB")]
    #[case::huge_chunk("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nfffffff\r\n", "longer than 64 MiB")]
    #[case::no_size("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n\r\n", "chunk")]
    #[case::chunk_goes_on("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc", "chunk")]
    #[case::half_a_head("POST / HTTP/1.1\r\nx: y\r\n", "middle of the head of a request, after 23 bytes")]
    #[case::half_a_body("POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nabc", "middle of the body of a request, after 3")]
    fn what_is_no_request_is_said(#[case] bytes: &str, #[case] why: &str) {
        let error = requests(bytes.as_bytes(), &[bytes.len()]).expect_err("it is none").to_string();
        assert!(error.contains(why), "{error}");
    }

    #[rstest]
    #[case::one_long_header(format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(HEAD_LIMIT)), Broken::LongHead)]
    #[case::many_headers(
        format!("GET / HTTP/1.1\r\n{}", "a: b\r\n".repeat(HEADERS_LIMIT + 2)),
        Broken::Head(httparse::Error::TooManyHeaders)
    )]
    #[case::endless_chunk_line(
        format!("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1;{}", "x".repeat(HEAD_LIMIT)),
        Broken::Chunk
    )]
    fn a_flood_of_what_is_no_body_is_refused(#[case] bytes: String, #[case] why: Broken) {
        assert_eq!(requests(bytes.as_bytes(), &[1000]), Err(why));
    }

    #[test]
    fn a_caller_that_waits_for_word_is_heard_once_and_before_its_body() {
        let mut reader = RequestReader::default();
        reader.feed(b"PUT / HTTP/1.1\r\nExpect: 100-Continue\r\ncontent-length: 1\r\n\r\n");
        assert_eq!(reader.next(), Ok(None));
        assert!(reader.waits_for_word() && !reader.waits_for_word());
        reader.feed(b"x");
        assert_eq!(reader.next().expect("it is HTTP").expect("it is whole").body, b"x");
    }

    #[rstest]
    #[case("GET / HTTP/1.1\r\n\r\n", true)]
    #[case("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n", false)]
    #[case("GET / HTTP/1.0\r\n\r\n", false)]
    #[case("GET / HTTP/1.0\r\nConnection: x, Keep-Alive\r\n\r\n", true)]
    fn a_request_says_whether_the_connection_stays(#[case] bytes: &str, #[case] stays: bool) {
        let mut reader = RequestReader::default();
        reader.feed(bytes.as_bytes());
        assert!(reader.next().expect("it is HTTP").is_some());
        assert_eq!(reader.persistent(), stays);
    }

    #[rstest]
    #[case::until_close("HTTP/1.0 200 OK\r\n\r\nabc", "GET", 200, "abc")]
    #[case::no_phrase("HTTP/1.1 202\r\ncontent-length: 0\r\n\r\n", "GET", 202, "")]
    #[case::interim("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na", "POST", 200, "a")]
    #[case::to_head("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n", "HEAD", 200, "")]
    #[case::not_modified("HTTP/1.1 304 Not Modified\r\ncontent-length: 10\r\n\r\n", "GET", 304, "")]
    #[case::chunked("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", "GET", 200, "ab")]
    fn an_answer_ends_where_http_says(
        #[case] bytes: &str,
        #[case] method: &str,
        #[case] status: u16,
        #[case] body: &str,
    ) {
        for size in [1, 7, bytes.len()] {
            let read = answer(bytes.as_bytes(), size, method).expect("it is HTTP");
            assert_eq!((read.status, read.body.as_slice()), (status, body.as_bytes()));
        }
    }

    #[rstest]
    #[case::length("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc", "middle of the body of an answer, after 3 bytes")]
    #[case::chunk("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabc", "middle of the body of an answer")]
    #[case::nothing("", "middle of the head of an answer, after 0 bytes")]
    fn an_answer_that_is_cut_is_none(#[case] bytes: &str, #[case] why: &str) {
        let error = answer(bytes.as_bytes(), 1000, "GET").expect_err("it is cut").to_string();
        assert!(error.contains(why), "{error}");
    }
}
