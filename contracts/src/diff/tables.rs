//! Decision tables, compared by what they say for each input and not by their rows. Both versions are laid on one
//! grid; where a row of the one and a row of the other meet, what they give is compared.

use std::collections::HashMap;

use super::names::pair;
use super::points::{keys, points};
use super::{At, Diff, Direction};
use crate::model::{Output, Row, SET_CLASSES, Table};
use crate::regions::{ClassSet, Region, covered_by_others};

/// A column of the common grid: for each step of it, its words and the class in either version. `None` where that
/// version does not look at the column, or does not know the value.
struct Axis {
    name: String,
    base: Option<usize>,
    head: Option<usize>,
    steps: Vec<(String, Option<usize>, Option<usize>)>,
}

/// An output that both versions give.
struct Gives {
    name: String,
    base: usize,
    head: usize,
}

/// Two versions of a table on one grid.
struct Both<'a> {
    old: &'a Table,
    new: &'a Table,
    axes: Vec<Axis>,
    base: Vec<Region>,
    head: Vec<Region>,
    outputs: Vec<Gives>,
}

impl Diff<'_> {
    pub(super) fn tables(&mut self) {
        let same = |a: &Table, b: &Table| {
            let at = At::both("", &a.span, &b.span);
            self.trial(|trial| trial.table(a, b, &at))
        };
        let pairs = pair(self.base.tables.values(), self.head.tables.values(), |table| &table.name, same);
        for (old, new) in pairs.both {
            let at = At::both(format!("table.{}", new.name), &old.span, &new.span);
            if old.name != new.name {
                self.names.tables.add(&old.name, &new.name);
                self.renamed("table", &at, &old.name, &new.name);
            }
            self.table(old, new, &at);
        }
        for old in pairs.gone {
            self.weak("table", &At::gone(format!("table.{}", old.name), &old.span), "the table is gone");
        }
        for new in pairs.new {
            self.strong("table", &At::new(format!("table.{}", new.name), &new.span), "the table is new");
        }
    }

    fn table(&mut self, old: &Table, new: &Table, at: &At) {
        let both = self.both(old, new, at);
        self.cells(&both, at);
        self.rows(&both, at);
        let success = |table: &Table, contract: &crate::Contract| -> Vec<String> {
            let of = |(column, classes): (&String, &Vec<usize>)| {
                let domain = &contract.domains[column];
                let names = classes.iter().map(|class| &domain.classes[*class]);
                names.map(|class| format!("{column} = {}", keys(class).join(" or "))).collect::<Vec<_>>()
            };
            table.success.iter().flat_map(of).collect()
        };
        let before: Vec<String> = success(old, self.base)
            .iter()
            .map(|word| {
                let (column, values) = word.split_once(" = ").unwrap_or((word, ""));
                format!("{} = {values}", self.names.domains.of(column))
            })
            .collect();
        let after = success(new, self.head);
        self.members("guard", at, &before, &after, Direction::Strengthened, "what no unknown input may reach:");
    }

    fn both<'a>(&mut self, old: &'a Table, new: &'a Table, at: &At) -> Both<'a> {
        let mut axes = Vec::new();
        let mut of_new: Vec<bool> = vec![false; new.inputs.len()];
        for (column, name) in old.inputs.iter().enumerate() {
            let called = match &old.set {
                Some(domain) => self.names.class(domain, name),
                None => self.names.domains.of(name),
            };
            let twin = new.inputs.iter().position(|candidate| *candidate == called);
            twin.iter().for_each(|twin| of_new[*twin] = true);
            axes.push(self.axis(old, new, Some(column), twin));
            if twin.is_none() {
                self.weak("input", at, format!("the table no longer looks at `{name}`"));
            }
        }
        for column in (0..new.inputs.len()).filter(|column| !of_new[*column]) {
            self.strong("input", at, format!("the table looks at `{}` now", new.inputs[column]));
            axes.push(self.axis(old, new, None, Some(column)));
        }
        let mut outputs = Vec::new();
        for (index, name) in old.outputs.iter().enumerate() {
            let called = self.names.domains.of(name);
            match new.outputs.iter().position(|candidate| *candidate == called) {
                Some(twin) => outputs.push(Gives { name: called, base: index, head: twin }),
                None => self.weak("output", at, format!("the table no longer says `{name}`")),
            }
        }
        for name in &new.outputs {
            if !outputs.iter().any(|gives| gives.name == *name) {
                self.strong("output", at, format!("the table says `{name}`, too"));
            }
        }
        let region = |row: &Row, head: bool| Region {
            columns: axes
                .iter()
                .map(|axis| {
                    let cell = if head { axis.head } else { axis.base }.map(|column| &row.inputs[column].classes);
                    let within = |(_, base, new): &(String, Option<usize>, Option<usize>)| match cell {
                        Some(classes) => if head { new } else { base }.is_some_and(|class| classes.contains(&class)),
                        None => true,
                    };
                    (0..axis.steps.len()).filter(|step| within(&axis.steps[*step])).collect::<ClassSet>()
                })
                .collect(),
        };
        let base = old.rows.iter().map(|row| region(row, false)).collect();
        let head = new.rows.iter().map(|row| region(row, true)).collect();
        Both { old, new, axes, base, head, outputs }
    }

    fn axis(&self, old: &Table, new: &Table, base: Option<usize>, head: Option<usize>) -> Axis {
        let name = head.map(|h| &new.inputs[h]).or(base.map(|b| &old.inputs[b])).cloned().unwrap_or_default();
        let mut steps: Vec<(String, Option<usize>, Option<usize>)> = Vec::new();
        if old.set.is_some() || new.set.is_some() {
            steps.extend(SET_CLASSES.iter().enumerate().map(|(i, word)| ((*word).to_owned(), Some(i), Some(i))));
            return Axis { name, base, head, steps };
        }
        let before = base.map(|column| &self.base.domains[&old.inputs[column]]);
        let after = head.map(|column| &self.head.domains[&new.inputs[column]]);
        let (Some(before), Some(after)) = (before, after) else {
            let domain = before.or(after).into_iter().flat_map(|domain| domain.classes.iter().enumerate());
            steps.extend(domain.map(|(i, class)| (class.name.clone(), base.and(Some(i)), head.and(Some(i)))));
            return Axis { name, base, head, steps };
        };
        for point in points(before, after) {
            // A sample more or less of a class that both know moves no boundary: the class stands for it, or stood.
            let twin_of_old = || {
                let called = self.names.class(&before.name, &before.classes[point.base?].name);
                after.class(&called)
            };
            let twin_of_new = || {
                let new = &after.classes[point.head?].name;
                before.classes.iter().position(|class| self.names.class(&before.name, &class.name) == *new)
            };
            let (old_class, new_class) = (point.base.or_else(twin_of_new), point.head.or_else(twin_of_old));
            if steps.iter().any(|(_, a, b)| (*a, *b) == (old_class, new_class))
                || (old_class, new_class) == (None, None)
            {
                continue;
            }
            let name = |class: Option<usize>, domain: &crate::model::Domain| Some(domain.classes[class?].name.clone());
            let words = match (name(old_class, before), name(new_class, after)) {
                (Some(a), Some(b)) if self.names.class(&before.name, &a) == b => b,
                _ => point.words,
            };
            steps.push((words, old_class, new_class));
        }
        Axis { name, base, head, steps }
    }

    /// Compares what is given wherever two rows meet.
    fn cells(&mut self, both: &Both<'_>, at: &At) {
        for (i, old) in both.old.rows.iter().enumerate() {
            for (j, new) in both.new.rows.iter().enumerate() {
                let Some(shared) = both.base[i].intersect(&both.head[j]) else { continue };
                let place = At::both(format!("{}.{}", at.at, new.id), &old.span, &new.span);
                for gives in &both.outputs {
                    self.cell(both, gives, old, new, &shared, &place);
                }
            }
            // Values that the new version knows nothing of were told as samples and classes.
            let known = known(&both.axes, &both.base[i], |step| step.2.is_some());
            let meeting = both.head.iter().filter(|row| row.intersects(&known)).cloned();
            let rows: Vec<Region> = std::iter::once(known.clone()).chain(meeting).collect();
            if !covered_by_others(&rows, 0) {
                let place = At::gone(format!("{}.{}", at.at, old.id), &old.span);
                self.weak("row", &place, format!("for some of what `{}` covered no row says anything", old.id));
            }
        }
        for (j, new) in both.new.rows.iter().enumerate() {
            let fresh = fresh(&both.axes, &both.head[j]);
            let success = both.outputs.iter().find(|gives| self.succeeds(both, gives, &given(new, gives.head), true));
            if let (Some(words), Some(gives)) = (fresh, success) {
                let place = At::new(format!("{}.{}", at.at, new.id), &new.span);
                self.weak("success", &place, format!("`{}` reaches success from {words}, which is new", gives.name));
            }
        }
    }

    fn cell(&mut self, both: &Both<'_>, gives: &Gives, old: &Row, new: &Row, shared: &Region, at: &At) {
        let (before, after) = (given(old, gives.base), given(new, gives.head));
        if self.same_output(both, gives, &before, &after) {
            return;
        }
        let words = |output: &Output, column: &str, contract: &crate::Contract| match output {
            Output::Class(class) => format!("`{}`", contract.domains[column].classes[*class].name),
            Output::Error(name) => format!("the error `{name}`"),
            Output::Nothing => "without meaning".to_owned(),
            Output::Never(_) => "said never to occur".to_owned(),
        };
        let told = format!(
            "`{}` was {} and is {}, for {}",
            gives.name,
            words(&before, &both.old.outputs[gives.base], self.base),
            words(&after, &gives.name, self.head),
            region_words(&both.axes, shared)
        );
        let (did, does) = (self.succeeds(both, gives, &before, false), self.succeeds(both, gives, &after, true));
        let silent = |output: &Output| matches!(output, Output::Nothing | Output::Never(_));
        let (direction, part) = match (&before, &after) {
            _ if does && !did => (Direction::Weakened, "success"),
            (a, b) if silent(a) && silent(b) => (Direction::Neutral, "cell"),
            (_, b) if silent(b) => (Direction::Weakened, "cell"),
            (a, _) if silent(a) => (Direction::Strengthened, "cell"),
            _ if did && !does => (Direction::Strengthened, "success"),
            (Output::Error(_), Output::Error(any)) if any == "any" => (Direction::Weakened, "cell"),
            (Output::Error(any), Output::Error(_)) if any == "any" => (Direction::Strengthened, "cell"),
            (Output::Error(_), Output::Error(_)) => (Direction::Neutral, "cell"),
            (_, Output::Error(_)) => (Direction::Strengthened, "cell"),
            // Also another word for another: what the old table refused passes now.
            _ => (Direction::Weakened, "cell"),
        };
        self.say(direction, part, at, told);
    }

    /// Whether an output is one of the success values of either version, by value.
    fn succeeds(&self, both: &Both<'_>, gives: &Gives, output: &Output, head: bool) -> bool {
        let Output::Class(class) = output else { return false };
        let column = if head { &gives.name } else { &both.old.outputs[gives.base] };
        let contract = if head { self.head } else { self.base };
        let value = keys(&contract.domains[column].classes[*class]);
        let listed = |table: &Table, column: &str, contract: &crate::Contract| {
            let classes = table.success.get(column).into_iter().flatten();
            classes.into_iter().any(|class| keys(&contract.domains[column].classes[*class]) == value)
        };
        listed(both.old, &both.old.outputs[gives.base], self.base) || listed(both.new, &gives.name, self.head)
    }

    /// Whether two cells say the same: the same class, with the same value behind it.
    fn same_output(&self, both: &Both<'_>, gives: &Gives, before: &Output, after: &Output) -> bool {
        match (before, after) {
            (Output::Class(a), Output::Class(b)) => {
                let (column, new) = (&both.old.outputs[gives.base], &self.head.domains[&gives.name]);
                let (a, b) = (&self.base.domains[column].classes[*a], &new.classes[*b]);
                // What a class of one sample gives is that value; of several, none can be meant.
                let single = a.samples.len() == 1 && b.samples.len() == 1;
                self.names.class(column, &a.name) == b.name && (!single || keys(a) == keys(b))
            }
            (Output::Never(_), Output::Never(_)) => true,
            _ => before == after,
        }
    }

    /// Rows as names of cases: what each is called now, what it needs, and whether a mutant defends it.
    fn rows(&mut self, both: &Both<'_>, at: &At) {
        let says = |old: &Row, new: &Row, diff: &Diff<'_>| {
            both.outputs.iter().all(|g| diff.same_output(both, g, &given(old, g.base), &given(new, g.head)))
        };
        let mut names: HashMap<String, Vec<String>> = HashMap::new();
        for (i, old) in both.old.rows.iter().enumerate() {
            let exact =
                (0..both.head.len()).find(|j| both.head[*j] == both.base[i] && says(old, &both.new.rows[*j], self));
            let heirs: Vec<&Row> = match exact {
                Some(twin) => vec![&both.new.rows[twin]],
                None => {
                    let meets = |j: &usize| both.head[*j].intersects(&both.base[i]);
                    (0..both.head.len())
                        .filter(meets)
                        .map(|j| &both.new.rows[j])
                        .filter(|new| says(old, new, self))
                        .collect()
                }
            };
            let (no_needs, empty) = (Vec::new(), both.old.needs.get(&old.id));
            let needs = empty.unwrap_or(&no_needs);
            for new in &heirs {
                let place = At::both(format!("{}.{}", at.at, new.id), &old.span, &new.span);
                self.needs(&place, needs, both.new.needs.get(&new.id).unwrap_or(&Vec::new()));
                match (both.old.undefended.contains_key(&old.id), both.new.undefended.contains_key(&new.id)) {
                    (false, true) => self.weak("undefended", &place, "no mutant has to defend this row now"),
                    (true, false) => self.strong("undefended", &place, "a mutant has to defend this row now"),
                    _ => {}
                }
            }
            match heirs.as_slice() {
                [new] if exact.is_some() && new.id != old.id => {
                    let place = At::both(format!("{}.{}", at.at, new.id), &old.span, &new.span);
                    self.renamed("row", &place, &old.id, &new.id);
                }
                heirs if exact.is_none() && !heirs.is_empty() && !heirs.iter().any(|new| new.id == old.id) => {
                    let mut ids: Vec<&str> = heirs.iter().map(|new| new.id.as_str()).collect();
                    ids.sort_unstable();
                    let told = format!("what `{}` said is said by {}", old.id, ids.join(" and "));
                    self.neutral("row", &At::gone(format!("{}.{}", at.at, old.id), &old.span), told);
                }
                _ => {}
            }
            names.entry(old.id.clone()).or_default().extend(heirs.iter().map(|new| new.id.clone()));
        }
        for (old, new) in names {
            self.names.rows.entry(old).or_default().extend(new);
        }
    }
}

/// What a row gives in a column: a row that never occurs gives nothing anywhere.
fn given(row: &Row, output: usize) -> Output {
    let never = row.outputs.iter().find(|cell| matches!(cell.gives, Output::Never(_)));
    never.unwrap_or(&row.outputs[output]).gives.clone()
}

/// The part of a region whose every step one version knows.
fn known(axes: &[Axis], region: &Region, knows: impl Fn(&(String, Option<usize>, Option<usize>)) -> bool) -> Region {
    let of = |(axis, set): (&Axis, &ClassSet)| {
        let looks = axis.base.is_some() && axis.head.is_some();
        set.iter().filter(|step| !looks || knows(&axis.steps[*step])).collect()
    };
    Region { columns: axes.iter().zip(&region.columns).map(of).collect() }
}

/// The values in a region that the old version knew nothing of, in words.
fn fresh(axes: &[Axis], region: &Region) -> Option<String> {
    let unknown = |axis: &Axis, step: usize| axis.base.is_some() && axis.head.is_some() && axis.steps[step].1.is_none();
    let mut words = Vec::new();
    for (axis, set) in axes.iter().zip(&region.columns) {
        words.extend(set.iter().filter(|s| unknown(axis, *s)).map(|s| format!("{} = {}", axis.name, axis.steps[s].0)));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

/// A region in words: the columns that it restricts.
fn region_words(axes: &[Axis], region: &Region) -> String {
    let mut parts = Vec::new();
    for (axis, set) in axes.iter().zip(&region.columns).filter(|(axis, set)| set.len() < axis.steps.len()) {
        let mut words: Vec<&str> = set.iter().map(|step| axis.steps[step].0.as_str()).collect();
        words.sort_unstable();
        words.dedup();
        parts.push(format!("{} = {}", axis.name, words.join(" or ")));
    }
    parts.sort();
    if parts.is_empty() { "any input".to_owned() } else { parts.join(", ") }
}
