//! The printed table of the article that nack grew from, typed in as it stands: the linter must convict it of exactly
//! its one blank cell.

use indexmap::IndexMap;
use nack_contracts::lint::lint;
use nack_contracts::{Contract, Finding, Source};

const PRINTED: &str = r#"
format = 1
name   = "printed"
title  = "The decision table as it was printed"
owner  = "its reader"

[call.decide]
args   = { state = "any", attempts = "int", result = "any" }
reply  = "next"
errors = ["any"]

[domain.state]
values = ["inflight"]
other  = { pending = "pending", sent = "sent", dead = "dead" }
[domain.result]
values = ["accepted", "transient", "permanent"]
other  = { ok = "ok", null = { _json = "null" } }
[domain.attempts]
ranges = { below = "1..=4", at = "5.." }
[domain.next]
values = ["sent", "pending", "dead"]

[table.decide]
inputs  = ["state", "result", "attempts"]
outputs = ["next"]
success = { next = ["sent"] }
rows = [
  ["accepted-below", "inflight", "accepted",  "below", "sent"],
  ["transient-below", "inflight", "transient", "below", "pending"],
  ["transient-at",   "inflight", "transient", "at",    "dead"],
  ["permanent",      "inflight", "permanent", "*",     "dead"],
  ["other",          "inflight", "other",     "*",     "dead"],
  ["not-inflight",   "other",    "*",         "*",     { _error = "any" }],
]
"#;

fn errors(text: &str) -> Vec<Finding> {
    let contract = Contract::read(Source::new("printed.toml", text), &IndexMap::new()).expect("it reads");
    lint(&contract).into_iter().filter(|finding| finding.severity == nack_contracts::Severity::Error).collect()
}

#[test]
fn the_printed_table_is_convicted_of_exactly_its_blank_cell() {
    let found = errors(PRINTED);
    let [gap] = found.as_slice() else { panic!("one finding, not {found:#?}") };
    assert_eq!(gap.rule, "table/gap");
    assert_eq!(gap.message, "no row says what happens for state = inflight, result = accepted, attempts = at");
    assert_eq!(gap.marks[0].1, "for example state = \"inflight\", result = \"accepted\", attempts = 5");
}

#[test]
fn with_the_cell_filled_in_the_table_is_whole() {
    let row = "  [\"accepted-at\", \"inflight\", \"accepted\", \"at\", \"sent\"],\n";
    assert_eq!(errors(&PRINTED.replace("  [\"transient-below\"", &format!("{row}  [\"transient-below\""))), []);
}
