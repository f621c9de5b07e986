//! A request and an answer, and how they are written. How they are read is in `reading`.

/// Headers, in their order and as they were spelled. Values are bytes, since nobody holds a subject to text.
pub type Headers = Vec<(String, Vec<u8>)>;

/// What a caller asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The method, such as `POST`.
    pub method: String,
    /// The path and query.
    pub target: String,
    /// The headers.
    pub headers: Headers,
    /// The body, whatever framing it came in.
    pub body: Vec<u8>,
}

/// What a caller is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: Headers,
    /// The body, whatever framing it came in.
    pub body: Vec<u8>,
}

/// A message that HTTP cannot carry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsendable {
    /// The method is no token.
    #[error("{0:?} is no method")]
    Method(String),
    /// The target is empty, or holds white space or a control character.
    #[error("{0:?} is no target of a request: it is empty, or holds white space or a control character")]
    Target(String),
    /// The status is not one of 100 to 599.
    #[error("{0} is no status; they are 100 to 599")]
    Status(u16),
    /// The name of a header is no token.
    #[error("{0:?} is no name of a header")]
    Name(String),
    /// The value of a header holds a line break, a NUL or another control character.
    #[error("the header {0} holds a control character")]
    Value(String),
}

impl Request {
    /// The request as bytes. Its length is always said in `content-length`: other framing among its headers is left
    /// out.
    ///
    /// # Errors
    /// When a part of it would not be read as that part.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Unsendable> {
        if !is_token(&self.method) {
            return Err(Unsendable::Method(self.method.clone()));
        }
        if self.target.is_empty() || self.target.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(Unsendable::Target(self.target.clone()));
        }
        let mut out = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        write_headers(&self.headers, &mut out)?;
        let bodiless = self.body.is_empty() && matches!(self.method.as_str(), "GET" | "HEAD");
        write_length((!bodiless).then_some(self.body.len()), &mut out);
        out.extend_from_slice(&self.body);
        Ok(out)
    }

    /// The value of the first header of this name, in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        first(&self.headers, name)
    }
}

impl Answer {
    /// The answer to a request of this method, as bytes. Its length is always said in `content-length`, and where
    /// HTTP has no body (to `HEAD`, with 1xx, 204 and 304) none is written.
    ///
    /// # Errors
    /// When a part of it would not be read as that part.
    pub fn to_bytes(&self, method: &str) -> Result<Vec<u8>, Unsendable> {
        if !(100..600).contains(&self.status) {
            return Err(Unsendable::Status(self.status));
        }
        let mut out = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status)).into_bytes();
        write_headers(&self.headers, &mut out)?;
        write_length((!bodiless(self.status)).then_some(self.body.len()), &mut out);
        if method != "HEAD" && !bodiless(self.status) {
            out.extend_from_slice(&self.body);
        }
        Ok(out)
    }

    /// The value of the first header of this name, in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        first(&self.headers, name)
    }
}

/// Whether an answer of this status never has a body.
pub(super) fn bodiless(status: u16) -> bool {
    matches!(status, 100..=199 | 204 | 304)
}

/// Whether a header says how a body is framed, which is for the writer to say.
pub(super) fn is_framing(name: &str) -> bool {
    name.eq_ignore_ascii_case("content-length") || name.eq_ignore_ascii_case("transfer-encoding")
}

fn first<'a>(headers: &'a Headers, name: &str) -> Option<&'a [u8]> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_slice())
}

fn write_headers(headers: &Headers, out: &mut Vec<u8>) -> Result<(), Unsendable> {
    for (name, value) in headers.iter().filter(|(name, _)| !is_framing(name)) {
        if !is_token(name) {
            return Err(Unsendable::Name(name.clone()));
        }
        if value.iter().any(|&byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) {
            return Err(Unsendable::Value(name.clone()));
        }
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    Ok(())
}

fn write_length(length: Option<usize>, out: &mut Vec<u8>) {
    if let Some(length) = length {
        out.extend_from_slice(format!("content-length: {length}\r\n").as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

fn is_token(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(legal)
}

/// A phrase for the common codes; nobody may judge by it.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        207 => "Multi-Status",
        302 => "Found",
        400 => "Bad Request",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn header(name: &str, value: &str) -> Headers {
        vec![(name.to_owned(), value.as_bytes().to_vec())]
    }

    #[rstest]
    #[case::line_break("x-id", "a\r\nx-other: b", "control character")]
    #[case::nul("x-id", "a\0", "control character")]
    #[case::no_name("", "a", "no name")]
    #[case::space_in_name("x id", "a", "no name")]
    fn a_header_that_would_be_read_as_something_else_is_refused(
        #[case] name: &str,
        #[case] value: &str,
        #[case] why: &str,
    ) {
        let request = Request { method: "GET".into(), target: "/".into(), headers: header(name, value), body: vec![] };
        let answer = Answer { status: 200, headers: header(name, value), body: vec![] };
        for error in [request.to_bytes().expect_err("refused"), answer.to_bytes("GET").expect_err("refused")] {
            assert!(error.to_string().contains(why), "{error}");
        }
    }

    #[rstest]
    #[case("GET /", "/")]
    #[case("", "/")]
    #[case("GET", "")]
    #[case("GET", "/a b")]
    #[case("GET", "/a\r\nb")]
    fn a_request_line_has_three_words(#[case] method: &str, #[case] target: &str) {
        let request = Request { method: method.into(), target: target.into(), ..Request::default() };
        assert!(request.to_bytes().is_err());
    }

    #[rstest]
    #[case::plain(200, "GET", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")]
    #[case::to_head(200, "HEAD", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n")]
    #[case::no_content(204, "GET", b"HTTP/1.1 204 No Content\r\n\r\n")]
    fn an_answer_has_a_body_where_http_has_one(#[case] status: u16, #[case] method: &str, #[case] bytes: &[u8]) {
        let answer = Answer { status, headers: header("Content-Length", "7"), body: b"hi".to_vec() };
        assert_eq!(answer.to_bytes(method).expect("sendable"), bytes);
    }
}
