//! The page that terminal output is written on. Text can only get on it through [`Page`], which escapes it first, so no
//! renderer can forget to. Colours are added after that, and only if they are asked for.

use anstyle::AnsiColor;

use super::{Style, Verbosity};
use crate::escape::{Newlines, terminal};
use crate::summary::cut;

/// How a piece of text is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    Plain,
    Strong,
    Quiet,
    Good,
    Bad,
    Doubt,
}

impl Paint {
    fn style(self) -> anstyle::Style {
        let plain = anstyle::Style::new();
        match self {
            Paint::Plain => plain,
            Paint::Strong => plain.bold(),
            Paint::Quiet => plain.dimmed(),
            Paint::Good => AnsiColor::Green.on_default().bold(),
            Paint::Bad => AnsiColor::Red.on_default().bold(),
            Paint::Doubt => AnsiColor::Yellow.on_default().bold(),
        }
    }
}

/// Where the text of a labelled field begins.
const HANG: usize = 12;

/// The most characters and lines of one field, unless everything is asked for. The JSON report holds the rest.
const MOST_CHARS: usize = 2_000;
const MOST_LINES: usize = 32;

pub(super) struct Page {
    out: String,
    pub(super) style: Style,
}

impl Page {
    pub(super) fn new(style: Style) -> Page {
        Page { out: String::new(), style }
    }

    pub(super) fn into_text(self) -> String {
        self.out
    }

    /// A piece of a line.
    pub(super) fn put(&mut self, paint: Paint, text: &str) -> &mut Page {
        self.shown(paint, &terminal(text, Newlines::Show))
    }

    fn shown(&mut self, paint: Paint, text: &str) -> &mut Page {
        let style = paint.style();
        if self.style.color && paint != Paint::Plain && !text.is_empty() {
            self.out.push_str(&format!("{style}{text}{style:#}"));
        } else {
            self.out.push_str(text);
        }
        self
    }

    /// Ends a line.
    pub(super) fn end(&mut self) {
        self.out.push('\n');
    }

    /// An empty line, unless the page begins here or has one already.
    pub(super) fn gap(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    pub(super) fn line(&mut self, paint: Paint, text: &str) {
        self.put(paint, text).end();
    }

    /// Words that may be wrapped. What stands on the line already is counted in by `hang`.
    pub(super) fn prose(&mut self, hang: usize, paint: Paint, text: &str) {
        let width = self.style.width.max(hang + 40) - hang;
        let text = terminal(text, Newlines::Show);
        for (i, line) in wrap(&text, width).iter().enumerate() {
            self.spaces(if i == 0 { 0 } else { hang }).shown(paint, line).end();
        }
    }

    pub(super) fn spaces(&mut self, n: usize) -> &mut Page {
        self.out.extend(std::iter::repeat_n(' ', n));
        self
    }

    /// A label at the margin; what it labels follows on the same line.
    pub(super) fn label(&mut self, label: &str) -> &mut Page {
        let pad = HANG.saturating_sub(2 + label.len()).max(1);
        self.spaces(2).put(Paint::Quiet, label).spaces(pad)
    }

    /// A labelled field in words; nothing if it is empty.
    pub(super) fn field(&mut self, label: &str, text: &str) {
        if !text.is_empty() {
            let text = self.cut(text, MOST_CHARS);
            self.label(label).prose(HANG, Paint::Plain, &text);
        }
    }

    /// A labelled field whose lines stay as they are, below each other.
    pub(super) fn exact(&mut self, label: &str, paint: Paint, text: &str) {
        let text = self.cut(text, MOST_CHARS);
        let lines: Vec<&str> = text.split('\n').collect();
        let most = if self.all() { lines.len() } else { MOST_LINES.min(lines.len()) };
        for (i, line) in lines[..most].iter().enumerate() {
            if i == 0 { self.label(label) } else { self.spaces(HANG) }.put(paint, line).end();
        }
        if most < lines.len() {
            self.spaces(HANG).line(Paint::Quiet, &format!("… ({} lines in all)", lines.len()));
        }
    }

    /// Points at a column of the field above.
    pub(super) fn caret(&mut self, column: usize, words: &str) {
        self.spaces(HANG + column).line(Paint::Quiet, &format!("^ {words}"));
    }

    pub(super) fn heading(&mut self, text: &str) {
        self.gap();
        self.line(Paint::Strong, text);
    }

    /// Rows whose columns line up; the last is not padded. Only the first column is painted.
    pub(super) fn table(&mut self, indent: usize, paint: Paint, rows: &[Vec<String>]) {
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|cell| terminal(cell, Newlines::Show)).collect()).collect();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let wide =
            |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| length(cell)).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(wide).collect();
        for row in &rows {
            self.spaces(indent);
            for (column, cell) in row.iter().enumerate() {
                let pad = if column + 1 == row.len() { 0 } else { widths[column] - length(cell) + 2 };
                self.shown(if column == 0 { paint } else { Paint::Plain }, cell).spaces(pad);
            }
            self.end();
        }
    }

    /// Cuts long text, unless everything is asked for.
    pub(super) fn cut(&self, text: &str, most: usize) -> String {
        if self.all() { text.to_owned() } else { cut(text, most) }
    }

    pub(super) fn all(&self) -> bool {
        self.style.verbose == Verbosity::Verbose
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a line at spaces. A word that is too long stays whole: names and paths are there to be copied.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().map_or(0, |line| length(line));
        if line > 0 && line + 1 + length(word) > width {
            lines.push(word.to_owned());
        } else if let Some(last) = lines.last_mut() {
            if line > 0 {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}
