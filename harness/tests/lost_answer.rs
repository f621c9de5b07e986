//! A caller that loses its answer: the call ends as it does, nobody is told how, and the case goes on from there.

use std::sync::Arc;

use indexmap::IndexMap;
use nack::adapter::InProcessAdapter;
use nack::inprocess::Context;
use nack::run::{Options, fault_words, run_cases};
use nack::subject::{Failure, Hello, Program, Subject};
use nack::{Target, scratch};
use nack_contracts::{Contract, Map, Source, Value};
use nack_reports::{CaseReport, Verdict};
use rstest::rstest;

/// A counter that is asked to count, loses its answer, and is asked again.
const CONTRACT: &str = r#"
format = 1
name   = "counter"
title  = "Each name counts once"
owner  = "the counter"
[store.counted]
key     = ["name"]
columns = { name = "id" }
[call.count]
args  = { name = "id" }
reply = "said"
[domain.said]
values = ["new", "known"]
[domain.at]
values = ["request", "reply"]
[domain.again]
like = "said"
[table.repeat]
inputs  = ["at"]
outputs = ["again"]
rows = [
  ["request", "request", "new"],
  ["reply",   "reply",   "known"],
]
[[scenario]]
name  = "lost"
why   = "Whoever never heard an answer asks again, and is told what is known. A request that was lost was never heard."
bind  = ["repeat"]
steps = [
  { call = "count", args = { name = "a" }, fault = { at = "$at", by = "lost" } },
  { expect = { reply = [{ outcome = "unknown", value = { _json = "null" } }] } },
  { call = "count", args = { name = "a" }, reply = "$again" },
  { expect = { counted = [{ name = "a" }], reply = [{ outcome = "unknown" }, { outcome = "acknowledged", word = "$again" }] } },
]
"#;

type Count = fn(&Context) -> Result<Value, Failure>;

struct Counter(Count);

impl Program for Counter {
    fn hello(&self) -> Hello {
        Hello { name: "counter".into(), ..Hello::default() }
    }

    fn setup(&self, store: &rusqlite::Connection) -> rusqlite::Result<()> {
        store.execute_batch("CREATE TABLE counted (name TEXT)")
    }

    fn start(&self, _: &Context) -> Result<Box<dyn Subject>, Failure> {
        Ok(Box::new(Counter(self.0)))
    }
}

impl Subject for Counter {
    fn call(&mut self, _: &str, _: &Map, ctx: &Context) -> Result<Value, Failure> {
        (self.0)(ctx)
    }
}

/// Counts, and says whether it was new.
fn count(ctx: &Context) -> Result<bool, Failure> {
    let sql = "INSERT INTO counted SELECT 'a' WHERE NOT EXISTS (SELECT 1 FROM counted)";
    Ok(ctx.open()?.execute(sql, ())? == 1)
}

fn honest(ctx: &Context) -> Result<Value, Failure> {
    Ok(if count(ctx)? { "new" } else { "known" }.into())
}

/// What a lost answer says is nobody's business, not even a word that the contract does not know.
fn babbles_at_first(ctx: &Context) -> Result<Value, Failure> {
    Ok(if count(ctx)? { "Ok!" } else { "known" }.into())
}

fn fails_at_first(ctx: &Context) -> Result<Value, Failure> {
    if count(ctx)? { Err(Failure::refused("full")) } else { Ok("known".into()) }
}

fn answers_without_counting(_: &Context) -> Result<Value, Failure> {
    Ok("known".into())
}

fn counts_twice(ctx: &Context) -> Result<Value, Failure> {
    ctx.open()?.execute("INSERT INTO counted VALUES ('a')", ())?;
    Ok("known".into())
}

fn dies_at_first(ctx: &Context) -> Result<Value, Failure> {
    if count(ctx)? { panic!("lost count") } else { Ok("known".into()) }
}

fn judge(count: Count) -> Vec<CaseReport> {
    let contract = Contract::read(Source::new("counter.toml", CONTRACT), &IndexMap::new()).expect("it reads");
    let scratch = scratch().expect("a folder");
    let adapter = Arc::new(InProcessAdapter::new(Arc::new(Counter(count))));
    let target = Target::load("counter", Arc::new(contract), adapter, scratch.path()).expect("it loads");
    let words: Vec<_> = target.cases.iter().flat_map(fault_words).collect();
    assert_eq!(words, ["answer lost at request", "answer lost at reply"]);
    run_cases(&[target], &[(0, 0), (0, 1)], scratch.path(), &Options { jobs: 1, ..Options::default() })
}

#[rstest]
#[case::what_it_says(honest)]
#[case::a_word_of_its_own(babbles_at_first)]
#[case::an_error(fails_at_first)]
fn the_end_of_a_call_that_nobody_hears_is_not_judged(#[case] count: Count) {
    let report = judge(count).pop().expect("the answer is lost");
    assert_eq!(report.verdict, Verdict::Pass, "{report:#?}");
}

#[test]
fn a_request_that_is_lost_never_reaches_the_subject() {
    let report = judge(honest).remove(0);
    assert_eq!(report.verdict, Verdict::Pass, "{report:#?}");
}

#[rstest]
#[case::answers_without_counting(answers_without_counting)]
#[case::counts_twice(counts_twice)]
#[case::dies(dies_at_first)]
fn what_a_lost_call_did_is_judged(#[case] count: Count) {
    for report in judge(count) {
        assert_eq!(report.verdict, Verdict::Fail, "{report:#?}");
    }
}
