//! Histories: the lines of each key in the log's order, each held against the line before it.

use crate::AuditError;
use crate::plan::{Axis, Carry, Outcome, Plan, RulePlan};
use crate::spill::Spill;
use crate::table::StateTable;
use crate::tally::{Flaw, FlawKind, Place, Tally};

/// What is carried of a value that is not told.
pub(crate) const NOTHING: u64 = i64::MIN as u64;

/// How many parts the keys are dealt into, by their hash.
pub(crate) const PARTS: usize = 64;

/// How the words of one line are laid out: key, place, classes of slots, what is carried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) classes: usize,
    pub(crate) carried: usize,
}

impl Shape {
    pub(crate) fn of(plan: &Plan) -> Shape {
        Shape { classes: plan.slots.len().div_ceil(8), carried: plan.carries.len() }
    }

    /// How many words a line takes.
    pub(crate) fn width(self) -> usize {
        3 + self.classes + self.carried
    }
}

/// Lines of one part, each of [`Shape::width`] words.
pub(crate) type Lines = Vec<u64>;

/// Puts a line down for its key's history. Returns the part that it belongs to.
pub(crate) fn put(
    plan: &Plan,
    parts: &mut [Lines],
    key: u128,
    place: u64,
    codes: &[u8],
    carried: impl Fn(&Carry) -> u64,
) {
    // The two halves of the hash.
    let key = [key as u64, (key >> 64) as u64];
    let lines = &mut parts[(key[0] % PARTS as u64) as usize];
    lines.extend_from_slice(&[key[0], key[1], place]);
    for eight in codes.chunks(8) {
        let mut word = [0; 8];
        word[..eight.len()].copy_from_slice(eight);
        lines.push(u64::from_le_bytes(word));
    }
    lines.extend(plan.carries.iter().map(carried));
}

/// One line as it was put down.
struct Line<'a> {
    words: &'a [u64],
    shape: Shape,
}

impl Line<'_> {
    fn code(&self, slot: usize) -> u8 {
        self.words[3 + slot / 8].to_le_bytes()[slot % 8]
    }

    fn carried(&self) -> &[u64] {
        &self.words[3 + self.shape.classes..]
    }
}

/// The histories of the keys of one part.
pub(crate) struct Part {
    states: StateTable,
    spill: Option<Spill>,
    shape: Shape,
}

impl Part {
    pub(crate) fn new(plan: &Plan) -> Part {
        let shape = Shape::of(plan);
        Part { states: StateTable::new(shape.carried), spill: None, shape }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.states.bytes()
    }

    /// Takes the next lines of the log. `place` and `words` say where a line stands and what it says.
    pub(crate) fn take(
        &mut self,
        plan: &Plan,
        lines: &[u64],
        tally: &mut Tally,
        place: &dyn Fn(u64) -> Place,
        words: &dyn Fn(u64) -> String,
    ) -> Result<(), AuditError> {
        if let Some(spill) = &mut self.spill {
            return spill.lines(lines, self.shape, place);
        }
        for words_of_line in lines.chunks_exact(self.shape.width()) {
            self.line(plan, Line { words: words_of_line, shape: self.shape }, tally, place, words);
        }
        Ok(())
    }

    /// Puts the states on disk; what comes after them is put behind, and judged at the end.
    pub(crate) fn put_on_disk(&mut self) -> Result<(), AuditError> {
        if self.spill.is_none() {
            self.spill = Some(Spill::of(&self.states)?);
            self.states = StateTable::new(self.shape.carried);
        }
        Ok(())
    }

    /// Judges what was put on disk. Returns how many keys there are.
    pub(crate) fn finish(mut self, plan: &Plan, tally: &mut Tally) -> Result<u64, AuditError> {
        if let Some(spill) = self.spill.take() {
            let mut lines = spill.read(&mut self.states, self.shape)?;
            let words = |_: u64| "(not kept: this history did not fit into memory)".to_owned();
            while let Some(line) = lines.next()? {
                self.line(plan, Line { words: line, shape: self.shape }, tally, &Spill::place, &words);
            }
        }
        Ok(self.states.len() as u64)
    }

    fn line(
        &mut self,
        plan: &Plan,
        line: Line<'_>,
        tally: &mut Tally,
        place: &dyn Fn(u64) -> Place,
        words: &dyn Fn(u64) -> String,
    ) {
        let at = line.words[2];
        let (state, new) = self.states.state([line.words[0], line.words[1]]);
        let when = plan.time_carry.map(|carry| line.carried()[carry] as i64).filter(|when| *when as u64 != NOTHING);
        if new {
            if plan.begins.iter().any(|(slot, mask)| mask >> line.code(*slot) & 1 == 0) {
                tally.headless.add(place(at), when, || words(at));
            }
            state.copy_from_slice(line.carried());
            return;
        }
        if let Some(carry) = plan.time_carry
            && let (Some(now), before) = (when, state[carry])
            && before != NOTHING
            && now < before as i64
        {
            tally.flaw(Flaw::new(
                FlawKind::Backward,
                place(at),
                format!("older than the line before it: {}", words(at)),
            ));
            return;
        }
        for (index, rule) in plan.rules.iter().enumerate().filter(|(_, rule)| rule.in_order) {
            if !rule.when.iter().all(|(slot, mask)| mask >> line.code(*slot) & 1 == 1) {
                continue;
            }
            let cell = cell(rule, &line, state);
            tally.cells[index][cell] += 1;
            match rule.cells[cell] {
                Outcome::Held(_) => {}
                Outcome::Broken(row) => tally.broken[index][row].add(place(at), when, || words(at)),
                Outcome::Incomplete(row) => {
                    tally.incomplete[index][row].add(place(at), when, || words(at));
                    break;
                }
            }
        }
        state.copy_from_slice(line.carried());
    }
}

/// Where a line falls in a rule's array.
fn cell(rule: &RulePlan, line: &Line<'_>, before: &[u64]) -> usize {
    let carried = line.carried();
    let code = |axis: &Axis| match axis {
        Axis::Fixed(code) => *code,
        Axis::Slot(slot) => line.code(*slot),
        Axis::Before { carry, unknown } => u8::try_from(before[*carry]).unwrap_or(*unknown),
        Axis::Since { carry, plus, divisor, classifier } => match (before[*carry], carried[*carry]) {
            (NOTHING, _) | (_, NOTHING) => classifier.unknown(),
            (was, is) => {
                let grown = (is as i64).saturating_sub(was as i64).div_euclid(*divisor);
                classifier.int(grown.saturating_add(*plus))
            }
        },
        Axis::Same { carry, yes, no, unknown } => match (before[*carry], carried[*carry]) {
            (NOTHING, _) | (_, NOTHING) => *unknown,
            (was, is) if was == is => *yes,
            _ => *no,
        },
    };
    rule.axes.iter().map(|(axis, stride)| usize::from(code(axis)) * stride).sum()
}
