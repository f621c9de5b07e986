//! What a contract says of itself and what it looks at: promises, numbers, capabilities, stores, effects and calls.

use indexmap::IndexMap;

use super::names::pair;
use super::{At, Diff, Direction, fresh, sorted};
use crate::model::{Base, Call, Contract, Durability, Effect, Store, Type};
use crate::node::plain;
use crate::value::Value;

impl Diff<'_> {
    pub(super) fn top(&mut self) {
        let (base, head) = (self.base, self.head);
        let at = At::both("contract", &base.name_span, &head.name_span);
        if base.name != head.name {
            self.renamed("contract", &at, &base.name, &head.name);
        }
        match (base.durability, head.durability) {
            (Durability::Power, Durability::Kill) => {
                self.weak("durability", &at, "what is acknowledged need not survive a loss of power now");
            }
            (Durability::Kill, Durability::Power) => {
                self.strong("durability", &at, "what is acknowledged must survive a loss of power now");
            }
            _ => {}
        }
        let banned = At { at: "banned".to_owned(), ..at.clone() };
        self.members("banned", &banned, &base.banned, &head.banned, Direction::Strengthened, "the banned word");
        let limits = At { at: "limits".to_owned(), ..at.clone() };
        self.members("limits", &limits, &base.limits, &head.limits, Direction::Weakened, "the limit");
        for (part, old, new) in [("title", &base.title, &head.title), ("owner", &base.owner, &head.owner)]
            .into_iter()
            .filter(|(_, a, b)| a != b)
        {
            self.neutral(part, &at, format!("the {part} was \"{old}\" and is \"{new}\""));
        }
    }

    /// The numbers a deployment chooses, from the two contracts as they are.
    pub(super) fn params(&mut self, base: &Contract, head: &Contract) {
        for (name, old) in &base.params {
            let Some(called) = param_now(base, head, name) else {
                self.neutral("param", &At::gone(format!("param.{name}"), &old.span), "the parameter is gone");
                continue;
            };
            let new = &head.params[called];
            let at = At::both(format!("param.{called}"), &old.span, &new.span);
            if called != name {
                self.names.params.add(name, called);
                self.renamed("param", &at, name, called);
            }
            let told = format!("was {} and is {}", old.value, new.value);
            match new.value.cmp(&old.value) {
                std::cmp::Ordering::Greater => self.weak("param", &at, format!("it is raised: {told}")),
                std::cmp::Ordering::Less => self.strong("param", &at, format!("it is lowered: {told}")),
                std::cmp::Ordering::Equal => {}
            }
        }
    }

    pub(super) fn capabilities(&mut self) {
        let (base, head) = (&self.base.capabilities, &self.head.capabilities);
        for (name, old) in base.iter().filter(|(name, _)| !head.contains_key(*name)) {
            let same = |new: &crate::model::Capability| new.why == old.why && new.from_adapter == old.from_adapter;
            let twin = head.iter().find(|(called, new)| !base.contains_key(*called) && same(new));
            if let Some((called, new)) = twin {
                let at = At::both(format!("capability.{called}"), &old.span, &new.span);
                self.names.capabilities.add(name, called);
                self.renamed("capability", &at, name, called);
            }
        }
    }

    pub(super) fn stores(&mut self) {
        let (old, new): (Vec<_>, Vec<_>) = (self.base.stores.iter().collect(), self.head.stores.iter().collect());
        let same =
            |a: &(&String, &Store), b: &(&String, &Store)| self.trial(|t| t.store(a.1, b.1, &blank(a.1.span.clone())));
        let pairs = pair(&old, &new, |store| store.0, same);
        for (a, b) in &pairs.both {
            let at = At::both(format!("store.{}", b.0), &a.1.span, &b.1.span);
            if a.0 != b.0 {
                self.names.stores.add(a.0, b.0);
                self.renamed("store", &at, a.0, b.0);
            }
            self.store(a.1, b.1, &at);
        }
        for (name, store) in pairs.gone {
            self.weak("store", &At::gone(format!("store.{name}"), &store.span), "the store is no longer looked at");
        }
        for (name, store) in pairs.new {
            self.strong("store", &At::new(format!("store.{name}"), &store.span), "the store is looked at, too");
        }
    }

    fn store(&mut self, old: &Store, new: &Store, at: &At) {
        self.columns(&old.columns, &new.columns, at);
        self.members("key", at, &old.key, &new.key, Direction::Weakened, "in what names a row, the column");
        let value = |fields| sorted(&Value::Map(plain(fields)));
        self.equal("default", at, value(&old.default) == value(&new.default), "what a given row begins with");
        for column in new.columns.keys().filter(|column| old.columns.contains_key(*column)) {
            let of = |store: &Store| store.needs.get(column).cloned().unwrap_or_default();
            self.needs(&at.part(column), &of(old), &of(new));
        }
    }

    fn columns(&mut self, old: &IndexMap<String, Type>, new: &IndexMap<String, Type>, at: &At) {
        for (name, ty) in old {
            let at = at.part(name);
            match new.get(name) {
                None => self.weak("column", &at, "the column is no longer looked at"),
                Some(now) => self.ty(ty, now, &at),
            }
        }
        for name in new.keys().filter(|name| !old.contains_key(*name)) {
            self.strong("column", &at.part(name), "the column is looked at, too");
        }
    }

    fn ty(&mut self, old: &Type, new: &Type, at: &At) {
        match (old.nullable, new.nullable) {
            (false, true) => self.weak("null", at, "it may be null now"),
            (true, false) => self.strong("null", at, "it may no longer be null"),
            _ => {}
        }
        self.base_type(Some(&old.base), Some(&new.base), at);
    }

    /// A closed vocabulary judges; another type, or none, judges less.
    fn base_type(&mut self, old: Option<&Base>, new: Option<&Base>, at: &At) {
        let mapped = old.map(|base| match base {
            Base::Domain(domain) => Base::Domain(self.names.domains.of(domain)),
            other => other.clone(),
        });
        match (mapped.as_ref(), new) {
            (a, b) if a == b => {}
            (Some(Base::Domain(_)), Some(Base::Domain(domain))) => {
                self.weak("type", at, format!("its words are those of `{domain}` now"));
            }
            (_, Some(Base::Domain(domain))) => self.strong("type", at, format!("its words are closed now: `{domain}`")),
            (Some(Base::Domain(domain)), _) => {
                self.weak("type", at, format!("its words are no longer those of `{domain}`"))
            }
            _ => self.weak("type", at, "its type is another now"),
        }
    }

    pub(super) fn effects(&mut self) {
        let (old, new): (Vec<_>, Vec<_>) = (self.base.effects.iter().collect(), self.head.effects.iter().collect());
        let same = |a: &(&String, &Effect), b: &(&String, &Effect)| {
            self.trial(|t| t.effect(a.1, b.1, &blank(a.1.span.clone())))
        };
        let pairs = pair(&old, &new, |effect| effect.0, same);
        for (a, b) in &pairs.both {
            let at = At::both(format!("effect.{}", b.0), &a.1.span, &b.1.span);
            if a.0 != b.0 {
                self.names.effects.add(a.0, b.0);
                self.renamed("effect", &at, a.0, b.0);
            }
            self.effect(a.1, b.1, &at);
        }
        for (name, effect) in pairs.gone {
            self.weak("effect", &At::gone(format!("effect.{name}"), &effect.span), "the effect is no longer looked at");
        }
        for (name, effect) in pairs.new {
            self.strong("effect", &At::new(format!("effect.{name}"), &effect.span), "the effect is looked at, too");
        }
    }

    fn effect(&mut self, old: &Effect, new: &Effect, at: &At) {
        self.columns(&old.columns, &new.columns, at);
        let answers: Vec<String> = old.answers.iter().map(|domain| self.names.domains.of(domain)).collect();
        self.members("answers", at, &answers, &new.answers, Direction::Strengthened, "the answers");
        self.equal("id", at, old.id == new.id, "what names the thing sent");
        self.between(old.between.as_ref(), new.between.as_ref(), at);
    }

    fn between(&mut self, old: Option<&(String, String)>, new: Option<&(String, String)>, at: &At) {
        match (old, new) {
            (Some(_), None) => self.weak("between", at, "it can no longer be struck from outside"),
            (None, Some(_)) => self.strong("between", at, "it can be struck from outside, too"),
            (old, new) => self.equal("between", at, old == new, "where it is struck from outside"),
        }
    }

    pub(super) fn calls(&mut self) {
        let (old, new): (Vec<_>, Vec<_>) = (self.base.calls.iter().collect(), self.head.calls.iter().collect());
        let same =
            |a: &(&String, &Call), b: &(&String, &Call)| self.trial(|t| t.call(a.1, b.1, &blank(a.1.span.clone())));
        let pairs = pair(&old, &new, |call| call.0, same);
        for (a, b) in &pairs.both {
            let at = At::both(format!("call.{}", b.0), &a.1.span, &b.1.span);
            if a.0 != b.0 {
                self.names.calls.add(a.0, b.0);
                self.renamed("call", &at, a.0, b.0);
            }
            self.call(a.1, b.1, &at);
        }
        for (name, call) in pairs.gone {
            self.weak("call", &At::gone(format!("call.{name}"), &call.span), "the call is no longer made");
        }
        for (name, call) in pairs.new {
            self.strong("call", &At::new(format!("call.{name}"), &call.span), "the call is new");
        }
    }

    fn call(&mut self, old: &Call, new: &Call, at: &At) {
        let args = |call: &Call, diff: &Diff<'_>, base: bool| -> Vec<String> {
            let of = |(name, ty): (&String, &Type)| match &ty.base {
                Base::Domain(domain) if base => format!("{name}: {}{}", diff.names.domains.of(domain), ty.nullable),
                Base::Domain(domain) => format!("{name}: {domain}{}", ty.nullable),
                other => format!("{name}: {other:?}{}", ty.nullable),
            };
            let mut args: Vec<String> = call.args.iter().map(of).collect();
            args.sort();
            args
        };
        self.equal("args", at, args(old, self, true) == args(new, self, false), "what the call is given");
        let default = |call: &Call| sorted(&Value::Map(plain(&call.default)));
        self.equal("args", at, default(old) == default(new), "what the call is given by default");
        self.base_type(old.reply.as_ref(), new.reply.as_ref(), &at.part("reply"));
        let words = |call: &Call, of: &dyn Fn(&str) -> String| -> Vec<String> {
            call.words.iter().map(|(key, domain)| format!("{key} = {}", of(domain))).collect()
        };
        let before = words(old, &|domain| self.names.domains.of(domain));
        self.members("words", at, &before, &words(new, &str::to_owned), Direction::Strengthened, "the closed words");
        self.members("errors", at, &old.errors, &new.errors, Direction::Weakened, "the error");
        let effects: Vec<String> = old.effects.iter().map(|effect| self.names.effects.of(effect)).collect();
        self.members("effects", at, &effects, &new.effects, Direction::Weakened, "the allowed effect");
        let points = Direction::Strengthened;
        self.members("checkpoints", at, &old.checkpoints, &new.checkpoints, points, "the checkpoint");
        self.between(old.between.as_ref(), new.between.as_ref(), at);
        self.needs(at, &old.needs, &new.needs);
    }

    /// A lint finding that is taken on purpose is no longer said. One with a date accepts itself.
    pub(super) fn accepts(&mut self) {
        let silenced: Vec<_> = fresh(self.base, self.head).filter(|accept| !accept.of_a_change()).cloned().collect();
        for accept in silenced {
            let at = At::new(accept.at.clone(), &accept.span);
            let told = format!("the finding `{}` is accepted here: {}", accept.rule, accept.why);
            match accept.date {
                Some(_) => self.neutral("accept", &at, told),
                None => self.weak("accept", &at, format!("{told} (give it a `date`)")),
            }
        }
    }
}

/// A place for a comparison that nobody reads.
fn blank(span: crate::source::Span) -> At {
    At::gone("", &span)
}

/// What a parameter is called in the newer contract. One of the same value under a new name is the same, and so is the
/// only new one where only one is gone.
pub(super) fn param_now<'h>(base: &Contract, head: &'h Contract, name: &str) -> Option<&'h str> {
    if let Some((same, _)) = head.params.get_key_value(name) {
        return Some(same);
    }
    let new: Vec<_> = head.params.iter().filter(|(called, _)| !base.params.contains_key(*called)).collect();
    let gone = base.params.keys().filter(|called| !head.params.contains_key(*called)).count();
    let value = base.params.get(name)?.value;
    let twin = new.iter().find(|(_, param)| param.value == value);
    twin.or_else(|| new.first().filter(|_| new.len() == 1 && gone == 1)).map(|(called, _)| called.as_str())
}
