//! Domains: what is tried as an input, and which words are admitted. A class is the values in it, whatever its name.

use std::collections::{HashMap, HashSet};

use super::names::pair;
use super::points::{Point, at_an_end, key, keys, named, points};
use super::{At, Diff};
use crate::model::{Base, Class, Contract, Domain};

impl Diff<'_> {
    pub(super) fn domains(&mut self) {
        let pairs = pair(self.base.domains.values(), self.head.domains.values(), |d| &d.name, same);
        for (old, new) in &pairs.both {
            let at = At::both(format!("domain.{}", new.name), &old.span, &new.span);
            if old.name != new.name {
                self.names.domains.add(&old.name, &new.name);
                self.renamed("domain", &at, &old.name, &new.name);
            }
            self.domain(old, new, &at);
        }
        // What either was used for shows where it was used.
        for old in pairs.gone {
            self.neutral("domain", &At::gone(format!("domain.{}", old.name), &old.span), "the domain is gone");
        }
        for new in pairs.new {
            self.neutral("domain", &At::new(format!("domain.{}", new.name), &new.span), "the domain is new");
        }
    }

    fn domain(&mut self, old: &Domain, new: &Domain, at: &At) {
        let alike = |a: &Class, b: &Class| keys(a) == keys(b) && a.range == b.range;
        let classes = pair(&old.classes, &new.classes, |class| &class.name, alike);
        for (a, b) in classes.both.iter().filter(|(a, b)| a.name != b.name) {
            self.names.classes.entry(old.name.clone()).or_default().add(&a.name, &b.name);
            self.renamed("class", &At::both(format!("{}.{}", at.at, b.name), &a.span, &b.span), &a.name, &b.name);
        }
        self.ends(old, &self.written.domains[&new.name]);
        let points = points(old, new);
        if is_words(self.base, &old.name) {
            self.words(old, new, &points, at);
        }
        if !is_input(self.base, &old.name) {
            return;
        }
        let (before, after) = (named(old), named(new));
        let mut told = HashSet::new();
        for class in classes.gone.iter().filter(|class| !keys(class).iter().any(|key| after.contains_key(key))) {
            told.insert(class.name.as_str());
            let at = At::gone(format!("{}.{}", at.at, class.name), &class.span);
            self.weak("class", &at, format!("the class `{}` is gone: none of its samples is tried", class.name));
        }
        for class in classes.new.iter().filter(|class| !keys(class).iter().any(|key| before.contains_key(key))) {
            told.insert(class.name.as_str());
            let at = At::new(format!("{}.{}", at.at, class.name), &class.span);
            self.strong("class", &at, format!("the class `{}` is new: its samples are tried", class.name));
        }
        self.samples(old, new, at, &told, &after);
        for class in new.classes.iter().filter(|class| !told.contains(class.name.as_str())) {
            for sample in class.samples.iter().filter(|s| !before.contains_key(&key(s)) && !at_an_end(class, s)) {
                let at = At::new(format!("{}.{}.{}", at.at, class.name, sample.label), &sample.node.span);
                self.strong("sample", &at, format!("the sample `{}` is new", sample.label));
            }
        }
        match (old.otherwise, new.otherwise) {
            (Some(_), None) => self.weak("otherwise", at, "no class stands for any other value now"),
            (None, Some(_)) => self.strong("otherwise", at, "a class stands for any other value now"),
            _ => {}
        }
    }

    /// With another parameter a range ends elsewhere, and the samples at its ends go by other numbers.
    fn ends(&mut self, old: &Domain, written: &Domain) {
        for class in &old.classes {
            let Some(twin) = written.class(&self.names.class(&old.name, &class.name)) else { continue };
            let twin = &written.classes[twin];
            for (was, is) in class.samples.iter().zip(&twin.samples) {
                if was.label != is.label && at_an_end(class, was) && at_an_end(twin, is) {
                    self.names.labels.entry(old.name.clone()).or_default().add(&was.label, &is.label);
                }
            }
        }
    }

    /// The old samples: gone, relabelled, or needing more.
    fn samples(&mut self, old: &Domain, new: &Domain, at: &At, told: &HashSet<&str>, after: &HashMap<String, usize>) {
        for class in old.classes.iter().filter(|class| !told.contains(class.name.as_str())) {
            for sample in &class.samples {
                let value = key(sample);
                let Some(home) = after.get(&value).map(|home| &new.classes[*home]) else {
                    if !at_an_end(class, sample) {
                        let at = At::gone(format!("{}.{}.{}", at.at, class.name, sample.label), &sample.node.span);
                        self.weak("sample", &at, format!("the sample `{}` is gone", sample.label));
                    }
                    continue;
                };
                let Some(twin) = home.samples.iter().find(|twin| key(twin) == value) else { continue };
                let place = format!("{}.{}.{}", at.at, home.name, twin.label);
                let place = At::both(place, &sample.node.span, &twin.node.span);
                self.needs(&place, &sample.needs, &twin.needs);
                if sample.label != twin.label {
                    self.names.labels.entry(old.name.clone()).or_default().add(&sample.label, &twin.label);
                    // A value of its own is a class and a sample by one name.
                    if class.name != sample.label || home.name != twin.label {
                        self.renamed("sample", &place, &sample.label, &twin.label);
                    }
                }
            }
        }
    }

    /// A closed vocabulary that admits more refuses less.
    fn words(&mut self, old: &Domain, new: &Domain, points: &[Point], at: &At) {
        let admits = |domain: &Domain, class: Option<usize>| class.is_some() && class != domain.otherwise;
        for point in points {
            match (admits(old, point.base), admits(new, point.head)) {
                (false, true) => self.weak("word", at, format!("the word {} is admitted now", point.words)),
                (true, false) => self.strong("word", at, format!("the word {} is no longer admitted", point.words)),
                _ => {}
            }
        }
    }
}

/// Whether two domains hold the same classes, whatever they are called.
fn same(a: &Domain, b: &Domain) -> bool {
    let content = |domain: &Domain| {
        let of = |(index, class): (usize, &Class)| (keys(class), class.range, domain.otherwise == Some(index));
        let mut classes: Vec<_> = domain.classes.iter().enumerate().map(of).collect();
        classes.sort();
        classes
    };
    content(a) == content(b)
}

/// Whether cases are made of a domain's samples.
fn is_input(contract: &Contract, name: &str) -> bool {
    let tables = contract.tables.values().flat_map(|table| table.inputs.iter().chain(&table.set));
    let bound = contract.scenarios.iter().flat_map(|scenario| scenario.bind.iter().map(|bound| &bound.name));
    let answers = contract.effects.values().flat_map(|effect| &effect.answers);
    tables.chain(bound).chain(answers).any(|used| used == name)
}

/// Whether a domain is the closed vocabulary of something that is observed.
fn is_words(contract: &Contract, name: &str) -> bool {
    let columns = contract.stores.values().map(|store| &store.columns);
    let mut types = columns.chain(contract.effects.values().map(|effect| &effect.columns)).flat_map(|c| c.values());
    let of = |base: &Base| matches!(base, Base::Domain(domain) if domain == name);
    types.any(|ty| of(&ty.base))
        || contract
            .calls
            .values()
            .any(|call| call.reply.as_ref().is_some_and(of) || call.words.values().any(|domain| domain == name))
}
