//! A request as the one line that a person pastes into a POSIX shell to send it again.

use super::message::{Request, is_framing};

/// How long an argument of a command may be on Linux is 128 KiB; what is longer comes through a pipe.
const ARGUMENT_LIMIT: usize = 100 << 10;

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
        // These two curl would add by itself.
        for name in ["content-type", "expect"].into_iter().filter(|name| request.header(name).is_none()) {
            line += &format!(" -H '{name}:'");
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
