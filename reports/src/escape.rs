//! Text that a subject chose is hostile: it may hold colours, cursor moves, characters that reorder a line, mentions
//! that ping a colleague, a table's pipe. Every renderer passes every string through here before it shows it. What is
//! changed stays readable: a character is shown by its number, never dropped. The JSON report keeps the text itself.

use std::fmt::Write;

/// What becomes of a line break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newlines {
    /// It stays: the text may take several lines.
    Keep,
    /// It is shown as `\n`: the text takes one line, whatever it holds.
    Show,
}

/// Whether a character commands a terminal, is drawn as nothing, or moves what is drawn around it.
pub(crate) fn unseen(c: char) -> bool {
    // No Unicode table in the standard library tells the last three kinds: they are what Unicode calls default
    // ignorable (zero widths, bidirectional marks, fillers, variation selectors, tags), annotations, noncharacters.
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// Text that a terminal can be given: it holds nothing that [commands it or hides](self), and no line break unless
/// they are kept.
///
/// A backslash of the text itself stays as it is, so that quoted JSON stays readable.
#[must_use]
pub fn terminal(text: &str, newlines: Newlines) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' if newlines == Newlines::Keep => out.push('\n'),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Writing to a String does not fail.
            c if c.is_ascii_control() => _ = write!(out, "\\x{:02x}", u32::from(c)),
            c if unseen(c) => _ = write!(out, "\\u{{{:x}}}", u32::from(c)),
            c => out.push(c),
        }
    }
    out
}

/// Text that XML 1.0 can hold. Angle brackets and ampersands are left to the XML writer; here the characters go that no
/// escape can bring into a document. The JUnit crate would drop them, and with them the evidence.
#[must_use]
pub fn xml(text: &str, newlines: Newlines) -> String {
    // Everything that XML 1.0 cannot hold (C0, U+FFFE, U+FFFF) is unseen, and a raw \r would come back as \n.
    terminal(text, newlines)
}

/// A zero-width space, written so that it can be seen in the source.
const BREAK: &str = "&#8203;";

/// One line of text for GitHub's Markdown, to stand in a paragraph, a list item or a table's cell. It means only itself:
/// no markup, no HTML, no link, no emoji; a mention or an issue's number is broken so that it calls nobody.
#[must_use]
pub fn markdown(text: &str) -> String {
    let chars: Vec<char> = terminal(text, Newlines::Show).chars().collect();
    let mut out = String::with_capacity(chars.len());
    for (i, &c) in chars.iter().enumerate() {
        let before = &chars[..i];
        let next = chars.get(i + 1).copied();
        match c {
            // GitHub looks for these after Markdown is read, so a backslash or an entity would not stop it.
            '@' => out.extend(["@", BREAK]),
            '#' => out.extend(["&#35;", BREAK]),
            ':' if next.is_some_and(|c| c.is_alphanumeric() || "/+-_".contains(c)) => out.extend([":", BREAK]),
            '-' if ends_with(before, "gh") => out.extend(["-", BREAK]),
            '.' if ends_with(before, "www") => out.extend([BREAK, "."]),
            '&' | '<' | '>' | '|' | '\\' | '`' | '*' | '_' | '~' | '[' | ']' | '!' | '$' => entity(&mut out, c),
            ' ' if i == 0 || next.is_none() => entity(&mut out, c),
            '-' | '+' | '=' | ':' if i == 0 => entity(&mut out, c),
            '.' | ')' if before.iter().all(char::is_ascii_digit) => entity(&mut out, c),
            c => out.push(c),
        }
    }
    out
}

fn ends_with(chars: &[char], ascii: &str) -> bool {
    chars.len() >= ascii.len()
        && chars[chars.len() - ascii.len()..].iter().zip(ascii.chars()).all(|(a, b)| a.to_ascii_lowercase() == b)
}

fn entity(out: &mut String, c: char) {
    // Writing to a String does not fail.
    _ = write!(out, "&#{};", u32::from(c));
}

/// One line of text as code, for the same places as [`markdown`].
#[must_use]
pub fn markdown_code(text: &str) -> String {
    let shown = terminal(text, Newlines::Show);
    let plain = !shown.is_empty() && !shown.contains(['`', '|', '\\']) && shown.trim_matches(' ') == shown;
    // Inside backticks nothing can be escaped, and a table's cell ends at a pipe even there.
    if plain { format!("`{shown}`") } else { format!("<code>{}</code>", markdown(text)) }
}

/// Text of any number of lines as a block of code, whose fence no line of the text can close. It must stand at the
/// start of a line.
#[must_use]
pub fn markdown_fence(text: &str) -> String {
    let shown = terminal(text, Newlines::Keep);
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}", shown.trim_end_matches('\n'))
}
