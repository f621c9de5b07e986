//! What a program's end means: its last printed word and its exit code as a reply of the contract.

use indexmap::IndexMap;
use nack_contracts::Contract;
use nack_contracts::model::Call;

use crate::binding::{CommandCall, Meaning, Misfit};
use crate::session::Event;

/// What a binding says of the ends of one call.
#[derive(Clone, Debug, Default)]
pub(super) struct Replies {
    stdout: IndexMap<String, Meaning>,
    exit: IndexMap<i32, Meaning>,
}

impl Replies {
    /// What a binding says, in the contract's words.
    ///
    /// # Errors
    /// A reply that the contract does not have.
    pub(super) fn of(said: &CommandCall, call: &Call, contract: &Contract) -> Result<Replies, Misfit> {
        let meaning = |of: String, said: &toml::Value| Meaning::of(&of, said, call, contract);
        let stdout =
            said.stdout.iter().map(|(word, said)| Ok((word.clone(), meaning(format!("stdout `{word}`"), said)?)));
        let exit = said.exit.iter().map(|(code, said)| Ok((*code, meaning(format!("exit {code}"), said)?)));
        Ok(Replies { stdout: stdout.collect::<Result<_, _>>()?, exit: exit.collect::<Result<_, _>>()? })
    }

    /// Whether a good end tells what was replied.
    pub(super) fn observes(&self) -> bool {
        !self.stdout.is_empty() || self.exit.contains_key(&0)
    }

    /// What a call came to that ended with this code and printed this line last. A code says more than a word: one
    /// that the binding does not know is an error, whatever was printed.
    pub(super) fn event(&self, last: Option<&str>, code: i32) -> Event {
        let word = last.and_then(|last| self.stdout.get(last)).filter(|_| code == 0);
        if let Some(meaning) = word.or_else(|| self.exit.get(&code)) {
            return match meaning {
                Meaning::Reply(value) => Event::Reply(value.clone()),
                Meaning::Refused(name) => Event::Error { name: name.clone(), definite: true, text: Vec::new() },
                Meaning::Field(_) => Event::Ended,
            };
        }
        if code != 0 {
            let text = last.map(|last| last.as_bytes().to_vec()).unwrap_or_default();
            return Event::Error { name: format!("exit-{code}"), definite: false, text };
        }
        if self.stdout.is_empty() {
            return Event::Ended;
        }
        let said = last.map_or("it printed no word".to_owned(), |last| format!("{last} (not in the word map)"));
        Event::Reply(said.into())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn replies(stdout: &[(&str, &str)], exit: &[(i32, Meaning)]) -> Replies {
        let word = |(own, meant): &(&str, &str)| ((*own).to_owned(), Meaning::Reply((*meant).into()));
        Replies { stdout: stdout.iter().map(word).collect(), exit: exit.iter().cloned().collect() }
    }

    fn refused() -> (i32, Meaning) {
        (3, Meaning::Refused("invalid".to_owned()))
    }

    fn said(word: &str) -> Event {
        Event::Reply(word.into())
    }

    #[rstest]
    #[case::word(Some("delivered"), 0, said("sent"))]
    #[case::stray_word(Some("Delivered"), 0, said("Delivered (not in the word map)"))]
    #[case::no_word(None, 0, said("it printed no word"))]
    #[case::code(None, 3, Event::Error { name: "invalid".into(), definite: true, text: vec![] })]
    #[case::code_before_word(Some("delivered"), 3, Event::Error { name: "invalid".into(), definite: true, text: vec![] })]
    #[case::stray_code(Some("delivered"), 9, Event::Error { name: "exit-9".into(), definite: false, text: b"delivered".to_vec() })]
    fn an_end_means_what_the_binding_says(#[case] last: Option<&str>, #[case] code: i32, #[case] event: Event) {
        assert_eq!(replies(&[("delivered", "sent")], &[refused()]).event(last, code), event);
    }

    #[rstest]
    #[case::good(0, Event::Ended)]
    #[case::bad(1, Event::Error { name: "exit-1".into(), definite: false, text: b"hello".to_vec() })]
    fn without_a_word_for_it_a_good_end_is_not_observed_and_a_bad_one_is(#[case] code: i32, #[case] event: Event) {
        for replies in [replies(&[], &[]), replies(&[], &[refused()])] {
            assert_eq!(replies.event(Some("hello"), code), event);
            assert!(!replies.observes());
        }
    }

    #[test]
    fn an_exit_code_may_be_a_reply() {
        let replies = replies(&[], &[(0, Meaning::Reply(true.into())), (1, Meaning::Reply(false.into()))]);
        assert_eq!(replies.event(Some("hello"), 0), Event::Reply(true.into()));
        assert_eq!(replies.event(None, 1), Event::Reply(false.into()));
        assert!(replies.observes());
    }
}
