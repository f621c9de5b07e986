//! `nack audit`: what already ran, judged by the tables of a contract. It only reads.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args as ClapArgs;
use indexmap::IndexMap;
use nack::binding::{Bindings, find};
use nack::known::Known;
use nack::store::{Mapping, hide_passwords};
use nack_audit::live::Live;
use nack_audit::report::{About, report};
use nack_audit::run::{Options, judge};
use nack_audit::{AuditError, Inputs, Layout, Overrides, Plan, Section, sections, sql};
use nack_contracts::model::Audit;
use nack_contracts::{Contract, suggest};
use nack_reports::{CaseReport, Exit, Report};

use crate::args::Source;
use crate::contracts::{load, of_file};
use crate::run::reports::Outputs;
use crate::trouble::Trouble;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  nack audit outbox --log 'moves-*.csv.gz'\n  nack audit outbox --log - --column to=new_status --word delivered=sent\n  nack audit outbox --log moves.jsonl --only decided --report json=audit.json"
)]
pub(crate) struct AuditArgs {
    /// The contract whose tables judge.
    pub(crate) contract: String,
    /// A log: CSV or JSON lines, plain or packed with gzip or Zstandard; a glob, or `-` for what is piped in.
    #[arg(long = "log", value_name = "FILE")]
    pub(crate) logs: Vec<String>,
    /// The `[audit.NAME]` of `nack.toml` that says how the log spells columns and words [default: the contract's only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// A column of the contract's is that column of the log, by its name or its place from 1.
    #[arg(long = "column", value_name = "COLUMN=NAME", value_parser = pair)]
    pub(crate) columns: Vec<(String, String)>,
    /// A word of the log means that word of the contract.
    #[arg(long = "word", value_name = "WORD=WORD", value_parser = pair)]
    pub(crate) words: Vec<(String, String)>,
    /// The log is written so: csv or jsonl [default: guessed]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// The log's first line is no header: columns are given by their places.
    #[arg(long)]
    pub(crate) no_header: bool,
    /// Times count seconds, millis, micros or nanos since 1970, or are iso [default: guessed]
    #[arg(long, value_name = "UNIT")]
    pub(crate) time: Option<String>,
    /// Hold the log against this rule only.
    #[arg(long, value_name = "RULE")]
    pub(crate) only: Vec<String>,
    /// Look at this live database instead of a log: an SQLite file, or a PostgreSQL connection string. It is only read.
    #[arg(long, value_name = "DATABASE", conflicts_with_all = ["logs", "emit_sql"])]
    pub(crate) db: Option<String>,
    /// The subject of `nack.toml` whose `observe` and `words` say how the database spells the contract's stores.
    #[arg(long, value_name = "NAME", requires = "db")]
    pub(crate) subject: Option<String>,
    /// Look at so many percent of the rows, chosen at random, where that is enough.
    #[arg(long, value_name = "PERCENT", requires = "db")]
    pub(crate) sample: Option<f64>,
    /// How many seconds one query of the database may take.
    #[arg(long, value_name = "SECONDS", requires = "db", default_value_t = 30)]
    pub(crate) within: u64,
    /// Write the rules as queries that return the rows that break them, for sqlite, postgres, duckdb or spark.
    #[arg(long, value_name = "DIALECT")]
    pub(crate) emit_sql: Option<String>,
    /// The table that the queries read [default: the section's `table`, else `moves`]
    #[arg(long, value_name = "TABLE", requires = "emit_sql")]
    pub(crate) table: Option<String>,
    /// The table's column by which the lines of one key stand in order [default: their time]
    #[arg(long, value_name = "COLUMN", requires = "emit_sql")]
    pub(crate) order: Option<String>,
    /// The table has no such column of the contract's.
    #[arg(long, value_name = "COLUMN", requires = "emit_sql")]
    pub(crate) without: Vec<String>,
    #[command(flatten)]
    pub(crate) source: Source,
    /// The `nack.toml` [default: looked for upward]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How many threads judge [default: one a core]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// How many MiB histories may take before they go to a temporary file.
    #[arg(long, value_name = "MIB", default_value_t = 512)]
    pub(crate) memory: usize,
    /// Failures that are known, each with its reason: a TOML file of `[[known]]` entries.
    #[arg(long, value_name = "FILE")]
    pub(crate) known: Option<PathBuf>,
    /// Write a report: text, md, junit or json, to a file or to `-`.
    #[arg(long = "report", value_name = "KIND=FILE")]
    pub(crate) reports: Vec<String>,
    /// Say only what is wrong.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Name every row.
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((left, right)) if !left.is_empty() && !right.is_empty() => Ok((left.to_owned(), right.to_owned())),
        _ => Err("write LEFT=RIGHT".to_owned()),
    }
}

pub(crate) fn audit(args: &AuditArgs) -> Result<Exit, Trouble> {
    let outputs = Outputs::parse(&args.reports, args.quiet, args.verbose)?;
    if args.jobs == Some(0) {
        return Err(Trouble::Usage("--jobs 0: give at least 1".to_owned()));
    }
    let began = Instant::now();
    if let Some(db) = &args.db {
        let mut done = live(args, db)?;
        done.elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        return finish(args, done, &outputs, false);
    }
    let section = section(args)?;
    let contract = contract(args, &section)?;
    let flags = Overrides { columns: args.columns.clone(), words: args.words.clone() };
    if let Some(dialect) = &args.emit_sql {
        return emit(args, dialect, &section, &contract, &flags);
    }
    let inputs = Inputs::of(&args.logs, &section)?;
    let chunks = inputs.open()?;
    if chunks.head().iter().all(u8::is_ascii_whitespace) && inputs.names().len() == 1 {
        return Err(Trouble::NothingMatched(format!("{}: there is no line in it", inputs.names()[0])));
    }
    let plan = plan(args, &contract, Layout::of(&contract, logs(&contract)?, &section, &flags, chunks.head())?)?;
    let cancel = interrupts()?;
    let cores = available_parallelism().map_or(1, usize::from);
    let options = Options { threads: args.jobs.unwrap_or(cores).min(256), memory: args.memory << 20, cancel: &cancel };
    let tally = judge(&plan, chunks, &options)?;
    let interrupted = cancel.load(Ordering::Relaxed);
    if tally.lines == 0 && tally.flaws.is_empty() && !interrupted {
        return Err(Trouble::NothingMatched("the log has a header and no line".to_owned()));
    }
    let about = About {
        subject: if section.name.is_empty() { "log".to_owned() } else { section.name.clone() },
        files: inputs.names(),
        command: command(args),
        overrides: section.params.clone(),
    };
    let mut done = report(&plan, &tally, &about);
    done.elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    finish(args, done, &outputs, interrupted)
}

/// Looks at a live database.
fn live(args: &AuditArgs, db: &str) -> Result<Report, Trouble> {
    if args.sample.is_some_and(|percent| !(percent > 0.0 && percent <= 100.0)) {
        return Err(Trouble::Usage("--sample: give a number above 0, up to 100".to_owned()));
    }
    let (mapping, params) = match &args.subject {
        Some(name) => {
            let path = config(args).ok_or_else(|| Trouble::Usage("--subject: there is no nack.toml".to_owned()))?;
            let bindings =
                Bindings::read(&path).map_err(|(source, finding)| Trouble::findings(&source, vec![*finding]))?;
            let known = suggest(name, bindings.subjects.iter().map(|subject| subject.name.as_str()));
            let subject = bindings.subjects.into_iter().find(|subject| subject.name == *name);
            let subject = subject.ok_or_else(|| Trouble::Usage(format!("there is no subject `{name}`; {known}")))?;
            if subject.contract != args.contract {
                let message = format!("`{name}` is held to `{}`, not to `{}`", subject.contract, args.contract);
                return Err(Trouble::Usage(message));
            }
            (subject.mapping, subject.params)
        }
        None => (Mapping::default(), IndexMap::new()),
    };
    let section = Section { params: params.clone(), ..Section::default() };
    let contract = contract(args, &section)?;
    let observe = mapping.stores.iter().filter_map(|(store, of)| Some((store.clone(), of.observe.clone()?)));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let live = Live {
        place: db.to_owned(),
        observe: observe.collect(),
        words: mapping.words.into_iter().map(|(column, words)| (column, words.0)).collect(),
        sample: args.sample,
        within: Duration::from_secs(args.within.clamp(1, 86_400)),
        now: i64::try_from(now).unwrap_or(i64::MAX),
    };
    let about = About {
        subject: args.subject.clone().unwrap_or_else(|| "database".to_owned()),
        files: vec![hide_passwords(db)],
        command: command(args),
        overrides: params,
    };
    Ok(nack_audit::live::audit(&contract, &live, &about)?)
}

/// Writes the queries instead of running anything.
fn emit(
    args: &AuditArgs,
    dialect: &str,
    section: &Section,
    contract: &Arc<Contract>,
    flags: &Overrides,
) -> Result<Exit, Trouble> {
    let dialect = dialect.parse()?;
    let layout = Layout::of_table(contract, logs(contract)?, section, flags, &args.without)?;
    let plan = plan(args, contract, layout)?;
    let table = args.table.clone().or_else(|| section.table.clone()).unwrap_or_else(|| "moves".to_owned());
    print!("{}", sql::emit(&plan, &sql::Warehouse { table, order: args.order.clone(), dialect }));
    Ok(Exit::Held)
}

fn finish(args: &AuditArgs, mut done: Report, outputs: &Outputs, interrupted: bool) -> Result<Exit, Trouble> {
    let mut exit = Exit::Held;
    if let Some(path) = &args.known {
        let known = Known::read(path).map_err(|(source, finding)| Trouble::findings(&source, vec![*finding]))?;
        let names: Vec<String> = done.cases.iter().map(|case| case.name.clone()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let unknown = known.unknown(&names, &[&done.subjects[0].name.clone()]);
        if !unknown.is_empty() {
            return Err(Trouble::findings(&known.source, unknown));
        }
        let passing = known.apply(&mut done.cases);
        done.counts = nack_reports::Counts::of(&done.cases);
        done.exit = done.cases.iter().map(CaseReport::exit).fold(Exit::Held, Exit::and).code();
        if !passing.is_empty() {
            exit = Trouble::findings(&known.source, passing).tell();
        }
    }
    if interrupted {
        done.exit = Exit::Interrupted.code();
        done.closing.insert(0, "the audit was interrupted: what follows in the log was not judged".to_owned());
    }
    outputs.write(&done)?;
    let all = [Exit::Held, Exit::Failed, Exit::Inconclusive, Exit::Interrupted];
    Ok(exit.and(all.into_iter().find(|exit| exit.code() == done.exit).unwrap_or(Exit::Internal)))
}

/// The `nack.toml` that counts here.
fn config(args: &AuditArgs) -> Option<PathBuf> {
    args.config.clone().or_else(|| env::current_dir().ok().and_then(|folder| find(&folder)))
}

/// The section that the flags mean, with what they say themselves.
fn section(args: &AuditArgs) -> Result<Section, Trouble> {
    let path = config(args);
    let all = match &path {
        Some(path) => {
            let source = of_file(path)?;
            sections(path, &source.text).map_err(|finding| Trouble::findings(&source, vec![*finding]))?
        }
        None => Vec::new(),
    };
    let mut section = match &args.name {
        Some(name) => {
            let known = || suggest(name, all.iter().map(|section| section.name.as_str()));
            let of_name = all.iter().find(|section| section.name == *name);
            let section = of_name.ok_or_else(|| Trouble::Usage(format!("there is no [audit.{name}]; {}", known())))?;
            if section.contract != args.contract {
                let message = format!("[audit.{name}] is of `{}`, not of `{}`", section.contract, args.contract);
                return Err(Trouble::Usage(message));
            }
            section.clone()
        }
        None => {
            let own: Vec<&Section> = all.iter().filter(|section| section.contract == args.contract).collect();
            match own.as_slice() {
                [] => Section::default(),
                [one] => (*one).clone(),
                many => {
                    let names: Vec<&str> = many.iter().map(|section| section.name.as_str()).collect();
                    let message = format!(
                        "several sections are of `{}`: choose one with --name: {}",
                        args.contract,
                        names.join(", ")
                    );
                    return Err(Trouble::Usage(message));
                }
            }
        }
    };
    if args.format.is_some() {
        section.format.clone_from(&args.format);
    }
    if args.time.is_some() {
        section.time.clone_from(&args.time);
    }
    if args.no_header {
        section.header = Some(false);
    }
    Ok(section)
}

/// The contract, with the parameters of the section.
fn contract(args: &AuditArgs, section: &Section) -> Result<Arc<Contract>, Trouble> {
    let contracts = load(args.source.contracts.as_deref())?;
    let Some(contract) = contracts.iter().find(|contract| contract.name == args.contract) else {
        let known = suggest(&args.contract, contracts.iter().map(|contract| contract.name.as_str()));
        return Err(Trouble::NothingMatched(format!("there is no contract `{}`; {known}", args.contract)));
    };
    if section.params.is_empty() {
        return Ok(Arc::clone(contract));
    }
    match Contract::read(contract.source.clone(), &section.params) {
        Ok(contract) => Ok(Arc::new(contract)),
        Err(findings) => Err(Trouble::findings(&contract.source, findings)),
    }
}

/// What the contract says of logs.
fn logs(contract: &Contract) -> Result<&Audit, Trouble> {
    contract.audit.as_ref().ok_or_else(|| {
        let message = format!("`{}` has no [audit] that says what a line of its log stands for", contract.name);
        Trouble::Usage(format!("{message}; a live database can be audited with --db"))
    })
}

fn plan(args: &AuditArgs, contract: &Arc<Contract>, layout: Layout) -> Result<Plan, Trouble> {
    let audit = logs(contract)?;
    for rule in &args.only {
        if !audit.rules.iter().any(|known| known.name == *rule) {
            let known = suggest(rule, audit.rules.iter().map(|rule| rule.name.as_str()));
            return Err(Trouble::NothingMatched(format!("--only {rule}: there is no such rule; {known}")));
        }
    }
    let wanted = |rule: &str| args.only.is_empty() || args.only.iter().any(|only| only == rule);
    Ok(Plan::new(Arc::clone(contract), layout, &wanted)?)
}

/// What audits the same again.
fn command(args: &AuditArgs) -> String {
    let mut words = vec!["nack audit".to_owned(), args.contract.clone()];
    let mut flag = |name: &str, value: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
        let quoted =
            if value.chars().all(plain) { value.to_owned() } else { format!("'{}'", value.replace('\'', "'\\''")) };
        words.push(format!("--{name} {quoted}"));
    };
    args.logs.iter().for_each(|log| flag("log", log));
    args.db.iter().for_each(|db| flag("db", &hide_passwords(db)));
    args.subject.iter().for_each(|name| flag("subject", name));
    args.name.iter().for_each(|name| flag("name", name));
    args.config.iter().for_each(|path| flag("config", &path.display().to_string()));
    args.source.contracts.iter().for_each(|place| flag("contracts", place));
    args.columns.iter().for_each(|(column, name)| flag("column", &format!("{column}={name}")));
    args.words.iter().for_each(|(theirs, ours)| flag("word", &format!("{theirs}={ours}")));
    args.format.iter().for_each(|format| flag("format", format));
    args.time.iter().for_each(|unit| flag("time", unit));
    if args.no_header {
        words.push("--no-header".to_owned());
    }
    words.join(" ")
}

/// The first interrupt ends the audit with what it has; a second one ends it at once.
fn interrupts() -> Result<Arc<AtomicBool>, Trouble> {
    let broken = |error: std::io::Error| Trouble::File(format!("signals cannot be caught: {error}"));
    let cancel = Arc::<AtomicBool>::default();
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&cancel)).map_err(broken)?;
        signal_hook::flag::register(signal, Arc::clone(&cancel)).map_err(broken)?;
    }
    Ok(cancel)
}

impl From<AuditError> for Trouble {
    fn from(error: AuditError) -> Trouble {
        match error {
            AuditError::Spill(_) => Trouble::File(error.to_string()),
            AuditError::Unreachable(_) => Trouble::Start(error.to_string()),
            AuditError::Usage(_) | AuditError::File { .. } => Trouble::Usage(error.to_string()),
        }
    }
}
