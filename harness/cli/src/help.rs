//! The command as its user meets it: `--help` with the commands in groups, completions for a shell, a manual page. All
//! three are made of the same definition, so none of them can know less.

use std::io::Write as _;
use std::path::Path;

use clap::{Command, CommandFactory as _};
use nack_reports::Exit;

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::files::write_whole;
use crate::trouble::Trouble;

/// The commands by what they are for.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Begin", &["init", "list", "explain"]),
    ("Contracts", &["check", "freeze", "diff"]),
    ("Judge", &["run", "prove", "replay", "audit"]),
    ("Reports", &["report", "compare", "merge"]),
    ("Tools", &["serve", "completions", "man", "help"]),
];

const EXAMPLES: &str = "Examples:
  nack run                                  every case on the references, or on what nack.toml binds
  nack run outbox/crash --report md=nack.md the cases below a name, and a summary for a review
  nack explain outbox/crash/after-send+kill what a case tries, in words
  nack prove                                can this gate fail?
  nack diff origin/main                     what a change of contracts no longer refuses

Exit codes: 0 everything required held · 1 a case failed · 2 usage, contract or binding · 3 inconclusive
            4 nothing matched · 5 the proof failed · 70 a fault of nack · 130 interrupted";

/// The whole command.
pub(crate) fn command() -> Command {
    let command = Args::command();
    let template = template(&command);
    command.help_template(template)
}

fn template(command: &Command) -> String {
    let mut groups = String::new();
    let mut named = Vec::new();
    for (title, names) in GROUPS {
        groups.push_str(&format!("\n{title}:\n"));
        for name in names {
            named.push(*name);
            groups.push_str(&line(command, name));
        }
    }
    let others: Vec<&str> = command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set())
        .map(Command::get_name)
        .filter(|n| !named.contains(n))
        .collect();
    if !others.is_empty() {
        groups.push_str("\nFurther:\n");
        others.iter().for_each(|name| groups.push_str(&line(command, name)));
    }
    format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\nOptions:\n{{options}}\n\n{EXAMPLES}\n")
}

fn line(command: &Command, name: &str) -> String {
    let about = match name {
        "help" => "Say more about a command".to_owned(),
        _ => command.find_subcommand(name).and_then(Command::get_about).map_or(String::new(), ToString::to_string),
    };
    format!("  {name:<12}{about}\n")
}

/// Prints a shell's completions.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, Trouble> {
    let mut out = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "nack", &mut out);
    print(&out)
}

/// Prints the manual page, or writes one for nack and each command.
pub(crate) fn man(args: &ManArgs) -> Result<Exit, Trouble> {
    let broken = |error: std::io::Error| Trouble::File(format!("the manual page cannot be made: {error}"));
    let mut command = command();
    let Some(folder) = &args.to else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(broken)?;
        return print(&page);
    };
    command.build();
    let subcommands = command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
    let pages: Vec<(String, Command)> = std::iter::once(("nack".to_owned(), command.clone()))
        .chain(subcommands.map(|sub| (format!("nack-{}", sub.get_name()), sub.clone())))
        .collect();
    for (name, command) in pages {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).title(&name).render(&mut page).map_err(broken)?;
        let path = Path::new(folder).join(format!("{name}.1"));
        write_whole(&path, &String::from_utf8_lossy(&page))?;
        anstream::println!("{}", path.display());
    }
    Ok(Exit::Held)
}

fn print(bytes: &[u8]) -> Result<Exit, Trouble> {
    // A closed terminal is no reason to fail.
    let _ = std::io::stdout().write_all(bytes);
    Ok(Exit::Held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_group_names_commands_that_there_are() {
        let mut command = command();
        command.build();
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(command.find_subcommand(name).is_some(), "{name}");
        }
    }
}
