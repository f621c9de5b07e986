//! What a printed word, an exit code or a status of HTTP means in a contract's words, as a binding says it.

use nack_contracts::model::{Base, Call};
use nack_contracts::{Contract, Map, Value, suggest};

/// What a word, a code or a status means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Meaning {
    /// This reply.
    Reply(Value),
    /// The program refuses, and says so by this name.
    Refused(String),
    /// The reply stands in this field of the answer's body.
    Field(String),
}

/// A meaning that the contract does not know: what is wrong, and its mend.
pub(crate) struct Misfit {
    pub(crate) message: String,
    pub(crate) help: String,
}

impl Meaning {
    /// What `of` is said to mean, in the contract's words.
    ///
    /// # Errors
    /// A reply or an error that the call does not have.
    pub(crate) fn of(of: &str, said: &toml::Value, call: &Call, contract: &Contract) -> Result<Meaning, Misfit> {
        let meaning = Meaning::read(said).map_err(|message| Misfit {
            message: format!("{of}: {message}"),
            help: "write a reply of the contract, or { _error = NAME }".to_owned(),
        })?;
        known(of, &meaning, call, contract)?;
        Ok(meaning)
    }

    fn read(said: &toml::Value) -> Result<Meaning, String> {
        for (key, make, what) in [
            ("_error", Meaning::Refused as fn(String) -> Meaning, "an error is { _error = NAME }"),
            ("_field", Meaning::Field, "a reply in the body is { _field = NAME }"),
        ] {
            if let Some(table) = said.as_table().filter(|table| table.contains_key(key)) {
                let name = table.get(key).and_then(toml::Value::as_str).filter(|_| table.len() == 1);
                return name.map(|name| make(name.to_owned())).ok_or_else(|| what.to_owned());
            }
        }
        value(said).map(Meaning::Reply)
    }
}

fn value(said: &toml::Value) -> Result<Value, String> {
    Ok(match said {
        toml::Value::String(text) => Value::from(text.as_str()),
        toml::Value::Integer(int) => Value::Int(*int),
        toml::Value::Boolean(bool) => Value::Bool(*bool),
        toml::Value::Array(items) => Value::List(items.iter().map(value).collect::<Result<_, _>>()?),
        toml::Value::Table(fields) => {
            let fields = fields.iter().map(|(key, field)| Ok((key.clone(), value(field)?)));
            Value::Map(fields.collect::<Result<Map, String>>()?)
        }
        toml::Value::Float(float) => Value::from_json(&float.to_string()).map_err(|error| error.to_string())?,
        toml::Value::Datetime(_) => return Err("no reply is a date".to_owned()),
    })
}

fn known(of: &str, meaning: &Meaning, call: &Call, contract: &Contract) -> Result<(), Misfit> {
    match (meaning, &call.reply) {
        (Meaning::Refused(name), _) if !call.errors.iter().any(|known| known == "any" || known == name) => {
            let message = format!("{of} is to mean the error `{name}`, which this call does not have");
            Err(Misfit { message, help: suggest(name, call.errors.iter().map(String::as_str)) })
        }
        (Meaning::Reply(value), Some(Base::Domain(domain))) => {
            let domain = &contract.domains[domain];
            let class = domain.find(value).map(|(class, _)| class).filter(|class| domain.otherwise != Some(*class));
            let words = domain.classes.iter().flat_map(|class| &class.samples).map(|sample| sample.label.as_str());
            let message = format!("{of} is to mean {value}, which is no word of `{}`", domain.name);
            class.map(drop).ok_or_else(|| Misfit { message, help: suggest(value.as_text().unwrap_or_default(), words) })
        }
        _ => Ok(()),
    }
}
