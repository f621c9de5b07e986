//! `nack init`: looks at a database, guesses where a contract's stores are in it, and writes a binding that runs as it
//! stands, with every guess said.

mod example;
mod guess;
mod look;
mod write;

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use nack_contracts::{Contract, suggest};
use nack_reports::Exit;

use crate::args::InitArgs;
use crate::contracts::load;
use crate::files::write_whole;
use crate::trouble::Trouble;
use look::Database;
use write::Found;

pub(crate) fn init(args: &InitArgs) -> Result<Exit, Trouble> {
    let contracts = load(None)?;
    let names: Vec<&str> = contracts.iter().map(|contract| contract.name.as_str()).collect();
    let question = format!("Which contract ({})? ", names.join(", "));
    let name = answer(args.contract.as_deref(), &question, "a contract: nack init CONTRACT --db DATABASE")?;
    let contract = contracts.iter().find(|contract| contract.name == name);
    let contract =
        contract.ok_or_else(|| Trouble::Usage(format!("there is no contract `{name}`; {}", suggest(&name, names))))?;
    let question = "Where is a database with your tables (an SQLite file, or postgres://…)? ";
    let db = answer(args.db.as_deref(), question, "a database: --db FILE or --db postgres://…")?;
    for file in ["nack.toml", "schema.sql", "example.py"] {
        if args.to.join(file).exists() {
            let message =
                format!("{} is there already; move it, or name another folder with --to", args.to.join(file).display());
            return Err(Trouble::Usage(message));
        }
    }
    let (database, place) = look(&db)?;
    write(contract, &database, &place, &args.to)
}

/// What was said on the command line, or an answer at the terminal.
fn answer(given: Option<&str>, question: &str, missing: &str) -> Result<String, Trouble> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    if !std::io::stdin().is_terminal() {
        return Err(Trouble::Usage(format!("name {missing}")));
    }
    eprint!("{question}");
    let mut line = String::new();
    let read = std::io::stderr().flush().and_then(|()| std::io::stdin().lock().read_line(&mut line));
    match read {
        Ok(_) if !line.trim().is_empty() => Ok(line.trim().to_owned()),
        _ => Err(Trouble::Usage(format!("name {missing}"))),
    }
}

/// The database, and how a binding names such a store.
fn look(db: &str) -> Result<(Database, String), Trouble> {
    if db.starts_with("postgres://") || db.starts_with("postgresql://") {
        return look_at_postgres(db);
    }
    let path = Path::new(db.strip_prefix("sqlite:").unwrap_or(db));
    if !path.is_file() {
        return Err(Trouble::Start(format!(
            "there is no file {}; name an SQLite file or postgres://…",
            path.display()
        )));
    }
    let database = look::sqlite(path).map_err(|error| Trouble::Start(format!("{}: {error}", path.display())))?;
    Ok((database, "sqlite:app.db".to_owned()))
}

#[cfg(feature = "postgres")]
fn look_at_postgres(db: &str) -> Result<(Database, String), Trouble> {
    let database =
        look::postgres(db).map_err(|error| Trouble::Start(format!("{}: {error}", nack::store::hide_passwords(db))))?;
    Ok((database, db.to_owned()))
}

#[cfg(not(feature = "postgres"))]
fn look_at_postgres(_db: &str) -> Result<(Database, String), Trouble> {
    Err(Trouble::Usage("this nack is built without PostgreSQL; build it with the feature `postgres`".to_owned()))
}

fn write(contract: &Arc<Contract>, database: &Database, place: &str, to: &Path) -> Result<Exit, Trouble> {
    let found: Vec<Found<'_>> = contract
        .stores
        .iter()
        .map(|(name, store)| Found { name, store, guess: guess::guess(contract, name, store, &database.tables) })
        .collect();
    let (binding, said) = write::binding(contract, place, &found);
    let schema = format!("{}{}", database.schema, write::missing_tables(contract, &found));
    let first = found.iter().find_map(|one| one.guess.as_ref());
    write_whole(&to.join("schema.sql"), &schema)?;
    write_whole(&to.join("example.py"), &example::example(contract, first))?;
    write_whole(&to.join("nack.toml"), &binding)?;
    println!("wrote nack.toml, schema.sql and example.py to {}; guessed:", to.display());
    for sentence in said {
        println!("  - {sentence}");
    }
    println!("next: `nack run` there, put your own program in place of example.py, and `nack prove`");
    Ok(Exit::Held)
}
