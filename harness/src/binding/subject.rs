//! One `[subject.NAME]` made into a [`Binding`]: each key checked as far as the file alone allows.

use std::fs;
use std::path::Path;

use indexmap::IndexMap;
use nack_contracts::{Finding, suggest};
use toml::Spanned;

use super::shape::{Call, Named, OneOrMore, Subject};
use super::template::{IN_COMMAND, IN_REQUEST, IN_SERVER, IN_SETUP, Template};
use super::{Binding, CommandCall, HttpCall, HttpServer, Making, Placeholder, Reach, Ready, Span};
use crate::store::{Ids, Mapping, Place, StoreMapping, Url, Words};

/// How long a subject may be silent on an answer that never comes, in seconds, if its binding does not say.
const WAIT: u64 = 30;

type Wrong = Box<Finding>;

/// Says what is wrong with a key of this subject.
struct At<'a>(&'a str);

impl At<'_> {
    fn wrong(&self, key: &str, span: Span, message: impl Into<String>, help: impl Into<String>) -> Wrong {
        let at = if key.is_empty() { format!("subject.{}", self.0) } else { format!("subject.{}.{key}", self.0) };
        Box::new(Finding::error("binding/value", at, span, message).help(help))
    }

    fn template(
        &self,
        key: &str,
        span: &Span,
        text: &str,
        allowed: super::template::Allowed,
    ) -> Result<Template, Wrong> {
        Template::parse(text, allowed)
            .map_err(|error| self.wrong(key, span.clone(), error.to_string(), "use one of these, or mend the name"))
    }
}

pub(super) fn bind(folder: &Path, name: &Spanned<String>, subject: Subject) -> Result<Binding, Wrong> {
    let at = At(name.get_ref());
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.get_ref().is_empty() || !name.get_ref().chars().all(legal) || name.get_ref() == "reference" {
        let message = "a subject's name is made of letters, digits, - and _, and is not `reference`";
        return Err(at.wrong("", name.span(), message, "rename it"));
    }
    let place = place(&at, name, subject.store.as_ref())?;
    let Some(setup) = &subject.setup else {
        let help = "name a file of SQL, or a command (a list)";
        return Err(at.wrong("setup", name.span(), "`setup` is missing: nobody makes the tables", help));
    };
    check_setup(&at, folder, setup)?;
    let runs_in = match &subject.folder {
        Some(own) if !folder.join(own.get_ref()).is_dir() => {
            let message = format!("there is no folder `{}` in {}", own.get_ref(), folder.display());
            return Err(at.wrong("folder", own.span(), message, "name the folder that the subject runs in"));
        }
        Some(own) => fs::canonicalize(folder.join(own.get_ref())).unwrap_or_else(|_| folder.join(own.get_ref())),
        None => folder.to_owned(),
    };
    let mut keys = IndexMap::new();
    keys.insert("setup".to_owned(), setup.span());
    keys.extend(subject.store.as_ref().map(|store| ("store".to_owned(), store.span())));
    note(&mut keys, "call", &subject.call);
    note(&mut keys, "seed", &subject.seed);
    note(&mut keys, "observe", &subject.observe);
    note(&mut keys, "words", &subject.words);
    note(&mut keys, "ids", &subject.ids);
    note(&mut keys, "downstream", &subject.downstream);
    let mapping = mapping(&at, &subject)?;
    let reach = reach(&at, name, &subject)?;
    let downstream = subject.downstream.into_iter().map(|(effect, said)| (effect, said.into_inner())).collect();
    Ok(Binding {
        name: name.get_ref().clone(),
        contract: subject.contract.into_inner(),
        reach,
        place,
        setup: setup.get_ref().clone(),
        mapping,
        downstream,
        capabilities: subject.capabilities,
        params: subject.params,
        folder: runs_in,
        env_allow: subject.env_allow,
        env: subject.env,
        wait: subject.wait.map_or(WAIT, |wait| *wait.get_ref()),
        span: name.span(),
        keys,
    })
}

fn note<T>(keys: &mut IndexMap<String, Span>, section: &str, named: &Named<T>) {
    keys.extend(named.iter().map(|(name, value)| (format!("{section}.{name}"), value.span())));
}

fn place(at: &At<'_>, name: &Spanned<String>, store: Option<&Spanned<String>>) -> Result<Place, Wrong> {
    let Some(store) = store else { return Ok(Place::Sqlite("store.db".to_owned())) };
    let wrong = |message: String, help: &str| Err(at.wrong("store", store.span(), message, help));
    match store.get_ref().split_once(':') {
        Some(("sqlite", file)) if !file.is_empty() && !file.contains(['/', '\\']) && !file.starts_with('.') => {
            Ok(Place::Sqlite(file.to_owned()))
        }
        Some(("sqlite", _)) => wrong(
            "the file of an SQLite store is a name: it is made fresh in a folder of each case".to_owned(),
            "write `sqlite:app.db`, and `{store}` where the path belongs",
        ),
        Some(("postgres" | "postgresql", _)) => Url::parse(store.get_ref()).map(Place::Postgres).map_err(|error| {
            // Where the password ends cannot be told, so its line is not shown.
            let help = "write `postgres://user:password@host:port/database`; each case gets a database of its own";
            at.wrong("store", name.span(), format!("this is no address of a server: {error}"), help)
        }),
        Some((kind, _)) => {
            wrong(format!("the store `{kind}:` is not in this version of nack"), "use `sqlite:FILE` or `postgres://…`")
        }
        None => wrong(format!("`{}` is no store", store.get_ref()), "use `sqlite:FILE` or `postgres://…`"),
    }
}

fn check_setup(at: &At<'_>, folder: &Path, setup: &Spanned<Making>) -> Result<(), Wrong> {
    match setup.get_ref() {
        Making::File(file) if !folder.join(file).is_file() => {
            let message = format!("there is no file `{file}` in {}", folder.display());
            Err(at.wrong("setup", setup.span(), message, "name a file of SQL, or a command (a list)"))
        }
        Making::Command(words) if words.is_empty() => {
            Err(at.wrong("setup", setup.span(), "the command is empty", "write [\"program\", \"argument\", …]"))
        }
        Making::Command(words) => {
            words.iter().try_for_each(|word| at.template("setup", &setup.span(), word, IN_SETUP).map(drop))
        }
        Making::File(_) => Ok(()),
    }
}

fn mapping(at: &At<'_>, subject: &Subject) -> Result<Mapping, Wrong> {
    let mut stores: IndexMap<String, StoreMapping> = IndexMap::new();
    for (store, seed) in &subject.seed {
        stores.entry(store.clone()).or_default().seed = match seed.get_ref() {
            OneOrMore::One(sql) => vec![sql.clone()],
            OneOrMore::More(list) => list.clone(),
        };
    }
    for (store, observe) in &subject.observe {
        stores.entry(store.clone()).or_default().observe = Some(observe.get_ref().clone());
    }
    for (store, ids) in &subject.ids {
        stores.entry(store.clone()).or_default().ids = match ids.get_ref().as_str() {
            "text" => Ids::Text,
            "int" => Ids::Int,
            "uuid" => Ids::Uuid,
            other => {
                let message = format!("`{other}` is no way to spell ids; {}", suggest(other, ["text", "int", "uuid"]));
                return Err(at.wrong(&format!("ids.{store}"), ids.span(), message, "use text, int or uuid"));
            }
        };
    }
    let words = subject.words.iter().map(|(column, words)| (column.clone(), Words(words.get_ref().clone())));
    Ok(Mapping { stores, words: words.collect() })
}

fn reach(at: &At<'_>, name: &Spanned<String>, subject: &Subject) -> Result<Reach, Wrong> {
    let adapter = &subject.adapter;
    match adapter.get_ref().as_str() {
        "stdio" => {
            refuse(at, "stdio", &subject.call, "call", "the protocol carries calls by themselves")?;
            refuse(at, "stdio", &subject.downstream, "downstream", "the protocol carries effects by themselves")?;
            Ok(Reach::Stdio { command: command(at, name, subject)?.clone() })
        }
        "command" => {
            if let Some(command) = &subject.command {
                let help = "write it as call.NAME = { command = [\"program\", …] }";
                return Err(at.wrong("command", command.span(), "a `command` subject is started for each call", help));
            }
            let calls = subject.call.iter().map(|(call, said)| Ok((call.clone(), command_call(at, call, said)?)));
            Ok(Reach::Command { calls: some(at, name, calls.collect::<Result<_, Wrong>>()?)? })
        }
        "http" => {
            let words = command(at, name, subject)?;
            let span = subject.command.as_ref().map_or(0..0, Spanned::span);
            let command = words.iter().map(|word| at.template("command", &span, word, IN_SERVER));
            let command: Vec<Template> = command.collect::<Result<_, _>>()?;
            let ready = ready(at, subject.ready.as_ref())?;
            let told = command.iter().any(|word| word.placeholders().any(|said| *said == Placeholder::Port));
            if !told && !matches!(ready, Ready::Stdout(_)) {
                let help = "write {port} where its port belongs, or ready = \"stdout:TEXT\" with the port behind TEXT";
                return Err(at.wrong("command", span, "nobody knows which port it listens on", help));
            }
            let calls = subject.call.iter().map(|(call, said)| Ok((call.clone(), http_call(at, call, said)?)));
            let each_its_own = workers(at, subject.workers.as_ref())?;
            let calls = some(at, name, calls.collect::<Result<_, Wrong>>()?)?;
            Ok(Reach::Http(HttpServer { command, ready, each_its_own, calls }))
        }
        other => {
            let message = format!("there is no adapter `{other}`; {}", suggest(other, ["stdio", "command", "http"]));
            Err(at.wrong("adapter", adapter.span(), message, "use stdio, command or http"))
        }
    }
}

fn refuse<T>(at: &At<'_>, adapter: &str, named: &Named<T>, section: &str, why: &str) -> Result<(), Wrong> {
    match named.first() {
        Some((name, value)) => {
            let message = format!("`{section}.{name}` says nothing to a {adapter} subject: {why}");
            Err(at.wrong(&format!("{section}.{name}"), value.span(), message, "take it out"))
        }
        None => Ok(()),
    }
}

fn command<'s>(at: &At<'_>, name: &Spanned<String>, subject: &'s Subject) -> Result<&'s Vec<String>, Wrong> {
    match &subject.command {
        Some(command) if command.get_ref().is_empty() => {
            Err(at.wrong("command", command.span(), "the command is empty", "write [\"program\", \"argument\", …]"))
        }
        Some(command) => Ok(command.get_ref()),
        None => {
            let message = "`command` is missing: nobody starts the subject";
            Err(at.wrong("command", name.span(), message, "write command = [\"program\", \"argument\", …]"))
        }
    }
}

fn some<T>(at: &At<'_>, name: &Spanned<String>, calls: IndexMap<String, T>) -> Result<IndexMap<String, T>, Wrong> {
    if calls.is_empty() {
        let help = "add call.NAME for each call of the contract";
        return Err(at.wrong("call", name.span(), "no call is bound: there is nothing to ask", help));
    }
    Ok(calls)
}

fn command_call(at: &At<'_>, call: &str, said: &Spanned<Call>) -> Result<CommandCall, Wrong> {
    let (key, span) = (format!("call.{call}"), said.span());
    let said = said.get_ref();
    let wrong = |message: &str, help: &str| Err(at.wrong(&key, span.clone(), message, help));
    let asked = said.method.is_some() || said.path.is_some() || said.body.is_some();
    if asked || !said.headers.is_empty() || !said.status.is_empty() {
        return wrong(
            "method, path, body, headers and status are of the adapter `http`",
            "say command, stdout and exit",
        );
    }
    if said.stdout.values().chain(said.exit.values()).any(|said| said.get("_field").is_some()) {
        return wrong(
            "`_field` is of the adapter `http`: a program has no body",
            "say which reply the word or code means",
        );
    }
    let Some(words) = said.command.as_ref().filter(|words| !words.is_empty()) else {
        return wrong("it has no `command`", "write command = [\"program\", \"argument\", …]");
    };
    let words = words.iter().map(|word| at.template(&key, &span, word, IN_COMMAND));
    let mut exit = IndexMap::new();
    for (code, reply) in &said.exit {
        match code.parse::<i32>() {
            Ok(code) if (0..=255).contains(&code) => exit.insert(code, reply.clone()),
            _ => return wrong(&format!("`{code}` is no exit code"), "exit codes are 0 to 255"),
        };
    }
    Ok(CommandCall { command: words.collect::<Result<_, _>>()?, stdout: said.stdout.clone(), exit })
}

fn http_call(at: &At<'_>, call: &str, said: &Spanned<Call>) -> Result<HttpCall, Wrong> {
    let (key, span) = (format!("call.{call}"), said.span());
    let said = said.get_ref();
    let wrong = |message: &str, help: &str| Err(at.wrong(&key, span.clone(), message, help));
    if said.command.is_some() || !said.stdout.is_empty() || !said.exit.is_empty() {
        return wrong(
            "command, stdout and exit are of the adapter `command`",
            "say method, path, body, headers and status",
        );
    }
    let Some(path) = said.path.as_ref().filter(|path| path.starts_with('/')) else {
        return wrong("it has no `path` that begins with /", "write path = \"/v1/…\"");
    };
    let text = |text: &String| at.template(&key, &span, text, IN_REQUEST);
    let headers = said.headers.iter().map(|(name, value)| Ok((name.clone(), text(value)?)));
    let mut status = IndexMap::new();
    for (code, reply) in &said.status {
        match code.parse::<u16>() {
            Ok(code) if (200..=599).contains(&code) => status.insert(code, reply.clone()),
            _ => return wrong(&format!("`{code}` is no status"), "statuses are 200 to 599"),
        };
    }
    Ok(HttpCall {
        method: said.method.clone().unwrap_or_else(|| if said.body.is_some() { "POST" } else { "GET" }.to_owned()),
        path: text(path)?,
        body: said.body.as_ref().map(text).transpose()?,
        headers: headers.collect::<Result<_, Wrong>>()?,
        status,
    })
}

fn ready(at: &At<'_>, ready: Option<&Spanned<String>>) -> Result<Ready, Wrong> {
    let Some(ready) = ready else { return Ok(Ready::Tcp) };
    match ready.get_ref().as_str() {
        "tcp" => Ok(Ready::Tcp),
        text => match (text.strip_prefix("stdout:"), text.strip_prefix("GET ")) {
            (Some(line), _) if !line.is_empty() => Ok(Ready::Stdout(line.to_owned())),
            (_, Some(path)) if path.starts_with('/') => Ok(Ready::Get(path.to_owned())),
            _ => {
                let help = "use \"tcp\", \"stdout:TEXT\" or \"GET /PATH\"";
                Err(at.wrong("ready", ready.span(), format!("`{text}` is no sign of readiness"), help))
            }
        },
    }
}

fn workers(at: &At<'_>, workers: Option<&Spanned<String>>) -> Result<bool, Wrong> {
    match workers.map(|workers| workers.get_ref().as_str()) {
        None | Some("connections") => Ok(false),
        Some("servers") => Ok(true),
        Some(other) => {
            let span = workers.map_or(0..0, Spanned::span);
            let help = "\"connections\": one server, a connection each; \"servers\": a server each, on one store";
            Err(at.wrong("workers", span, format!("`{other}` is no way to have several workers"), help))
        }
    }
}
