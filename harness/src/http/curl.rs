//! A request as the one line that a person pastes into a POSIX shell to send it again.

use super::message::{Request, is_framing};

/// How long an argument of a command may be on Linux is 128 KiB; what is longer comes through a pipe.
const ARGUMENT_LIMIT: usize = 100 << 10;
/// From this length on some versions of curl ask before they send a body.
const EXPECT_FROM: usize = 1 << 10;

/// The request as one `curl` command for this URL, in printable ASCII whatever the request holds. The length is
/// curl's to say.
#[must_use]
pub fn curl_line(request: &Request, url: &str) -> String {
    let mut line = String::from("curl -sS -i -g --path-as-is");
    match (request.method.as_str(), request.body.is_empty()) {
        ("GET", true) => {}
        // With -X it would wait for a body.
        ("HEAD", true) => line += " -I",
        (method, _) => line += &format!(" -X {}", word(method.as_bytes())),
    }
    let headers = request.headers.iter().filter(|(name, _)| !is_framing(name));
    for (name, value) in headers {
        // A colon and nothing behind it would take the header out.
        let header = if value.is_empty() { format!("{name};").into_bytes() } else { join(name, value) };
        line += &format!(" -H {}", word(&header));
    }
    let mut pipe = String::new();
    if !request.body.is_empty() {
        // Curl would add this by itself, and the other to a long body.
        let added = ["content-type", "expect"].into_iter().take(if request.body.len() < EXPECT_FROM { 1 } else { 2 });
        for name in added.filter(|name| request.header(name).is_none()) {
            line += &format!(" -H {name}:");
        }
        if request.body.len() <= ARGUMENT_LIMIT && is_plain(&request.body) && request.body[0] != b'@' {
            line += &format!(" --data-binary {}", word(&request.body));
        } else {
            pipe = format!("{} | ", printf(&request.body));
            line += " --data-binary @-";
        }
    }
    format!("{pipe}{line} {}", word(url.as_bytes()))
}

fn join(name: &str, value: &[u8]) -> Vec<u8> {
    [name.as_bytes(), b": ", value].concat()
}

fn is_plain(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Bytes as one word of a shell. They have no line break at their end, or it is lost.
fn word(bytes: &[u8]) -> String {
    if is_plain(bytes) { quoted(bytes) } else { format!("\"$({})\"", printf(bytes)) }
}

fn quoted(plain: &[u8]) -> String {
    let bare = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./:".contains(byte);
    if !plain.is_empty() && plain.iter().all(bare) {
        return String::from_utf8_lossy(plain).into_owned();
    }
    format!("'{}'", String::from_utf8_lossy(plain).replace('\'', r"'\''"))
}

/// A command that prints these bytes.
fn printf(bytes: &[u8]) -> String {
    let mut format = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'%' => format.extend_from_slice(b"%%"),
            b'\\' => format.extend_from_slice(br"\\"),
            b'\n' => format.extend_from_slice(br"\n"),
            b' '..=b'~' => format.push(byte),
            other => format.extend_from_slice(format!(r"\{other:03o}").as_bytes()),
        }
    }
    // A dash at the beginning would be an option.
    if format.starts_with(b"-") {
        format.splice(..1, *br"\055");
    }
    format!("printf {}", quoted(&format))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use rstest::rstest;

    use super::*;

    /// A shell whose `curl` prints its arguments, each ended by a NUL, and then its input if that is asked for.
    const CURL: &str = r#"curl() { printf '%s\000' "$@"; case "$*" in *@-*) cat ;; esac; }; "#;

    /// What curl is given by the line, and what comes through the pipe.
    fn pasted(line: &str) -> (Vec<Vec<u8>>, Vec<u8>) {
        let mut shell = Command::new("sh");
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut shell = shell.spawn().expect("there is a shell");
        let mut input = shell.stdin.take().expect("it reads");
        input.write_all(format!("{CURL}{line}\n").as_bytes()).expect("it reads");
        drop(input);
        let said = shell.wait_with_output().expect("it ends");
        assert!(said.status.success() && said.stderr.is_empty(), "{line}: {said:?}");
        let mut words: Vec<Vec<u8>> = said.stdout.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect();
        let url = words.iter().position(|word| word.starts_with(b"http://")).expect("it has a URL");
        let piped = words.split_off(url + 1).join(&0);
        (words, piped)
    }

    fn request(method: &str, headers: &[(&str, &[u8])], body: &[u8]) -> Request {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.to_vec())).collect();
        Request { method: method.into(), target: "/".into(), headers, body: body.to_vec() }
    }

    fn after<'a>(words: &'a [Vec<u8>], option: &str) -> Vec<&'a [u8]> {
        let pairs = words.windows(2).filter(|pair| pair[0] == option.as_bytes());
        pairs.map(|pair| pair[1].as_slice()).collect()
    }

    #[test]
    fn a_plain_request_reads_as_one_would_type_it() {
        let request =
            request("POST", &[("content-type", b"application/json"), ("content-length", b"7")], br#"{"a":1}"#);
        insta::assert_snapshot!(
            curl_line(&request, "http://127.0.0.1:8080/v1/members:import"),
            @r#"curl -sS -i -g --path-as-is -X POST -H 'content-type: application/json' --data-binary '{"a":1}' http://127.0.0.1:8080/v1/members:import"#
        );
    }

    #[rstest]
    #[case::quote(b"it's \"$HOME\" `id` \\ !x".to_vec())]
    #[case::a_file(b"@/etc/passwd".to_vec())]
    #[case::stdin(b"@-".to_vec())]
    #[case::percent(b"100%s %d\n".to_vec())]
    #[case::dash(b"-n\n".to_vec())]
    #[case::line_breaks(b"a\r\n\r\nb\n\n".to_vec())]
    #[case::nul(b"a\0b".to_vec())]
    #[case::digits_after_a_byte(b"\x01234\xff7".to_vec())]
    #[case::every_byte((0..=255).collect())]
    #[case::escapes("\u{1b}[31mred\u{202e}".as_bytes().to_vec())]
    #[case::long(vec![b'x'; 300 << 10])]
    fn a_body_is_sent_again_byte_for_byte(#[case] body: Vec<u8>) {
        let line = curl_line(&request("POST", &[], &body), "http://x/");
        assert!(is_plain(line.as_bytes()), "it pastes as one line of ASCII");
        let (words, piped) = pasted(&line);
        match after(&words, "--data-binary").as_slice() {
            [b"@-"] => assert!(piped == body),
            [argument] => assert!(*argument == body && !argument.starts_with(b"@")),
            other => panic!("one body: {other:?}"),
        }
        let suppressed = [b"content-type:".as_slice(), b"expect:"];
        assert_eq!(after(&words, "-H"), suppressed[..if body.len() < EXPECT_FROM { 1 } else { 2 }]);
    }

    #[rstest]
    #[case::quote(b"it's", b"x-a: it's")]
    #[case::bytes(b"\xff 100% \\", b"x-a: \xff 100% \\")]
    #[case::tab(b"a\tb", b"x-a: a\tb")]
    #[case::empty(b"", b"x-a;")]
    fn a_header_is_sent_again_byte_for_byte(#[case] value: &[u8], #[case] expected: &[u8]) {
        let (words, _) = pasted(&curl_line(&request("GET", &[("x-a", value)], b""), "http://x/'?a=[1]"));
        assert_eq!(after(&words, "-H"), [expected]);
        assert_eq!(words.last().map(Vec::as_slice), Some(b"http://x/'?a=[1]".as_slice()));
    }

    #[rstest]
    #[case("GET", b"", &[])]
    #[case("GET", b"x", &[b"GET".as_slice()])]
    #[case("POST", b"", &[b"POST".as_slice()])]
    #[case("HEAD", b"", &[])]
    #[case("A'B", b"", &[b"A'B".as_slice()])]
    fn the_method_is_said_where_curl_would_choose_another(
        #[case] method: &str,
        #[case] body: &[u8],
        #[case] said: &[&[u8]],
    ) {
        let (words, _) = pasted(&curl_line(&request(method, &[], body), "http://x/"));
        assert_eq!(after(&words, "-X"), said);
        assert_eq!(words.iter().any(|word| word == b"-I"), method == "HEAD");
    }
}
