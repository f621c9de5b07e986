//! The shipped contracts are contracts.

use indexmap::IndexMap;
use nack_contracts::{Contract, shipped};

#[test]
fn every_shipped_contract_reads() {
    for source in shipped() {
        let file = source.file.clone();
        let contract = Contract::read(source, &IndexMap::new());
        assert!(contract.is_ok(), "{file}: {:#?}", contract.err());
    }
}
