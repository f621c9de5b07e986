//! Domains: classes of labelled samples, with ranges sampled at their ends.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::section::{Findings, Section, text_of};
use super::{check_name, known_capabilities, known_name};
use crate::finding::Finding;
use crate::model::{Capability, Class, Domain, Param, Sample};
use crate::node::{Field, Fields, Kind, Node};
use crate::source::Span;
use crate::template::{Unknown, fill};
use crate::value::Value;

/// Names that are types and so cannot be domains.
const RESERVED: [&str; 6] = ["id", "text", "int", "bool", "time", "any"];

pub(super) fn read(
    top: &Section<'_>,
    params: &IndexMap<String, Param>,
    capabilities: &IndexMap<String, Capability>,
    findings: &mut Findings,
) -> IndexMap<String, Domain> {
    let fields = top.map("domain", findings);
    let mut out: IndexMap<String, Domain> = IndexMap::new();
    for (name, field) in fields {
        let at = format!("domain.{name}");
        check_name(name, &at, field, true, findings);
        if RESERVED.contains(&name.as_str()) {
            findings.error(
                "format/name",
                &at,
                &field.key,
                format!("`{name}` is a type, so no domain can have its name"),
            );
        }
        let before = findings.0.len();
        let reader = Reader { at, fields, params };
        if let Some(mut domain) = reader.domain(name, field, 0, findings) {
            read_needs(&reader.at, field, &mut domain, capabilities, findings);
            if findings.0.len() == before {
                check_distinct(&reader.at, &domain, findings);
            }
            out.insert(name.clone(), domain);
        }
    }
    out
}

struct Reader<'a> {
    at: String,
    fields: &'a Fields,
    params: &'a IndexMap<String, Param>,
}

impl Reader<'_> {
    /// `depth` bounds chains of `like` and borrowed samples, which could go round in circles.
    fn domain(&self, name: &str, field: &Field, depth: u32, findings: &mut Findings) -> Option<Domain> {
        if depth > 8 {
            findings.error("domain/circle", &self.at, &field.key, "these domains borrow from each other in a circle");
            return None;
        }
        let section = Section::of(&self.at, &field.value, findings)?;
        let mut domain = Domain {
            name: name.to_owned(),
            classes: Vec::new(),
            otherwise: None,
            like: false,
            span: field.key.clone(),
        };
        if let Some(like) = section.text("like", findings) {
            let node = section.node("like")?;
            let known = self.fields.keys().map(String::as_str);
            if known_name(&like, &node.span, "domain", &self.at, known, findings) {
                let model = self.domain(&like, &self.fields[&like], depth + 1, findings)?;
                (domain.classes, domain.otherwise, domain.like) = (model.classes, model.otherwise, true);
            }
        }
        for item in section.items("values", findings) {
            if let Some(label) = text_of(item, &self.at, findings) {
                let sample =
                    Sample { label: label.item.clone(), node: self.resolve(item, findings), needs: Vec::new() };
                let class = Class { name: label.item, samples: vec![sample], range: None, span: item.span.clone() };
                self.add(&mut domain, class, findings);
            }
        }
        self.ranges(&section, &mut domain, findings);
        for (class, field) in section.map("class", findings) {
            self.class(&mut domain, class, field, depth, findings);
        }
        if let Some(other) = section.field("other") {
            self.class(&mut domain, "other", other, depth, findings);
        }
        domain.otherwise = domain.otherwise.or_else(|| domain.class("other"));
        if let Some(otherwise) = section.text("otherwise", findings) {
            let node = section.node("otherwise")?;
            domain.otherwise = None;
            if otherwise != "none" {
                let known: Vec<&str> = domain.classes.iter().map(|class| class.name.as_str()).collect();
                known_name(&otherwise, &node.span, "class", &self.at, known, findings);
                domain.otherwise = domain.class(&otherwise);
            }
        }
        if domain.classes.is_empty() && findings.0.is_empty() {
            findings.error("domain/empty", &self.at, &field.key, "this domain has no class");
        }
        section.field("needs");
        section.finish(findings);
        Some(domain)
    }

    fn add(&self, domain: &mut Domain, class: Class, findings: &mut Findings) {
        if domain.class(&class.name).is_some() {
            findings.error(
                "domain/class-twice",
                &self.at,
                &class.span,
                format!("there are two classes `{}`", class.name),
            );
        } else {
            domain.classes.push(class);
        }
    }

    fn resolve(&self, node: &Node, findings: &mut Findings) -> Node {
        let lookup = |name: &str| match self.params.get(name) {
            Some(param) => Ok(Kind::Value(Value::Int(param.value))),
            None => Err(format!("`${name}` is no parameter")),
        };
        fill(node, Unknown::Keep, &lookup).unwrap_or_else(|mut finding| {
            finding.at.clone_from(&self.at);
            findings.0.push(finding);
            node.clone()
        })
    }

    fn class(&self, domain: &mut Domain, name: &str, field: &Field, depth: u32, findings: &mut Findings) {
        let mut samples = Vec::new();
        if let Some(text) = field.value.text() {
            let Some((from, class)) = text.split_once('.') else {
                findings.error("format/value", &self.at, &field.value.span, "samples are borrowed as \"domain.class\"");
                return;
            };
            let known = self.fields.keys().map(String::as_str);
            if !known_name(from, &field.value.span, "domain", &self.at, known, findings) {
                return;
            }
            let Some(model) = self.domain(from, &self.fields[from], depth + 1, findings) else { return };
            let known: Vec<&str> = model.classes.iter().map(|class| class.name.as_str()).collect();
            if known_name(class, &field.value.span, "class", &self.at, known, findings)
                && let Some(index) = model.class(class)
            {
                samples.clone_from(&model.classes[index].samples);
            }
        } else if let Some(section) = Section::of(&self.at, &field.value, findings) {
            for (label, sample) in field.value.fields().into_iter().flatten() {
                section.field(label);
                let legal = label.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
                if !legal {
                    findings.error(
                        "format/name",
                        &self.at,
                        &sample.key,
                        "a label is made of letters, digits, _ . and -",
                    );
                }
                let node = self.resolve(&sample.value, findings);
                samples.push(Sample { label: label.clone(), node, needs: Vec::new() });
            }
            if samples.is_empty() {
                findings.error("domain/empty", &self.at, &field.key, format!("the class `{name}` has no sample"));
            }
        }
        self.add(domain, Class { name: name.to_owned(), samples, range: None, span: field.key.clone() }, findings);
    }

    fn ranges(&self, section: &Section<'_>, domain: &mut Domain, findings: &mut Findings) {
        let mut last: Option<(String, Option<i64>)> = None;
        let first = domain.classes.len();
        for (name, field) in section.map("ranges", findings) {
            let Some((low, high)) = field.value.text().and_then(|text| self.range(text)) else {
                findings.0.push(
                    Finding::error("domain/range", &self.at, field.value.span.clone(), "this is no range of integers")
                        .help("write \"1..=4\", \"5\", \"6..\" or \"..=0\"; the ends may be `$param ± N`"),
                );
                continue;
            };
            if let (Some(low), Some(high)) = (low, high)
                && low > high
            {
                let message = format!("the range `{name}` is empty: {low} is above {high}");
                findings.error("domain/range-empty", &self.at, &field.value.span, message);
            }
            if let Some((before, end)) = &last {
                let message = match (end, low) {
                    (None, _) => Some(format!("`{before}` is open above, so nothing can follow it")),
                    (_, None) => Some(format!("`{name}` is open below, so nothing can stand before it")),
                    (Some(end), Some(low)) if low <= *end => {
                        Some(format!("`{before}` ends at {end} and `{name}` begins at {low}: both hold {low}"))
                    }
                    (Some(end), Some(low)) if low > end.saturating_add(1) => {
                        Some(format!("between `{before}` and `{name}` lies a hole: {} is in neither", end + 1))
                    }
                    _ => None,
                };
                if let Some(message) = message {
                    findings.error("domain/range-touch", &self.at, &field.value.span, message);
                }
            }
            last = Some((name.clone(), high));
            let samples = match (low, high) {
                (Some(low), Some(high)) => vec![low, high],
                (Some(low), None) => vec![low, low.saturating_add(1)],
                (None, Some(high)) => vec![high, high.saturating_sub(1)],
                (None, None) => vec![0],
            };
            let mut class =
                Class { name: name.clone(), samples: Vec::new(), range: Some((low, high)), span: field.key.clone() };
            for int in samples {
                push_int(&mut class, int, &field.value.span);
            }
            self.add(domain, class, findings);
        }
        for item in section.items("extra", findings) {
            let home = item.value().as_int().and_then(|int| {
                let class = domain.classes[first..].iter_mut().find(|class| {
                    class.range.is_some_and(|(low, high)| {
                        low.is_none_or(|low| low <= int) && high.is_none_or(|high| int <= high)
                    })
                });
                class.map(|class| push_int(class, int, &item.span))
            });
            if home.is_none() {
                findings.error(
                    "domain/extra",
                    &self.at,
                    &item.span,
                    "an `extra` is an integer inside one of the ranges",
                );
            }
        }
    }

    fn range(&self, text: &str) -> Option<(Option<i64>, Option<i64>)> {
        let end = |text: &str| -> Option<Option<i64>> {
            let text = text.trim();
            if text.is_empty() {
                return Some(None);
            }
            if let Ok(int) = text.parse::<i64>() {
                return Some(Some(int));
            }
            let node = Node::new(Kind::Template(text.to_owned()), 0..0);
            let lookup = |name: &str| match self.params.get(name) {
                Some(param) => Ok(Kind::Value(Value::Int(param.value))),
                None => Err(String::new()),
            };
            fill(&node, Unknown::Refuse, &lookup).ok()?.value().as_int().map(Some)
        };
        match text.split_once("..") {
            None => end(text)?.map(|int| (Some(int), Some(int))),
            Some((low, high)) => match high.strip_prefix('=') {
                Some(high) if !high.trim().is_empty() => Some((end(low)?, end(high)?)),
                // `1..5` would leave open whether 5 belongs to it.
                _ if !high.trim().is_empty() => None,
                _ => Some((end(low)?, None)),
            },
        }
    }
}

fn push_int(class: &mut Class, int: i64, span: &Span) {
    let label = int.to_string();
    if class.samples.iter().all(|sample| sample.label != label) {
        let node = Node::new(Kind::Value(Value::Int(int)), span.clone());
        class.samples.push(Sample { label, node, needs: Vec::new() });
    }
}

/// `needs` names classes or labels; they may stand in borrowed classes, so it is read once the samples are known.
fn read_needs(
    at: &str,
    field: &Field,
    domain: &mut Domain,
    capabilities: &IndexMap<String, Capability>,
    findings: &mut Findings,
) {
    let Some(section) = Section::of(at, &field.value, findings) else { return };
    for (name, list) in section.lists("needs", findings) {
        let caps = known_capabilities(list, at, capabilities, findings);
        let mut hit = false;
        for class in &mut domain.classes {
            let whole = class.name == name.item;
            for sample in class.samples.iter_mut().filter(|sample| whole || sample.label == name.item) {
                sample.needs.extend(caps.iter().cloned());
                hit = true;
            }
        }
        if !hit {
            let message = format!("there is no class and no label `{}` here", name.item);
            findings.error("format/reference", at, &name.span, message);
        }
    }
}

fn check_distinct(at: &str, domain: &Domain, findings: &mut Findings) {
    let mut labels: HashMap<&str, &str> = HashMap::new();
    let mut values: Vec<(Value, &str)> = Vec::new();
    for class in &domain.classes {
        for sample in &class.samples {
            if labels.insert(&sample.label, &class.name).is_some() {
                let message = format!("the label `{}` stands twice in this domain", sample.label);
                findings.error("domain/label-twice", at, &sample.node.span, message);
            }
            let value = match &sample.node.kind {
                // Two absent or open samples are not one value.
                Kind::Absent | Kind::Template(_) => continue,
                _ => sample.node.value(),
            };
            if let Some((_, other)) = values.iter().find(|(known, _)| *known == value) {
                let message = format!("`{}` stands for {value}, which class `{other}` holds already", sample.label);
                findings.error("domain/value-twice", at, &sample.node.span, message);
            }
            values.push((value, &class.name));
        }
        let around = |(value, holder): &&(Value, &str)| {
            *holder != class.name
                && value.as_int().is_some_and(|int| {
                    class.range.is_some_and(|(low, high)| {
                        low.is_none_or(|low| low <= int) && high.is_none_or(|high| int <= high)
                    })
                })
        };
        if let Some((value, holder)) = values.iter().find(around) {
            let message = format!("the range `{}` holds {value}, which class `{holder}` holds already", class.name);
            findings.error("domain/value-twice", at, &class.span, message);
        }
    }
}
