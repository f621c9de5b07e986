//! Reports made by hand: one that is green, one that holds every kind of verdict, one with a proof, and any of them with
//! one text in all its strings.

use indexmap::IndexMap;
use nack_reports::{
    Because, BecauseKind, CaseReport, CellFate, CellReport, Check, ContractInfo, Counts, Fate, Kill, Moment,
    MutantReport, Null, Place, Proof, Report, SabotageFate, SabotageReport, SubjectInfo, Verdict,
};
use serde_json::Value;

/// What a subject may say to whoever reads its report.
pub(crate) const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;mine\u{7}\u{202e}tnes\u{0} @octocat closes #1 | `<script>alert(1)</script>` \
                           [x](https://evil.example) ]]> www.evil.example\r\n```\n# All 9 cases passed\n\u{9b}31m";

pub(crate) fn place(line: usize) -> Place {
    Place { file: "contracts/outbox.toml".to_owned(), line }
}

pub(crate) fn because(kind: BecauseKind, detail: &str) -> Option<Because> {
    Some(Because { kind, detail: detail.to_owned() })
}

pub(crate) fn check(name: &str, held: Option<bool>, words: &str, expected: &str, observed: &str) -> Check {
    let [name, words, expected, observed] = [name, words, expected, observed].map(str::to_owned);
    Check { name, held, words, expected, observed }
}

pub(crate) fn moment(lane: &str, what: &str, fault: bool) -> Moment {
    Moment { lane: lane.to_owned(), what: what.to_owned(), fault }
}

/// A case that passed.
pub(crate) fn case(name: &str) -> CaseReport {
    CaseReport {
        name: name.to_owned(),
        subject: "reference".to_owned(),
        verdict: Verdict::Pass,
        because: None,
        rule: "deliver transport.other decide.other".to_owned(),
        why: "An answer that is not an explicit acceptance is never taken for one.".to_owned(),
        source: place(120),
        rows: vec![place(44), place(61)],
        samples: IndexMap::from([("does".to_owned(), "ok".to_owned()), ("attempts".to_owned(), "at".to_owned())]),
        fault: Vec::new(),
        points: None,
        checks: vec![check("reply", Some(true), "", "", ""), check("expect", Some(true), "", "", "")],
        broken: None,
        expected: None,
        observed: None,
        timeline: Vec::new(),
        said: Vec::new(),
        notes: Vec::new(),
        by_hand: Vec::new(),
        replay: format!("nack replay {name} --seed 7"),
        elapsed_us: 412,
    }
}

pub(crate) fn report(cases: Vec<CaseReport>, exit: u8) -> Report {
    let contract = |name: &str, digit: &str, overrides: &[(&str, i64)]| ContractInfo {
        name: name.to_owned(),
        version: 1,
        digest: digit.repeat(64),
        file: format!("contracts/{name}.toml"),
        overrides: overrides.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
    };
    let subject = |name: &str, contract: &str| SubjectInfo {
        name: name.to_owned(),
        contract: contract.to_owned(),
        adapter: "in-process".to_owned(),
        store: "sqlite".to_owned(),
        capabilities: vec!["lease".to_owned(), "history".to_owned()],
    };
    Report {
        format: 1,
        nack: "0.1.0".to_owned(),
        seed: 7,
        contracts: vec![contract("outbox", "a", &[("lease", 30)]), contract("order-relay", "b", &[])],
        subjects: vec![subject("reference", "outbox"), subject("reference", "order-relay")],
        counts: Counts::of(&cases),
        cases,
        proof: None,
        closing: vec![
            "exactly-once delivery: after a crash the same id may be sent twice".to_owned(),
            "that the named transport means what it says when it accepts".to_owned(),
        ],
        exit,
        elapsed_ms: 1_234,
    }
}

pub(crate) fn uncovered(name: &str, kind: BecauseKind, detail: &str) -> CaseReport {
    CaseReport { verdict: Verdict::NotCovered, because: because(kind, detail), checks: Vec::new(), ..case(name) }
}

/// A run in which everything that could be given held.
pub(crate) fn green() -> Report {
    let http = "http: the transport is an HTTP client, with a listener of the harness behind it";
    let history = check("invariant:attempts-only-grow", None, "not covered: history", "", "");
    report(
        vec![
            case("outbox/deliver/accepted"),
            CaseReport {
                notes: vec!["a stray line was skipped: \"starting\"".to_owned()],
                ..case("outbox/deliver/other")
            },
            uncovered("outbox/deliver/silent", BecauseKind::Capability, http),
            uncovered("outbox/deliver/cut", BecauseKind::Capability, http),
            uncovered("outbox/lease/now", BecauseKind::Clock, "clock: the worker's clock can be moved"),
            CaseReport {
                checks: vec![check("reply", Some(true), "", "", ""), history],
                ..case("order-relay/relay/once")
            },
        ],
        0,
    )
}

/// A case that failed by two checks after a kill.
pub(crate) fn failed() -> CaseReport {
    let expected = "outbox: (id=\"m-1\" state=\"dead\" attempts=5)";
    let observed = "outbox: (id=\"m-1\" state=\"sent\" attempts=5)";
    CaseReport {
        verdict: Verdict::Fail,
        fault: vec!["kill at after_send".to_owned()],
        points: Some(3),
        checks: vec![
            check("reply", Some(true), "", "", ""),
            check("expect", Some(false), "outbox does not hold exactly these rows, in this order", expected, observed),
            check(
                "invariant:sent-implies-accepted",
                Some(false),
                "A row is sent only if the transport said accepted for its id.",
                "no row breaks it",
                "broken by {\"id\":\"m-1\"}",
            ),
        ],
        expected: Some(expected.to_owned()),
        observed: Some(observed.to_owned()),
        timeline: vec![
            moment("caller", "calls deliver_one(worker=\"w-1\") on w-1", false),
            moment(
                "worker w-1",
                "before UPDATE outbox\n            SET state = 'inflight'\n          WHERE id = ?",
                false,
            ),
            moment("send", "w-1 asks {\"id\":\"m-1\"}; the answer is ok", false),
            moment("worker w-1", "is killed by copy here", true),
            moment("harness", "every worker is ended and starts afresh at its next call", false),
            moment("store", "is read back through a fresh connection", false),
        ],
        said: vec!["delivering m-1".to_owned(), "  200 ok".to_owned()],
        notes: vec!["the clock stands still".to_owned()],
        by_hand: vec!["curl -sS -i -X POST http://127.0.0.1:20001/deliver".to_owned(), "x".repeat(2001)],
        ..case("outbox/deliver/other+transient-at-max")
    }
}

/// A case whose subject does all it can to be believed.
pub(crate) fn hostile() -> CaseReport {
    CaseReport {
        verdict: Verdict::Fail,
        checks: vec![check("reply", Some(false), HOSTILE, "\"dead\"", HOSTILE)],
        expected: Some("\"dead\"".to_owned()),
        observed: Some(HOSTILE.to_owned()),
        timeline: vec![moment("worker w-1", HOSTILE, false)],
        said: vec![HOSTILE.to_owned()],
        notes: vec![HOSTILE.to_owned()],
        by_hand: vec![HOSTILE.to_owned()],
        ..case("outbox/decide/other")
    }
}

/// A run with every kind of verdict.
pub(crate) fn red() -> Report {
    let broken = "worker w-1 died on its own: signal 11";
    let mut cases = green().cases;
    cases.extend([
        failed(),
        hostile(),
        CaseReport {
            verdict: Verdict::Fail,
            broken: Some(broken.to_owned()),
            expected: Some("a subject that keeps to the protocol".to_owned()),
            observed: Some(broken.to_owned()),
            ..case("outbox/deliver/huge")
        },
        CaseReport { verdict: Verdict::Fail, checks: Vec::new(), ..case("outbox/deliver/unchecked") },
        CaseReport {
            verdict: Verdict::Inconclusive,
            because: because(BecauseKind::NotFired, "kill at after_send: w-1 never came there"),
            fault: vec!["kill at after_send".to_owned()],
            timeline: vec![moment("caller", "calls deliver_one(worker=\"w-1\") on w-1", false)],
            ..case("order-relay/crash/after-send+kill")
        },
        CaseReport {
            verdict: Verdict::Known,
            because: because(BecauseKind::Absent, "issue 12: the relay drops the ledger until the migration is done"),
            ..case("order-relay/relay/twice")
        },
    ]);
    report(cases, 1)
}

/// A proof with a mutant of each fate, a null subject and a vacuous case.
pub(crate) fn proof() -> Report {
    let kill = |expected: &str, by: &[&str], killed_by: Option<&str>, instead: Option<&str>| Kill {
        expected: expected.to_owned(),
        killed_by: killed_by.map(str::to_owned),
        by: by.iter().map(|check| (*check).to_owned()).collect(),
        instead: instead.map(str::to_owned),
    };
    let mutant = |name: &str, fate: Fate, kills: Vec<Kill>| MutantReport {
        name: name.to_owned(),
        defect: "an answer of \"ok\" counts as accepted".to_owned(),
        fate,
        kills,
        also_seen_by: Vec::new(),
        because: None,
        source: place(810),
    };
    let other = kill(
        "outbox/deliver/other",
        &["expect", "invariant:sent-implies-accepted"],
        Some("outbox/deliver/other+below"),
        None,
    );
    let decide = kill("outbox/decide/other", &["reply"], Some("outbox/decide/other"), None);
    let claim =
        kill("outbox/claim", &["expect"], None, Some("outbox/claim/two: red by vocabulary; outbox/claim/three: pass"));
    let sweep = kill("outbox/sweep", &["expect"], None, Some("not covered: the reference lacks sweep"));
    let proof = Proof {
        vacuous: vec!["outbox/lease/idle".to_owned()],
        nulls: vec![Null { name: "does-nothing".to_owned(), contract: "outbox".to_owned(), refused: 190, cases: 200 }],
        mutants: vec![
            MutantReport {
                also_seen_by: ["budget", "order", "payload/text", "sweep"].map(|case| format!("outbox/{case}")).into(),
                ..mutant("outbox/ok-counts", Fate::Killed, vec![other, decide.clone()])
            },
            mutant("outbox/claim-without-condition", Fate::Survived, vec![decide, claim]),
            MutantReport {
                because: because(BecauseKind::Capability, "sweep"),
                ..mutant("outbox/sent-before-send", Fate::NotCovered, vec![sweep])
            },
        ],
        cells: vec![
            cell("outbox/table.decide/other/next=sent", CellFate::Defended),
            cell("outbox/table.decide/accepted/next=dead", CellFate::Undefended),
            cell("outbox/table.wire/lost/result=other", CellFate::NotCovered),
        ],
        sabotage: vec![
            sabotage("commit-lost", SabotageFate::Convicted),
            sabotage("row-flipped", SabotageFate::Blind),
            sabotage("results-reordered", SabotageFate::Inapplicable),
        ],
    };
    Report { proof: Some(proof), ..report(Vec::new(), 5) }
}

fn cell(name: &str, fate: CellFate) -> CellReport {
    CellReport {
        name: name.to_owned(),
        what: "next of row `other` is sent instead of dead".to_owned(),
        fate,
        by: (fate == CellFate::Defended).then(|| "outbox/deliver/other+below".to_owned()),
        instead: (fate != CellFate::Defended).then(|| "none of 4 cases that read it turns red".to_owned()),
        source: Place { file: "contracts/outbox.toml".to_owned(), line: 77 },
    }
}

fn sabotage(kind: &str, fate: SabotageFate) -> SabotageReport {
    SabotageReport {
        subject: "mailer".to_owned(),
        contract: "outbox".to_owned(),
        kind: kind.to_owned(),
        what: "the store is put back to what it was before each call".to_owned(),
        fate,
        by: (fate == SabotageFate::Convicted).then(|| "outbox/deliver/other+below".to_owned()),
        why: (fate != SabotageFate::Convicted).then(|| "none of 4 cases that pass turns red".to_owned()),
    }
}

/// Everything at once.
pub(crate) fn everything() -> Report {
    Report { proof: proof().proof, ..red() }
}

/// Everything, with this text in every string that the model leaves free, names and keys included.
pub(crate) fn everywhere(text: &str) -> Report {
    fn fill(value: &mut Value, key: &str, text: &str) {
        match value {
            Value::String(_) if ["verdict", "kind", "fate"].contains(&key) => {}
            Value::String(string) => *string = text.to_owned(),
            Value::Array(items) => items.iter_mut().for_each(|item| fill(item, key, text)),
            Value::Object(fields) if ["samples", "overrides"].contains(&key) => {
                let values: Vec<Value> = std::mem::take(fields).into_iter().map(|(_, value)| value).collect();
                fields.extend(values.into_iter().take(1).map(|mut value| {
                    fill(&mut value, "", text);
                    (text.to_owned(), value)
                }));
            }
            Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| fill(value, key, text)),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(everything()).expect("JSON");
    fill(&mut value, "", text);
    serde_json::from_value(value).expect("a report")
}
