//! Changed cells: what a case, `nack check` or a mutant notices is defended, and a cell that nobody reads is named.

use std::sync::Arc;

use indexmap::IndexMap;
use nack::adapter::{Adapter, InProcessAdapter};
use nack::inprocess::Context;
use nack::prove::{exit_of, prove};
use nack::run::Options;
use nack::scratch;
use nack::subject::{Failure, Hello, Program, Subject};
use nack_contracts::{Contract, Map, Source, Value};
use nack_reports::{CellFate, CellReport, Exit};
use rstest::rstest;

const CONTRACT: &str = r#"
format = 1
name   = "door"
title  = "Who knocks is let in"
owner  = "the porter"
[store.guest]
key     = ["name"]
columns = { name = "id" }
[call.knock]
args  = { name = "any" }
reply = "any"
[domain.name]
values = ["ann", "bob"]
[domain.says]
class.hello  = { hello = "hello" }
class.any    = { any = { _type = "string" } }
class.go     = { go = "go away" }
[domain.mood]
values = ["glad", "grim"]
[table.door]
inputs     = ["name"]
outputs    = ["says", "mood"]
undefended = { known = "the porter never fails there" }
rows = [
  ["known",   "ann", "hello", "glad"],
  ["unknown", "bob", "any",   "grim"],
]
[[scenario]]
name  = "knock"
why   = "Who is known is greeted, who is not is told something."
bind  = ["door"]
steps = [
  { call = "knock", args = { name = "$name" }, reply = "$says" },
  { expect = { guest = 0 } },
]
[[mutant]]
name      = "says-nothing"
defect    = "a stranger is told nothing"
killed_by = ["door/knock/unknown"]
by        = "reply"
"#;

struct Porter {
    silent: bool,
}

impl Program for Porter {
    fn hello(&self) -> Hello {
        Hello { name: "porter".into(), ..Hello::default() }
    }

    fn setup(&self, store: &rusqlite::Connection) -> rusqlite::Result<()> {
        store.execute_batch("CREATE TABLE guest (name TEXT)")
    }

    fn start(&self, _: &Context) -> Result<Box<dyn Subject>, Failure> {
        Ok(Box::new(Porter { silent: self.silent }))
    }
}

impl Subject for Porter {
    fn call(&mut self, _: &str, args: &Map, _: &Context) -> Result<Value, Failure> {
        Ok(match args["name"].as_text() {
            Some("ann") => "hello".into(),
            _ if self.silent => "".into(),
            _ => "go away".into(),
        })
    }
}

fn reference(_: &str, defect: Option<&str>) -> Option<Arc<dyn Adapter>> {
    Some(Arc::new(InProcessAdapter::new(Arc::new(Porter { silent: defect.is_some() }))))
}

fn cells() -> (Vec<CellReport>, Exit) {
    let contract = Contract::read(Source::new("door.toml", CONTRACT), &IndexMap::new()).expect("it reads");
    let scratch = scratch().expect("a folder");
    let options = Options { jobs: 1, ..Options::default() };
    let (_, proof) = prove(&[Arc::new(contract)], &reference, &|_| true, scratch.path(), &options).expect("it loads");
    let exit = exit_of(&proof);
    (proof.cells, exit)
}

#[rstest]
#[case::another_reply("table.door/known/says=go", CellFate::Defended, Some("door/knock/known"))]
#[case::a_reply_that_is_true_too("table.door/unknown/says=go", CellFate::Undefended, None)]
#[case::a_reply_that_allows_more("table.door/known/says=any", CellFate::Undefended, None)]
#[case::an_output_that_nobody_reads("table.door/known/mood=grim", CellFate::Undefended, None)]
#[case::a_row_taken_from_another("table.door/known/name+bob", CellFate::Defended, Some("door/knock/known"))]
#[case::a_row_that_is_gone("table.door/known/dropped", CellFate::Defended, Some("check: table/gap"))]
fn a_changed_cell_is_noticed_or_named(#[case] name: &str, #[case] fate: CellFate, #[case] by: Option<&str>) {
    let (cells, _) = cells();
    let cell = cells.iter().find(|cell| cell.name == format!("door/{name}")).expect("it is changed");
    assert_eq!((cell.fate, cell.by.as_deref()), (fate, by), "{cell:#?}");
    assert_eq!((cell.source.file.as_str(), cell.source.line > 20), ("door.toml", true));
}

#[test]
fn an_undefended_cell_fails_the_proof() {
    assert_eq!(cells().1, Exit::ProofFailed);
}
