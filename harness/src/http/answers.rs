//! What a binding says of a downstream: what each word of the contract is over HTTP. From that and a case's answer
//! comes what the receiver does, or why this deployment cannot do it.

use std::fmt;

use indexmap::IndexMap;
use nack_cases::{Action, NetFault, Signal};
use nack_contracts::Value;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};

use super::columns::Columns;
use super::message::{Answer, Unsendable};
use super::receiver::What;

/// A receiver that stands for an effect, as `downstream.NAME` of a binding says it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Downstream {
    /// What it speaks.
    pub listen: Listen,
    /// Where the effect's columns stand in a request.
    pub columns: Columns,
    /// What the contract's words are.
    #[serde(default)]
    pub answers: Answers,
}

/// What a receiver speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Listen {
    /// HTTP.
    Http,
}

/// What each word of the contract is: one answer, or several that are samples of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Answers(IndexMap<String, Samples>);

/// One scripted answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Said")]
pub enum Scripted {
    /// `{ status = 202, body = '…', headers = { … } }`.
    Http(Answer),
    /// `{ net = "hang" }` and the like.
    Net(NetFault),
}

/// What the outside does about one use of an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Nobody listens.
    Refused,
    /// The address cannot be reached.
    Unreachable,
    /// The name does not resolve.
    NoName,
    /// The connection is reset before anything is read.
    ResetBefore,
    /// The request is read, and the caller gets this.
    Play(What),
    /// The request is read and never answered, and the worker gets this signal meanwhile.
    Signal(Signal),
}

/// Why an answer of a case cannot be given by this deployment.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unplayable {
    /// The binding does not say what the word is.
    #[error("the binding has no answer for {0}")]
    Word(Value),
    /// The binding has fewer samples of the word.
    #[error("the binding has no answer `{sample}`: of `{word}` it has {has}")]
    Sample {
        /// The word.
        word: String,
        /// The sample that was asked for.
        sample: String,
        /// How many there are.
        has: usize,
    },
    /// It is an error inside the worker, which no wire carries.
    #[error("an error raised inside the worker cannot come over HTTP")]
    Raised,
    /// HTTP cannot carry it.
    #[error(transparent)]
    Unsendable(#[from] Unsendable),
}

impl Answers {
    /// The words that have an answer, with how many samples each has.
    pub fn words(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|(word, samples)| (word.as_str(), samples.0.len()))
    }

    /// What the outside does to give this answer of a case. The sample of a word is chosen by its label: `WORD` is
    /// the first, `WORD-2` the second, and any other label means the first.
    ///
    /// # Errors
    /// When this deployment cannot give it.
    pub fn reaction(&self, answer: &nack_cases::Answer) -> Result<Reaction, Unplayable> {
        match &answer.does {
            Action::Return(Value::Text(word)) => {
                let samples = &self.0.get(word).ok_or_else(|| Unplayable::Word(word.as_str().into()))?.0;
                let chosen = samples.get(index(word, &answer.sample)).ok_or_else(|| Unplayable::Sample {
                    word: word.clone(),
                    sample: answer.sample.clone(),
                    has: samples.len(),
                })?;
                Ok(match chosen {
                    Scripted::Http(answer) => Reaction::Play(What::Answer(answer.clone())),
                    Scripted::Net(fault) => self.on_the_wire(*fault),
                })
            }
            Action::Return(value) => Err(Unplayable::Word(value.clone())),
            Action::Http { status, body, headers } => {
                let headers = headers.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes())).collect();
                let answer = Answer { status: *status, headers, body: body.clone() };
                Ok(Reaction::Play(What::Answer(sendable(answer)?)))
            }
            Action::Net(fault) => Ok(self.on_the_wire(*fault)),
            Action::Signal(signal) => Ok(Reaction::Signal(*signal)),
            Action::Lost(_) => Ok(Reaction::Play(What::ResetAfter)),
            Action::Raise { .. } => Err(Unplayable::Raised),
        }
    }

    fn on_the_wire(&self, fault: NetFault) -> Reaction {
        match fault {
            NetFault::Refused => Reaction::Refused,
            NetFault::Unreachable => Reaction::Unreachable,
            NetFault::NoName => Reaction::NoName,
            NetFault::ResetBefore => Reaction::ResetBefore,
            NetFault::ResetAfter => Reaction::Play(What::ResetAfter),
            NetFault::BodyCut => Reaction::Play(What::BodyCut(self.worth_cutting())),
            NetFault::Hang => Reaction::Play(What::Hang),
            NetFault::Drip => Reaction::Play(What::Drip),
        }
    }

    /// The first answer that has a body, since the half of an answer that a worker knows is the half that misleads.
    fn worth_cutting(&self) -> Answer {
        let all = self.0.values().flat_map(|samples| &samples.0);
        let mut with_body = all.filter_map(|scripted| match scripted {
            Scripted::Http(answer) if answer.body.len() > 1 => Some(answer),
            _ => None,
        });
        let plain = || Answer { status: 200, headers: Vec::new(), body: br#"{"status":"ok"}"#.to_vec() };
        with_body.next().cloned().unwrap_or_else(plain)
    }
}

fn index(word: &str, sample: &str) -> usize {
    let number = sample.strip_prefix(word).and_then(|rest| rest.strip_prefix('-')).and_then(|n| n.parse().ok());
    number.filter(|n: &usize| *n > 1).map_or(0, |n| n - 1)
}

fn sendable(answer: Answer) -> Result<Answer, Unsendable> {
    answer.to_bytes("GET").map(|_| answer)
}

/// The keys of a scripted answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    status: Option<u16>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    headers: IndexMap<String, String>,
    net: Option<NetFault>,
}

impl TryFrom<Said> for Scripted {
    type Error = String;

    fn try_from(said: Said) -> Result<Scripted, String> {
        match said {
            Said { status: Some(status), net: None, body, headers } => {
                let headers = headers.into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
                let answer = Answer { status, headers, body: body.unwrap_or_default().into_bytes() };
                sendable(answer).map(Scripted::Http).map_err(|error| error.to_string())
            }
            Said { status: None, net: Some(fault), body: None, headers } if headers.is_empty() => {
                Ok(Scripted::Net(fault))
            }
            _ => Err("an answer is { status, body, headers } or { net }: one of `status` and `net`".to_owned()),
        }
    }
}

/// One scripted answer, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Samples(Vec<Scripted>);

impl<'de> Deserialize<'de> for Samples {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Samples, D::Error> {
        struct OneOrMore;
        impl<'de> Visitor<'de> for OneOrMore {
            type Value = Samples;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an answer { status, body, headers } or { net }, or a list of them")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Samples, A::Error> {
                Scripted::deserialize(MapAccessDeserializer::new(map)).map(|one| Samples(vec![one]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Samples, A::Error> {
                let samples = Vec::deserialize(SeqAccessDeserializer::new(seq))?;
                if samples.is_empty() { Err(de::Error::invalid_length(0, &self)) } else { Ok(Samples(samples)) }
            }
        }
        deserializer.deserialize_any(OneOrMore)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const MAILER: &str = r#"
        listen = "http"
        columns = { id = "header:X-Message-Id", payload = "body" }
        [answers]
        accepted = { status = 202, body = '{"ack":"a-1"}' }
        transient = [{ status = 503 }, { status = 429, headers = { retry-after = "1" } }]
        permanent = [{ net = "reset-after" }]
    "#;

    fn mailer() -> Answers {
        toml::from_str::<Downstream>(MAILER).expect("it is a downstream").answers
    }

    fn reaction(sample: &str, does: Action) -> Result<Reaction, Unplayable> {
        mailer().reaction(&nack_cases::Answer { class: "class".into(), sample: sample.into(), does })
    }

    fn word(word: &str, sample: &str) -> Result<Reaction, Unplayable> {
        reaction(sample, Action::Return(word.into()))
    }

    fn status(reaction: Result<Reaction, Unplayable>) -> u16 {
        match reaction {
            Ok(Reaction::Play(What::Answer(answer))) => answer.status,
            other => panic!("no answer: {other:?}"),
        }
    }

    #[rstest]
    #[case::only_one("accepted", "accepted", 202)]
    #[case::first("transient", "transient", 503)]
    #[case::second("transient", "transient-2", 429)]
    #[case::a_label_of_the_contract("transient", "busy", 503)]
    #[case::a_label_that_ends_like_one("transient", "transient-none", 503)]
    fn the_label_of_a_sample_chooses_the_answer(#[case] said: &str, #[case] sample: &str, #[case] expected: u16) {
        assert_eq!(status(word(said, sample)), expected);
    }

    #[rstest]
    #[case::third(word("transient", "transient-3"), "no answer `transient-3`: of `transient` it has 2")]
    #[case::unbound(word("ACCEPTED", "upper"), "no answer for \"ACCEPTED\"")]
    #[case::no_word(reaction("null", Action::Return(Value::Null)), "no answer for null")]
    #[case::raised(
        reaction("x", Action::Raise { kind: nack_cases::RaiseKind::Error, text: vec![] }),
        "inside the worker"
    )]
    #[case::split(
        reaction("x", Action::Http {
            status: 302,
            body: vec![],
            headers: IndexMap::from([("location".to_owned(), "/\r\nx: y".to_owned())]),
        }),
        "control character"
    )]
    fn what_a_deployment_cannot_do_is_said(#[case] got: Result<Reaction, Unplayable>, #[case] why: &str) {
        let error = got.expect_err("it cannot").to_string();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn a_word_may_be_a_failure_on_the_wire() {
        assert_eq!(word("permanent", "permanent"), Ok(Reaction::Play(What::ResetAfter)));
    }

    #[test]
    fn a_lost_answer_is_a_request_read_and_then_a_reset() {
        assert_eq!(reaction("lost", Action::Lost("reserved".into())), Ok(Reaction::Play(What::ResetAfter)));
    }

    #[test]
    fn a_body_is_cut_from_the_answer_that_the_binding_names_first() {
        let cut = reaction("body-cut", Action::Net(NetFault::BodyCut));
        assert!(matches!(cut, Ok(Reaction::Play(What::BodyCut(answer))) if answer.body == br#"{"ack":"a-1"}"#));
        let bare = Answers::default().on_the_wire(NetFault::BodyCut);
        assert!(matches!(bare, Reaction::Play(What::BodyCut(answer)) if answer.body.len() > 1));
    }

    #[rstest]
    #[case::net("refused", Reaction::Refused)]
    #[case::net("unreachable", Reaction::Unreachable)]
    #[case::net("no-name", Reaction::NoName)]
    #[case::net("reset-before", Reaction::ResetBefore)]
    #[case::net("hang", Reaction::Play(What::Hang))]
    #[case::net("drip", Reaction::Play(What::Drip))]
    fn a_binding_names_failures_as_contracts_do(#[case] name: &str, #[case] expected: Reaction) {
        let answers: Answers = toml::from_str(&format!("w = {{ net = {name:?} }}")).expect("it is known");
        let answer = nack_cases::Answer { class: "w".into(), sample: "w".into(), does: Action::Return("w".into()) };
        assert_eq!(answers.reaction(&answer), Ok(expected));
    }

    #[rstest]
    #[case::typo("w = { statsu = 200 }", "unknown field `statsu`")]
    #[case::typo_in_a_list("w = [{ status = 200, bdy = '' }]", "unknown field `bdy`")]
    #[case::both("w = { status = 200, net = 'hang' }", "one of `status` and `net`")]
    #[case::neither("w = { body = 'x' }", "one of `status` and `net`")]
    #[case::net_with_body("w = { net = 'hang', body = 'x' }", "one of `status` and `net`")]
    #[case::low("w = { status = 99 }", "99 is no status")]
    #[case::high("w = { status = 600 }", "600 is no status")]
    #[case::no_fault("w = { net = 'hagn' }", "unknown variant `hagn`")]
    #[case::nothing("w = []", "a list of them")]
    #[case::no_answer("w = 200", "an answer { status, body, headers }")]
    #[case::header("w = { status = 200, headers = { 'a b' = '' } }", "no name of a header")]
    fn a_mistake_in_an_answer_is_said_with_what_there_is(#[case] said: &str, #[case] why: &str) {
        let error = toml::from_str::<Answers>(said).expect_err("it is wrong").to_string();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn the_words_of_a_binding_are_listed_with_their_samples() {
        let answers = mailer();
        assert_eq!(answers.words().collect::<Vec<_>>(), [("accepted", 1), ("transient", 2), ("permanent", 1)]);
    }
}
