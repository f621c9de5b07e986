//! `--shard K/N`: a part of a run, chosen by the names of the cases alone, so that it is the same on every machine and
//! stays what it was when other cases come and go.

use std::collections::HashMap;

use nack_contracts::stable_hash;
use nack_reports::{CaseReport, Shard};

use crate::trouble::Trouble;

/// One of several parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    part: u32,
    of: u32,
}

impl Part {
    /// Reads `K/N`.
    pub(super) fn parse(text: &str) -> Result<Part, Trouble> {
        let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse::<u32>().ok()?, n.parse::<u32>().ok()?)));
        match parts {
            Some((part, of)) if part >= 1 && part <= of => Ok(Part { part, of }),
            _ => Err(Trouble::Usage(format!("--shard {text}: write K/N with K from 1 to N, such as 2/4"))),
        }
    }

    /// Whether a case is of this part, on whichever subject.
    pub(super) fn holds(self, case: &str) -> bool {
        stable_hash(case) % u64::from(self.of) == u64::from(self.part - 1)
    }

    /// What the report says of it. `whole`: every chosen case of all parts, as subject and name, in order.
    pub(super) fn told(self, whole: &[(String, String)], cases: &[CaseReport]) -> Shard {
        let places: HashMap<(&str, &str), usize> = whole
            .iter()
            .enumerate()
            .map(|(place, (subject, name))| ((subject.as_str(), name.as_str()), place))
            .collect();
        let place = |case: &CaseReport| {
            *places.get(&(case.subject.as_str(), case.name.as_str())).expect("a case that ran was chosen")
        };
        let names: Vec<String> = whole.iter().map(|(subject, name)| format!("{subject}\n{name}\n")).collect();
        Shard {
            part: self.part,
            of: self.of,
            cases: whole.len(),
            selection: format!("{:016x}", stable_hash(&names.concat())),
            places: cases.iter().map(place).collect(),
        }
    }
}
