//! Freezing: a digest of what a contract says, and a lock file that refuses drift from it.

use std::fmt::Write as _;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::finding::Finding;
use crate::model::Contract;
use crate::node::{Node, plain};
use crate::source::Source;
use crate::value::{Map, Value};

/// The name of the lock file, which lies beside the contracts.
pub const LOCK_FILE: &str = "contracts.lock";

/// The SHA-256 of a contract's canonical form, in hexadecimal: its tree as JSON in the file's order, without comments
/// and layout, with the parameters in force. Order is kept because it means something: the first sample is the base.
#[must_use]
pub fn digest(contract: &Contract) -> String {
    let mut tree = Node::parse(&contract.source.text).map(|fields| plain(&fields)).unwrap_or_default();
    if !contract.params.is_empty() {
        let params: Map = contract.params.iter().map(|(name, p)| (name.clone(), Value::Int(p.value))).collect();
        tree.insert("param".to_owned(), Value::Map(params));
    }
    let hash = Sha256::digest(Value::Map(tree).to_json().as_bytes());
    hash.iter().fold(String::with_capacity(64), |mut out, byte| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// The frozen digests of a folder of contracts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The version of this format.
    pub format: u32,
    /// One entry a contract, by name.
    #[serde(default)]
    pub contract: Vec<Frozen>,
}

/// One frozen contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frozen {
    /// Its name.
    pub name: String,
    /// Its own number.
    pub version: i64,
    /// The digest of its canonical form.
    pub sha256: String,
    /// Its scenarios, each with the mutants that it must kill: what a contract loses with a scenario can be named even
    /// after all trace of it is gone.
    #[serde(default)]
    pub scenario: IndexMap<String, Vec<String>>,
}

impl Frozen {
    fn of(contract: &Contract) -> Frozen {
        let scenario = { contract.scenarios.iter() }.map(|scenario| {
            let cases = format!("{}/{}", contract.name, scenario.name);
            let defends = contract.mutants.iter().filter(|mutant| {
                mutant.killed_by.iter().any(|entry| {
                    entry.item.strip_prefix(&cases).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                })
            });
            (scenario.name.clone(), defends.map(|mutant| mutant.name.clone()).collect())
        });
        Frozen {
            name: contract.name.clone(),
            version: contract.version,
            sha256: digest(contract),
            scenario: scenario.collect(),
        }
    }

    /// The scenarios that a contract has lost since it was frozen.
    fn lost(&self, contract: &Contract) -> impl Iterator<Item = Finding> {
        let has = |name: &str| contract.scenarios.iter().any(|scenario| scenario.name == name);
        self.scenario.iter().filter(move |(name, _)| !has(name)).map(|(name, defends)| {
            let defends = if defends.is_empty() { "no mutant".to_owned() } else { defends.join(", ") };
            let message = format!("the frozen scenario `{name}` is gone; it had to kill {defends}");
            Finding::error("lock/lost", format!("scenario.{name}"), contract.name_span.clone(), message)
                .help("put it back, or let a review say which scenario defends this now")
        })
    }
}

impl Lock {
    /// The lock of these contracts, sorted by name.
    #[must_use]
    pub fn of<'a>(contracts: impl IntoIterator<Item = &'a Contract>) -> Lock {
        let mut contract: Vec<Frozen> = contracts.into_iter().map(Frozen::of).collect();
        contract.sort_by(|a, b| a.name.cmp(&b.name));
        Lock { format: 1, contract }
    }

    /// Reads a lock file.
    ///
    /// # Errors
    /// A finding for a file that is no lock.
    pub fn read(source: &Source) -> Result<Lock, Finding> {
        let broken = |span, message: String| {
            Finding::error("lock/broken", LOCK_FILE, span, message).help("write it anew with `nack freeze`")
        };
        let lock: Lock = toml::from_str(&source.text).map_err(|error| {
            broken(error.span().unwrap_or(0..0), format!("this is no lock file: {}", error.message()))
        })?;
        if lock.format == 1 { Ok(lock) } else { Err(broken(0..0, format!("lock format {} is unknown", lock.format))) }
    }

    /// The lock as the text of its file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::from(
            "# Written by `nack freeze`. `nack check --locked` refuses a contract that says something else.\nformat = 1\n",
        );
        for frozen in &self.contract {
            let Frozen { name, version, sha256, scenario } = frozen;
            // Writing to a string cannot fail.
            let _ = write!(out, "\n[[contract]]\nname    = \"{name}\"\nversion = {version}\nsha256  = \"{sha256}\"\n");
            if !scenario.is_empty() {
                out.push_str("[contract.scenario]\n");
            }
            for (name, defends) in scenario {
                let _ = writeln!(out, "{name} = {defends:?}");
            }
        }
        out
    }

    /// What is wrong between this lock and the contracts beside it. `whole`: the contracts are all there are.
    #[must_use]
    pub fn drift(&self, contracts: &[Contract], whole: bool) -> Vec<(usize, Finding)> {
        let mut out = Vec::new();
        for (index, contract) in contracts.iter().enumerate() {
            let at = "contract";
            let span = contract.name_span.clone();
            let finding = match self.contract.iter().find(|frozen| frozen.name == contract.name) {
                None => Finding::error("lock/missing", at, span, format!("`{}` is not frozen", contract.name))
                    .help("freeze it with `nack freeze` in a reviewed change"),
                Some(frozen) if frozen.sha256 != digest(contract) => {
                    let message = format!(
                        "`{}` is not what was frozen: its digest is {}, the lock says {}",
                        contract.name,
                        &digest(contract)[..12],
                        frozen.sha256.get(..12).unwrap_or("nothing")
                    );
                    Finding::error("lock/drift", at, span, message)
                        .help("if the change is meant, raise `version` and run `nack freeze`; `nack diff` says what it weakens")
                }
                Some(_) => continue,
            };
            let lost = { self.contract.iter() }.filter(|frozen| frozen.name == contract.name);
            out.extend(lost.flat_map(|frozen| frozen.lost(contract)).map(|finding| (index, finding)));
            out.push((index, finding));
        }
        if whole {
            for frozen in &self.contract {
                if contracts.iter().all(|contract| contract.name != frozen.name) {
                    let message = format!("`{}` is frozen, and its contract is gone", frozen.name);
                    out.push((usize::MAX, Finding::error("lock/gone", LOCK_FILE, 0..0, message)));
                }
            }
        }
        out
    }
}
