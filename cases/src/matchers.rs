//! Reading what is expected: matchers, rows and relations.

use nack_contracts::model::Contract;
use nack_contracts::{Fields, Finding, Kind, Node, Value, suggest};

use crate::case::{Expected, Matcher, RowPattern, Rows, ValueType};

/// Reads one expected value.
pub(crate) fn matcher(node: &Node) -> Result<Matcher, Finding> {
    match &node.kind {
        Kind::List(items) => {
            let items: Vec<Matcher> = items.iter().map(matcher).collect::<Result<_, _>>()?;
            if items.iter().all(|item| matches!(item, Matcher::Exactly(_))) {
                return Ok(Matcher::Exactly(node.value()));
            }
            Ok(Matcher::List(items))
        }
        Kind::Map(fields) => match fields.first() {
            Some((key, field)) if key.starts_with('_') => {
                if fields.len() > 1 {
                    return Err(broken(node, format!("`{key}` stands alone in its table")));
                }
                special(key, &field.value)
            }
            _ => {
                let mut map = RowPattern::new();
                for (key, field) in fields.iter().filter(|(_, field)| field.value.kind != Kind::Absent) {
                    map.insert(key.clone(), matcher(&field.value)?);
                }
                if map.values().all(|value| matches!(value, Matcher::Exactly(_))) {
                    return Ok(Matcher::Exactly(node.value()));
                }
                Ok(Matcher::Map(map))
            }
        },
        _ => Ok(Matcher::Exactly(node.value())),
    }
}

fn special(key: &str, node: &Node) -> Result<Matcher, Finding> {
    let list = || match &node.kind {
        Kind::List(items) if !items.is_empty() => items.iter().map(matcher).collect::<Result<Vec<_>, _>>(),
        _ => Err(broken(node, format!("`{key}` takes a list that is not empty"))),
    };
    match key {
        "_any" if node.value() == Value::Bool(true) => Ok(Matcher::Any),
        "_any" => Err(broken(node, "`_any` can only be true".to_owned())),
        "_error" => match node.text() {
            Some(name) => Ok(Matcher::Error(name.to_owned())),
            None => Err(broken(node, "`_error` takes a name, or \"any\"".to_owned())),
        },
        "_type" => match node.text() {
            Some("string") => Ok(Matcher::Type(ValueType::String)),
            Some("int") => Ok(Matcher::Type(ValueType::Int)),
            Some("bool") => Ok(Matcher::Type(ValueType::Bool)),
            Some("list") => Ok(Matcher::Type(ValueType::List)),
            Some("object") => Ok(Matcher::Type(ValueType::Object)),
            _ => Err(broken(node, "`_type` is \"string\", \"int\", \"bool\", \"list\" or \"object\"".to_owned())),
        },
        "_one_of" => Ok(Matcher::OneOf(list()?)),
        "_not" => Ok(Matcher::Not(list()?)),
        _ => {
            let known = suggest(key, ["_any", "_error", "_type", "_one_of", "_not"]);
            Err(broken(node, format!("`{key}` is no matcher")).help(known))
        }
    }
}

/// A relation that an `expect` can name.
struct Relation {
    columns: Vec<String>,
    ordered: bool,
    seeded: bool,
}

fn relation(contract: &Contract, name: &str) -> Option<Relation> {
    let own = |columns: &[&str]| -> Vec<String> { columns.iter().map(|column| (*column).to_owned()).collect() };
    if let Some(store) = contract.stores.get(name) {
        return Some(Relation { columns: store.columns.keys().cloned().collect(), ordered: false, seeded: true });
    }
    if let Some(effect) = contract.effects.get(name) {
        let mut columns = own(&["n", "worker", "answer", "sample"]);
        columns.extend(effect.columns.keys().cloned());
        return Some(Relation { columns, ordered: true, seeded: false });
    }
    if let Some(store) = name.strip_suffix("_history").and_then(|store| contract.stores.get(store)) {
        let mut columns = own(&["n"]);
        columns.extend(store.columns.keys().cloned());
        columns.extend(store.columns.keys().map(|column| format!("old_{column}")));
        return Some(Relation { columns, ordered: true, seeded: false });
    }
    (name == "reply").then(|| Relation {
        columns: own(&["n", "worker", "call", "outcome", "word", "value"]),
        ordered: false,
        seeded: false,
    })
}

/// Reads what one relation must hold.
pub(crate) fn expected(contract: &Contract, name: &str, place: &Node, node: &Node) -> Result<Expected, Finding> {
    let Some(relation) = relation(contract, name) else {
        let histories = contract.stores.keys().map(|store| format!("{store}_history"));
        let names = contract.stores.keys().chain(contract.effects.keys()).cloned();
        let known: Vec<String> = names.chain(histories).chain(["reply".to_owned()]).collect();
        let known = suggest(name, known.iter().map(String::as_str));
        return Err(broken(place, format!("there is no relation `{name}`")).help(known));
    };
    let mut out = Expected::default();
    match &node.kind {
        Kind::Value(Value::Int(_)) => out.rows = Some(Rows::Count(count(node)?)),
        Kind::List(_) => out.rows = Some(relation.list(node, relation.ordered)?),
        Kind::Value(Value::Text(text)) if text == "given" => out.rows = Some(relation.given(node)?),
        Kind::Map(fields) => {
            for (key, field) in fields {
                let value = &field.value;
                match key.as_str() {
                    "unordered" => out.rows = Some(relation.list(value, false)?),
                    "has" if value.text() == Some("given") => out.has = Some(relation.given(value)?),
                    "has" => out.has = Some(relation.list(value, false)?),
                    "none" => out.none = relation.patterns(value)?,
                    "at_least" => out.at_least = Some(count(value)?),
                    "at_most" => out.at_most = Some(count(value)?),
                    "same" => match value.text() {
                        Some(column) => {
                            relation.column(column, value)?;
                            out.same = Some(column.to_owned());
                        }
                        None => return Err(broken(value, "`same` names a column".to_owned())),
                    },
                    other => {
                        let known = ["unordered", "has", "none", "at_least", "at_most", "same"];
                        let message = format!("`{other}` is nothing that a relation can be asked for");
                        return Err(broken(value, message).help(suggest(other, known)));
                    }
                }
            }
        }
        _ => {
            let message = format!(
                "this must be a number of rows, \"given\", a list of rows or a table, and is {}",
                node.describe()
            );
            return Err(broken(node, message));
        }
    }
    Ok(out)
}

impl Relation {
    fn column(&self, column: &str, node: &Node) -> Result<(), Finding> {
        if self.columns.iter().any(|known| known == column) {
            return Ok(());
        }
        let known = self.columns.iter().map(String::as_str);
        Err(broken(node, format!("there is no column `{column}` here")).help(suggest(column, known)))
    }

    fn given(&self, node: &Node) -> Result<Rows, Finding> {
        if self.seeded { Ok(Rows::Given) } else { Err(broken(node, "only a store has given rows".to_owned())) }
    }

    fn list(&self, node: &Node, ordered: bool) -> Result<Rows, Finding> {
        let rows = self.patterns(node)?;
        Ok(if ordered { Rows::These(rows) } else { Rows::Unordered(rows) })
    }

    fn patterns(&self, node: &Node) -> Result<Vec<RowPattern>, Finding> {
        let Kind::List(items) = &node.kind else {
            return Err(broken(node, format!("this must be a list of rows, and is {}", node.describe())));
        };
        items.iter().map(|item| self.pattern(item)).collect()
    }

    fn pattern(&self, node: &Node) -> Result<RowPattern, Finding> {
        let fields: &Fields =
            node.fields().ok_or_else(|| broken(node, format!("a row is a table, and this is {}", node.describe())))?;
        let mut row = RowPattern::new();
        for (column, field) in fields {
            self.column(column, &Node::new(Kind::Absent, field.key.clone()))?;
            if field.value.kind != Kind::Absent {
                row.insert(column.clone(), matcher(&field.value)?);
            }
        }
        Ok(row)
    }
}

fn count(node: &Node) -> Result<u64, Finding> {
    node.value()
        .as_int()
        .and_then(|int| u64::try_from(int).ok())
        .ok_or_else(|| broken(node, format!("this must be a number of rows, and is {}", node.value())))
}

pub(crate) fn broken(node: &Node, message: String) -> Finding {
    Finding::error("scenario/step", "scenario", node.span.clone(), message)
}
