//! The program that `nack init` writes beside a binding: for the outbox a worker on the tables that were found, for
//! other contracts one that says what it was asked and refuses.

use std::fmt::Write as _;

use nack_contracts::Contract;

use super::guess::Guess;
use super::look::quoted;

const OUTBOX: &str = include_str!("outbox_example.py");

/// A program to begin with.
pub(super) fn example(contract: &Contract, guess: Option<&Guess<'_>>) -> String {
    match guess.filter(|_| contract.name == "outbox") {
        Some(guess) => outbox(guess),
        None => stub(contract),
    }
}

fn outbox(guess: &Guess<'_>) -> String {
    let column = |name: &str| {
        let own = guess.columns.get(name)?;
        let name = quoted(&own.name);
        // What a driver makes of JSON is not what stands in the table.
        Some(if own.ty.contains("json") { format!("CAST({name} AS TEXT)") } else { name })
    };
    let python = |value: Option<String>| value.map_or_else(|| "None".to_owned(), |value| format!("{value:?}"));
    let mut out = String::from(
        "\"\"\"An outbox worker on the tables that were found, to begin with. Put your own into nack.toml instead of it.\"\"\"\n\
         import argparse\nimport http.client\nimport json\nimport signal\nimport sqlite3\nfrom urllib.parse import urlsplit\n\n",
    );
    let _ = writeln!(out, "TABLE = {:?}", quoted(&guess.table.name));
    for (constant, name) in [
        ("ID", "id"),
        ("STATE", "state"),
        ("ATTEMPTS", "attempts"),
        ("PAYLOAD", "payload"),
        ("CREATED", "created"),
        ("LEASE", "leased_until"),
    ] {
        let _ = writeln!(out, "{constant} = {}", python(column(name)));
    }
    let own = |word: &str| {
        let words = guess.words.get("state");
        words
            .and_then(|words| words.iter().find(|(_, known)| *known == word))
            .map_or(word.to_owned(), |(own, _)| own.clone())
    };
    let words = ["pending", "inflight", "sent", "dead"].map(|word| format!("{word:?}: {:?}", own(word)));
    let _ = writeln!(out, "WORDS = {{{}}}", words.join(", "));
    let lease = guess.columns.get("leased_until");
    let of = |kinds: &[&str]| lease.is_some_and(|own| kinds.iter().any(|kind| own.ty.contains(kind)));
    let text = of(&["text", "char", "date"]) && !of(&["int"]);
    let _ = writeln!(out, "TIMES_ARE_TEXT = {}", if text { "True" } else { "False" });
    let _ = writeln!(out, "TIME = {:?}", if of(&["timestamp"]) { "to_timestamp(%d)" } else { "%d" });
    out += "BUDGET, SECONDS = 5, 60\n";
    out + OUTBOX
}

fn stub(contract: &Contract) -> String {
    format!(
        "\"\"\"Nothing yet: put your own program for the contract {} into nack.toml instead of this.\"\"\"\n\
         import sys\n\nprint(\"asked:\", *sys.argv[1:], file=sys.stderr)\nsys.exit(1)\n",
        contract.name
    )
}
