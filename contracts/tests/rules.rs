//! Every lint rule, by its stable id: one small change to a clean contract, and the finding it must give.

use indexmap::IndexMap;
use nack_contracts::lint::{apply_accepts, lint};
use nack_contracts::{Contract, Finding, Source};
use rstest::rstest;

const CLEAN: &str = r#"
format = 1
name   = "door"
title  = "The door opens for one word"
owner  = "the doorman"
banned = ["ok"]
[capability]
keyed = "the door has a key"
[param]
tries = 3
[store.visits]
columns = { word = "text", at = "time?" }
default = { at = 0 }
[effect.bell]
id      = "word"
columns = { word = "text" }
answers = ["rung"]
[call.knock]
args    = { word = "text", times = "int" }
default = { times = 1 }
reply   = "door"
effects = ["bell"]
checkpoints = ["inside", "left"]
between = ["inside", "left"]
[domain.rung]
values = ["rung"]
[domain.door]
values = ["open", "shut"]
[domain.word]
values = ["please"]
other  = { upper = "PLEASE", nothing = "" }
[domain.times]
ranges = { few = "1..=$tries", many = "4.." }
[table.knock]
inputs  = ["word", "times"]
outputs = ["door"]
success = { door = ["open"] }
needs   = { many = ["keyed"] }
rows = [
  ["polite", "please", "few", "open"],
  ["many",   "please", "many", "shut"],
  ["other",  "other",  "*",    "shut"],
]
[[scenario]]
name  = "knock"
why   = "Only the one word opens the door."
bind  = ["knock"]
steps = [{ call = "knock", args = { word = "$word", times = "$times" }, reply = "$door" }, { expect = { visits = 0, bell = 0 } }]
[[invariant]]
name = "no-blank"
why  = "A visit has a word."
sql  = "SELECT word FROM visits WHERE word = ''"
[audit]
why     = "One line a visit."
key     = "who"
time    = "at"
begins  = { said = "please" }
columns = { who = "id", at = "time", said = "word", times = "int", door = "door" }
also    = { who = ["guest"] }
[[audit.rule]]
name  = "opened"
why   = "The door did what the table says."
table = "knock"
given = { word = "$said", times = "$since.times + 1" }
found = { door = "$door" }
[[audit.standing]]
name = "stays"
why  = "A visit ends."
sql  = "SELECT v.word FROM visits v, clock WHERE v.at < clock.now - 3600"
"#;

fn findings(text: &str) -> Vec<Finding> {
    match Contract::read(Source::new("door.toml", text), &IndexMap::new()) {
        Ok(contract) => apply_accepts(&contract, lint(&contract)),
        Err(findings) => findings,
    }
}

#[test]
fn the_clean_contract_is_clean() {
    assert_eq!(findings(CLEAN), []);
}

#[test]
fn an_audit_that_no_line_can_break_is_vacuous() {
    let shut = CLEAN.replace("\"few\", \"open\"", "\"few\", \"shut\"");
    let text = shut.replace("found = { door = \"$door\" }", "found = { door = \"shut\" }");
    assert!(findings(&text).iter().any(|finding| finding.rule == "audit/vacuous"), "{:?}", findings(&text));
}

#[rstest]
#[case::broken_toml("format = 1", "format = ", "format/toml")]
#[case::unknown_format("format = 1", "format = 2", "format/version")]
#[case::no_owner("owner  = \"the doorman\"", "", "format/missing")]
#[case::blank_owner("\"the doorman\"", "\" \"", "format/missing")]
#[case::unknown_key("banned =", "bannned =", "format/unknown-key")]
#[case::unknown_key_below("reply   = \"door\"", "replies = \"door\"", "format/unknown-key")]
#[case::wrong_type("banned = [\"ok\"]", "banned = 7", "format/type")]
#[case::bad_name("name   = \"door\"", "name   = \"Door\"", "format/name")]
#[case::param_with_a_dash("tries = 3", "tri-es = 3", "format/name")]
#[case::unknown_type("word = \"text\", at", "word = \"txt\", at", "format/reference")]
#[case::unknown_effect("effects = [\"bell\"]", "effects = [\"bel\"]", "format/reference")]
#[case::checkpoint_by_a_caller_s_name("\"inside\", \"left\"", "\"inside\", \"left\", \"reply\"", "format/name")]
#[case::between_one_point("between = [\"inside\", \"left\"]", "between = [\"inside\"]", "format/value")]
#[case::between_nothing_passed("between = [\"inside\", \"left\"]", "between = [\"inside\", \"gone\"]", "call/between")]
#[case::between_backwards("between = [\"inside\", \"left\"]", "between = [\"left\", \"inside\"]", "call/between")]
#[case::effect_by_nothing_passed(
    "answers = [\"rung\"]",
    "answers = [\"rung\"]\nbetween = [\"inside\", \"rang\"]",
    "call/between"
)]
#[case::unknown_capability("many = [\"keyed\"]", "many = [\"key\"]", "format/reference")]
#[case::date("default = { at = 0 }", "default = { at = 2026-01-01 }", "format/value")]
#[case::capability_without_why("keyed = \"the door has a key\"", "keyed = \"\"", "format/missing")]
#[case::adapter_capability("keyed = \"the door has a key\"", "keyed = \"k\"\nhttp = \"h\"", "capability/adapter")]
#[case::unused_capability("many = [\"keyed\"]", "", "capability/unused")]
#[case::unused_param("1..=$tries", "1..=3", "param/unused")]
#[case::shadowing_param("tries = 3", "tries = 3\ntimes = 1", "param/shadows")]
#[case::hole("many = \"4..\"", "many = \"5..\"", "domain/range-touch")]
#[case::both_ends_closed("many = \"4..\"", "many = \"3..\"", "domain/range-touch")]
#[case::both_ends_open("few = \"1..=$tries\"", "few = \"1..\"", "domain/range-touch")]
#[case::empty_range("few = \"1..=$tries\"", "few = \"9..=$tries\"", "domain/range-empty")]
#[case::no_range("many = \"4..\"", "many = \"4..9\"", "domain/range")]
#[case::value_twice("other  = { upper = \"PLEASE\"", "other  = { upper = \"please\"", "domain/value-twice")]
#[case::label_twice("other  = { upper", "other  = { please", "domain/label-twice")]
#[case::unused_domain("[domain.rung]", "[domain.idle]\nvalues = [\"x\"]\n[domain.rung]", "domain/unused")]
#[case::circle("[domain.door]\nvalues = [\"open\", \"shut\"]", "[domain.door]\nlike = \"door\"", "domain/circle")]
#[case::gap("  [\"other\",  \"other\",  \"*\",    \"shut\"],\n", "", "table/gap")]
#[case::mergeable("\"many\", \"shut\"]", "\"many\", \"open\"]", "table/mergeable")]
#[case::conflict(
    "[\"many\",   \"please\", \"many\", \"shut\"]",
    "[\"many\", \"please\", \"*\", \"shut\"]",
    "table/conflict"
)]
#[case::duplicate("[\"other\",  \"other\",", "[\"other\", [\"other\", \"please\"],", "table/duplicate")]
#[case::unreachable("rows = [", "rows = [\n[\"same\", \"please\", \"few\", \"open\"],", "table/unreachable")]
#[case::open_success(
    "[\"other\",  \"other\",  \"*\",    \"shut\"]",
    "[\"other\", \"other\", \"*\", \"open\"]",
    "table/open-success"
)]
#[case::unknown_word("\"few\", \"open\"", "\"few\", \"opne\"", "table/word")]
#[case::unknown_class("\"please\", \"many\"", "\"please\", \"lots\"", "table/word")]
#[case::cells("\"please\", \"few\", \"open\"", "\"please\", \"few\"", "table/cells")]
#[case::row_twice("[\"many\",", "[\"polite\",", "table/row-twice")]
#[case::never_gives("outputs = [\"door\"]", "outputs = [\"door\"]\nundefended = { many = \"\" }", "format/missing")]
#[case::audit_of_no_table("table = \"knock\"", "table = \"knok\"", "format/reference")]
#[case::audit_of_no_input("given = { word =", "given = { wrd =", "format/reference")]
#[case::audit_by_no_column("\"$said\"", "\"$sad\"", "format/reference")]
#[case::audit_of_nothing_before("$since.times", "$sinc.times", "format/reference")]
#[case::audit_of_no_number("$since.times + 1", "$since.said", "format/type")]
#[case::audit_of_a_negative("$since.times + 1", "-$times", "audit/term")]
#[case::audit_without_key("key     = \"who\"", "", "format/missing")]
#[case::audit_of_a_blank_key("who = \"id\"", "who = \"id?\"", "audit/key")]
#[case::audit_of_no_time("at = \"time\", said", "at = \"int\", said", "audit/time")]
#[case::audit_of_an_unread_column("door = \"door\" }", "door = \"door\", more = \"text\" }", "audit/unused")]
#[case::audit_that_finds_nothing("found = { door = \"$door\" }", "", "format/missing")]
#[case::standing_sql("v.at < clock.now", "v.when < clock.now", "sql/prepare")]
#[case::standing_of_no_store("FROM visits v, clock", "FROM visits_given v, clock", "sql/prepare")]
#[case::audit_without_input("given = { word = \"$said\", times = \"$since.times + 1\" }", "", "audit/blind")]
#[case::audit_that_begins_nowhere(
    "begins  = { said = \"please\" }",
    "begins  = { said = \"pls\" }",
    "format/reference"
)]
#[case::banned_word("values = [\"open\", \"shut\"]", "values = [\"open\", \"shut\", \"OK\"]", "word/banned")]
#[case::broken_sql("WHERE word = ''", "WHERE wrod = ''", "sql/prepare")]
#[case::writing_sql("SELECT word FROM visits WHERE word = ''", "DELETE FROM visits", "sql/prepare")]
#[case::attaching_sql("SELECT word FROM visits WHERE word = ''", "ATTACH DATABASE 'x' AS y", "sql/prepare")]
#[case::pragma_as_sql("SELECT word FROM visits WHERE word = ''", "PRAGMA journal_mode", "sql/prepare")]
#[case::range_at_the_end_of_the_integers("many = \"4..\"", "many = \"9223372036854775807..\"", "domain/range-touch")]
#[case::accept_of_nothing(
    "[[scenario]]",
    "[[accept]]\nrule = \"table/gap\"\nat = \"table.knock\"\nwhy = \"no\"\n[[scenario]]",
    "accept/unused"
)]
fn each_rule_finds_its_fault(#[case] from: &str, #[case] to: &str, #[case] rule: &str) {
    let text = CLEAN.replacen(from, to, 1);
    assert_ne!(text, CLEAN, "the change changes something");
    let found = findings(&text);
    let hit = found.iter().find(|finding| finding.rule == rule);
    let hit = hit.unwrap_or_else(|| panic!("{rule} is not among {found:#?}"));
    assert!(hit.span().start <= text.len(), "it has a place: {hit:?}");
    assert!(!hit.message.is_empty());
}

#[test]
fn an_accepted_finding_is_gone() {
    let gap = CLEAN.replacen("  [\"other\",  \"other\",  \"*\",    \"shut\"],\n", "", 1);
    let accept =
        "[[accept]]\nrule = \"table/gap\"\nat = \"table.knock\"\nwhy = \"nobody knocks that often\"\n[[scenario]]";
    let rules = |text: &str| findings(text).into_iter().map(|finding| finding.rule).collect::<Vec<_>>();
    assert!(rules(&gap).contains(&"table/gap"));
    assert!(!rules(&gap.replacen("[[scenario]]", accept, 1)).contains(&"table/gap"));
}
