//! The command as its user meets it: help, completions, manual pages, colours.

use rstest::rstest;

use crate::common::Nack;

/// The commands that the help names.
fn commands() -> Vec<String> {
    let help = Nack::new().run(&["--help"]).code(0).stdout;
    let (_, rest) = help.split_once("Begin:").expect("the groups");
    let (groups, _) = rest.split_once("Options:").expect("the options");
    let named = groups.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    named.map(str::to_owned).collect()
}

#[test]
fn the_help_names_every_command_in_a_group_and_every_command_explains_itself() {
    let commands = commands();
    assert_eq!(commands.len(), 17, "{commands:?}");
    let help = Nack::new().run(&["--help"]).stdout;
    assert!(!help.contains("Further:") && !help.contains("watch-over"), "{help}");
    for command in commands.iter().filter(|command| *command != "help") {
        let _ = Nack::new().run(&[command, "--help"]).code(0).says("Usage:");
    }
}

#[rstest]
fn completions_know_every_command(#[values("bash", "zsh", "fish", "powershell", "elvish")] shell: &str) {
    let ran = Nack::new().run(&["completions", shell]).code(0);
    for command in commands() {
        assert!(ran.stdout.contains(&command), "{shell} does not know {command}");
    }
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let nack = Nack::new();
    let _ = nack.run(&["man"]).code(0).says(".TH nack");
    let _ = nack.run(&["man", "--to", "man"]).code(0);
    for command in commands().iter().filter(|command| *command != "help") {
        let page = std::fs::read_to_string(nack.path().join(format!("man/nack-{command}.1"))).expect("a page");
        assert!(page.contains(&format!("nack-{command}")), "{page}");
    }
}

#[test]
fn nothing_is_coloured_or_drawn_where_there_is_no_terminal() {
    let nack = Nack::new();
    let args = ["run", "outbox/deliver", "--defect", "any-answer-is-success"];
    for keep in [true, false] {
        let mut command = nack.command(&args);
        if !keep {
            command.env_remove("NO_COLOR");
        }
        let output = command.output().expect("nack starts");
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b));
    }
    let mut forced = nack.command(&args);
    forced.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1");
    assert!(forced.output().expect("nack starts").stdout.contains(&0x1b));
}
