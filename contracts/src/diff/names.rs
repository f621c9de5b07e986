//! What is called otherwise in the newer contract, kind by kind: a name that is gone and one that is new are the same
//! thing under two names if what they name is the same.

use std::collections::HashMap;

/// The old names of one kind, each with its new one. A name that is not here is its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Renames(HashMap<String, String>);

impl Renames {
    pub(super) fn add(&mut self, old: &str, new: &str) {
        self.0.insert(old.to_owned(), new.to_owned());
    }

    /// The new name.
    pub(super) fn of(&self, old: &str) -> String {
        self.0.get(old).cloned().unwrap_or_else(|| old.to_owned())
    }
}

/// All names that changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) capabilities: Renames,
    pub(super) params: Renames,
    pub(super) domains: Renames,
    /// Classes, by the old name of their domain.
    pub(super) classes: HashMap<String, Renames>,
    /// Labels of samples, by the old name of their domain.
    pub(super) labels: HashMap<String, Renames>,
    pub(super) stores: Renames,
    pub(super) effects: Renames,
    pub(super) calls: Renames,
    pub(super) tables: Renames,
    /// The rows that say what an old row said, by its old name; several where it was split.
    pub(super) rows: HashMap<String, Vec<String>>,
    pub(super) scenarios: Renames,
    pub(super) invariants: Renames,
    pub(super) gates: Renames,
}

impl Names {
    pub(super) fn class(&self, domain: &str, class: &str) -> String {
        self.classes.get(domain).map_or_else(|| class.to_owned(), |classes| classes.of(class))
    }

    pub(super) fn label(&self, domain: &str, label: &str) -> String {
        self.labels.get(domain).map_or_else(|| label.to_owned(), |labels| labels.of(label))
    }

    /// Whether the new row, of any table, says some of what the old one said.
    pub(super) fn row(&self, old: &str, new: &str) -> bool {
        old == new || self.rows.get(old).is_some_and(|rows| rows.iter().any(|row| row == new))
    }

    /// A column as scenarios name it: `column` or `alias.column`.
    pub(super) fn column(&self, old: &str) -> String {
        match old.split_once('.') {
            Some((alias, column)) => format!("{alias}.{}", self.domains.of(column)),
            None => self.domains.of(old),
        }
    }

    /// The relation of a store or an effect, history and givens included.
    pub(super) fn relation(&self, old: &str) -> String {
        for suffix in ["_history", "_given"] {
            if let Some(store) = old.strip_suffix(suffix) {
                let new = self.stores.of(store);
                if new != store {
                    return format!("{new}{suffix}");
                }
            }
        }
        let store = self.stores.of(old);
        if store == old { self.effects.of(old) } else { store }
    }

    /// What a `$name` in a template refers to.
    pub(super) fn variable(&self, old: &str) -> String {
        let param = self.params.of(old);
        if param == old { self.column(old) } else { param }
    }
}

/// Things of one kind, old beside new.
pub(super) struct Pairs<'a, T> {
    /// Those that go together, by name or by content.
    pub(super) both: Vec<(&'a T, &'a T)>,
    pub(super) gone: Vec<&'a T>,
    pub(super) new: Vec<&'a T>,
}

/// Pairs by name; what is left over by content, in order.
pub(super) fn pair<'a, T>(
    base: impl IntoIterator<Item = &'a T>,
    head: impl IntoIterator<Item = &'a T>,
    name: impl Fn(&T) -> &str,
    same: impl Fn(&T, &T) -> bool,
) -> Pairs<'a, T> {
    let mut new: Vec<&T> = head.into_iter().collect();
    let mut both = Vec::new();
    let mut left = Vec::new();
    for old in base {
        match new.iter().position(|candidate| name(candidate) == name(old)) {
            Some(index) => both.push((old, new.remove(index))),
            None => left.push(old),
        }
    }
    let mut gone = Vec::new();
    for old in left {
        match new.iter().position(|candidate| same(old, candidate)) {
            Some(index) => both.push((old, new.remove(index))),
            None => gone.push(old),
        }
    }
    Pairs { both, gone, new }
}
