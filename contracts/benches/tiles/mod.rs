//! Tables made by cutting the space of all points into boxes, with flaws planted in known places.
//!
//! The same seed makes the same table everywhere.

use nack_contracts::regions::{ClassSet, Gaps, Overlap, Region};

/// The generator splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number of `0..end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    /// Distributes a set over `N` sets, at random or as ranges.
    fn cut<const N: usize>(&mut self, set: &ClassSet) -> Option<[ClassSet; N]> {
        let mut parts: [ClassSet; N] = std::array::from_fn(|_| ClassSet::new());
        let ranges = self.below(2) == 0;
        let turn = self.below(set.len());
        for (index, class) in set.iter().enumerate() {
            let part = if ranges { (index + turn) % set.len() * N / set.len() } else { self.below(N) };
            parts[part].insert(class);
        }
        parts.iter().all(|part| !part.is_empty()).then_some(parts)
    }
}

/// How the boxes of a table come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Any box is cut next, in two: the cuts are a bushy tree.
    Bushy,
    /// Mostly the box made last is cut next, in two: the cuts are a deep tree.
    Deep,
    /// Any box is cut next, sometimes into five that lie around each other like the vanes of a windmill, which no
    /// cut through the whole box can take apart.
    Windmill,
}

/// `count` disjoint boxes or a few more that cover the space together, in random order.
pub(crate) fn tiles(sizes: &[usize], count: usize, shape: Shape, random: &mut Random) -> Vec<Region> {
    let mut tiles = vec![Region::full(sizes)];
    while tiles.len() < count {
        let last = shape == Shape::Deep && random.below(20) > 0;
        let picked = if last { tiles.len() - 1 } else { random.below(tiles.len()) };
        let tile = tiles[picked].clone();
        let (one, two) = (random.below(sizes.len()), random.below(sizes.len()));
        let with = |cells: &[(usize, &ClassSet)]| {
            let mut tile = tile.clone();
            cells.iter().for_each(|(column, set)| tile.columns[*column] = (*set).clone());
            tile
        };
        let made = if shape == Shape::Windmill && one != two && random.below(3) == 0 {
            let (Some([a, b, c]), Some([x, y, z])) = (random.cut(&tile.columns[one]), random.cut(&tile.columns[two]))
            else {
                continue;
            };
            vec![
                with(&[(one, &a.union(&b)), (two, &x)]),
                with(&[(one, &c), (two, &x.union(&y))]),
                with(&[(one, &b.union(&c)), (two, &z)]),
                with(&[(one, &a), (two, &y.union(&z))]),
                with(&[(one, &b), (two, &y)]),
            ]
        } else {
            let Some([a, b]) = random.cut(&tile.columns[one]) else { continue };
            vec![with(&[(one, &a)]), with(&[(one, &b)])]
        };
        tiles.swap_remove(picked);
        tiles.extend(made);
    }
    for last in (1..tiles.len()).rev() {
        tiles.swap(last, random.below(last + 1));
    }
    tiles
}

/// A table that covers everything once, but for what was planted.
pub(crate) struct Flawed {
    /// The rows.
    pub(crate) rows: Vec<Region>,
    /// All that no row covers, as disjoint boxes.
    pub(crate) gaps: Vec<Region>,
    /// The rows that also cover a slab outside of them, which is not part of a gap, and the slab.
    pub(crate) widened: Vec<(usize, Region)>,
}

impl Flawed {
    /// Asserts that the gaps are the planted ones, to the point, and that every widened row overlaps where it was
    /// widened.
    pub(crate) fn assert_found(&self, gaps: &Gaps, overlaps: &[Overlap]) {
        assert!(gaps.complete);
        let apart = |(index, gap): (usize, &Region)| gaps.regions[..index].iter().all(|other| !other.intersects(gap));
        assert!(gaps.regions.iter().enumerate().all(apart), "gaps have a point in common");
        let in_both = gaps.regions.iter().flat_map(|gap| self.gaps.iter().filter_map(|planted| gap.intersect(planted)));
        assert_eq!(points(&gaps.regions), points(&self.gaps), "the gaps are not as large as the planted ones");
        assert_eq!(
            points(&in_both.collect::<Vec<_>>()),
            points(&self.gaps),
            "the gaps are not where they were planted"
        );
        for (row, slab) in &self.widened {
            let here = |it: &&Overlap| (it.first == *row || it.second == *row) && it.shared.intersects(slab);
            assert!(overlaps.iter().any(|it| here(&it)), "row {row} was widened and overlaps nothing");
        }
    }
}

/// How many points disjoint regions have.
fn points(regions: &[Region]) -> u128 {
    regions.iter().map(|region| region.columns.iter().map(|set| set.len() as u128).product::<u128>()).sum()
}

/// Drops `flaws` rows, takes a class from a cell of as many others, and adds one to a cell of as many others again.
pub(crate) fn plant(sizes: &[usize], mut rows: Vec<Region>, flaws: usize, random: &mut Random) -> Flawed {
    let mut gaps = rows.split_off(rows.len() - flaws);
    let mut widened: Vec<(usize, Region)> = Vec::new();
    let mut narrowed = 0;
    for (index, row) in rows.iter_mut().enumerate() {
        let column = random.below(sizes.len());
        let class = random.below(sizes[column]);
        let mut slab = row.clone();
        slab.columns[column] = ClassSet::from_iter([class]);
        if row.columns[column].contains(class) {
            if narrowed < flaws && row.columns[column].len() > 1 && !widened.iter().any(|(_, it)| it.intersects(&slab))
            {
                row.columns[column].remove(class);
                gaps.push(slab);
                narrowed += 1;
            }
        } else if widened.len() < flaws && !gaps.iter().any(|gap| gap.intersects(&slab)) {
            row.columns[column].insert(class);
            widened.push((index, slab));
        }
    }
    assert!(narrowed == flaws && widened.len() == flaws, "the table is too small for its flaws");
    Flawed { rows, gaps, widened }
}

/// `count` rows that are open to anything but in up to `cells` columns, where they have up to `classes` classes.
pub(crate) fn starred(sizes: &[usize], count: usize, cells: usize, classes: usize, random: &mut Random) -> Vec<Region> {
    let mut rows = vec![Region::full(sizes); count];
    for row in &mut rows {
        for _ in 0..cells {
            let column = random.below(sizes.len());
            row.columns[column] = (0..classes).map(|_| random.below(sizes[column])).collect();
        }
    }
    rows
}
