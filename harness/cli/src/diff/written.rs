//! What `nack diff` prints: for a terminal, for a review, for a machine.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use nack_contracts::Contract;
use nack_contracts::diff::{Accepted, Change, Direction};
use nack_contracts::freeze::digest;
use nack_reports::Exit;
use nack_reports::escape::{Newlines, markdown, markdown_code, terminal};
use serde::Serialize;

use super::exit_of;
use crate::args::Review;

/// One change with the files it lies in.
#[derive(Debug, Serialize)]
pub(super) struct Changed {
    pub(super) contract: String,
    pub(super) direction: Direction,
    pub(super) rule: String,
    pub(super) at: String,
    pub(super) what: String,
    /// `file:line`, where it stood.
    pub(super) base: Option<String>,
    /// `file:line`, where it stands.
    pub(super) head: Option<String>,
    pub(super) accepted: Option<Accepted>,
}

#[derive(Serialize)]
struct Digests {
    name: String,
    base: Option<String>,
    head: Option<String>,
}

/// All of it.
#[derive(Serialize)]
pub(super) struct Written {
    format: u32,
    base: String,
    head: String,
    contracts: Vec<Digests>,
    changes: Vec<Changed>,
    notes: Vec<String>,
    exit: u8,
}

impl Written {
    pub(super) fn new(base: &str, head: &str) -> Written {
        let (base, head) = (base.to_owned(), head.to_owned());
        Written { format: 1, base, head, contracts: Vec::new(), changes: Vec::new(), notes: Vec::new(), exit: 0 }
    }

    pub(super) fn add(&mut self, old: Option<&Contract>, new: Option<&Contract>, changes: Vec<Change>) {
        if let Some(contract) = new.or(old) {
            self.digests(&contract.name, old.map(digest), new.map(digest));
        }
        self.extend(changes.into_iter().map(|change| Changed::of(old, new, change)).collect());
    }

    pub(super) fn digests(&mut self, name: &str, base: Option<String>, head: Option<String>) {
        self.contracts.push(Digests { name: name.to_owned(), base, head });
    }

    pub(super) fn extend(&mut self, changes: Vec<Changed>) {
        self.changes.extend(changes);
        self.changes.sort_by_key(|change| change.direction);
        self.exit = self.exit().code();
    }

    pub(super) fn note(&mut self, note: &str) {
        self.notes.push(note.to_owned());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.contracts.is_empty()
    }

    pub(super) fn exit(&self) -> Exit {
        exit_of(&self.changes)
    }

    pub(super) fn print(&self, format: Review) {
        match format {
            Review::Text => anstream::print!("{}", self.text()),
            Review::Md => anstream::print!("{}", self.markdown()),
            Review::Json => {
                let text = serde_json::to_string_pretty(self).expect("changes hold text and numbers only");
                anstream::println!("{text}");
            }
        }
    }

    /// How many changes there are of each kind.
    fn counts(&self) -> String {
        let of = |direction| self.changes.iter().filter(|change| change.direction == direction).count();
        let accepted = self.changes.iter().filter(|change| change.accepted.is_some()).count();
        let accepted = if accepted == 0 { String::new() } else { format!(" ({accepted} accepted)") };
        format!(
            "{} weakened{accepted}, {} strengthened, {} renamed, {} neutral",
            of(Direction::Weakened),
            of(Direction::Strengthened),
            of(Direction::Renamed),
            of(Direction::Neutral)
        )
    }

    fn outcome(&self) -> String {
        match (self.changes.is_empty(), self.exit()) {
            (true, _) => "nothing that a contract says has changed".to_owned(),
            (_, Exit::Held) => format!("nothing is weakened without a reason: {}", self.counts()),
            _ => format!("weakened, exit {}: {}", self.exit, self.counts()),
        }
    }

    /// How the first weakening would be accepted.
    fn mend(&self) -> Option<String> {
        let refused = |change: &&Changed| change.direction == Direction::Weakened && change.accepted.is_none();
        let change = self.changes.iter().find(refused)?;
        let text = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        Some(format!(
            "[[accept]]\nrule = {}\nat   = {}\ndate = \"YYYY-MM-DD\"\nwhy  = \"…\"\n",
            text(&change.rule),
            text(&change.at)
        ))
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for change in &self.changes {
            let color = match change.direction {
                Direction::Weakened if change.accepted.is_none() => AnsiColor::Red,
                Direction::Weakened => AnsiColor::Yellow,
                Direction::Strengthened => AnsiColor::Green,
                Direction::Renamed | Direction::Neutral => AnsiColor::Blue,
            };
            let style = Style::new().bold().fg_color(Some(color.into()));
            // Writing to a String does not fail.
            _ = writeln!(
                out,
                "{style}{:<12}{style:#}  {}",
                change.direction,
                shown(&format!("{} {}", change.contract, change.at))
            );
            _ = writeln!(out, "              {}", shown(&change.what));
            _ = writeln!(out, "              {}  [{}]", shown(&self.place(change)), change.rule);
            if let Some(accepted) = &change.accepted {
                _ = writeln!(out, "              accepted on {}: {}", accepted.date, shown(&accepted.why));
            }
        }
        if let Some(mend) = self.mend() {
            _ = write!(out, "\nThe team takes a weakening by name, in the newer contract:\n\n{}", shown_lines(&mend));
        }
        self.notes.iter().for_each(|note| _ = writeln!(out, "\nnote: {note}"));
        _ = writeln!(out, "{}{}", if out.is_empty() { "" } else { "\n" }, shown(&self.outcome()));
        out
    }

    fn markdown(&self) -> String {
        const MOST: usize = 150;
        let mut out = format!("## nack diff: {}\n\n", markdown(&self.outcome()));
        _ = writeln!(out, "From {} to {}.", markdown_code(&self.base), markdown_code(&self.head));
        for direction in [Direction::Weakened, Direction::Strengthened, Direction::Renamed, Direction::Neutral] {
            let changes: Vec<&Changed> = self.changes.iter().filter(|c| c.direction == direction).collect();
            if changes.is_empty() {
                continue;
            }
            _ = writeln!(out, "\n### {direction}\n\n| where | what | rule | place |\n| --- | --- | --- | --- |");
            for change in changes.iter().take(MOST) {
                let accepted = change.accepted.as_ref().map_or(String::new(), |accepted| {
                    format!("<br>accepted on {}: {}", markdown(&accepted.date), markdown(&accepted.why))
                });
                _ = writeln!(
                    out,
                    "| {} {} | {}{accepted} | {} | {} |",
                    markdown(&change.contract),
                    markdown_code(&change.at),
                    markdown(&change.what),
                    markdown_code(&change.rule),
                    markdown_code(&self.place(change))
                );
            }
            if changes.len() > MOST {
                _ = writeln!(out, "\n… and {} more, which `--format json` names", changes.len() - MOST);
            }
        }
        self.notes.iter().for_each(|note| _ = writeln!(out, "\n{}", markdown(note)));
        if !self.contracts.is_empty() {
            _ = writeln!(out, "\n| contract | digest before | digest now |\n| --- | --- | --- |");
            let short = |digest: &Option<String>| {
                digest.as_ref().map_or("none".to_owned(), |digest| markdown_code(digest.get(..12).unwrap_or(digest)))
            };
            for contract in &self.contracts {
                let (base, head) = (short(&contract.base), short(&contract.head));
                _ = writeln!(out, "| {} | {base} | {head} |", markdown_code(&contract.name));
            }
        }
        out
    }

    fn place(&self, change: &Changed) -> String {
        let gone = || change.base.as_ref().map(|base| format!("was at {base}"));
        change.head.clone().or_else(gone).unwrap_or_else(|| self.base.clone())
    }
}

fn shown(text: &str) -> String {
    terminal(text, Newlines::Show)
}

fn shown_lines(text: &str) -> String {
    terminal(text, Newlines::Keep)
}
