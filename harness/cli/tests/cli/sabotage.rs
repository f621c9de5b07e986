//! `nack prove` on a set-up of the user's own: what is falsified behind the subject's back is noticed, and a binding that
//! looks away is told where it is blind.

use std::fs;

use rstest::rstest;
use serde_json::Value;

use crate::common::Nack;
use crate::python::workers;
use crate::subjects::python;

const OBSERVE: &str = "SELECT id, state, attempts, payload, created, leased_until FROM outbox ORDER BY rowid";

/// The Python outbox worker with these lines more in its section.
fn bound(lines: &str) -> Nack {
    let nack = workers();
    nack.write(
        "nack.toml",
        &format!(
            "[subject.outbox]\ncontract = \"outbox\"\nadapter = \"stdio\"\nstore = \"sqlite:app.db\"\nsetup = \"outbox.sql\"\n\
             command = [\"python3\", \"-S\", \"outbox_worker.py\", \"--nack\"]\n{lines}\n"
        ),
    );
    nack
}

#[test]
fn every_sabotage_of_a_python_worker_is_noticed() {
    if !python() {
        return;
    }
    let nack = bound(&format!("observe.outbox = \"{OBSERVE}\""));
    let _ = nack.run(&["prove", "outbox/deliver", "outbox/claim-no", "--report", "json=proof.json"]).code(0);
    let text = fs::read_to_string(nack.path().join("proof.json")).expect("it was written");
    let report: Value = serde_json::from_str(&text).expect("it is JSON");
    let of = |fate: &str| -> Vec<&str> {
        let all = report["proof"]["sabotage"].as_array().expect("it lists them").iter();
        all.filter(|sabotage| sabotage["fate"] == fate).map(|s| s["kind"].as_str().expect("a name")).collect()
    };
    assert_eq!(of("blind"), Vec::<&str>::new());
    let noticed = [
        "answer-swapped",
        "commit-lost",
        "delivery-doubled",
        "delivery-swallowed",
        "row-flipped",
        "terminal-reopened",
        "reply-changed",
        "time-moved",
    ];
    assert_eq!(of("convicted"), noticed);
}

#[rstest]
#[case::a_constant("state,", "'sent' AS state,", "outbox.state was seeded as \"pending\" and is observed as \"sent\"")]
#[case::nothing("ORDER", "WHERE 0 ORDER", "1 rows of outbox were seeded, and 0 are observed")]
fn a_query_that_looks_away_is_convicted(#[case] from: &str, #[case] to: &str, #[case] says: &str) {
    if !python() {
        return;
    }
    let nack = bound(&format!("observe.outbox = \"{}\"", OBSERVE.replacen(from, to, 1)));
    let _ = nack.run(&["prove", "outbox/deliver/accepted+accepted-below-max"]).code(5).says("BLIND TO").says(says);
    let _ = nack.run(&["run", "outbox/deliver/accepted+accepted-below-max"]).code(3).says(says);
}

#[test]
fn a_seed_that_seeds_nothing_is_convicted() {
    if !python() {
        return;
    }
    let seed = "INSERT INTO outbox (id, state, attempts, payload, created, leased_until) SELECT :id, :state, :attempts, \
                :payload, :created, :leased_until WHERE 0";
    let nack = bound(&format!("seed.outbox = \"{seed}\"\nobserve.outbox = \"{OBSERVE}\""));
    let says = "1 rows of outbox were seeded, and 0 are observed";
    let _ = nack.run(&["prove", "outbox/deliver/accepted+accepted-below-max"]).code(5).says(says);
}
