//! Where a log keeps each column of the contract, and how it spells words and times: as it was said, or guessed from
//! the header and the first lines. What is guessed is shown, and what is not found is missing, never made up.

use std::fmt;

use indexmap::IndexMap;
use nack_contracts::model::{Audit, Contract};
use nack_contracts::suggest;

use crate::time::Unit;
use crate::{AuditError, Section, csv, json};

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Fields between delimiters, as RFC 4180 has it.
    Csv {
        /// What stands between two fields.
        delimiter: u8,
        /// Whether the first line of each file names the columns.
        header: bool,
    },
    /// One JSON object a line.
    JsonLines,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Format::Csv { delimiter: b',', .. } => f.write_str("CSV"),
            Format::Csv { delimiter, .. } => write!(f, "CSV with {:?} between fields", char::from(*delimiter)),
            Format::JsonLines => f.write_str("JSON lines"),
        }
    }
}

/// What flags say beside the section.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The contract's column → the log's.
    pub columns: Vec<(String, String)>,
    /// The log's word → the contract's, in every domain that has it.
    pub words: Vec<(String, String)>,
}

/// Where a log keeps what.
#[derive(Clone, Debug)]
pub struct Layout {
    /// How it is written.
    pub format: Format,
    /// The names of its columns, in order; of JSON lines, those of the first lines.
    pub names: Vec<String>,
    /// By column of the contract: the place among `names`.
    pub columns: IndexMap<String, usize>,
    /// By domain: the log's word → the contract's.
    pub words: IndexMap<String, IndexMap<String, String>>,
    /// What its times count.
    pub unit: Unit,
    /// What was guessed, in words.
    pub guessed: Vec<String>,
}

impl Layout {
    /// Of a log that begins with `head`.
    ///
    /// # Errors
    /// A column, word or format that does not exist, or a header without the key.
    pub fn of(
        contract: &Contract,
        audit: &Audit,
        section: &Section,
        flags: &Overrides,
        head: &[u8],
    ) -> Result<Layout, AuditError> {
        let head = head.strip_prefix(csv::BOM).unwrap_or(head);
        let mut guessed = Vec::new();
        let format = format_of(section, head, &mut guessed)?;
        let names = match format {
            Format::Csv { delimiter, header: true } => csv::texts(head, delimiter),
            Format::Csv { delimiter, header: false } => {
                (1..=csv::texts(head, delimiter).len()).map(|n| n.to_string()).collect()
            }
            Format::JsonLines => json::names(head),
        };
        let mut layout = Layout {
            format,
            names,
            columns: IndexMap::new(),
            words: words(contract, section, flags)?,
            unit: Unit::Seconds,
            guessed,
        };
        layout.map_columns(audit, section, flags)?;
        layout.unit = layout.unit_of(audit, section, head)?;
        Ok(layout)
    }

    /// Of a table of a database or warehouse whose columns are named as the section says, or as the contract does.
    ///
    /// # Errors
    /// As for a log.
    pub fn of_table(
        contract: &Contract,
        audit: &Audit,
        section: &Section,
        flags: &Overrides,
        without: &[String],
    ) -> Result<Layout, AuditError> {
        let said: IndexMap<&str, &str> = said(section, flags).collect();
        let named = said.keys().copied().chain(without.iter().map(String::as_str));
        named.into_iter().try_for_each(|column| known_column(audit, column))?;
        if without.contains(&audit.key) {
            return Err(AuditError::Usage(format!("without `{}` nobody knows whose line it is", audit.key)));
        }
        let there: Vec<&String> = audit.columns.keys().filter(|column| !without.contains(column)).collect();
        let name =
            |column: &&String| said.get(column.as_str()).map_or_else(|| (*column).clone(), |name| (*name).to_owned());
        Ok(Layout {
            format: Format::JsonLines,
            names: there.iter().map(name).collect(),
            columns: there.into_iter().cloned().zip(0..).collect(),
            words: words(contract, section, flags)?,
            unit: section.time.as_deref().map_or(Ok(Unit::Seconds), unit_named)?,
            guessed: Vec::new(),
        })
    }

    fn map_columns(&mut self, audit: &Audit, section: &Section, flags: &Overrides) -> Result<(), AuditError> {
        let header = !matches!(self.format, Format::Csv { header: false, .. });
        for (column, name) in said(section, flags) {
            known_column(audit, column)?;
            let by_name = self.names.iter().position(|known| known == name);
            let by_place = || {
                name.parse::<usize>()
                    .ok()
                    .and_then(|place| place.checked_sub(1))
                    .filter(|place| *place < self.names.len())
            };
            let Some(at) = by_name.or_else(by_place) else {
                let known = suggest(name, self.names.iter().map(String::as_str));
                return Err(AuditError::Usage(format!("the log has no column `{name}` for `{column}`; {known}")));
            };
            self.columns.insert(column.to_owned(), at);
        }
        if header {
            for column in audit.columns.keys().filter(|column| !said(section, flags).any(|(said, _)| said == **column))
            {
                let also = audit.also.get(column).into_iter().flatten().map(String::as_str);
                let free = |name: &str| {
                    let at = self.names.iter().position(|known| plain(known) == plain(name))?;
                    (!self.columns.values().any(|taken| *taken == at)).then_some(at)
                };
                if let Some(at) = std::iter::once(column.as_str()).chain(also).find_map(free) {
                    if self.names[at] != *column {
                        self.guessed.push(format!("`{column}` is its column `{}`", self.names[at]));
                    }
                    self.columns.insert(column.clone(), at);
                }
            }
        }
        if self.columns.contains_key(&audit.key) {
            return Ok(());
        }
        let wanted = audit.columns.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let names = self.names.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ");
        Err(AuditError::Usage(format!(
            "no column of the log is known as `{}`: its first line says {names}. If that is no header, give places with `--column {}=1` and so on; else map {wanted} to its names",
            audit.key, audit.key
        )))
    }

    fn unit_of(&mut self, audit: &Audit, section: &Section, head: &[u8]) -> Result<Unit, AuditError> {
        if let Some(name) = &section.time {
            return unit_named(name);
        }
        let Some(at) = audit.time.as_ref().and_then(|time| self.columns.get(time)) else { return Ok(Unit::Seconds) };
        let sample = match self.format {
            Format::Csv { delimiter, header } => {
                csv::second(head, header).and_then(|line| csv::texts(line, delimiter).get(*at).cloned())
            }
            Format::JsonLines => json::sample(head, &self.names[*at]),
        };
        let Some(sample) = sample.filter(|text| !text.is_empty()) else { return Ok(Unit::Seconds) };
        let unit = Unit::guess(&sample);
        self.guessed.push(format!("its times are {unit}, by {}", shown(&sample)));
        Ok(unit)
    }
}

fn said<'a>(section: &'a Section, flags: &'a Overrides) -> impl Iterator<Item = (&'a str, &'a str)> {
    let of_flags = || flags.columns.iter().map(|(column, name)| (column.as_str(), name.as_str()));
    let of_section = section.columns.iter().map(|(column, name)| (column.as_str(), name.as_str()));
    of_section.filter(move |(column, _)| !of_flags().any(|(said, _)| said == *column)).chain(of_flags())
}

fn known_column(audit: &Audit, column: &str) -> Result<(), AuditError> {
    if audit.columns.contains_key(column) {
        return Ok(());
    }
    let known = suggest(column, audit.columns.keys().map(String::as_str));
    Err(AuditError::Usage(format!("the contract knows no column `{column}` of a log; {known}")))
}

fn format_of(section: &Section, head: &[u8], guessed: &mut Vec<String>) -> Result<Format, AuditError> {
    let is_json = || head.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let json = match section.format.as_deref() {
        Some("csv") => false,
        Some("jsonl") => true,
        Some(other) => return Err(AuditError::Usage(format!("format `{other}` is unknown; give csv or jsonl"))),
        None => is_json(),
    };
    let delimiter = match section.delimiter.as_deref() {
        Some("\\t") => b'\t',
        Some(text) if text.len() == 1 && !matches!(text, "\"" | "\n" | "\r") => text.as_bytes()[0],
        Some(text) => return Err(AuditError::Usage(format!("delimiter {text:?}: give one character, or \\t"))),
        None => csv::delimiter(head),
    };
    let format =
        if json { Format::JsonLines } else { Format::Csv { delimiter, header: section.header.unwrap_or(true) } };
    if section.format.is_none() {
        guessed.push(format!("it is {format}"));
    }
    Ok(format)
}

fn words(
    contract: &Contract,
    section: &Section,
    flags: &Overrides,
) -> Result<IndexMap<String, IndexMap<String, String>>, AuditError> {
    let mut out = section.words.clone();
    let is_word = |domain: &str, word: &str| {
        let samples = contract.domains[domain].classes.iter().flat_map(|class| &class.samples);
        samples.into_iter().any(|sample| sample.node.value().as_text() == Some(word))
    };
    for (domain, words) in &out {
        if !contract.domains.contains_key(domain) {
            let known = suggest(domain, contract.domains.keys().map(String::as_str));
            return Err(AuditError::Usage(format!("words.{domain}: the contract has no such domain; {known}")));
        }
        if let Some((theirs, ours)) = words.iter().find(|(_, ours)| !is_word(domain, ours)) {
            return Err(AuditError::Usage(format!(
                "words.{domain}: `{theirs}` means `{ours}`, which is no word of it"
            )));
        }
    }
    for (theirs, ours) in &flags.words {
        let domains: Vec<&String> = contract.domains.keys().filter(|domain| is_word(domain, ours)).collect();
        if domains.is_empty() {
            return Err(AuditError::Usage(format!("--word {theirs}={ours}: the contract has no word `{ours}`")));
        }
        for domain in domains {
            out.entry(domain.clone()).or_default().insert(theirs.clone(), ours.clone());
        }
    }
    Ok(out)
}

fn unit_named(name: &str) -> Result<Unit, AuditError> {
    Unit::ALL.iter().find(|(known, _)| *known == name).map(|(_, unit)| *unit).ok_or_else(|| {
        let known = suggest(name, Unit::ALL.iter().map(|(known, _)| *known));
        AuditError::Usage(format!("time = \"{name}\" is unknown; {known}"))
    })
}

/// A name without case and signs.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// A text of the log in a message.
fn shown(text: &str) -> String {
    format!("`{}`", text.chars().take(40).collect::<String>().escape_debug())
}
