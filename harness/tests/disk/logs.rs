//! Logs by hand and by lot.

use nack::disk::log::{Bytes, Inode, Kind, Level, Op, Place, Recording, What};
use nack::disk::tree::Tree;
use proptest::prelude::*;

pub(crate) fn place(name: &str) -> Place {
    Place::new(Inode::ROOT, name)
}

pub(crate) fn create(inode: u32, name: &str) -> What {
    What::New { inode: Inode(inode), kind: Kind::File, at: Some(place(name)) }
}

pub(crate) fn write(inode: u32, offset: u64, byte: u8, length: usize) -> What {
    What::Write { inode: Inode(inode), offset, bytes: Bytes::from(vec![byte; length]), synced: None }
}

pub(crate) fn write_synced(inode: u32, offset: u64, byte: u8, length: usize) -> What {
    What::Write { inode: Inode(inode), offset, bytes: Bytes::from(vec![byte; length]), synced: Some(Level::Data) }
}

pub(crate) fn size(inode: u32, size: u64) -> What {
    What::Size { inode: Inode(inode), size }
}

pub(crate) fn rename(from: &str, to: &str) -> What {
    What::Rename { from: place(from), to: place(to) }
}

pub(crate) fn unlink(name: &str) -> What {
    What::Unlink { at: place(name) }
}

pub(crate) fn fsync(inode: u32) -> What {
    What::Sync { inode: Inode(inode), level: Level::Full, ok: true }
}

pub(crate) fn fdatasync(inode: u32) -> What {
    What::Sync { inode: Inode(inode), level: Level::Data, ok: true }
}

pub(crate) fn failed(inode: u32) -> What {
    What::Sync { inode: Inode(inode), level: Level::Full, ok: false }
}

pub(crate) fn close(inode: u32) -> What {
    What::Close { inode: Inode(inode) }
}

pub(crate) fn mark(number: u32) -> What {
    What::Mark { number }
}

pub(crate) fn recording(start: Tree, whats: impl IntoIterator<Item = What>) -> Recording {
    let op = |what: What| Op { actor: 0, call: what.word().into(), what };
    Recording { start, ops: whats.into_iter().map(op).collect() }
}

/// One thing to do, to be made valid by what there is.
pub(crate) type Lot = (u8, u8, u8, u8);

pub(crate) fn lots(most: usize) -> impl Strategy<Value = Vec<Lot>> {
    proptest::collection::vec((0u8..32, any::<u8>(), any::<u8>(), any::<u8>()), 1..most)
}

/// A log of what lots say, on an empty store with a folder `d`. `lengths` are those of writes.
pub(crate) fn by_lot(lots: &[Lot], lengths: &[usize], links: bool) -> Recording {
    const OFFSETS: [u64; 6] = [0, 300, 512, 4000, 4096, 8192];
    const SIZES: [u64; 6] = [0, 0, 100, 512, 4096, 5000];
    const NAMES: [&str; 3] = ["a", "b", "c"];
    let folder = Inode(1);
    let mut live = Tree::default();
    let (mut ops, mut next, mut byte, mut changes) = (Vec::new(), 2, 0, 0);
    let mut push = |live: &mut Tree, what: What| {
        live.apply(&what).expect("made to fit");
        ops.push(what);
    };
    push(&mut live, What::New { inode: folder, kind: Kind::Folder, at: Some(place("d")) });
    push(&mut live, What::SyncAll);
    for (kind, x, y, z) in lots {
        let at = |x: u8| Place::new(if x & 64 == 0 { Inode::ROOT } else { folder }, NAMES[x as usize % 3]);
        let files: Vec<Inode> = live
            .inodes()
            .filter(|(_, node)| matches!(node, nack::disk::tree::Node::File(_)))
            .map(|(inode, _)| inode)
            .collect();
        let file = files.get(*x as usize % files.len().max(1)).copied();
        let level = if y & 1 == 0 { Level::Data } else { Level::Full };
        // The oracle enumerates the subsets of changes of names.
        let named = matches!(kind, 0..=7) && changes < 10;
        let what = match (kind, file) {
            (0..=3, _) if named && live.lookup(&at(*x)).is_none() => {
                next += 1;
                What::New { inode: Inode(next - 1), kind: Kind::File, at: Some(at(*x)) }
            }
            (4, _) if named && live.lookup(&at(*x)).is_some() => What::Unlink { at: at(*x) },
            (5 | 6, _) if named && live.lookup(&at(*x)).is_some() => What::Rename { from: at(*x), to: at(*y) },
            (7, Some(inode)) if named && links && live.lookup(&at(*y)).is_none() => What::Link { inode, at: at(*y) },
            (8..=17, Some(inode)) => {
                byte += 1;
                let bytes = Bytes::from(vec![byte; lengths[*z as usize % lengths.len()]]);
                let synced = (y & 0x70 == 0).then_some(level);
                What::Write { inode, offset: OFFSETS[*y as usize % 6], bytes, synced }
            }
            (18..=20, Some(inode)) => What::Size { inode, size: SIZES[*y as usize % 6] },
            (21..=24, Some(inode)) => What::Sync { inode, level, ok: z & 3 != 0 },
            (25 | 26, _) => What::Sync { inode: if x & 1 == 0 { Inode::ROOT } else { folder }, level, ok: z & 7 != 0 },
            (27, _) => What::SyncAll,
            (28, Some(inode)) => What::Close { inode },
            (29..=31, _) => What::Mark { number: 0 },
            _ => continue,
        };
        changes += usize::from(named) * 2;
        if what == What::SyncAll {
            changes = 0;
        }
        push(&mut live, what);
    }
    recording(Tree::default(), ops)
}
