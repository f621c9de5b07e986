//! The state of every key that a log names: a flat hash table of fixed-size entries, each on one cache line or two, since
//! a long log touches tens of millions of them in no order.

/// A key's 128-bit hash; two keys of one log having the same is not to be expected in the life of this planet.
pub(crate) type Key = [u64; 2];

/// How full it may be, in eighths.
const FULL: usize = 6;

/// States of `width` words, by key.
pub(crate) struct StateTable {
    words: Vec<u64>,
    width: usize,
    len: usize,
    slots: usize,
}

impl StateTable {
    /// An empty table.
    pub(crate) fn new(width: usize) -> StateTable {
        StateTable { words: Vec::new(), width, len: 0, slots: 0 }
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// How many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.words.capacity() * 8
    }

    /// The state of this key, and whether it is new; a new one is all zeros.
    #[inline]
    pub(crate) fn state(&mut self, key: Key) -> (&mut [u64], bool) {
        if self.len * 8 >= self.slots * FULL {
            self.grow();
        }
        // Zeros mark an empty slot.
        let key = if key == [0, 0] { [1, 0] } else { key };
        let step = self.width + 2;
        let at = self.find(key) * step;
        let entry = &mut self.words[at..at + step];
        let new = entry[..2] == [0, 0];
        if new {
            entry[..2].copy_from_slice(&key);
            self.len += 1;
        }
        (&mut entry[2..], new)
    }

    fn find(&self, key: Key) -> usize {
        let step = self.width + 2;
        let mask = self.slots - 1;
        // The lowest bits chose the bucket; the upper half is as good. A slot's number is below the table's size.
        let mut slot = (key[1] as usize) & mask;
        loop {
            let at = slot * step;
            let entry = [self.words[at], self.words[at + 1]];
            if entry == key || entry == [0, 0] {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let step = self.width + 2;
        let old = std::mem::take(&mut self.words);
        self.slots = (self.slots * 2).max(64);
        self.words = vec![0; self.slots * step];
        for entry in old.chunks_exact(step).filter(|entry| entry[..2] != [0, 0]) {
            let at = self.find([entry[0], entry[1]]) * step;
            self.words[at..at + step].copy_from_slice(entry);
        }
    }

    /// Every key with its state, as words.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &[u64]> {
        self.words.chunks_exact(self.width + 2).filter(|entry| entry[..2] != [0, 0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_kept_while_it_grows() {
        let mut table = StateTable::new(1);
        for round in 0..3 {
            for n in 0..10_000u64 {
                let (state, new) = table.state([n, n.wrapping_mul(0x9E37_79B9_7F4A_7C15)]);
                assert_eq!(new, round == 0);
                state[0] += n;
            }
        }
        assert_eq!(table.len(), 10_000);
        assert!(table.entries().all(|entry| entry[2] == 3 * entry[0] || entry[..2] == [1, 0]));
    }
}
