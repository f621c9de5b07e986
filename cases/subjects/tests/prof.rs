//! scratch
use indexmap::IndexMap;
use nack::Target;
use nack::adapter::InProcessAdapter;
use nack::run::{Options, run_cases};
use nack_contracts::{Contract, shipped};
use std::sync::Arc;

#[test]
fn prof() {
    let scratch = tempfile::tempdir_in("/dev/shm").unwrap();
    let contract = Contract::read(shipped().remove(0), &IndexMap::new()).unwrap();
    let program = nack_subjects::reference("outbox", None).unwrap();
    let t = vec![
        Target::load("reference", Arc::new(contract), Arc::new(InProcessAdapter::new(program)), scratch.path())
            .unwrap(),
    ];
    let c = t[0].cases.iter().position(|c| c.name == "outbox/deliver/accepted+accepted-below-max").unwrap();
    let sel = vec![(0usize, c); 1000];
    let i = std::time::Instant::now();
    let r = run_cases(&t, &sel, scratch.path(), &Options { jobs: 1, ..Options::default() });
    println!("{} {:?}", r.len(), i.elapsed() / 1000);
}
