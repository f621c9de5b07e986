//! What a run says: the same for the same seed, true to its schema, and precise when it is red.

use crate::common::Nack;

fn json(nack: &Nack, name: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(nack.path().join(name)).expect("the report was written");
    serde_json::from_str(&text).expect("it is JSON")
}

/// Takes away every timing.
fn without_timings(mut value: serde_json::Value) -> serde_json::Value {
    fn strip(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(map) => {
                map.retain(|key, _| !key.starts_with("elapsed_"));
                map.values_mut().for_each(strip);
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut value);
    value
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let nack = Nack::new();
    for file in ["a.json", "b.json"] {
        let _ = nack.run(&["run", "--seed", "7", "--report", &format!("json={file}")]).code(0);
    }
    let (a, b) = (without_timings(json(&nack, "a.json")), without_timings(json(&nack, "b.json")));
    assert_eq!(a.to_string(), b.to_string());
}

#[test]
fn every_kind_of_run_gives_a_report_that_fits_its_schema() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../reports/report.schema.json")).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
    let nack = Nack::new();
    let runs: [&[&str]; 4] = [
        &["run", "outbox/decide"],
        &["run", "outbox", "--defect", "sent-before-send"],
        &["prove", "order-relay"],
        &["run", "outbox/crash/after-send+kill", "--defect", "one-long-transaction"],
    ];
    for (index, args) in runs.iter().enumerate() {
        let report = format!("json={index}.json");
        let args: Vec<&str> = args.iter().copied().chain(["--report", &report]).collect();
        let _ = nack.run(&args);
        let found: Vec<String> =
            validator.iter_errors(&json(&nack, &format!("{index}.json"))).map(|error| error.to_string()).collect();
        assert!(found.is_empty(), "{args:?}: {found:#?}");
    }
}

#[test]
fn a_red_run_names_the_case_the_rule_the_line_and_the_replay() {
    let _ = Nack::new()
        .run(&["run", "outbox/deliver", "outbox/decide", "--defect", "any-answer-is-success"])
        .code(1)
        .says("outbox/deliver/other+other")
        .says("outbox/deliver/other+other/does=null")
        .says("the outcome is what the table says about what the transport did")
        .says("contracts/outbox.toml:")
        .says("nack replay outbox/deliver/other+other --seed 0 --defect any-answer-is-success");
}

#[test]
fn the_replay_line_of_a_red_case_is_red_again() {
    let nack = Nack::new();
    let _ = nack.run(&["run", "outbox", "--defect", "claim-in-two-writes", "--report", "json=red.json"]).code(1);
    let report = json(&nack, "red.json");
    let red: Vec<&serde_json::Value> =
        report["cases"].as_array().expect("cases").iter().filter(|case| case["verdict"] == "fail").collect();
    assert!(!red.is_empty());
    for case in red {
        let line = case["replay"].as_str().expect("a replay line");
        let args: Vec<&str> = line.split_whitespace().skip(1).collect();
        let _ = nack.run(&args).code(1);
    }
}

#[test]
fn a_kept_case_replays_from_its_file() {
    let nack = Nack::new();
    let case = "outbox/deliver/permanent+permanent";
    let defect = ["--defect", "permanent-retried"];
    let _ = nack.run(&[&["run", case, "--keep", "kept"], &defect[..]].concat()).code(1);
    let file = "kept/outbox__deliver__permanent+permanent/case.json";
    let _ = nack.run(&[&["replay", file], &defect[..]].concat()).code(1).says(case);
    let _ = nack.run(&["replay", file]).code(0);
    nack.write("broken.json", "{ \"format\": 1,\n \"x\" }");
    let _ = nack.run(&["replay", "broken.json"]).code(2).says("broken.json:2");
}

#[test]
fn keeping_a_case_overwrites_nothing() {
    let nack = Nack::new();
    let mine = nack.write("kept/outbox__deliver__permanent+permanent/mine.txt", "mine");
    let case = "outbox/deliver/permanent+permanent";
    let _ = nack.run(&["run", case, "--keep", "kept", "--defect", "permanent-retried"]).code(1);
    assert_eq!(std::fs::read_to_string(mine).expect("it is still there"), "mine");
    assert!(nack.path().join("kept/outbox__deliver__permanent+permanent-2/case.json").is_file());
}

#[test]
fn an_invariant_that_never_ends_is_interrupted() {
    let nack = Nack::new();
    let relay = include_str!("../../../../contracts/order-relay.toml");
    let endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r WHERE n < 0";
    let at = relay.find("\nsql  = \"SELECT s.n").expect("the invariant event-intact");
    let end = at + 1 + relay[at + 1..].find('\n').expect("its line ends");
    nack.write("mine/order-relay.toml", &format!("{}\nsql  = \"{endless}\"{}", &relay[..at], &relay[end..]));
    let began = std::time::Instant::now();
    let args = ["run", "order-relay/empty", "--subject", "reference", "--contracts", "mine"];
    let _ = nack.run(&args).code(3).says("interrupted");
    assert!(began.elapsed() < std::time::Duration::from_secs(60));
}

#[test]
fn shards_are_disjoint_and_make_the_whole() {
    let nack = Nack::new();
    let names = |args: &[&str]| -> Vec<String> {
        let _ = nack.run(&[&["run", "order-consumer", "--report", "json=s.json"], args].concat()).code(0);
        let cases = json(&nack, "s.json")["cases"].clone();
        cases.as_array().expect("cases").iter().map(|case| case["name"].as_str().expect("a name").to_owned()).collect()
    };
    let whole = names(&[]);
    let mut parts: Vec<String> = ["1/3", "2/3", "3/3"].iter().flat_map(|shard| names(&["--shard", shard])).collect();
    assert_eq!(parts.len(), whole.len());
    parts.sort();
    let mut sorted = whole.clone();
    sorted.sort();
    assert_eq!(parts, sorted);
}

#[test]
fn a_case_is_explained_with_its_row_its_rule_and_its_steps() {
    insta::assert_snapshot!(Nack::new().run(&["explain", "outbox/crash/after-send+kill"]).code(0).stdout);
}

#[test]
fn a_drifted_contract_is_refused() {
    let nack = Nack::new();
    let relay = include_str!("../../../../contracts/order-relay.toml");
    nack.write("contracts/order-relay.toml", relay);
    let _ = nack.run(&["check", "--locked"]).code(2).says("lock/missing");
    let _ = nack.run(&["freeze"]).code(0);
    let _ = nack.run(&["check", "--locked"]).code(0);
    nack.write(
        "contracts/order-relay.toml",
        &relay.replacen(
            "[\"raised\",    \"some\", \"raised\",                      { _error = \"any\" }, false, 1]",
            "[\"raised\",    \"some\", \"raised\",                      { _error = \"any\" }, true,  1]",
            1,
        ),
    );
    let _ = nack.run(&["check", "--locked"]).code(2).says("lock/drift").says("order-relay");
}
