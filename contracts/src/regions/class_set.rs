use std::fmt;

const WORD: usize = u64::BITS as usize;

/// A set of classes of one column.
///
/// Classes are small numbers, so the set is a bit set. The first 64 classes, which is more than nearly every
/// column has, are kept without an allocation.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct ClassSet {
    low: u64,
    /// The words after `low`. The last one is never zero: equal sets must compare and hash as equal.
    high: Vec<u64>,
}

impl ClassSet {
    /// The set without a class.
    pub fn new() -> Self {
        Self::default()
    }

    /// The set of the classes `0..size`: a column's "any".
    pub fn full(size: usize) -> Self {
        (0..size).collect()
    }

    /// Whether `class` is in the set.
    pub fn contains(&self, class: usize) -> bool {
        self.word(class / WORD) >> (class % WORD) & 1 == 1
    }

    /// Adds `class`; says whether it was new.
    pub fn insert(&mut self, class: usize) -> bool {
        let index = class / WORD;
        if index > self.high.len() {
            self.high.resize(index, 0);
        }
        let word = if index == 0 { &mut self.low } else { &mut self.high[index - 1] };
        let before = *word;
        *word |= 1 << (class % WORD);
        *word != before
    }

    /// Takes `class` out; says whether it was there.
    pub fn remove(&mut self, class: usize) -> bool {
        let was_there = self.contains(class);
        if was_there {
            let index = class / WORD;
            let word = if index == 0 { &mut self.low } else { &mut self.high[index - 1] };
            *word &= !(1 << (class % WORD));
            self.trim();
        }
        was_there
    }

    /// Whether no class is in the set.
    pub fn is_empty(&self) -> bool {
        self.low == 0 && self.high.is_empty()
    }

    /// How many classes are in the set.
    pub fn len(&self) -> usize {
        self.words().map(|word| word.count_ones() as usize).sum()
    }

    /// The smallest class of the set.
    pub fn first(&self) -> Option<usize> {
        self.iter().next()
    }

    /// The largest class of the set.
    pub fn last(&self) -> Option<usize> {
        let index = self.high.len();
        self.word(index).checked_ilog2().map(|bit| index * WORD + bit as usize)
    }

    /// The classes, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words().enumerate().flat_map(|(index, word)| bits(word).map(move |bit| index * WORD + bit))
    }

    /// The classes that are in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a & b)
    }

    /// The classes that are in either set.
    pub fn union(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a | b)
    }

    /// The classes of this set that are not in `other`.
    pub fn difference(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a & !b)
    }

    /// Whether some class is in both sets.
    pub fn intersects(&self, other: &Self) -> bool {
        self.low & other.low != 0 || self.high.iter().zip(&other.high).any(|(a, b)| a & b != 0)
    }

    /// Whether every class of this set is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.words().enumerate().all(|(index, word)| word & !other.word(index) == 0)
    }

    /// Word `index` of the bit set; zero behind its end.
    pub(super) fn word(&self, index: usize) -> u64 {
        match index.checked_sub(1) {
            None => self.low,
            Some(index) => self.high.get(index).copied().unwrap_or(0),
        }
    }

    /// The reverse of [`ClassSet::word`].
    pub(super) fn from_words(words: &[u64]) -> Self {
        let (low, high) = words.split_first().map_or((0, &[][..]), |(low, high)| (*low, high));
        let mut set = Self { low, high: high.to_vec() };
        set.trim();
        set
    }

    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        std::iter::once(self.low).chain(self.high.iter().copied())
    }

    fn combine(&self, other: &Self, word: impl Fn(u64, u64) -> u64) -> Self {
        let high = (1..=self.high.len().max(other.high.len())).map(|i| word(self.word(i), other.word(i))).collect();
        let mut set = Self { low: word(self.low, other.low), high };
        set.trim();
        set
    }

    fn trim(&mut self) {
        while self.high.last() == Some(&0) {
            self.high.pop();
        }
    }
}

impl FromIterator<usize> for ClassSet {
    fn from_iter<I: IntoIterator<Item = usize>>(classes: I) -> Self {
        let mut set = Self::new();
        set.extend(classes);
        set
    }
}

impl Extend<usize> for ClassSet {
    fn extend<I: IntoIterator<Item = usize>>(&mut self, classes: I) {
        for class in classes {
            self.insert(class);
        }
    }
}

impl fmt::Debug for ClassSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// The places of the ones in `word`, lowest first.
pub(super) fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let bit = word.trailing_zeros() as usize;
        word &= word - 1;
        Some(bit)
    })
}
