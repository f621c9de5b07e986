//! The JSON report is an interface: its schema is frozen beside it, every report of these tests is valid under it, and a
//! report reads back as itself.

use std::path::Path;
use std::sync::LazyLock;

use nack_reports::Report;
use nack_reports::json::{from_json, schema, to_json, without_timings};
use proptest::prelude::*;
use rstest::rstest;

use crate::escape::is_dangerous;
use crate::{hostile, sample};

static VALIDATOR: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    let schema = serde_json::from_str(&schema()).expect("the schema is JSON");
    jsonschema::validator_for(&schema).expect("the schema is a schema")
});

fn valid(json: &str) -> Result<(), String> {
    let instance = serde_json::from_str(json).map_err(|error| error.to_string())?;
    VALIDATOR.validate(&instance).map_err(|error| format!("{} at {}", error, error.instance_path))
}

#[test]
fn the_schema_beside_the_crate_is_the_one_of_the_model() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("report.schema.json");
    if std::env::var_os("NACK_RENEW").is_some() {
        std::fs::write(&path, schema()).expect("the schema can be written");
    }
    let frozen = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        frozen == schema(),
        "reports/report.schema.json is not the schema of the model any more. Readers rely on it: keys are added, never \
         renamed or dropped. If this change keeps to that, renew it with\n\n    NACK_RENEW=1 cargo test -p nack-reports schema\n"
    );
}

#[rstest]
#[case::green(sample::green())]
#[case::every_verdict(sample::red())]
#[case::a_proof(sample::proof())]
#[case::everything(sample::everything())]
#[case::hostile_text(sample::everywhere(sample::HOSTILE))]
fn a_report_is_valid_under_its_schema_and_reads_back_as_itself(#[case] report: Report) {
    let json = to_json(&report);
    assert_eq!(valid(&json), Ok(()));
    assert_eq!(from_json(&json).expect("a report"), report);
}

#[rstest]
#[case::a_verdict_that_does_not_exist("\"verdict\": \"pass\"", "\"verdict\": \"fine\"")]
#[case::a_count_as_text("\"pass\": 3", "\"pass\": \"3\"")]
#[case::no_seed("\"seed\": 7", "\"weed\": 7")]
fn the_schema_refuses_what_is_no_report(#[case] right: &str, #[case] wrong: &str) {
    let json = to_json(&sample::green());
    assert!(json.contains(right), "{json}");
    assert!(valid(&json.replace(right, wrong)).is_err());
}

#[test]
fn a_report_of_a_later_format_is_refused_and_the_message_names_both() {
    let later = to_json(&sample::green()).replace("\"format\": 1", "\"format\": 2");
    let message = from_json(&later).expect_err("format 2 is not known").to_string();
    assert!(message.contains("format 2") && message.contains("format 1"), "{message}");
}

#[test]
fn keys_that_a_later_version_adds_do_not_stop_a_reader() {
    let later = to_json(&sample::green()).replace("\"format\": 1", "\"format\": 1, \"later\": {}");
    assert_eq!(from_json(&later).expect("a report"), sample::green());
    assert_eq!(valid(&later), Ok(()));
}

#[test]
fn two_runs_that_differ_in_time_alone_are_equal_once_timings_are_gone() {
    let mut slower = sample::everything();
    slower.elapsed_ms += 1;
    slower.cases.iter_mut().for_each(|case| case.elapsed_us += 1);
    assert_ne!(to_json(&slower), to_json(&sample::everything()));
    assert_eq!(to_json(&without_timings(&slower)), to_json(&without_timings(&sample::everything())));
}

#[test]
fn timings_are_all_that_goes() {
    let mut other = sample::everything();
    other.seed += 1;
    assert_ne!(without_timings(&other), without_timings(&sample::everything()));
}

#[test]
fn a_json_report_ends_with_a_line_break() {
    assert!(to_json(&sample::green()).ends_with("}\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn json_is_safe_to_look_at_and_keeps_every_character(text in hostile::text()) {
        let report = sample::everywhere(&text);
        let json = to_json(&report);
        prop_assert!(!json.chars().any(|c| c != '\n' && is_dangerous(c)), "{json:?}");
        prop_assert_eq!(from_json(&json).expect("a report"), report);
        prop_assert_eq!(valid(&json), Ok(()));
    }
}
