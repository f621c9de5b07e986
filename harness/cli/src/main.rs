//! The `nack` command.

mod args;
mod audit;
mod check;
mod contracts;
mod diff;
mod explain;
mod files;
mod findings;
mod help;
mod init;
mod progress;
mod run;
mod stored;
mod trouble;
mod watch;

use std::panic;
use std::process::ExitCode;

use clap::FromArgMatches as _;
use nack_reports::Exit;

use args::Command;
use trouble::Trouble;

fn main() -> ExitCode {
    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    nack::tracer::be_the_tracer_if_asked();
    quiet_panics();
    let outcome = panic::catch_unwind(|| {
        let args = match help::command().try_get_matches().and_then(|asked| args::Args::from_arg_matches(&asked)) {
            Ok(args) => args,
            Err(error) => {
                // A closed terminal is no reason to fail.
                let _ = error.print();
                return if error.use_stderr() { Exit::Usage } else { Exit::Held };
            }
        };
        run_command(args.command).unwrap_or_else(|trouble| trouble.tell())
    });
    ExitCode::from(outcome.unwrap_or(Exit::Internal).code())
}

/// Does what was asked.
fn run_command(command: Command) -> Result<Exit, Trouble> {
    match command {
        Command::Init(args) => init::init(&args),
        Command::Check(args) => check::check(&args),
        Command::Freeze(args) => check::freeze(&args),
        Command::Diff(args) => diff::diff(&args),
        Command::List(args) => explain::list(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Run(args) => run::run(&args),
        Command::Prove(args) => run::prove(&args),
        Command::Replay(args) => run::replay(&args),
        Command::Report(args) => stored::report(&args),
        Command::Compare(args) => stored::compare(&args),
        Command::Merge(args) => stored::merge(&args),
        Command::Audit(args) => audit::audit(&args),
        Command::Serve(args) => run::serve(&args),
        Command::Completions(args) => help::completions(&args),
        Command::Man(args) => help::man(&args),
        Command::WatchOver { mark, folder } => {
            watch::watch_over(&mark, &folder);
            Ok(Exit::Held)
        }
    }
}

/// A panic of a subject is a verdict and belongs into the report; one of nack itself is said once, without a backtrace.
fn quiet_panics() {
    panic::set_hook(Box::new(|info| {
        let subject = std::thread::current().name().is_some_and(|name| name.starts_with("nack worker"));
        if !subject {
            let place = info.location().map_or(String::new(), |place| format!(" at {}:{}", place.file(), place.line()));
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text");
            anstream::eprintln!("nack itself failed{place}: {text}\nThis is a fault of nack; please report it.");
        }
    }));
}
