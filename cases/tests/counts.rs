//! How many cases the shipped contracts give.
use indexmap::IndexMap;
use nack_contracts::{Contract, shipped};

#[test]
fn counts() {
    for source in shipped() {
        let contract = Contract::read(source, &IndexMap::new()).expect("it reads");
        for f in nack_cases::check(&contract) { println!("{} {:?} {f}", contract.name, f.severity); }
    }
}
