//! What a fault can strike, and where: a contract that asks for anything else is told so.

use indexmap::IndexMap;
use nack_cases::{At, FaultKind, Step, expand_all, steps_in_words};
use nack_contracts::{Contract, Source};
use rstest::rstest;

fn contract(at: &str, by: &str) -> Contract {
    let text = format!(
        r#"
format = 1
name   = "door"
title  = "The door opens"
owner  = "the doorman"
[store.visits]
columns = {{ word = "text" }}
[call.knock]
reply       = "any"
checkpoints = ["inside"]
[[scenario]]
name  = "knock"
why   = "Whatever happens, nobody is let in twice."
steps = [{{ call = "knock", fault = {{ at = "{at}", by = "{by}" }} }}, {{ expect = {{ visits = 0 }} }}]
"#
    );
    Contract::read(Source::new("door.toml", text), &IndexMap::new()).expect("it reads")
}

#[rstest]
#[case("inside", "kill", At::Checkpoint("inside".into()), FaultKind::Kill, "at inside it is killed")]
#[case("*", "raise", At::Everywhere, FaultKind::Raise, "at every point in turn an error is raised")]
#[case("request", "lost", At::Request, FaultKind::Lost, "once its request is sent its caller loses the answer")]
#[case("reply", "lost", At::Reply, FaultKind::Lost, "once its answer is sent its caller loses the answer")]
fn a_fault_is_read_with_its_place(
    #[case] at: &str,
    #[case] by: &str,
    #[case] place: At,
    #[case] kind: FaultKind,
    #[case] words: &str,
) {
    let cases = expand_all(&contract(at, by)).expect("it expands");
    let Step::Call(call) = &cases[0].steps[0] else { panic!("the first step is the call") };
    let fault = call.fault.as_ref().expect("it has a fault");
    assert_eq!((&fault.at, fault.by), (&place, kind));
    assert_eq!(steps_in_words(&cases[0])[0], format!("call knock(); {words}"));
}

#[rstest]
#[case::at_a_checkpoint("inside", "lost", "an answer is lost at `request` or at `reply`, and `inside` is neither")]
#[case::everywhere("*", "lost", "an answer is lost at `request` or at `reply`, and `*` is neither")]
#[case::killed_at_the_request(
    "request",
    "kill",
    "at `request` an answer can be lost and nothing else, so `kill` cannot strike there"
)]
#[case::no_such_checkpoint("outside", "kill", "`knock` passes no checkpoint `outside`")]
#[case::no_such_fault("inside", "loss", "there is no fault `loss`")]
fn a_fault_that_cannot_strike_there_is_refused(#[case] at: &str, #[case] by: &str, #[case] message: &str) {
    let findings = expand_all(&contract(at, by)).expect_err("it is refused");
    assert_eq!(findings[0].message, message);
}
