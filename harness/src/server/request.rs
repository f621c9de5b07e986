//! A contract's call as the request that the binding makes of it.

use std::convert::Infallible;

use nack_contracts::Map;
use nack_contracts::model;

use crate::binding::{HttpCall, Placeholder, Template, argument};
use crate::http::message::Request;
use crate::session::StartError;
use crate::store::Translation;

/// What a request is made with.
pub(super) struct Making<'a> {
    /// The contract's call.
    pub(super) call: &'a model::Call,
    /// Its arguments, in the contract's words.
    pub(super) args: &'a Map,
    /// How words cross the border.
    pub(super) words: &'a Translation,
    /// The time, in epoch seconds.
    pub(super) now: i64,
}

impl Making<'_> {
    /// The request.
    ///
    /// # Errors
    /// When an argument cannot stand where the binding puts it.
    pub(super) fn request(&self, bound: &HttpCall) -> Result<Request, StartError> {
        let target = self.fill(&bound.path, encoded);
        let body = bound.body.as_ref().map(|body| self.fill(body, |bytes| bytes));
        let mut headers: Vec<(String, Vec<u8>)> =
            bound.headers.iter().map(|(name, value)| (name.clone(), self.fill(value, |bytes| bytes))).collect();
        if body.is_some() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            headers.push(("content-type".to_owned(), b"application/json".to_vec()));
        }
        let target = String::from_utf8(target).map_err(|_| StartError("its path is no text".to_owned()))?;
        Ok(Request { method: bound.method.clone(), target, headers, body: body.unwrap_or_default() })
    }

    /// The text with each argument as `spell` makes it.
    fn fill(&self, template: &Template, spell: impl Fn(Vec<u8>) -> Vec<u8>) -> Vec<u8> {
        let Ok(filled) = template.fill(|placeholder| Ok::<_, Infallible>(spell(self.value(placeholder))));
        filled
    }

    fn value(&self, placeholder: &Placeholder) -> Vec<u8> {
        match placeholder {
            Placeholder::Now => self.now.to_string().into_bytes(),
            // An argument that a case leaves out is nothing.
            Placeholder::Arg(name) => match (self.call.args.get(name), self.args.get(name)) {
                (Some(ty), Some(value)) => argument(ty, &self.words.outward(name, ty, value)),
                _ => Vec::new(),
            },
            // A request has no others: the binding was read so.
            _ => Vec::new(),
        }
    }
}

/// Bytes as they stand in a path or a query.
fn encoded(bytes: Vec<u8>) -> Vec<u8> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let spell = |byte: u8| if plain(byte) { vec![byte] } else { format!("%{byte:02X}").into_bytes() };
    bytes.into_iter().flat_map(spell).collect()
}
