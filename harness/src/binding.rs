//! `nack.toml`: which subjects there are, the contract each is held to, and how each is reached. It is looked for
//! upward from the current folder, as cargo looks for its own file.

use std::fs;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use nack_contracts::{Finding, Source, suggest};
use serde::Deserialize;
use toml::Spanned;

/// The file's name.
pub const FILE: &str = "nack.toml";

/// A `nack.toml`.
#[derive(Clone, Debug)]
pub struct Bindings {
    /// The file, for messages.
    pub source: Source,
    /// The folder that everything in it is relative to.
    pub folder: PathBuf,
    /// The subjects, in the file's order.
    pub subjects: Vec<Binding>,
}

/// One subject of a `nack.toml`.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Its name.
    pub name: String,
    /// The contract it is held to.
    pub contract: String,
    /// How it is started.
    pub command: Vec<String>,
    /// How its empty tables are made: a file of SQL, or a command.
    pub setup: Making,
    /// The capabilities that it is expected to declare, if the file says any.
    pub capabilities: Option<Vec<String>>,
    /// Parameters of the contract that this deployment sets otherwise.
    pub params: IndexMap<String, i64>,
    /// Where the subject stands in the file.
    pub span: std::ops::Range<usize>,
}

/// How a subject's empty tables are made.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Making {
    /// By a file of SQL.
    File(String),
    /// By a command; `{store}` in it is the path of the store.
    Command(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    subject: IndexMap<Spanned<String>, Subject>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    contract: Spanned<String>,
    adapter: Spanned<String>,
    command: Spanned<Vec<String>>,
    store: Option<Spanned<String>>,
    setup: Option<Spanned<Making>>,
    capabilities: Option<Vec<String>>,
    #[serde(default)]
    params: IndexMap<String, i64>,
}

/// Looks upward from `folder`.
#[must_use]
pub fn find(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(FILE)).find(|file| file.is_file())
}

impl Bindings {
    /// Reads a `nack.toml`.
    ///
    /// # Errors
    /// One finding for what is wrong, with its place and its mend.
    pub fn read(path: &Path) -> Result<Bindings, (Source, Box<Finding>)> {
        let file = path.display().to_string();
        let text = fs::read(path)
            .map_err(|error| error.to_string())
            .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not UTF-8; save it as UTF-8".to_owned()));
        let (source, error) = match text {
            Ok(text) => (Source::new(file, text), None),
            Err(error) => (Source::new(file, ""), Some(error)),
        };
        let broken = |finding: Finding| (source.clone(), Box::new(finding));
        if let Some(error) = error {
            return Err(broken(Finding::error("binding/file", FILE, 0..0, error)));
        }
        let read: File = toml::from_str(&source.text).map_err(|error| {
            let place = error.span().unwrap_or(0..0);
            broken(Finding::error("binding/toml", FILE, place, error.message().to_owned()))
        })?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let subjects = read.subject.into_iter().map(|(name, subject)| bind(&folder, &name, subject));
        let subjects: Vec<Binding> = subjects.collect::<Result<_, _>>().map_err(|finding| broken(*finding))?;
        if subjects.is_empty() {
            let finding = Finding::error("binding/empty", FILE, 0..0, "there is no [subject.NAME] in it");
            return Err(broken(finding.help("add one, with `contract`, `adapter`, `command`, `store` and `setup`")));
        }
        Ok(Bindings { source, folder, subjects })
    }
}

fn bind(folder: &Path, name: &Spanned<String>, subject: Subject) -> Result<Binding, Box<Finding>> {
    let at = format!("subject.{}", name.get_ref());
    let wrong = |span: std::ops::Range<usize>, message: String, help: &str| {
        Err(Box::new(Finding::error("binding/value", &at, span, message).help(help.to_owned())))
    };
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.get_ref().is_empty() || !name.get_ref().chars().all(legal) || name.get_ref() == "reference" {
        return wrong(
            name.span(),
            "a subject's name is made of letters, digits, - and _, and is not `reference`".to_owned(),
            "rename it",
        );
    }
    match subject.adapter.get_ref().as_str() {
        "stdio" => {}
        known @ ("command" | "http") => {
            let message = format!("the adapter `{known}` is not in this version of nack");
            return wrong(
                subject.adapter.span(),
                message,
                "reach the subject by `stdio`, with an SDK or with the protocol page alone",
            );
        }
        other => {
            let message = format!("there is no adapter `{other}`; {}", suggest(other, ["stdio"]));
            return wrong(subject.adapter.span(), message, "this version of nack reaches subjects by `stdio`");
        }
    }
    if subject.command.get_ref().is_empty() {
        return wrong(
            subject.command.span(),
            "the command is empty".to_owned(),
            "write [\"program\", \"argument\", …]",
        );
    }
    if let Some(store) = &subject.store
        && !store.get_ref().starts_with("sqlite:")
    {
        let kind = store.get_ref().split(':').next().unwrap_or_default().to_owned();
        return wrong(store.span(), format!("the store `{kind}:` is not in this version of nack"), "use `sqlite:FILE`");
    }
    let Some(setup) = subject.setup else {
        return wrong(
            name.span(),
            "`setup` is missing: nobody makes the tables".to_owned(),
            "name a file of SQL, or a command (a list)",
        );
    };
    if let Making::File(file) = setup.get_ref()
        && !folder.join(file).is_file()
    {
        return wrong(
            setup.span(),
            format!("there is no file `{file}` in {}", folder.display()),
            "name a file of SQL, or a command (a list)",
        );
    }
    Ok(Binding {
        name: name.get_ref().clone(),
        contract: subject.contract.get_ref().clone(),
        command: subject.command.into_inner(),
        setup: setup.into_inner(),
        capabilities: subject.capabilities,
        params: subject.params,
        span: name.span(),
    })
}
