//! What a subject writes, cut into lines and bounded: the harness keeps little of it however much there is.

use std::collections::VecDeque;

/// The longest line of the protocol. The largest message a contract needs is a payload of 1 MiB, escaped.
pub(crate) const LONGEST: usize = 16 << 20;

/// How many lines outside the protocol are kept, and how much of each.
const KEPT_LINES: usize = 32;
const KEPT_BYTES: usize = 500;

/// Cuts standard output into lines, up to a length at which it gives up.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    partial: Vec<u8>,
    whole: VecDeque<Vec<u8>>,
    too_long: bool,
}

impl Lines {
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        while !self.too_long {
            let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { break };
            self.partial.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end + 1..];
            self.whole.push_back(std::mem::take(&mut self.partial));
        }
        if self.partial.len() + bytes.len() > LONGEST {
            self.too_long = true;
        }
        if !self.too_long {
            self.partial.extend_from_slice(bytes);
        }
    }

    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        self.whole.pop_front()
    }

    /// Whether a line was longer than any message may be; nothing after it is kept.
    pub(crate) fn too_long(&self) -> bool {
        self.too_long
    }

    /// A line that was begun and never ended.
    pub(crate) fn unfinished(&self) -> Option<String> {
        (!self.partial.is_empty()).then(|| shown(&self.partial))
    }
}

/// The last lines of a stream, each cut.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    lines: VecDeque<String>,
    partial: Vec<u8>,
}

impl Tail {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            let room = (KEPT_BYTES + 1).saturating_sub(self.partial.len());
            self.partial.extend_from_slice(&piece[..piece.len().min(room)]);
            if pieces.peek().is_some() {
                let line = std::mem::take(&mut self.partial);
                self.push(shown(&line));
            }
        }
    }

    /// Keeps a line that was cut already.
    pub(crate) fn push(&mut self, line: String) {
        if self.lines.len() == KEPT_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    pub(crate) fn clear(&mut self) {
        *self = Tail::default();
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let last = (!self.partial.is_empty()).then(|| shown(&self.partial));
        self.lines.iter().cloned().chain(last).collect()
    }
}

/// A line as it is quoted: readable whatever it holds, and cut.
pub(crate) fn shown(line: &[u8]) -> String {
    let head = String::from_utf8_lossy(&line[..line.len().min(KEPT_BYTES)]);
    let head = head.trim_end_matches(['\r', '\n']);
    if line.len() > KEPT_BYTES { format!("{head}…") } else { head.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_whole_however_they_are_cut() {
        let mut lines = Lines::default();
        for piece in ["a", "b\nc", "d\n", "\n", "e"] {
            lines.feed(piece.as_bytes());
        }
        let whole: Vec<_> = std::iter::from_fn(|| lines.next()).collect();
        assert_eq!(whole, [b"ab".to_vec(), b"cd".to_vec(), b"".to_vec()]);
        assert_eq!(lines.unfinished().as_deref(), Some("e"));
    }

    #[test]
    fn a_line_without_end_is_given_up_and_not_kept() {
        let mut lines = Lines::default();
        for _ in 0..100 {
            lines.feed(&vec![b'x'; 1 << 20]);
        }
        assert!(lines.too_long());
        assert!(lines.partial.len() <= LONGEST);
    }

    #[test]
    fn a_tail_keeps_the_last_lines_and_the_head_of_each() {
        let mut tail = Tail::default();
        for n in 0..1000 {
            tail.feed(format!("line {n} {}\n", "x".repeat(10_000)).as_bytes());
        }
        tail.feed(b"unfinished");
        let lines = tail.lines();
        assert_eq!(lines.len(), KEPT_LINES + 1);
        assert!(lines[0].starts_with("line 968 ") && lines[0].ends_with('…'), "{}", lines[0]);
        assert_eq!(lines[KEPT_LINES], "unfinished");
    }
}
