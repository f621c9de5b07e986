//! Twenty changes, ten of which weaken, and some more that are easy to get wrong.

use nack_contracts::diff::{Change, Direction, diff};
use nack_contracts::{Contract, Source};
use rstest::rstest;

pub(crate) const OUTBOX: &str = include_str!("../../outbox.toml");

/// One prepared change: its name, its edits, and what it counts as: the rule and the place of each change that weakens
/// or strengthens.
pub(crate) struct Prepared {
    pub(crate) name: &'static str,
    edits: &'static [(&'static str, &'static str)],
    pub(crate) counts: &'static [(&'static str, &'static str)],
}

/// Ten that weaken.
pub(crate) const WEAKENING: [Prepared; 10] = [
    Prepared {
        name: "an unknown result may succeed",
        edits: &[(r#""other",     "*",             "dead"]"#, r#""other",     "*",             "sent"]"#)],
        counts: &[("weakened/success", "table.decide.other")],
    },
    Prepared {
        name: "a word that was any other value succeeds",
        edits: &[
            (
                "[domain.result]\nvalues = [\"accepted\", \"transient\", \"permanent\"]",
                "[domain.result]\nvalues = [\"accepted\", \"transient\", \"permanent\", \"ok\"]",
            ),
            ("ok       = \"ok\"\n", ""),
            (r#""accepted",  "below", "#, r#"["accepted", "ok"],  "below", "#),
            (r#""accepted",  ["at", "above"],"#, r#"["accepted", "ok"],  ["at", "above"],"#),
            (
                r#"["after-record-other",     "after_record", "other","#,
                r#"["after-record-other",     "after_record", ["other", "ok"],"#,
            ),
        ],
        counts: &[
            ("weakened/sample", "domain.does.other.ok"),
            ("weakened/success", "table.decide.accepted-at-max"),
            ("weakened/success", "table.decide.accepted-below-max"),
        ],
    },
    Prepared {
        name: "a refused cell gives a word",
        edits: &[(r#"{ _error = "not_inflight" }]"#, r#""dead"]"#)],
        counts: &[("weakened/cell", "table.decide.not-inflight")],
    },
    Prepared {
        name: "the budget is raised",
        edits: &[("budget = 5 ", "budget = 9 "), ("below-max/attempts=4", "below-max/attempts=8")],
        counts: &[("weakened/param", "param.budget")],
    },
    Prepared {
        name: "a sample is gone",
        edits: &[("upper    = \"ACCEPTED\"\n", "")],
        counts: &[("weakened/sample", "domain.does.other.upper"), ("weakened/sample", "domain.result.other.upper")],
    },
    Prepared {
        name: "an invariant is gone, and its mutants have other checks",
        edits: &[
            ("[[invariant]]\nname = \"payload-intact\"", "[[resolved]]\nquestion = \"payload-intact\""),
            ("why  = \"What was sent is what was stored, byte for byte.\"\n", "choice = \"gone\"\n"),
            (
                "sql  = \"SELECT s.n, s.id FROM send s LEFT JOIN outbox_given g ON g.id = s.id WHERE s.payload IS NOT g.payload\"",
                "why = \"gone\"",
            ),
            ("by        = \"invariant:payload-intact\"", "by        = \"expect\""),
        ],
        counts: &[
            ("strengthened/by", "mutant.payload-reencoded"),
            ("weakened/by", "mutant.payload-reencoded"),
            ("weakened/invariant", "invariant.payload-intact"),
        ],
    },
    Prepared {
        name: "a capability is newly required",
        edits: &[("name  = \"budget\"\n", "name  = \"budget\"\nneeds = [\"lease\"]\n")],
        counts: &[("weakened/needs", "scenario.budget")],
    },
    Prepared {
        name: "a banned word is free again",
        edits: &[("\"failed\", \"error\"]", "\"failed\"]")],
        counts: &[("weakened/banned", "banned")],
    },
    Prepared {
        name: "what is expected says less",
        edits: &[(r#"state = "$next", attempts = "$attempts" }]"#, r#"state = "$next" }]"#)],
        counts: &[("weakened/expect", "scenario.deliver")],
    },
    Prepared {
        name: "a limit is added",
        edits: &[("limits     = [\n", "limits     = [\n  \"rows older than a day\",\n")],
        counts: &[("weakened/limits", "limits")],
    },
];

/// Ten that do not.
pub(crate) const HARMLESS: [Prepared; 10] = [
    Prepared {
        name: "a row is split, and its mutants name a part",
        edits: &[
            (
                r#"  ["transient-at-max",    "inflight",                           "transient", ["at", "above"], "dead"],"#,
                "  [\"transient-at\", \"inflight\", \"transient\", \"at\", \"dead\"],\n  [\"transient-over\", \"inflight\", \"transient\", \"above\", \"dead\"],",
            ),
            ("transient+transient-at-max", "transient+transient-at"),
        ],
        counts: &[],
    },
    Prepared {
        name: "two rows are one",
        edits: &[
            (
                r#"  ["accepted-below-max",  "inflight",                           "accepted",  "below",         "sent"],"#,
                r#"  ["accepted",  "inflight",                           "accepted",  "*",         "sent"],"#,
            ),
            (
                "  [\"accepted-at-max\",     \"inflight\",                           \"accepted\",  [\"at\", \"above\"], \"sent\"],\n",
                "",
            ),
            ("accepted+accepted-at-max", "accepted+accepted"),
            ("accepted+accepted-below-max", "accepted+accepted"),
        ],
        counts: &[],
    },
    Prepared {
        name: "a success is refused",
        edits: &[(r#""accepted",  ["at", "above"], "sent"]"#, r#""accepted",  ["at", "above"], "dead"]"#)],
        counts: &[("strengthened/success", "table.decide.accepted-at-max")],
    },
    Prepared {
        name: "a sample is new",
        edits: &[("number   = 200\n", "number   = 200\nfloat    = 200.5\n")],
        counts: &[
            ("strengthened/sample", "domain.does.other.float"),
            ("strengthened/sample", "domain.result.other.float"),
        ],
    },
    Prepared {
        name: "the budget is lowered",
        edits: &[("budget = 5 ", "budget = 3 "), ("below-max/attempts=4", "below-max/attempts=2")],
        counts: &[("strengthened/param", "param.budget")],
    },
    Prepared {
        name: "an invariant is new",
        edits: &[(
            "[[invariant]]\nname = \"payload-intact\"",
            "[[invariant]]\nname = \"ids\"\nwhy  = \"A row has an id.\"\nsql  = \"SELECT state FROM outbox WHERE id IS NULL\"\n[[invariant]]\nname = \"payload-intact\"",
        )],
        counts: &[("strengthened/invariant", "invariant.ids")],
    },
    Prepared {
        name: "a capability is no longer required",
        edits: &[(
            "name  = \"recover\"\nwhy   = \"After the crash and the end of the lease another pass finishes the row; a second send carries the same id.\"\nbind  = [\"crash\", \"fault\"]\nneeds = [\"lease\"]\n",
            "name  = \"recover\"\nwhy   = \"After the crash and the end of the lease another pass finishes the row; a second send carries the same id.\"\nbind  = [\"crash\", \"fault\"]\n",
        )],
        counts: &[("strengthened/needs", "scenario.recover")],
    },
    Prepared {
        name: "more samples become cases",
        edits: &[(
            "where = { at = [\"after_claim\", \"after_send\", \"after_record\"] }\nvary  = \"none\"\n",
            "where = { at = [\"after_claim\", \"after_send\", \"after_record\"] }\n",
        )],
        counts: &[("strengthened/vary", "scenario.crash")],
    },
    Prepared {
        name: "sentences and the owner are others, and an invariant is laid out anew",
        edits: &[
            ("owner      = \"the on-call engineer", "owner      = \"whoever is on call, the engineer"),
            (
                "why  = \"What was sent is what was stored, byte for byte.\"",
                "why  = \"Byte for byte, what was stored is what was sent.\"",
            ),
            (
                "sql  = \"SELECT s.n, s.id FROM send s LEFT JOIN outbox_given g ON g.id = s.id WHERE s.payload IS NOT g.payload\"",
                "sql  = \"\"\"\nselect s.n, s.id\nfrom send s left join outbox_given g on g.id=s.id -- as it was given\nwhere s.payload is not g.payload;\"\"\"",
            ),
        ],
        counts: &[],
    },
    Prepared {
        name: "what is expected says more",
        edits: &[(
            r#"{ outbox = [{ id = "m-1", state = "$after" }], send = "$sends" } },"#,
            r#"{ outbox = [{ id = "m-1", state = "$after", attempts = 1 }], send = "$sends" } },"#,
        )],
        counts: &[("strengthened/expect", "scenario.crash")],
    },
];

/// All twenty, by number.
pub(crate) fn prepared(number: usize) -> &'static Prepared {
    WEAKENING.iter().chain(&HARMLESS).nth(number).expect("there are twenty")
}

fn read(text: &str) -> Contract {
    let source = Source::new("outbox.toml", text);
    Contract::read(source, &Default::default()).unwrap_or_else(|findings| panic!("{findings:#?}"))
}

impl Prepared {
    /// The outbox with this change.
    pub(crate) fn text(&self) -> String {
        self.edits.iter().fold(OUTBOX.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{}: there is no {from}", self.name);
            // Names of cases are written more than once.
            if from.contains('\n') || from.contains('=') || from.contains(',') {
                text.replacen(from, to, 1)
            } else {
                text.replace(from, to)
            }
        })
    }
}

/// What counts, sorted.
pub(crate) fn counted(changes: &[Change]) -> Vec<(String, String)> {
    let counts = |change: &&Change| matches!(change.direction, Direction::Weakened | Direction::Strengthened);
    let mut out: Vec<_> = changes.iter().filter(counts).map(|c| (c.rule.clone(), c.at.clone())).collect();
    out.sort();
    out
}

pub(crate) fn between(base: &str, head: &str) -> Vec<Change> {
    diff(&read(base), &read(head))
}

#[rstest]
fn every_prepared_change_counts_as_what_it_is(
    #[values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19)] number: usize,
) {
    let change = prepared(number);
    let changes = between(OUTBOX, &change.text());
    let expected: Vec<_> = change.counts.iter().map(|(rule, at)| ((*rule).to_owned(), (*at).to_owned())).collect();
    assert_eq!(counted(&changes), expected, "{}: {changes:#?}", change.name);
    assert_eq!(changes.iter().any(Change::refuses), number < WEAKENING.len(), "{}", change.name);
    assert!(!changes.is_empty(), "{} is seen", change.name);
}

#[test]
fn a_contract_beside_itself_has_no_change() {
    for source in nack_contracts::shipped() {
        let contract = Contract::read(source, &Default::default()).expect("it reads");
        assert_eq!(diff(&contract, &contract), []);
    }
}
