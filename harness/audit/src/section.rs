//! The `[audit.NAME]` sections of a `nack.toml`: where a log lies, and how it spells what the contract calls its columns
//! and words. Every key can be left out: what is not said is guessed from the log's header, and shown.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use nack_contracts::Finding;
use serde::Deserialize;
use toml::Spanned;

/// One section.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// The contract whose `[audit]` it follows.
    pub contract: String,
    /// The log's files, as paths or globs relative to the file's folder.
    pub log: Vec<String>,
    /// `csv` or `jsonl`.
    pub format: Option<String>,
    /// What stands between the fields of a line.
    pub delimiter: Option<String>,
    /// Whether the first line names the columns.
    pub header: Option<bool>,
    /// What its times count.
    pub time: Option<String>,
    /// The contract's column → the log's, by its name or by its place from 1.
    pub columns: IndexMap<String, String>,
    /// By domain: the log's word → the contract's.
    pub words: IndexMap<String, IndexMap<String, String>>,
    /// Parameters of the contract that this deployment sets otherwise.
    pub params: IndexMap<String, i64>,
    /// The table of a live database or a warehouse that holds the log.
    pub table: Option<String>,
    /// The folder that its files are relative to.
    pub folder: PathBuf,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    audit: IndexMap<Spanned<String>, Shape>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    contract: String,
    log: Option<OneOrMore>,
    format: Option<String>,
    delimiter: Option<String>,
    header: Option<bool>,
    time: Option<String>,
    #[serde(default)]
    columns: IndexMap<String, Name>,
    #[serde(default)]
    words: IndexMap<String, IndexMap<String, String>>,
    #[serde(default)]
    params: IndexMap<String, i64>,
    table: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Place(u32),
    Text(String),
}

/// Reads every `[audit.NAME]` of a `nack.toml`; `path` is the file, for its folder.
///
/// # Errors
/// What is wrong with a section, with its place in the text.
pub fn sections(path: &Path, text: &str) -> Result<Vec<Section>, Box<Finding>> {
    let read: File = toml::from_str(text).map_err(|error| {
        Box::new(Finding::error("audit/toml", "audit", error.span().unwrap_or(0..0), error.message().to_owned()))
    })?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let of = |(name, shape): (Spanned<String>, Shape)| Section {
        name: name.into_inner(),
        contract: shape.contract,
        log: match shape.log {
            None => Vec::new(),
            Some(OneOrMore::One(file)) => vec![file],
            Some(OneOrMore::More(files)) => files,
        },
        format: shape.format,
        delimiter: shape.delimiter,
        header: shape.header,
        time: shape.time,
        columns: shape.columns.into_iter().map(|(column, name)| (column, name.text())).collect(),
        words: shape.words,
        params: shape.params,
        table: shape.table,
        folder: folder.to_owned(),
    };
    Ok(read.audit.into_iter().map(of).collect())
}

impl Name {
    fn text(self) -> String {
        match self {
            Name::Place(place) => place.to_string(),
            Name::Text(text) => text,
        }
    }
}
