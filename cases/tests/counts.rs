//! How many cases the shipped contracts give.
use indexmap::IndexMap;
use nack_contracts::{Contract, shipped};

#[test]
fn counts() {
    for source in shipped() {
        let contract = Contract::read(source, &IndexMap::new()).expect("it reads");
        match nack_cases::expand_all(&contract) {
            Ok(cases) => println!("{} {}", contract.name, cases.len()),
            Err(f) => println!("{} {:#?}", contract.name, f),
        }
    }
}
