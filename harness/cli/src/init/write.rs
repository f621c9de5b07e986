//! The files that `nack init` writes: a binding with a comment for each guess, the tables, and a program to begin with.

use std::fmt::Write as _;

use nack_contracts::Contract;
use nack_contracts::model::{Base, Store, Type};

use super::guess::{Guess, closed_words};
use super::look::{Column, quoted};

/// A store of the contract, and what was found for it.
pub(super) struct Found<'c> {
    pub(super) name: &'c str,
    pub(super) store: &'c Store,
    pub(super) guess: Option<Guess<'c>>,
}

/// Whether the database is PostgreSQL.
fn is_postgres(place: &str) -> bool {
    place.starts_with("postgres")
}

/// The `nack.toml`, and what was guessed, in sentences.
pub(super) fn binding(contract: &Contract, place: &str, found: &[Found<'_>]) -> (String, Vec<String>) {
    let mut said = Vec::new();
    let http = contract.calls.values().any(|call| call.words.contains_key("http"));
    let adapter = if http { "http" } else { "command" };
    let mut out = format!(
        "# How nack reaches your program for the contract `{0}`. Lines that end in `guessed` are worth a look.\n\
         # Run it with `nack run`, and ask `nack prove` whether this binding could miss anything.\n\n\
         [subject.mine]\ncontract = \"{0}\"\nadapter  = \"{adapter}\"\nstore    = {place:?}    # made fresh for each case\n\
         setup    = \"schema.sql\"\n",
        contract.name
    );
    let capabilities = capabilities(contract, found, &mut said);
    let _ = writeln!(out, "capabilities = [{}]    # guessed", list(&capabilities));
    if http {
        let _ = writeln!(
            out,
            "command  = [\"python3\", \"example.py\", \"--db\", \"{{store}}\", \"--port\", \"{{port}}\"]    # your server"
        );
        let _ = writeln!(out, "ready    = \"tcp\"");
    }
    for (name, call) in &contract.calls {
        if call.needs.iter().any(|need| !capabilities.contains(need)) {
            let _ = writeln!(out, "# call.{name} needs {}, which is not declared above", call.needs.join(" and "));
        } else if http {
            let body = call.args.keys().next().map_or_else(String::new, |arg| format!(", body = \"{{arg.{arg}}}\""));
            let _ = writeln!(out, "call.{name} = {{ method = \"POST\", path = \"/{name}\"{body} }}    # guessed");
        } else {
            let _ = writeln!(
                out,
                "call.{name} = {{ command = [{}]{} }}    # your program",
                command(contract, name),
                replies(contract, name)
            );
        }
    }
    for one in found {
        store(&mut out, one, is_postgres(place), &mut said);
    }
    for name in contract.effects.keys() {
        let _ =
            writeln!(out, "downstream.{name} = {{ listen = \"http\", {} }}    # guessed", downstream(contract, name));
        said.push(format!("downstream.{name}: which status means what, and where the id stands"));
    }
    (out, said)
}

fn list(words: &[String]) -> String {
    words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ")
}

/// What the tables seem to be able to do: a capability is there if every column that needs it was found.
fn capabilities(contract: &Contract, found: &[Found<'_>], said: &mut Vec<String>) -> Vec<String> {
    let has = |name: &String| {
        let needing = |one: &Found<'_>| -> Vec<bool> {
            let columns = one.store.needs.iter().filter(|(_, needs)| needs.contains(name));
            let there = |column: &String| one.guess.as_ref().is_some_and(|guess| guess.columns.contains_key(column));
            columns.map(|(column, _)| there(column)).collect()
        };
        let columns: Vec<bool> = found.iter().flat_map(needing).collect();
        !columns.is_empty() && columns.into_iter().all(|there| there)
    };
    let own = contract.capabilities.iter().filter(|(_, capability)| !capability.from_adapter).map(|(name, _)| name);
    let capabilities: Vec<String> = own.filter(|name| has(name)).cloned().collect();
    said.push(format!("capabilities: [{}], by the columns that are there", capabilities.join(", ")));
    capabilities
}

fn command(contract: &Contract, name: &str) -> String {
    let call = &contract.calls[name];
    let mut words = vec!["python3".to_owned(), "example.py".to_owned(), "--db".to_owned(), "{store}".to_owned()];
    for effect in &call.effects {
        words.extend([format!("--{effect}-url"), format!("{{downstream.{effect}}}")]);
    }
    words.extend(["--now".to_owned(), "{now}".to_owned()]);
    for (arg, ty) in call.args.iter().filter(|(arg, _)| !call.default.contains_key(*arg)) {
        let kind = if ty.base == Base::Any { "file" } else { "arg" };
        words.extend([format!("--{arg}"), format!("{{{kind}.{arg}}}")]);
    }
    list(&words)
}

/// The last line that a program prints, word for word.
fn replies(contract: &Contract, name: &str) -> String {
    let Some(Base::Domain(domain)) = &contract.calls[name].reply else { return String::new() };
    let words = closed_words(contract, domain);
    let words: Vec<String> = words.iter().map(|word| format!("{word} = {word:?}")).collect();
    if words.is_empty() { String::new() } else { format!(", stdout = {{ {} }}", words.join(", ")) }
}

fn downstream(contract: &Contract, name: &str) -> String {
    let effect = &contract.effects[name];
    let body = effect.columns.keys().find(|column| **column != effect.id);
    let mut columns = vec![format!("{} = \"header:X-Message-Id\"", effect.id)];
    columns.extend(body.map(|column| format!("{column} = \"body\"")));
    columns.extend(
        effect
            .columns
            .keys()
            .filter(|column| **column != effect.id && Some(*column) != body)
            .map(|column| format!("{column} = \"json:{column}\"")),
    );
    let status = |word: &str| match word {
        "transient" => "[{ status = 503 }, { status = 429 }]".to_owned(),
        "permanent" => "[{ status = 400 }, { status = 404 }]".to_owned(),
        _ => "{ status = 202, body = '{\"ack\":\"a-1\"}' }".to_owned(),
    };
    let words = effect.answers.iter().flat_map(|domain| closed_words(contract, domain));
    let answers: Vec<String> = words.map(|word| format!("{word} = {}", status(&word))).collect();
    format!("columns = {{ {} }}, answers = {{ {} }}", columns.join(", "), answers.join(", "))
}

fn store(out: &mut String, found: &Found<'_>, postgres: bool, said: &mut Vec<String>) {
    let name = found.name;
    let Some(guess) = &found.guess else {
        said.push(format!("no table looks like the store `{name}`: schema.sql makes one of that name"));
        return;
    };
    let table = &guess.table.name;
    said.push(format!("store {name}: the table `{table}`"));
    let (mut names, mut values, mut shown) = (Vec::new(), Vec::new(), Vec::new());
    for (column, own) in &guess.columns {
        let ty = &found.store.columns[column];
        names.push(quoted(&own.name));
        values.push(written(column, ty, own, postgres));
        let read = read(ty, own, postgres);
        shown.push(if read == *column { read } else { format!("{read} AS {column}") });
        if own.name != *column {
            said.push(format!("{name}.{column}: the column `{}`", own.name));
        }
        if own.ty == "jsonb" {
            said.push(format!(
                "{name}.{column}: `{}` is jsonb, which keeps no bytes as they were; json or text does",
                own.name
            ));
        }
    }
    for other in guess
        .table
        .columns
        .iter()
        .filter(|other| other.required && !guess.columns.values().any(|own| own.name == other.name))
    {
        if other.key && is_number(other) {
            continue;
        }
        names.push(quoted(&other.name));
        values.push(filler(other, postgres).to_owned());
        said.push(format!("{name}: `{}` must have a value, and gets {}", other.name, filler(other, postgres)));
    }
    let order = guess.columns.get("created").map_or_else(String::new, |own| format!(" ORDER BY {}", quoted(&own.name)));
    let last = guess.columns.get(found.store.key.first().map_or("", String::as_str));
    let order = match (order.is_empty(), last) {
        (false, Some(key)) => format!("{order}, {}", quoted(&key.name)),
        (true, Some(key)) => format!(" ORDER BY {}", quoted(&key.name)),
        _ => order,
    };
    let _ = writeln!(
        out,
        "seed.{name} = {:?}    # guessed",
        format!("INSERT INTO {} ({}) VALUES ({})", quoted(table), names.join(", "), values.join(", "))
    );
    let _ = writeln!(
        out,
        "observe.{name} = {:?}    # guessed",
        format!("SELECT {} FROM {}{order}", shown.join(", "), quoted(table))
    );
    let kinds = found.store.key.iter().filter_map(|key| guess.columns.get(key));
    if let Some(kind) =
        kinds.filter_map(|own| if own.ty == "uuid" { Some("uuid") } else { is_number(own).then_some("int") }).next()
    {
        let _ = writeln!(out, "ids.{name} = {kind:?}    # guessed from the type of its key");
    }
    for (column, words) in &guess.words {
        let words: Vec<String> = words.iter().map(|(own, word)| format!("{own:?} = {word:?}")).collect();
        let _ = writeln!(out, "words.{column} = {{ {} }}    # guessed", words.join(", "));
        said.push(format!("{name}.{column}: {}", words.join(", ")));
    }
}

fn is_number(column: &Column) -> bool {
    ["int", "serial"].iter().any(|kind| column.ty.contains(kind))
}

/// Whether SQLite keeps a time there as text.
fn is_text_time(ty: &Type, own: &Column, postgres: bool) -> bool {
    ty.base == Base::Time && !postgres && !is_number(own)
}

fn written(column: &str, ty: &Type, own: &Column, postgres: bool) -> String {
    if is_text_time(ty, own, postgres) { format!("datetime(:{column}, 'unixepoch')") } else { format!(":{column}") }
}

fn read(ty: &Type, own: &Column, postgres: bool) -> String {
    let name = quoted(&own.name);
    if is_text_time(ty, own, postgres) { format!("CAST(strftime('%s', {name}) AS INTEGER)") } else { name }
}

fn filler(column: &Column, postgres: bool) -> &'static str {
    match column.ty.as_str() {
        ty if ty.contains("int") || ty.contains("num") || ty.contains("real") => "0",
        ty if ty.contains("bool") => "FALSE",
        ty if ty.contains("time") || ty.contains("date") => "CURRENT_TIMESTAMP",
        ty if ty.contains("json") && postgres => "'{}'",
        "uuid" => "gen_random_uuid()",
        _ => "''",
    }
}

/// SQL for the stores that no table was found for.
pub(super) fn missing_tables(contract: &Contract, found: &[Found<'_>]) -> String {
    let mut out = String::new();
    for one in found.iter().filter(|one| one.guess.is_none()) {
        let column = |(name, ty): (&String, &Type)| {
            let kind = match ty.base {
                Base::Int | Base::Time => "INTEGER",
                Base::Bool => "BOOLEAN",
                _ => "TEXT",
            };
            format!("{} {kind}{}", quoted(name), if ty.nullable { "" } else { " NOT NULL" })
        };
        let mut parts: Vec<String> = one.store.columns.iter().map(column).collect();
        if !one.store.key.is_empty() {
            let key: Vec<String> = one.store.key.iter().map(|key| quoted(key)).collect();
            parts.push(format!("PRIMARY KEY ({})", key.join(", ")));
        }
        for gate in contract.gates.iter().filter(|gate| gate.store == one.name && gate.unique != one.store.key) {
            let columns: Vec<String> = gate.unique.iter().map(|column| quoted(column)).collect();
            parts.push(format!("UNIQUE ({})", columns.join(", ")));
        }
        let _ = writeln!(out, "CREATE TABLE {} (\n    {}\n);", quoted(one.name), parts.join(",\n    "));
    }
    out
}
