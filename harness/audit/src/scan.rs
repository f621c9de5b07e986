//! The lines of one chunk: each is taken apart, held against the rules that need no other line, and dealt to the part
//! of its key.

use std::borrow::Cow;

use memchr::memchr;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::csv::{self, Shape};
use crate::input::Chunk;
use crate::json;
use crate::layout::Format;
use crate::order::{Lines, NOTHING, PARTS, put};
use crate::plan::{Axis, Carry, Kind, Outcome, Plan};
use crate::tally::{Flaw, FlawKind, Place, Tally};
use crate::{evidence, time};

/// One thread's own: what it counted, and room for one line.
pub(crate) struct Scanner<'p> {
    plan: &'p Plan,
    pub(crate) tally: Tally,
    codes: Vec<u8>,
    numbers: Vec<Option<i64>>,
    /// Whether lines are dealt to their keys at all.
    in_order: bool,
}

/// The text at a place of the log; nothing if it is blank.
type Field<'f, 'a> = &'f dyn Fn(usize) -> Option<&'a [u8]>;

impl<'p> Scanner<'p> {
    pub(crate) fn new(plan: &'p Plan) -> Scanner<'p> {
        Scanner {
            plan,
            tally: plan.tally(),
            codes: vec![0; plan.slots.len()],
            numbers: vec![None; plan.columns.len()],
            in_order: plan.in_order(),
        }
    }

    /// Judges a chunk, and returns its lines by part.
    pub(crate) fn chunk(&mut self, chunk: &Chunk) -> Vec<Lines> {
        let mut parts: Vec<Lines> = if self.in_order { vec![Lines::new(); PARTS] } else { Vec::new() };
        match self.plan.layout.format {
            Format::Csv { delimiter, .. } => self.csv(chunk, delimiter, &mut parts),
            Format::JsonLines => self.json(chunk, &mut parts),
        }
        parts
    }

    fn csv(&mut self, chunk: &Chunk, delimiter: u8, parts: &mut [Lines]) {
        // It is much faster seen at once.
        let clean = std::str::from_utf8(&chunk.data).is_ok();
        let wanted = self.plan.layout.names.len();
        let mut fields: Vec<&[u8]> = vec![&[]; wanted];
        let (mut at, mut line) = (0, chunk.line);
        let quotes = memchr(b'"', &chunk.data).is_some();
        while at < chunk.data.len() {
            let record = if quotes { csv::record(&chunk.data, at, delimiter, true) } else { None };
            let (end, shape) = record.unwrap_or_else(|| csv::line(&chunk.data, at));
            let record = &chunk.data[at..end];
            let place = Place { file: chunk.file, line };
            let spot = Spot { place, word: (line - chunk.line) << 32 | at as u64 };
            let text = csv::trimmed(record);
            self.tally.lines += u64::from(!text.is_empty());
            match shape {
                // An empty line is none.
                _ if text.is_empty() => {}
                Shape::TooLong => self.tally.flaw(Flaw::too_long(place)),
                Shape::Unclosed => {
                    let words = "a quote opens and does not close where a field ends".to_owned();
                    self.tally.flaw(Flaw::new(FlawKind::Quote, place, words));
                }
                _ if !clean && std::str::from_utf8(record).is_err() => self.not_utf8(place),
                Shape::Plain => {
                    let count = csv::plain_fields(text, delimiter, &mut fields);
                    if self.counted(count, place) {
                        let field = |at: usize| Some(fields[at]).filter(|field| !field.is_empty());
                        self.line(&field, spot, parts);
                    }
                }
                Shape::Quoted => {
                    self.tally.spanning += u64::from(memchr(b'\n', text).is_some());
                    let fields = csv::fields(record, delimiter);
                    if self.counted(fields.len(), place) {
                        self.line(&|at| fields.get(at).map(|f| &**f).filter(|f| !f.is_empty()), spot, parts);
                    }
                }
            }
            line += if shape == Shape::Quoted { memchr::memchr_iter(b'\n', record).count() as u64 } else { 1 };
            at = end;
        }
    }

    fn counted(&mut self, count: usize, place: Place) -> bool {
        let wanted = self.plan.layout.names.len();
        if count != wanted {
            let words = format!("{count} fields, where the header has {wanted}");
            self.tally.flaw(Flaw::new(FlawKind::Columns, place, words));
        }
        count == wanted
    }

    fn not_utf8(&mut self, place: Place) {
        self.tally.flaw(Flaw::new(FlawKind::Utf8, place, "the line is not UTF-8".to_owned()));
    }

    fn json(&mut self, chunk: &Chunk, parts: &mut [Lines]) {
        let mut at = 0;
        let lines = chunk.data.split_inclusive(|byte| *byte == b'\n');
        for (number, record) in (0u64..).zip(lines) {
            let place = Place { file: chunk.file, line: chunk.line + number };
            let spot = Spot { place, word: number << 32 | at as u64 };
            at += record.len();
            if record.trim_ascii().is_empty() {
                continue;
            }
            self.tally.lines += 1;
            let text = match std::str::from_utf8(record) {
                _ if record.len() > csv::LONGEST => {
                    self.tally.flaw(Flaw::too_long(place));
                    continue;
                }
                Err(_) => {
                    self.not_utf8(place);
                    continue;
                }
                Ok(text) => text,
            };
            let mut fields = Vec::new();
            match json::line(text, &self.plan.layout.names, &mut fields) {
                Ok(()) => self.line(&|at| fields[at].as_deref(), spot, parts),
                Err(error) => {
                    let words = format!("no JSON object: {error}");
                    self.tally.flaw(Flaw::new(FlawKind::Json, place, words));
                }
            }
        }
    }

    /// One line that could be read.
    #[inline]
    fn line<'a>(&mut self, field: &impl Fn(usize) -> Option<&'a [u8]>, spot: Spot, parts: &mut [Lines]) {
        let plan = self.plan;
        if let Err((kind, column)) = self.classes(field) {
            let column = &plan.columns[column];
            let value = field(column.at).map_or(String::new(), evidence::short);
            let words = flaw_words(plan, kind, &column.name, &value);
            self.tally.flaw(Flaw::new(kind, spot.place, words));
            return;
        }
        for (index, rule) in plan.rules.iter().enumerate().filter(|(_, rule)| !rule.in_order) {
            if !rule.when.iter().all(|(slot, mask)| mask >> self.codes[*slot] & 1 == 1) {
                continue;
            }
            let code = |axis: &Axis| match axis {
                Axis::Slot(slot) => self.codes[*slot],
                Axis::Fixed(code) => *code,
                // Rules that look back are not judged here.
                _ => 0,
            };
            let cell: usize = rule.axes.iter().map(|(axis, stride)| usize::from(code(axis)) * stride).sum();
            self.tally.cells[index][cell] += 1;
            let seen = match rule.cells[cell] {
                Outcome::Held(_) => continue,
                Outcome::Broken(row) => &mut self.tally.broken[index][row],
                Outcome::Incomplete(row) => &mut self.tally.incomplete[index][row],
            };
            let when = plan.time.and_then(|time| self.numbers[time]);
            seen.add(spot.place, when, || evidence::words(plan, field));
        }
        if self.in_order {
            let key = field(plan.columns[plan.key].at).unwrap_or_default();
            put(plan, parts, xxh3_128(key), spot.word, &self.codes, |carry| match carry {
                Carry::Class(slot) => u64::from(self.codes[*slot]),
                Carry::Number(column) => self.numbers[*column].map_or(NOTHING, |number| number as u64),
                // A hash that is the mark of nothing is told apart from it.
                Carry::Hash(column) => match field(plan.columns[*column].at) {
                    Some(text) => Some(xxh3_64(text)).filter(|hash| *hash != NOTHING).unwrap_or(0),
                    None => NOTHING,
                },
            });
        }
    }

    /// Finds the classes and numbers of a line, or the column that is wrong.
    #[inline]
    fn classes<'a>(&mut self, field: &impl Fn(usize) -> Option<&'a [u8]>) -> Result<(), (FlawKind, usize)> {
        let plan = self.plan;
        for (at, column) in plan.columns.iter().enumerate() {
            let Some(text) = field(column.at) else {
                self.numbers[at] = None;
                if column.nullable || column.kind == Kind::Open {
                    continue;
                }
                return Err((FlawKind::Blank, at));
            };
            let number = match column.kind {
                Kind::Int => time::int(text),
                Kind::Time => plan.layout.unit.millis(text),
                _ => continue,
            };
            if number.is_none() {
                return Err((FlawKind::Number, at));
            }
            self.numbers[at] = number;
        }
        for (code, slot) in self.codes.iter_mut().zip(&plan.slots) {
            *code = match plan.columns[slot.column].kind {
                Kind::Int | Kind::Time => match self.numbers[slot.column] {
                    Some(number) => slot.classifier.int(number.saturating_add(slot.plus)),
                    None => slot.classifier.null(),
                },
                _ => match field(plan.columns[slot.column].at) {
                    Some(text) => slot.classifier.text(text),
                    None => slot.classifier.null(),
                },
            };
        }
        for (at, column) in plan.columns.iter().enumerate() {
            if let Kind::Word(slot) = column.kind
                && self.codes[slot] == plan.slots[slot].classifier.outside()
            {
                return Err((FlawKind::Word, at));
            }
        }
        Ok(())
    }
}

/// Where a line stands: for people, and in its chunk.
#[derive(Clone, Copy)]
struct Spot {
    place: Place,
    /// The line from the chunk's first, and the byte at which it begins.
    word: u64,
}

fn flaw_words(plan: &Plan, kind: FlawKind, column: &str, value: &str) -> String {
    match kind {
        FlawKind::Blank => format!("`{column}` is blank"),
        FlawKind::Number => format!("`{column}` is `{value}`, which is no number or time"),
        _ if plan.contract.banned.contains(&value.trim().to_lowercase()) => {
            format!("`{column}` is `{value}`, which is a banned look-alike")
        }
        _ => format!("`{column}` is `{value}`, which is none of its words"),
    }
}

/// Calls back with the fields of the record that begins at `from`.
pub(crate) fn with_fields(
    plan: &Plan,
    data: &[u8],
    from: usize,
    then: &mut dyn FnMut(Field<'_, '_>) -> String,
) -> Option<String> {
    match plan.layout.format {
        Format::Csv { delimiter, .. } => {
            let (end, _) = csv::record(data, from, delimiter, true)?;
            let fields: Vec<Cow<'_, [u8]>> = csv::fields(&data[from..end], delimiter);
            Some(then(&|at| fields.get(at).map(|f| &**f).filter(|f| !f.is_empty())))
        }
        Format::JsonLines => {
            let end = memchr(b'\n', &data[from..]).map_or(data.len(), |end| from + end);
            let mut fields = Vec::new();
            json::line(std::str::from_utf8(&data[from..end]).ok()?, &plan.layout.names, &mut fields).ok()?;
            Some(then(&|at| fields.get(at).and_then(|f| f.as_deref())))
        }
    }
}
