//! The command line: names and flags are an interface; they are added, never renamed.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use crate::audit::AuditArgs;

/// Refuses every implementation that breaks a frozen decision table.
#[derive(Debug, Parser)]
#[command(name = "nack", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Look at a database, and write a `nack.toml` that binds its tables to a contract.
    Init(InitArgs),
    /// Lint contracts, and hold them against their lock.
    Check(CheckArgs),
    /// Write `contracts.lock` beside the contracts.
    Freeze(FreezeArgs),
    /// Say what a change of contracts weakens, strengthens or renames.
    Diff(DiffArgs),
    /// List the cases by name.
    List(ListArgs),
    /// Say what a case tries: its row, its rule, its steps.
    Explain(ExplainArgs),
    /// Run the cases against a subject.
    Run(RunArgs),
    /// Prove that the gate can fail: null subjects and mutants.
    Prove(ProveArgs),
    /// Run one stored or named case again, and show everything.
    Replay(ReplayArgs),
    /// Write a stored report in other kinds.
    Report(ReportArgs),
    /// Hold two reports against each other: same gate, same result?
    Compare(CompareArgs),
    /// Join the reports of a run's parts to that of the whole.
    Merge(MergeArgs),
    /// Judge what already ran: logs, by the tables of a contract.
    Audit(AuditArgs),
    /// Put the shipped reference of a contract behind the stdio protocol.
    Serve(ServeArgs),
    /// Print the completions of a shell.
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command.
    Man(ManArgs),
    /// Wait for the end of a nack that may be killed, and clean up behind it.
    #[command(hide = true)]
    WatchOver {
        /// The mark of its run.
        mark: String,
        /// Its scratch folder.
        folder: PathBuf,
    },
}

/// How findings and lists are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For machines.
    Json,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  nack init outbox --db app.db\n  nack init outbox --db postgres://localhost/shop --to gate"
)]
pub(crate) struct InitArgs {
    /// The contract to bind [default: asked for at a terminal]
    pub(crate) contract: Option<String>,
    /// An SQLite file, or a PostgreSQL connection string; it is only read [default: asked for at a terminal]
    #[arg(long, value_name = "DATABASE")]
    pub(crate) db: Option<String>,
    /// The folder that the files are written to.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) to: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    /// Contracts or folders of contracts [default: ./contracts, else the shipped contracts]
    pub(crate) paths: Vec<PathBuf>,
    /// Refuse a contract that differs from `contracts.lock`.
    #[arg(long)]
    pub(crate) locked: bool,
    /// Show advice, too: it refuses nothing.
    #[arg(long)]
    pub(crate) advice: bool,
    /// How findings are written.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FreezeArgs {
    /// The folder of contracts.
    #[arg(default_value = "contracts")]
    pub(crate) folder: PathBuf,
}

/// How something for a review is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Review {
    /// For people at a terminal.
    #[default]
    Text,
    /// GitHub's Markdown, for a review.
    Md,
    /// For machines.
    Json,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  nack diff origin/main\n  nack diff old/outbox.toml contracts/outbox.toml\n  \
                        nack diff origin/main --format md\n\nExit codes: 0 nothing is weakened without a reason · \
                        1 something is · 2 usage, or a contract that is wrong · 4 no contract in common")]
pub(crate) struct DiffArgs {
    /// The older side: a contract, a folder, a report (*.json), a git revision (REV, or REV:FOLDER).
    pub(crate) base: String,
    /// The newer side [default: ./contracts, else the shipped contracts]
    pub(crate) head: Option<String>,
    /// How it is written.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Review,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  nack report nack.json --report md=nack.md --report junit=nack.xml\n  \
                        nack report nack.json --report github\n\nIt ends with 0 when everything is written, whatever the \
                        report says.")]
pub(crate) struct ReportArgs {
    /// A report as `--report json=FILE` wrote it.
    pub(crate) file: PathBuf,
    /// Write a report: text, md, junit, json or github, to a file or to `-` [default: text to the terminal]
    #[arg(long = "report", value_name = "KIND=FILE")]
    pub(crate) reports: Vec<String>,
    /// Say only what is wrong.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Name every case.
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  nack compare yesterday.json today.json\n  nack compare laptop.json ci.json --format md\n\n\
                        Exit codes: 0 same gate, same result (a case more is no mismatch) · 1 another digest, a case that \
                        vanished, or a verdict that differs · 2 a file that is no report"
)]
pub(crate) struct CompareArgs {
    /// The report to hold against: a case of it that the other lacks has vanished.
    pub(crate) a: PathBuf,
    /// The other report.
    pub(crate) b: PathBuf,
    /// How it is written.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Review,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  nack run --shard 1/2 --report json=1.json\n  nack run --shard 2/2 --report json=2.json\n  \
                        nack merge 1.json 2.json --report md=nack.md\n\nIt ends as the whole run would have; parts that make no \
                        whole end it with 2."
)]
pub(crate) struct MergeArgs {
    /// The JSON reports of all parts.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write a report: text, md, junit, json or github, to a file or to `-` [default: text to the terminal]
    #[arg(long = "report", value_name = "KIND=FILE")]
    pub(crate) reports: Vec<String>,
    /// Say only what is wrong.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Name every case.
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Source {
    /// Take the contracts from this folder instead of from the binary; `REV:DIR` takes them from a git revision.
    #[arg(long, value_name = "DIR")]
    pub(crate) contracts: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ListArgs {
    /// Names of cases, or how they begin (up to a `/`).
    pub(crate) prefixes: Vec<String>,
    #[command(flatten)]
    pub(crate) source: Source,
    /// How the list is written.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExplainArgs {
    /// A case's name.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) source: Source,
}

/// What `run`, `prove` and `replay` share.
#[derive(Debug, ClapArgs)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) source: Source,
    /// The `nack.toml` that says which subjects there are [default: looked for upward; without one, the references]
    #[arg(help_heading = "Subjects", long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Judge only this subject.
    #[arg(help_heading = "Subjects", long, value_name = "NAME")]
    pub(crate) subject: Option<String>,
    /// Chooses every order that the cases leave open.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// How many cases run at once [default: one a core]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Multiply every deadline.
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub(crate) deadline_scale: f64,
    /// Write a report: text, md, junit, json or github, to a file or to `-`.
    #[arg(help_heading = "Output", long = "report", value_name = "KIND=FILE")]
    pub(crate) reports: Vec<String>,
    /// Say only what is wrong.
    #[arg(help_heading = "Output", short, long)]
    pub(crate) quiet: bool,
    /// Name every case.
    #[arg(help_heading = "Output", short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  nack run\n  nack run outbox/crash order-consumer\n  nack run --report junit=nack.xml --report md=nack.md"
)]
pub(crate) struct RunArgs {
    /// Names of cases, or how they begin (up to a `/`).
    pub(crate) prefixes: Vec<String>,
    #[command(flatten)]
    pub(crate) common: Common,
    /// Run only the K-th of N parts; the parts are stable, disjoint and complete.
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<String>,
    /// Keep the folders of cases that did not pass here.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Stop at the first failure.
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Judge a named defect of the shipped reference instead of the reference itself, to see the gate say no.
    #[arg(long, value_name = "NAME")]
    pub(crate) defect: Option<String>,
    /// Besides, walk each subject so many times through random calls, answers, crashes and restarts.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) walks: Option<u32>,
    /// Failures that are known, each with its reason: a TOML file of `[[known]]` entries.
    #[arg(long, value_name = "FILE")]
    pub(crate) known: Option<PathBuf>,
    /// Cases below these prefixes, or that need these capabilities, must be covered (`all`: every case).
    #[arg(long, value_name = "PREFIX|CAPABILITY", value_delimiter = ',')]
    pub(crate) require: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ProveArgs {
    /// Names of cases or mutants, or how they begin (up to a `/`).
    pub(crate) prefixes: Vec<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReplayArgs {
    /// A stored case, or a case's name; `NAME@K-WHAT` is one point of a fault at `*`.
    pub(crate) case: String,
    #[command(flatten)]
    pub(crate) common: Common,
    /// Keep the case's folder here.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Judge a named defect of the shipped reference instead of the reference itself.
    #[arg(long, value_name = "NAME")]
    pub(crate) defect: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ServeArgs {
    /// The contract's name.
    pub(crate) contract: String,
    /// Serve a named defect instead of the reference itself.
    #[arg(long, value_name = "NAME")]
    pub(crate) defect: Option<String>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  nack completions bash > ~/.local/share/bash-completion/completions/nack")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  nack man | man -l -\n  nack man --to ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write a page for nack and one for each command into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
}
