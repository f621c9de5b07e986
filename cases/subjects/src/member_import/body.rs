//! What can be split into keyed rows at all. A body that cannot is refused whole, before anything is looked up.

use std::collections::HashSet;

use nack_contracts::{Map, Value};

use crate::defect::Defect;

const MOST_ROWS: usize = 100;

/// One row of a request. What is no text is no email and no name.
pub(super) struct Row {
    pub(super) key: String,
    pub(super) email: Option<String>,
    pub(super) display_name: Option<String>,
}

/// Why a body is refused.
pub(super) enum Malformed {
    /// It is no JSON, or a row is no object.
    Broken,
    /// It is JSON, and not a list of 1 to 100 rows.
    Shape,
    /// A row has no key of its own; these rows stand in front of it.
    After(Vec<Row>),
}

pub(super) fn split(body: &Value, defect: Defect) -> Result<Vec<Row>, Malformed> {
    let parsed;
    let body = match body {
        Value::Bytes(bytes) => {
            parsed = serde_json::from_slice(bytes).map_err(|_| Malformed::Broken)?;
            &parsed
        }
        value => value,
    };
    let Value::Map(fields) = body else { return Err(Malformed::Shape) };
    let Some(Value::List(items)) = fields.get("rows") else { return Err(Malformed::Shape) };
    let most = if defect.is("101-accepted") { MOST_ROWS + 1 } else { MOST_ROWS };
    let least = usize::from(!defect.is("empty-accepted"));
    let strict = defect.is("unknown-field-is-400");
    if !(least..=most).contains(&items.len()) || (strict && fields.len() > 1) {
        return Err(Malformed::Shape);
    }
    let mut keys = HashSet::new();
    let mut rows = Vec::with_capacity(items.len());
    for item in items {
        let Value::Map(fields) = item else { return Err(Malformed::Broken) };
        if strict && fields.keys().any(|field| !["row_key", "email", "display_name"].contains(&field.as_str())) {
            return Err(Malformed::Shape);
        }
        let text = |field| text_of(fields, field);
        match text("row_key").filter(|key| !key.is_empty()) {
            Some(key) if keys.insert(key.clone()) => {
                rows.push(Row { key, email: text("email"), display_name: text("display_name") });
            }
            Some(_) if defect.is("duplicate-keys-accepted") => {}
            _ => return Err(Malformed::After(rows)),
        }
    }
    Ok(rows)
}

fn text_of(fields: &Map, field: &str) -> Option<String> {
    fields.get(field)?.as_text().map(str::to_owned)
}
