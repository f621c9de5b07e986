//! Which of its named defects a program carries. A defect point asks by name; a name that the program does not
//! publish would be a defect point that never fires, so asking for one is a bug.

/// One defect of a published list, or none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Defect {
    published: &'static [&'static str],
    carried: Option<&'static str>,
}

impl Defect {
    /// The defect of that name, or none if none is wanted. `None`: it is not in the list.
    pub(crate) fn among(published: &'static [&'static str], wanted: Option<&str>) -> Option<Defect> {
        let carried = match wanted {
            None => None,
            Some(wanted) => Some(*published.iter().find(|name| **name == wanted)?),
        };
        Some(Defect { published, carried })
    }

    /// Whether the program carries this defect.
    pub(crate) fn is(self, name: &str) -> bool {
        debug_assert!(self.published.contains(&name), "`{name}` is no published defect");
        self.carried == Some(name)
    }

    /// Whether the program carries one of these.
    pub(crate) fn is_any(self, names: &[&str]) -> bool {
        names.iter().any(|name| self.is(name))
    }
}
