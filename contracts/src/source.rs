//! A contract's text and its places: every later message points into the file's own lines.

use std::ops::Range;

use serde::Serialize;

/// A half-open range of byte offsets in a source.
pub type Span = Range<usize>;

/// A file's name and text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The name as it was given, with forward slashes.
    pub file: String,
    /// The text.
    pub text: String,
    /// Where each line begins.
    starts: Vec<usize>,
}

/// A line and a column, both counted from 1; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Source {
    /// A source of this name and text.
    #[must_use]
    pub fn new(file: impl Into<String>, text: impl Into<String>) -> Source {
        let text = text.into();
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Source { file: file.into(), text, starts }
    }

    /// Where a byte offset lies. An offset past the end lies at the end.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        let line = self.line(offset);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let before = self.text.get(start..offset.min(self.text.len())).unwrap_or_default();
        Position { line, column: before.chars().count() + 1 }
    }

    /// The line, counted from 1, on which a byte offset lies.
    #[must_use]
    pub fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).max(1)
    }
}
