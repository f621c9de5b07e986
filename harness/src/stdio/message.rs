//! What the messages say. These types are the protocol: both sides are built on them, and the protocol page is
//! written from them, so their comments speak to the author of an adapter.

use indexmap::IndexMap;
use nack_cases::{RaiseKind, StorageFault};
use nack_contracts::{Map, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The protocol that this version of nack speaks.
pub const PROTOCOL: u32 = 1;

/// Harness to subject: who are you?
pub const HELLO: &str = "hello";
/// Harness to subject: answer one call of the contract.
pub const CALL: &str = "call";
/// Subject to harness: a checkpoint was reached.
pub const CHECKPOINT: &str = "checkpoint";
/// Subject to harness: a statement of the store is about to run.
pub const STATEMENT: &str = "statement";
/// Subject to harness: a call to the outside.
pub const EFFECT: &str = "effect";
/// Subject to harness: what time is it?
pub const NOW: &str = "now";

/// The code of an error that a call ended in. Its `data` is a [`CallError`].
pub const CALL_FAILED: i64 = 1;
/// The code of an injected error: the subject must fail at the point that it asked about.
pub const INJECTED: i64 = 2;
/// The code of an error that the outside raises. Its `data` is a [`Raised`].
pub const RAISED: i64 = 3;

/// Parameters of `hello`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Hello {
    /// The protocols that the harness speaks.
    pub protocol: ProtocolRange,
    /// The name of the contract.
    pub contract: String,
    /// The name of this worker. Each worker is a process of its own.
    pub worker: String,
    /// Where the store is: the path of the SQLite file, or a connection string. It may not exist before the first
    /// call, so open it then.
    pub store: String,
    /// The parameters of the contract, name to integer.
    #[cfg_attr(test, schemars(with = "std::collections::BTreeMap<String, i64>"))]
    pub params: IndexMap<String, i64>,
}

impl Hello {
    /// What a subject of this contract is told on this store.
    #[must_use]
    pub fn new(contract: &str, params: IndexMap<String, i64>, store: &str) -> Hello {
        let protocol = ProtocolRange { min: PROTOCOL, max: PROTOCOL };
        let worker = "main".to_owned();
        Hello { protocol, contract: contract.to_owned(), worker, store: store.to_owned(), params }
    }
}

/// The first and the last protocol that the harness speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProtocolRange {
    /// The oldest.
    pub min: u32,
    /// The newest.
    pub max: u32,
}

/// Result of `hello`. A key that is not listed here is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Greeting {
    /// The subject's name in reports.
    pub name: String,
    /// The protocol that the subject speaks, within the range.
    pub protocol: u32,
    /// The capabilities it has, of those that the contract leaves to the subject.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// The checkpoints it passes, of those that the contract names.
    #[serde(default)]
    pub checkpoints: Vec<String>,
    /// Whether it announces each statement of its store when a call's `watch` asks for it, and lets its writes fail
    /// where it is told so.
    #[serde(default)]
    pub statements: bool,
    /// The absolute path of the program that really runs, where the command found it through a slow wrapper such as
    /// a version manager's. Later starts run it in place of the command's first word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable: Option<String>,
}

/// Parameters of `call`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Call {
    /// The name of the call.
    pub call: String,
    /// Its arguments, by name.
    #[cfg_attr(test, schemars(with = "std::collections::BTreeMap<String, serde_json::Value>"))]
    pub args: Map,
    /// Which points of this call the harness waits for.
    #[serde(default)]
    pub watch: WatchFor,
}

/// Which points of a call the harness waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WatchFor {
    /// Every statement of the store: send `statement` before each.
    #[serde(default)]
    pub everywhere: bool,
    /// This checkpoint. Others may be sent or left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
}

/// Data of the error that a call ended in. An error without it is indefinite and named `error`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CallError {
    /// The error's name in the contract's words, such as `invalid_event`.
    pub name: String,
    /// True if the subject knows that nothing happened; false if it may have.
    #[serde(default)]
    pub definite: bool,
    /// The error's text. A plain string will do.
    #[serde(default)]
    pub text: Octets,
}

/// Parameters of `checkpoint`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Checkpoint {
    /// Its name; it must be one that `hello` declared.
    pub name: String,
}

/// Parameters of `statement`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Statement {
    /// The statement, for people to read.
    pub sql: String,
}

/// Result of `checkpoint` and `statement`: go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Passed {
    /// From here to the end of the call every write of the store fails so: `busy` (another connection has it),
    /// `full` (no space is left) or `io` (an I/O error). Only sent to a subject whose `statements` is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub storage: Option<StorageFault>,
}

/// Parameters of `effect`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Effect {
    /// The effect's name in the contract.
    pub name: String,
    /// What is sent, by the names of the effect's columns.
    #[cfg_attr(test, schemars(with = "std::collections::BTreeMap<String, serde_json::Value>"))]
    pub columns: Map,
}

/// Data of the error that an effect raises.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Raised {
    /// `timeout` (no complete answer in time), `connection` (it broke), `error` (any other), `interrupt`,
    /// `cancelled` or `system-exit` (what the language raises when the program is told to end).
    #[cfg_attr(test, schemars(with = "String"))]
    pub kind: RaiseKind,
    /// The error's text, which may be no text at all.
    pub text: Octets,
}

/// Parameters of a request that has none to give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Nothing {}

/// Bytes, written `{"$bytes": "<base64>"}`. A plain string is read too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Octets(pub Vec<u8>);

impl Serialize for Octets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Value::Bytes(self.0.clone()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Octets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bytes(bytes) => Ok(Octets(bytes)),
            Value::Text(text) => Ok(Octets(text.into_bytes())),
            Value::Null => Ok(Octets::default()),
            other => Err(serde::de::Error::custom(format!("{other} is neither text nor bytes"))),
        }
    }
}
