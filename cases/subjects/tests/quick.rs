//! scratch
use indexmap::IndexMap;
use nack::Target;
use nack::adapter::InProcessAdapter;
use nack::run::{Options, run_cases};
use nack_contracts::{Contract, shipped};
use std::sync::Arc;

#[test]
fn quick() {
    let scratch = tempfile::tempdir_in("/dev/shm").unwrap();
    let mut targets = vec![];
    for source in shipped() {
        let contract = Contract::read(source, &IndexMap::new()).unwrap();
        let Some(program) = nack_subjects::reference(&contract.name, None) else { continue };
        targets.push(
            Target::load("reference", Arc::new(contract), Arc::new(InProcessAdapter::new(program)), scratch.path())
                .unwrap(),
        );
    }
    let sel: Vec<(usize, usize)> =
        targets.iter().enumerate().flat_map(|(t, x)| (0..x.cases.len()).map(move |c| (t, c))).collect();
    let t = std::time::Instant::now();
    let reports = run_cases(&targets, &sel, scratch.path(), &Options::default());
    println!("{:?} {} {:?}", nack_reports::Counts::of(&reports), reports.len(), t.elapsed());
    let mut v: Vec<_> = reports.iter().map(|r| (r.elapsed_us, r.name.clone(), r.points)).collect();
    v.sort();
    v.reverse();
    for x in v.iter().take(25) {
        println!("{x:?}");
    }
    println!("median {:?} sum {}", v[v.len() / 2], v.iter().map(|x| x.0).sum::<u64>());
    for r in
        reports.iter().filter(|r| !matches!(r.verdict, nack_reports::Verdict::Pass | nack_reports::Verdict::NotCovered))
    {
        println!("{:?} {} {:?}\n  exp {:?}\n  obs {:?}", r.verdict, r.name, r.because, r.expected, r.observed);
        for m in &r.timeline {
            println!("     {} {} {}", m.lane, m.what, m.fault);
        }
    }
}

#[test]
fn proof() {
    let scratch = tempfile::tempdir_in("/dev/shm").unwrap();
    let contracts: Vec<Arc<Contract>> =
        shipped().into_iter().map(|s| Arc::new(Contract::read(s, &IndexMap::new()).unwrap())).collect();
    let t = std::time::Instant::now();
    let (_, proof) = nack::prove::prove(
        &contracts,
        &|c, d| {
            nack_subjects::reference(c, d)
                .map(|p| Arc::new(InProcessAdapter::new(p)) as Arc<dyn nack::adapter::Adapter>)
        },
        &|_| true,
        scratch.path(),
        &Options::default(),
    )
    .unwrap();
    println!("{:?} vacuous {:?} {:?}", t.elapsed(), proof.vacuous, proof.nulls);
    for m in proof.mutants {
        println!("{:?} {}", m.fate, m.name);
        for k in m.kills {
            if k.killed_by.is_none() {
                println!("    {} {:?} {:?}", k.expected, k.by, k.instead);
            }
        }
    }
}
