//! The schema that editors complete contracts by agrees with the reader: what ships fits it, and a key that the reader
//! refuses does not.

use nack_contracts::shipped;
use rstest::rstest;

fn errors(text: &str) -> Vec<String> {
    let schema: serde_json::Value = serde_json::from_str(include_str!("../contract.schema.json")).expect("it is JSON");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    let contract: toml::Table = toml::from_str(text).expect("it is TOML");
    let contract = serde_json::to_value(contract).expect("it has no dates");
    validator.iter_errors(&contract).map(|error| format!("{}: {error}", error.instance_path)).collect()
}

#[test]
fn every_shipped_contract_fits_the_schema() {
    for source in shipped() {
        assert_eq!(errors(&source.text), Vec::<String>::new(), "{}", source.file);
    }
}

#[rstest]
#[case::no_owner("owner ", "owned ")]
#[case::unknown_format("format     = 1", "format     = 2")]
#[case::misspelt_key("checkpoints", "checkpoint")]
#[case::mutant_without_a_check("by        = \"expect\"", "bye       = \"expect\"")]
#[case::unknown_durability("durability = \"kill\"", "durability = \"maybe\"")]
fn what_the_reader_refuses_does_not_fit(#[case] from: &str, #[case] to: &str) {
    let text = shipped().remove(1).text.replacen(from, to, 1);
    assert!(!errors(&text).is_empty());
}
