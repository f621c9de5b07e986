use super::ClassSet;

/// A box: all points whose class in every column is one of that column's set.
///
/// A table without a column has exactly one point, and the region without a column contains it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// Per column, the classes.
    pub columns: Vec<ClassSet>,
}

impl Region {
    /// The whole space of a table whose column `c` has `sizes[c]` classes.
    pub fn full(sizes: &[usize]) -> Self {
        Self { columns: sizes.iter().map(|size| ClassSet::full(*size)).collect() }
    }

    /// Whether the region contains no point, which one empty column is enough for.
    pub fn is_empty(&self) -> bool {
        self.columns.iter().any(ClassSet::is_empty)
    }

    /// Whether the point with these classes, one per column, is in the region.
    pub fn contains_point(&self, point: &[usize]) -> bool {
        self.columns.len() == point.len() && self.columns.iter().zip(point).all(|(set, class)| set.contains(*class))
    }

    /// A witness: the first class of every column. `None` if the region is empty.
    pub fn first_point(&self) -> Option<Vec<usize>> {
        self.columns.iter().map(ClassSet::first).collect()
    }

    /// Whether the regions, of one table, have a point in common.
    pub fn intersects(&self, other: &Self) -> bool {
        self.columns.iter().zip(&other.columns).all(|(a, b)| a.intersects(b))
    }

    /// What both regions, of one table, contain. `None` if that is no point.
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        let shared = |(a, b): (&ClassSet, &ClassSet)| Some(a.intersection(b)).filter(|set| !set.is_empty());
        self.columns.iter().zip(&other.columns).map(shared).collect::<Option<_>>().map(|columns| Self { columns })
    }
}
