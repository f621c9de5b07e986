//! Subjects that must not pass: each does less than its contract asks, in a way that a careless judge would not see.

use std::sync::Arc;

use indexmap::IndexMap;
use nack::adapter::InProcessAdapter;
use nack::inprocess::Context;
use nack::run::{Options, run_cases};
use nack::subject::{Failure, Hello, Program, Subject};
use nack::{Target, scratch};
use nack_contracts::{Contract, Map, Source, Value};
use nack_reports::{CaseReport, Verdict};
use rstest::rstest;

const CONTRACT: &str = r#"
format = 1
name   = "post"
title  = "A letter goes out with its text"
owner  = "the postmaster"
[store.letters]
key     = ["id"]
columns = { id = "id", state = "state" }
[effect.send]
id      = "id"
columns = { id = "id", text = "text" }
answers = ["taken"]
[call.post]
reply       = "state"
effects     = ["send"]
checkpoints = ["sent"]
[domain.taken]
values = ["taken"]
[domain.state]
values = ["new", "gone"]
[[scenario]]
name  = "post"
why   = "The letter goes out once, with its text."
given = { letters = [{ id = "a", state = "new" }] }
steps = [
  { call = "post", answers = { send = ["taken"] }, reply = "gone" },
  { expect = { letters = [{ id = "a", state = "gone" }], send = [{ id = "a", text = "hello" }] } },
]
[[scenario]]
name  = "crash"
why   = "A crash after the send leaves the letter."
given = { letters = [{ id = "a", state = "new" }] }
steps = [
  { call = "post", answers = { send = ["taken"] }, fault = { at = "sent", by = "kill" } },
  { reconnect = true },
  { expect = { letters = [{ id = "a", state = "new" }], send = 1 } },
]
"#;

type Post = fn(&Context) -> Result<Value, Failure>;

struct Office(Post);

impl Program for Office {
    fn hello(&self) -> Hello {
        Hello { name: "office".into(), checkpoints: vec!["sent".into()], ..Hello::default() }
    }

    fn setup(&self, store: &rusqlite::Connection) -> rusqlite::Result<()> {
        store.execute_batch("CREATE TABLE letters (id TEXT PRIMARY KEY, state TEXT)")
    }

    fn start(&self, _: &Context) -> Result<Box<dyn Subject>, Failure> {
        Ok(Box::new(Office(self.0)))
    }
}

impl Subject for Office {
    fn call(&mut self, _: &str, _: &Map, ctx: &Context) -> Result<Value, Failure> {
        (self.0)(ctx)
    }
}

fn gone(ctx: &Context) -> Result<Value, Failure> {
    ctx.open()?.execute("UPDATE letters SET state = 'gone'", ())?;
    Ok("gone".into())
}

fn honest(ctx: &Context) -> Result<Value, Failure> {
    ctx.effect("send", &[("id", "a".into()), ("text", "hello".into())])?;
    ctx.checkpoint("sent")?;
    gone(ctx)
}

fn without_its_text(ctx: &Context) -> Result<Value, Failure> {
    ctx.effect("send", &[("id", "a".into())])?;
    ctx.checkpoint("sent")?;
    gone(ctx)
}

fn past_its_checkpoint(ctx: &Context) -> Result<Value, Failure> {
    ctx.effect("send", &[("id", "a".into()), ("text", "hello".into())])?;
    gone(ctx)
}

fn sends_twice(ctx: &Context) -> Result<Value, Failure> {
    // The second use has no answer, and its error is swallowed.
    let _ = ctx.effect("send", &[("id", "a".into()), ("text", "hello".into())]);
    let _ = ctx.effect("send", &[("id", "a".into()), ("text", "hello".into())]);
    ctx.checkpoint("sent")?;
    gone(ctx)
}

fn panics(_: &Context) -> Result<Value, Failure> {
    panic!("out of stamps")
}

fn never_commits(ctx: &Context) -> Result<Value, Failure> {
    ctx.effect("send", &[("id", "a".into()), ("text", "hello".into())])?;
    ctx.checkpoint("sent")?;
    let db = ctx.open()?;
    db.execute("BEGIN", ())?;
    db.execute("UPDATE letters SET state = 'gone'", ())?;
    Ok("gone".into())
}

fn other_words(ctx: &Context) -> Result<Value, Failure> {
    honest(ctx)?;
    ctx.open()?.execute("UPDATE letters SET state = 'Gone'", ())?;
    Ok("gone".into())
}

fn judge(post: Post) -> Vec<CaseReport> {
    let contract = Contract::read(Source::new("post.toml", CONTRACT), &IndexMap::new()).expect("it reads");
    let scratch = scratch().expect("a folder");
    let adapter = Arc::new(InProcessAdapter::new(Arc::new(Office(post))));
    let target = Target::load("office", Arc::new(contract), adapter, scratch.path()).expect("it loads");
    run_cases(&[target], &[(0, 0), (0, 1)], scratch.path(), &Options { jobs: 1, ..Options::default() })
}

fn verdict(reports: &[CaseReport], name: &str) -> Verdict {
    reports.iter().find(|report| report.name == name).expect("the case ran").verdict
}

#[test]
fn an_honest_subject_passes() {
    let reports = judge(honest);
    assert!(reports.iter().all(|report| report.verdict == Verdict::Pass), "{reports:#?}");
}

#[rstest]
#[case::leaves_a_column_out(without_its_text)]
#[case::uses_an_effect_once_too_often(sends_twice)]
#[case::panics(panics)]
#[case::never_commits(never_commits)]
#[case::stores_a_word_of_its_own(other_words)]
fn a_subject_fails_that(#[case] post: Post) {
    let reports = judge(post);
    assert_eq!(verdict(&reports, "post/post"), Verdict::Fail, "{reports:#?}");
}

#[test]
fn a_fault_that_never_struck_is_no_pass() {
    let reports = judge(past_its_checkpoint);
    assert_eq!(verdict(&reports, "post/post"), Verdict::Pass);
    // The letter is gone where it should have stayed, so the case fails by its own judgement, too.
    assert_eq!(verdict(&reports, "post/crash"), Verdict::Fail);
    let because = reports[1].because.as_ref().expect("and it says what did not happen");
    assert_eq!(because.kind, nack_reports::BecauseKind::NotFired);
}
