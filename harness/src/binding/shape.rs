//! The shape of a `nack.toml`: its keys and their types, before anything is made of them.

use indexmap::IndexMap;
use serde::Deserialize;
use toml::Spanned;

use super::Making;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    pub(super) subject: IndexMap<Spanned<String>, Subject>,
    /// Where logs lie; an audit reads that, and no run.
    #[serde(default, rename = "audit")]
    _audit: IndexMap<String, toml::Value>,
}

/// A section whose keys are names of the contract.
pub(super) type Named<T> = IndexMap<String, Spanned<T>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Subject {
    pub(super) contract: Spanned<String>,
    pub(super) adapter: Spanned<String>,
    pub(super) command: Option<Spanned<Vec<String>>>,
    pub(super) store: Option<Spanned<String>>,
    pub(super) setup: Option<Spanned<Making>>,
    pub(super) capabilities: Option<Vec<String>>,
    #[serde(default)]
    pub(super) params: IndexMap<String, i64>,
    #[serde(default)]
    pub(super) call: Named<Call>,
    #[serde(default)]
    pub(super) seed: Named<OneOrMore>,
    #[serde(default)]
    pub(super) observe: Named<String>,
    #[serde(default)]
    pub(super) words: Named<IndexMap<String, String>>,
    #[serde(default)]
    pub(super) ids: Named<String>,
    #[serde(default)]
    pub(super) downstream: Named<toml::Value>,
    pub(super) ready: Option<Spanned<String>>,
    pub(super) workers: Option<Spanned<String>>,
    pub(super) folder: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) env: IndexMap<String, String>,
    pub(super) env_allow: Option<Vec<String>>,
    pub(super) wait: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) command: Option<Vec<String>>,
    #[serde(default)]
    pub(super) stdout: IndexMap<String, toml::Value>,
    #[serde(default)]
    pub(super) exit: IndexMap<String, toml::Value>,
    pub(super) method: Option<String>,
    pub(super) path: Option<String>,
    pub(super) body: Option<String>,
    #[serde(default)]
    pub(super) headers: IndexMap<String, String>,
    #[serde(default)]
    pub(super) status: IndexMap<String, toml::Value>,
}
