use std::collections::HashMap;
use std::ops::Range;

use super::class_set::bits;
use super::{ClassSet, Region};

const WORD: usize = u64::BITS as usize;

/// The regions of a table as one block of words: the loops over all rows then touch memory in order and never
/// follow a pointer.
pub(super) struct Grid {
    /// Column `c` of a region is the words `starts[c]..starts[c + 1]`.
    starts: Vec<usize>,
    words: Vec<u64>,
    rows: usize,
}

impl Grid {
    /// A row may keep classes that its column does not have. A search only ever asks what it shares with a space,
    /// which has none of them.
    pub(super) fn new<'a>(sizes: &[usize], rows: impl IntoIterator<Item = &'a Region>) -> Self {
        let mut starts = vec![0];
        let mut width = 0;
        for size in sizes {
            width += size.div_ceil(WORD);
            starts.push(width);
        }
        let mut grid = Self { starts, words: Vec::new(), rows: 0 };
        for row in rows {
            grid.push(sizes, row);
        }
        grid
    }

    /// The grid of rows alone, every column being as long as the rows' classes ask for.
    pub(super) fn of_rows(rows: &[Region]) -> Self {
        let columns = rows.first().map_or(0, |row| row.columns.len());
        let size = |column: usize| {
            rows.iter().filter_map(|row| row.columns.get(column)?.last()).max().map_or(0, |class| class + 1)
        };
        Self::new(&(0..columns).map(size).collect::<Vec<_>>(), rows)
    }

    fn push(&mut self, sizes: &[usize], row: &Region) {
        assert_eq!(row.columns.len(), sizes.len(), "a row has another number of columns than its table");
        for (set, size) in row.columns.iter().zip(sizes) {
            let words = size.div_ceil(WORD);
            self.words.extend((0..words).map(|index| set.word(index)));
        }
        self.rows += 1;
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn columns(&self) -> usize {
        self.starts.len() - 1
    }

    /// The words of a region that belong to `column`.
    pub(super) fn span(&self, column: usize) -> Range<usize> {
        self.starts[column]..self.starts[column + 1]
    }

    pub(super) fn row(&self, row: usize) -> &[u64] {
        let width = self.starts[self.columns()];
        &self.words[row * width..(row + 1) * width]
    }

    pub(super) fn cell(&self, row: usize, column: usize) -> &[u64] {
        &self.row(row)[self.span(column)]
    }

    /// Whether the regions have a point in common.
    pub(super) fn meet(&self, a: &[u64], b: &[u64]) -> bool {
        (0..self.columns()).all(|column| meets(&a[self.span(column)], &b[self.span(column)]))
    }

    pub(super) fn is_empty(&self, region: &[u64]) -> bool {
        !self.meet(region, region)
    }

    pub(super) fn region(&self, words: &[u64]) -> Region {
        Region { columns: (0..self.columns()).map(|column| ClassSet::from_words(&words[self.span(column)])).collect() }
    }

    /// Numbers the different cells of a column: the number of every row's cell, and a row that has it per number.
    pub(super) fn distinct(&self, column: usize) -> (Vec<usize>, Vec<usize>) {
        let mut numbers = HashMap::new();
        let mut sample = Vec::new();
        let number = |row| {
            *numbers.entry(self.cell(row, column)).or_insert_with(|| {
                sample.push(row);
                sample.len() - 1
            })
        };
        ((0..self.rows).map(number).collect(), sample)
    }

    /// Per row, the bit set of the rows that have a point in common with it, which are itself and its overlaps.
    ///
    /// Per column this takes one step for every different cell and one for every row, each on whole words of rows,
    /// where comparing all pairs would take one for every pair.
    pub(super) fn meetings(&self) -> Meetings {
        let width = self.rows.div_ceil(WORD);
        let all = (0..width).map(|index| mask(self.rows, index));
        let mut words: Vec<u64> = (0..self.rows).flat_map(|_| all.clone()).collect();
        for column in 0..self.columns() {
            let (numbers, sample) = self.distinct(column);
            let mut with_class = vec![0; self.span(column).len() * WORD * width];
            for (row, number) in numbers.iter().enumerate() {
                for class in classes(self.cell(sample[*number], column)) {
                    with_class[class * width + row / WORD] |= 1 << (row % WORD);
                }
            }
            let mut touching = vec![0; sample.len() * width];
            for (number, row) in sample.iter().enumerate() {
                let touching = &mut touching[number * width..][..width];
                for class in classes(self.cell(*row, column)) {
                    touching.iter_mut().zip(&with_class[class * width..]).for_each(|(all, one)| *all |= one);
                }
            }
            for (row, number) in numbers.iter().enumerate() {
                let touching = &touching[number * width..][..width];
                words[row * width..][..width].iter_mut().zip(touching).for_each(|(word, touching)| *word &= touching);
            }
        }
        Meetings { width, words }
    }
}

/// Which rows have a point in common.
pub(super) struct Meetings {
    width: usize,
    words: Vec<u64>,
}

impl Meetings {
    /// The rows that `row` has a point in common with, in order. `row` itself is one of them unless it is empty.
    pub(super) fn of(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        classes(&self.words[row * self.width..][..self.width])
    }
}

/// The numbers of the ones in `words`, lowest first.
pub(super) fn classes(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(index, word)| bits(*word).map(move |bit| index * WORD + bit))
}

pub(super) fn meets(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).any(|(a, b)| a & b != 0)
}

pub(super) fn contains(whole: &[u64], part: &[u64]) -> bool {
    whole.iter().zip(part).all(|(whole, part)| part & !whole == 0)
}

/// Word `index` of the bit set `0..size`.
fn mask(size: usize, index: usize) -> u64 {
    match size.saturating_sub(index * WORD) {
        0 => 0,
        rest if rest >= WORD => u64::MAX,
        rest => (1 << rest) - 1,
    }
}
