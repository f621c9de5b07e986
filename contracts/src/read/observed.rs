//! What the harness can see and ask: stores, effects and calls.

use indexmap::IndexMap;

use super::section::{Findings, Section};
use super::{check_name, known_capabilities, known_name};
use crate::finding::suggest;
use crate::model::{Base, CALLER_POINTS, Call, Capability, Domain, Effect, Spanned, Store, Type};
use crate::node::Node;

/// What types and needs may refer to.
pub(super) struct Words<'a> {
    pub(super) domains: &'a IndexMap<String, Domain>,
    pub(super) capabilities: &'a IndexMap<String, Capability>,
}

impl Words<'_> {
    fn base(&self, name: &str) -> Option<Base> {
        Some(match name {
            "id" => Base::Id,
            "text" => Base::Text,
            "int" => Base::Int,
            "bool" => Base::Bool,
            "time" => Base::Time,
            "any" => Base::Any,
            domain if self.domains.contains_key(domain) => Base::Domain(domain.to_owned()),
            _ => return None,
        })
    }

    fn ty(&self, node: &Node, at: &str, findings: &mut Findings) -> Option<Type> {
        let text = node.text().unwrap_or_default();
        let (name, nullable) = match text.strip_suffix('?') {
            Some(name) => (name, true),
            None => (text, false),
        };
        match self.base(name) {
            Some(base) => Some(Type { base, nullable }),
            None => {
                let known = ["id", "text", "int", "bool", "time", "any"].into_iter();
                let known = known.chain(self.domains.keys().map(String::as_str));
                let finding = crate::finding::Finding::error(
                    "format/reference",
                    at,
                    node.span.clone(),
                    format!("`{name}` is neither a type nor a domain"),
                );
                findings.0.push(finding.help(suggest(name, known)));
                None
            }
        }
    }

    pub(super) fn types(&self, section: &Section<'_>, key: &str, findings: &mut Findings) -> IndexMap<String, Type> {
        let mut out = IndexMap::new();
        for (name, field) in section.map(key, findings) {
            check_name(name, &section.at, field, true, findings);
            if let Some(ty) = self.ty(&field.value, &section.at, findings) {
                out.insert(name.clone(), ty);
            }
        }
        out
    }

    fn domains(&self, names: Vec<Spanned<String>>, at: &str, findings: &mut Findings) -> Vec<String> {
        for name in &names {
            known_name(&name.item, &name.span, "domain", at, self.domains.keys().map(String::as_str), findings);
        }
        names.into_iter().map(|name| name.item).collect()
    }
}

pub(super) fn stores(top: &Section<'_>, words: &Words<'_>, findings: &mut Findings) -> IndexMap<String, Store> {
    let mut out = IndexMap::new();
    for (name, field) in top.map("store", findings) {
        let at = format!("store.{name}");
        check_name(name, &at, field, true, findings);
        if matches!(name.as_str(), "reply") || name.ends_with("_given") || name.ends_with("_history") {
            findings.error(
                "format/name",
                &at,
                &field.key,
                format!("`{name}` is the name of a relation of the harness"),
            );
        }
        let Some(section) = Section::of(&at, &field.value, findings) else { continue };
        let columns = words.types(&section, "columns", findings);
        let key = section.texts("key", findings);
        for column in &key {
            known_name(&column.item, &column.span, "column", &at, columns.keys().map(String::as_str), findings);
        }
        let default = section.map("default", findings).clone();
        for (column, field) in &default {
            known_name(column, &field.key, "column", &at, columns.keys().map(String::as_str), findings);
        }
        let mut needs = IndexMap::new();
        for (column, list) in section.lists("needs", findings) {
            known_name(&column.item, &column.span, "column", &at, columns.keys().map(String::as_str), findings);
            needs.insert(column.item, known_capabilities(list, &at, words.capabilities, findings));
        }
        if columns.is_empty() {
            findings.error("format/missing", &at, &field.key, "a store has at least one column");
        }
        section.finish(findings);
        let key = key.into_iter().map(|column| column.item).collect();
        out.insert(name.clone(), Store { columns, key, default, needs, span: field.key.clone() });
    }
    out
}

pub(super) fn effects(top: &Section<'_>, words: &Words<'_>, findings: &mut Findings) -> IndexMap<String, Effect> {
    let mut out = IndexMap::new();
    for (name, field) in top.map("effect", findings) {
        let at = format!("effect.{name}");
        check_name(name, &at, field, true, findings);
        let Some(section) = Section::of(&at, &field.value, findings) else { continue };
        let columns = words.types(&section, "columns", findings);
        let id = section.required("id", findings);
        if let Some(node) = section.node("id") {
            known_name(&id, &node.span, "column", &at, columns.keys().map(String::as_str), findings);
        }
        let between = between(&section, findings);
        let answers = words.domains(section.texts("answers", findings), &at, findings);
        section.finish(findings);
        out.insert(name.clone(), Effect { columns, id, answers, between, span: field.key.clone() });
    }
    out
}

pub(super) fn calls(
    top: &Section<'_>,
    words: &Words<'_>,
    effects: &IndexMap<String, Effect>,
    findings: &mut Findings,
) -> IndexMap<String, Call> {
    let mut out = IndexMap::new();
    for (name, field) in top.map("call", findings) {
        let at = format!("call.{name}");
        check_name(name, &at, field, false, findings);
        let Some(section) = Section::of(&at, &field.value, findings) else { continue };
        let args = words.types(&section, "args", findings);
        let default = section.map("default", findings).clone();
        for (arg, field) in &default {
            known_name(arg, &field.key, "argument", &at, args.keys().map(String::as_str), findings);
        }
        let reply = section.node("reply").and_then(|node| words.ty(node, &at, findings)).map(|ty| ty.base);
        let mut closed = IndexMap::new();
        for (key, field) in section.map("words", findings) {
            let domain = field.value.text().unwrap_or_default();
            let known = words.domains.keys().map(String::as_str);
            if known_name(domain, &field.value.span, "domain", &at, known, findings) {
                closed.insert(key.clone(), domain.to_owned());
            }
        }
        let used = section.texts("effects", findings);
        for effect in &used {
            known_name(&effect.item, &effect.span, "effect", &at, effects.keys().map(String::as_str), findings);
        }
        let needs = known_capabilities(section.texts("needs", findings), &at, words.capabilities, findings);
        let call = Call {
            args,
            default,
            reply,
            words: closed,
            errors: section.strings("errors", findings),
            effects: used.into_iter().map(|effect| effect.item).collect(),
            checkpoints: checkpoints(&section, findings),
            between: between(&section, findings),
            needs,
            span: field.key.clone(),
        };
        section.finish(findings);
        passes_both(&call, effects, &at, findings);
        out.insert(name.clone(), call);
    }
    out
}

/// The checkpoints just before and just after an effect, or a call's write.
fn between(section: &Section<'_>, findings: &mut Findings) -> Option<(String, String)> {
    match section.texts("between", findings).as_slice() {
        [] => None,
        [before, after] => Some((before.item.clone(), after.item.clone())),
        [first, ..] => {
            findings.error("format/value", &section.at, &first.span, "`between` names two checkpoints");
            None
        }
    }
}

fn checkpoints(section: &Section<'_>, findings: &mut Findings) -> Vec<String> {
    let points = section.texts("checkpoints", findings);
    for point in points.iter().filter(|point| CALLER_POINTS.contains(&point.item.as_str())) {
        let message = format!("`{}` is a point of every call, where its caller loses the answer", point.item);
        findings.error("format/name", &section.at, &point.span, message);
    }
    points.into_iter().map(|point| point.item).collect()
}

/// What lies between two checkpoints is passed by whoever passes both, in their order.
fn passes_both(call: &Call, effects: &IndexMap<String, Effect>, at: &str, findings: &mut Findings) {
    let of_effects = call.effects.iter().filter_map(|name| Some(("effect", effects.get(name)?.between.as_ref()?)));
    for (what, (before, after)) in of_effects.chain(call.between.iter().map(|between| ("write", between))) {
        let place = |point: &String| call.checkpoints.iter().position(|known| known == point);
        let message = match (place(before), place(after)) {
            (None, _) => format!("this call does not pass `{before}`, which its {what} lies by"),
            (_, None) => format!("this call does not pass `{after}`, which its {what} lies by"),
            (Some(first), Some(second)) if first >= second => {
                format!("this call does not pass `{before}` before `{after}`, and its {what} lies between them")
            }
            _ => continue,
        };
        findings.error("call/between", at, &call.span, message);
    }
}
