//! The bytes of one file in pages that are shared between images until one changes, with a hash that follows along.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The bytes of a page: what the system moves between memory and disk.
pub const PAGE: usize = 4096;

/// One page and its hash. A page of zeros is never kept: it is a hole.
#[derive(Clone, Debug)]
pub struct Page {
    bytes: Arc<[u8; PAGE]>,
    hash: u64,
}

impl Page {
    /// A page of these bytes, or none if all are zero.
    pub fn new(bytes: Box<[u8; PAGE]>) -> Option<Page> {
        if is_zero(&bytes[..]) {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        hasher.write(&bytes[..]);
        Some(Page { hash: hasher.finish(), bytes: Arc::from(bytes) })
    }

    /// A copy of what a page holds, zeros if it is a hole.
    pub fn copy(page: Option<&Page>) -> Box<[u8; PAGE]> {
        page.map_or_else(|| Box::new([0; PAGE]), |page| Box::new(*page.bytes))
    }

    /// What it holds.
    pub fn bytes(&self) -> &[u8; PAGE] {
        &self.bytes
    }

    /// Whether both are the same, told without comparing bytes: pages that merely look alike may be told apart.
    pub fn same(one: Option<&Page>, other: Option<&Page>) -> bool {
        match (one, other) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(&one.bytes, &other.bytes),
            _ => false,
        }
    }
}

/// A file's bytes.
#[derive(Clone, Debug, Default)]
pub struct File {
    size: u64,
    pages: Vec<Option<Page>>,
    hash: u64,
}

impl File {
    /// A file of these bytes.
    pub fn new(bytes: &[u8]) -> File {
        let mut file = File::default();
        file.write(0, bytes);
        file
    }

    /// The size, in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// A hash of bytes and size, the same in one process for files that are equal.
    pub fn hash(&self) -> u64 {
        self.hash ^ mixed(u64::MAX, self.size)
    }

    /// One page, by its number from 0. None is zeros, or behind the end.
    pub fn page(&self, index: usize) -> Option<&Page> {
        self.pages.get(index)?.as_ref()
    }

    /// How many pages may hold more than zeros.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Replaces one page. The size stays.
    pub fn set_page(&mut self, index: usize, page: Option<Page>) {
        if index >= self.pages.len() {
            if page.is_none() {
                return;
            }
            self.pages.resize(index + 1, None);
        }
        let old = std::mem::replace(&mut self.pages[index], page);
        for page in old.iter().chain(&self.pages[index]) {
            self.hash ^= mixed(index as u64, page.hash);
        }
    }

    /// Sets the size and nothing else: what stands behind a smaller one is neither cut nor seen until it grows.
    pub fn set_size(&mut self, size: u64) {
        self.size = size;
    }

    /// Whether nothing stands behind the size.
    pub fn is_cut(&self) -> bool {
        let (whole, part) = ((self.size / PAGE as u64) as usize, (self.size % PAGE as u64) as usize);
        let behind = self.pages.iter().skip(self.size.div_ceil(PAGE as u64) as usize).all(Option::is_none);
        behind && self.page(whole).is_none_or(|page| part == 0 || is_zero(&page.bytes[part..]))
    }

    /// Cuts everything off behind the size, so that a later growth brings zeros.
    pub fn cut(&mut self) {
        let whole = (self.size / PAGE as u64) as usize;
        let part = (self.size % PAGE as u64) as usize;
        if let Some(page) = self.page(whole).filter(|page| part > 0 && !is_zero(&page.bytes[part..])) {
            let mut bytes = Page::copy(Some(page));
            bytes[part..].fill(0);
            self.set_page(whole, Page::new(bytes));
        }
        for index in self.size.div_ceil(PAGE as u64) as usize..self.pages.len() {
            self.set_page(index, None);
        }
        self.pages.truncate(self.size.div_ceil(PAGE as u64) as usize);
    }

    /// Sets the size as `truncate` does.
    pub fn truncate(&mut self, size: u64) {
        self.size = size;
        self.cut();
    }

    /// Writes as `pwrite` does: the file grows where the bytes end behind its end.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        for (offset, bytes) in pieces(offset, bytes) {
            let index = (offset / PAGE as u64) as usize;
            let start = (offset % PAGE as u64) as usize;
            let mut page = Page::copy(self.page(index));
            page[start..start + bytes.len()].copy_from_slice(bytes);
            self.set_page(index, Page::new(page));
            self.size = self.size.max(offset + bytes.len() as u64);
        }
    }

    /// All bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.size as usize];
        for (page, chunk) in self.pages.iter().zip(bytes.chunks_mut(PAGE)) {
            if let Some(page) = page {
                chunk.copy_from_slice(&page.bytes[..chunk.len()]);
            }
        }
        bytes
    }
}

impl PartialEq for File {
    fn eq(&self, other: &File) -> bool {
        self.size == other.size
            && (0..self.pages.len().max(other.pages.len())).all(|index| match (self.page(index), other.page(index)) {
                (None, None) => true,
                (Some(one), Some(other)) => Arc::ptr_eq(&one.bytes, &other.bytes) || one.bytes == other.bytes,
                _ => false,
            })
    }
}

impl Eq for File {}

/// The bytes of a write, page by page.
pub fn pieces(offset: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut at = offset;
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let room = PAGE - (at % PAGE as u64) as usize;
        let (piece, behind) = rest.split_at(room.min(rest.len()));
        let start = at;
        (at, rest) = (at + piece.len() as u64, behind);
        (!piece.is_empty()).then_some((start, piece))
    })
}

/// Combines a place and what stands there, so that a plain XOR over all places tells which stands where.
pub(crate) fn mixed(place: impl Hash, value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    place.hash(&mut hasher);
    value.hash(&mut hasher);
    hasher.finish()
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
