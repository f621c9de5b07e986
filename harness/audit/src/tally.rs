//! What was counted: lines by rule and outcome, the first offenders with their places, and, apart from them, lines that
//! could not be read and histories that are not whole. Tallies of several threads add up to the same whatever they did.

use std::collections::BTreeMap;

/// How many offenders of each kind are kept.
pub(crate) const KEPT: usize = 5;

/// A place in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file's place among the inputs.
    pub file: usize,
    /// The line, from 1.
    pub line: u64,
}

/// Why a line was not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlawKind {
    /// The file ends, or is broken, in the middle.
    Cut,
    /// A file has no header, or another one.
    Header,
    /// The line has more or fewer fields than the header.
    Columns,
    /// A quote opens and never closes.
    Quote,
    /// The record is longer than a megabyte.
    Long,
    /// The line is not UTF-8.
    Utf8,
    /// The line is no JSON object.
    Json,
    /// A word is none of a closed vocabulary.
    Word,
    /// A number or a time is none.
    Number,
    /// A column that must say something is blank.
    Blank,
    /// A line is older than the one before it of the same key, so the order is not known there.
    Backward,
}

impl FlawKind {
    /// Its name in a report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FlawKind::Cut => "cut",
            FlawKind::Header => "header",
            FlawKind::Columns => "columns",
            FlawKind::Quote => "quote",
            FlawKind::Long => "too-long",
            FlawKind::Utf8 => "utf-8",
            FlawKind::Json => "json",
            FlawKind::Word => "unknown-word",
            FlawKind::Number => "number",
            FlawKind::Blank => "blank",
            FlawKind::Backward => "backward",
        }
    }
}

/// A line that was not judged.
#[derive(Clone, Debug)]
pub struct Flaw {
    /// Why.
    pub kind: FlawKind,
    /// Where.
    pub place: Place,
    /// In words.
    pub words: String,
}

impl Flaw {
    pub(crate) fn new(kind: FlawKind, place: Place, words: String) -> Flaw {
        Flaw { kind, place, words }
    }

    pub(crate) fn too_long(place: Place) -> Flaw {
        Flaw::new(FlawKind::Long, place, "the record is longer than 1 MiB".to_owned())
    }
}

/// The first of some lines, and how many there are.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// How many.
    pub count: u64,
    /// The time of the earliest and of the latest, in milliseconds since 1970, if they tell.
    pub when: Option<(i64, i64)>,
    /// The first ones by their place, each with what it says.
    pub first: Vec<(Place, String)>,
}

impl Seen {
    /// Counts one. Its words are asked for only if it is among the first.
    pub(crate) fn add(&mut self, place: Place, when: Option<i64>, words: impl FnOnce() -> String) {
        self.count += 1;
        if let Some(at) = when {
            self.when = Some(self.when.map_or((at, at), |(from, to)| (from.min(at), to.max(at))));
        }
        if self.first.len() < KEPT || self.first.last().is_some_and(|(last, _)| place < *last) {
            let at = self.first.partition_point(|(other, _)| *other <= place);
            self.first.insert(at, (place, words()));
            self.first.truncate(KEPT);
        }
    }

    fn merge(&mut self, other: Seen) {
        self.count += other.count;
        if let Some((from, to)) = other.when {
            self.when = Some(self.when.map_or((from, to), |(a, b)| (a.min(from), b.max(to))));
        }
        self.first.extend(other.first);
        self.first.sort_by_key(|(place, _)| *place);
        self.first.truncate(KEPT);
    }
}

/// What was counted.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Lines that were read, broken ones too; headers are none.
    pub lines: u64,
    /// Records that span several lines, since a quoted field holds a line break.
    pub spanning: u64,
    /// By rule and cell of its dense table: how many lines.
    pub cells: Vec<Vec<u64>>,
    /// By rule and row of its table, the last standing for no row at all: the lines that break it.
    pub broken: Vec<Vec<Seen>>,
    /// By rule and row: the lines that show that others are missing.
    pub incomplete: Vec<Vec<Seen>>,
    /// Lines that were not judged.
    pub flaws: BTreeMap<FlawKind, Seen>,
    /// Keys whose history begins in the middle.
    pub headless: Seen,
    /// Keys there are, if histories were followed.
    pub keys: u64,
}

impl Tally {
    pub(crate) fn flaw(&mut self, flaw: Flaw) {
        self.flaws.entry(flaw.kind).or_default().add(flaw.place, None, || flaw.words);
    }

    pub(crate) fn merge(&mut self, other: Tally) {
        self.lines += other.lines;
        self.spanning += other.spanning;
        self.keys += other.keys;
        for (mine, theirs) in self.cells.iter_mut().flatten().zip(other.cells.into_iter().flatten()) {
            *mine += theirs;
        }
        for (mine, theirs) in self.broken.iter_mut().flatten().zip(other.broken.into_iter().flatten()) {
            mine.merge(theirs);
        }
        for (mine, theirs) in self.incomplete.iter_mut().flatten().zip(other.incomplete.into_iter().flatten()) {
            mine.merge(theirs);
        }
        for (kind, seen) in other.flaws {
            self.flaws.entry(kind).or_default().merge(seen);
        }
        self.headless.merge(other.headless);
    }
}
