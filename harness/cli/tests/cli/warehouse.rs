//! The rules as SQL: the same history gives the same violations in nack's own engine, in SQLite, PostgreSQL, DuckDB and
//! Spark.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use rstest::rstest;

use crate::common::Nack;

/// What one kind of violation came to: how many, and the first five lines.
type Found = BTreeMap<String, (u64, Vec<u64>)>;

/// The exit code of the script for an engine that is not there.
const ABSENT: i32 = 42;

/// Many lines of many keys, with every kind of violation and of line that cannot be judged among them. Its column `n` is
/// the line that each stands on.
fn tangled() -> String {
    let mut lines = "n,id,at,from,result,attempts,to,payload\n".to_owned();
    let mut state = 7u64;
    for n in 2..8_000u64 {
        let mut roll = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let key = roll(900);
        let from = ["pending", "inflight", "inflight", "sent", "dead", "", "flying"]
            [roll(200).saturating_sub(193).max(roll(5))];
        let to = ["pending", "inflight", "sent", "dead", "Sent"][roll(100).saturating_sub(95).max(roll(4))];
        let result = ["accepted", "transient", "permanent", "", "ok", "it's \\ \"odd\""][roll(6)];
        let attempts = ["1", "2", "3", "4", "5", "6", "0", ""][roll(8)];
        let payload = ["p", "p", "p", "q", ""][roll(5)];
        let at = 1_800_000_000 + n * 3 - roll(40) as u64;
        let result = result.replace('"', "\"\"");
        lines += &format!("{n},m-{key},{at},{from},\"{result}\",{attempts},{to},{payload}\n");
    }
    lines
}

fn by_nack(nack: &Nack) -> Found {
    let _ = nack.run(&["audit", "outbox", "--log", "moves.csv", "--report", "json=own.json", "-q"]).code(1);
    let text = std::fs::read_to_string(nack.path().join("own.json")).expect("it was written");
    let report: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let mut out = Found::new();
    for case in report["cases"].as_array().expect("cases") {
        let found = &case["found"];
        let lines: Vec<u64> = found["offenders"].as_array().map_or(Vec::new(), |offenders| {
            let line = |place: &str| place.rsplit(':').next().and_then(|line| line.parse().ok());
            offenders.iter().filter_map(|offender| line(offender["place"].as_str()?)).collect()
        });
        let name = case["name"].as_str().expect("a name").trim_start_matches("outbox/audit/").to_owned();
        if let Some(broken) = found["broken"].as_u64().filter(|broken| *broken > 0) {
            out.insert(name, (broken, lines));
        }
    }
    out
}

/// What the queries return in an engine; nothing, and said so, if it is not there. In CI it must be.
fn by(nack: &Nack, engine: &str) -> Option<Found> {
    let sql = nack.run(&["audit", "outbox", "--emit-sql", engine, "--order", "n"]).code(0).stdout;
    nack.write("queries.sql", &sql);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/warehouse.py");
    let server =
        std::env::var("NACK_TEST_POSTGRES").unwrap_or("postgres://postgres@127.0.0.1:5432/postgres".to_owned());
    let mut command = Command::new("python3");
    command.arg(script).args([engine, "queries.sql", "moves.csv", &server]).current_dir(nack.path());
    let output = command.output().ok();
    let absent = output.as_ref().is_none_or(|output| output.status.code() == Some(ABSENT));
    if absent {
        assert!(std::env::var_os("CI").is_none(), "{engine} is required here");
        eprintln!("not covered: {engine} cannot be used from python3 here");
        return None;
    }
    let output = output?;
    let said = String::from_utf8_lossy(&output.stderr);
    if engine == "postgres" && said.contains("OperationalError") && std::env::var_os("CI").is_none() {
        eprintln!("not covered: no PostgreSQL is reachable");
        return None;
    }
    assert!(output.status.success(), "{engine}: {said}");
    Some(serde_json::from_slice(&output.stdout).expect("the script prints JSON"))
}

#[rstest]
#[case("sqlite")]
#[case("postgres")]
#[case("duckdb")]
#[case("spark")]
fn the_same_history_gives_the_same_violations_in(#[case] engine: &str) {
    let nack = Nack::new();
    nack.write("moves.csv", &tangled());
    let own = by_nack(&nack);
    assert!(own.len() > 20, "every kind of violation is there: {own:#?}");
    let Some(theirs) = by(&nack, engine) else { return };
    // An engine names the column of a line that cannot be judged; nack counts these by kind.
    let mut merged = Found::new();
    for (name, (count, lines)) in theirs {
        let name = name.split(' ').next().unwrap_or_default().to_owned();
        let entry = merged.entry(name).or_default();
        entry.0 += count;
        entry.1.extend(lines);
        entry.1.sort_unstable();
        entry.1.truncate(5);
    }
    assert_eq!(merged, own);
}

#[test]
fn queries_are_named_and_say_what_they_cannot_cover() {
    let nack = Nack::new();
    let _ = nack
        .run(&[
            "audit",
            "outbox",
            "--emit-sql",
            "duckdb",
            "--table",
            "logs.moves",
            "--without",
            "payload",
            "--column",
            "to=new state",
        ])
        .code(0)
        .says("-- decided: What an attempt came to is what the table says")
        .says("FROM \"logs\".\"moves\"")
        .says("CAST(\"new state\" AS TEXT)")
        .says("-- payload: not covered: the log has no column for payload");
    let _ = nack.run(&["audit", "outbox", "--emit-sql", "duck"]).code(2).says("did you mean `duckdb`?");
    let _ = nack.run(&["audit", "outbox", "--emit-sql", "duckdb", "--without", "id"]).code(2).says("without `id`");
}
