//! From a value of a log to a class of a domain. A log holds text, so a sample counts by its text; a value that may be
//! any value not named falls into the domain's `otherwise`, and one that is in no class at all is outside.

use indexmap::IndexMap;
use nack_contracts::Value;
use nack_contracts::model::Domain;

/// Gives the class of a value.
#[derive(Clone, Debug)]
pub(crate) struct Classifier {
    words: Vec<(Box<[u8]>, u8)>,
    ranges: Vec<(i64, i64, u8)>,
    null: Option<u8>,
    otherwise: Option<u8>,
    classes: u8,
}

impl Classifier {
    /// Of a domain, for a log that spells some of its words otherwise (its word → the contract's).
    pub(crate) fn new(domain: &Domain, spelled: Option<&IndexMap<String, String>>) -> Classifier {
        let mut words: Vec<(Box<[u8]>, u8)> = Vec::new();
        let (mut ranges, mut null) = (Vec::new(), None);
        for (index, class) in (0u8..).zip(&domain.classes) {
            if let Some((low, high)) = class.range {
                ranges.push((low.unwrap_or(i64::MIN), high.unwrap_or(i64::MAX), index));
                continue;
            }
            for sample in &class.samples {
                match sample.node.value() {
                    Value::Null => null = Some(index),
                    Value::Text(text) => words.push((text.into_bytes().into(), index)),
                    value @ (Value::Int(_) | Value::Bool(_)) => {
                        words.push((value.to_json().into_bytes().into(), index))
                    }
                    _ => {}
                }
            }
        }
        if let Some(spelled) = spelled {
            let own: Vec<(Box<[u8]>, u8)> = spelled
                .iter()
                .filter_map(|(theirs, ours)| {
                    let class = words.iter().find(|(word, _)| **word == *ours.as_bytes())?.1;
                    Some((theirs.clone().into_bytes().into(), class))
                })
                .collect();
            // A word that the log spells otherwise means nothing by its own name, unless that is mapped, too.
            words.retain(|(word, _)| !spelled.values().any(|ours| ours.as_bytes() == &**word));
            words.retain(|(word, _)| !own.iter().any(|(theirs, _)| theirs == word));
            words.extend(own);
        }
        let index = |class: usize| u8::try_from(class).unwrap_or(u8::MAX);
        Classifier { words, ranges, null, otherwise: domain.otherwise.map(index), classes: index(domain.classes.len()) }
    }

    /// How many classes there are.
    pub(crate) fn classes(&self) -> u8 {
        self.classes
    }

    /// The code of a value that the line does not tell.
    pub(crate) fn unknown(&self) -> u8 {
        self.classes
    }

    /// The code of a value that is in no class.
    pub(crate) fn outside(&self) -> u8 {
        self.classes + 1
    }

    /// The class of a text.
    #[inline]
    pub(crate) fn text(&self, text: &[u8]) -> u8 {
        if let Some((_, class)) = self.words.iter().find(|(word, _)| **word == *text) {
            return *class;
        }
        if !self.ranges.is_empty()
            && let Some(int) = crate::time::int(text)
        {
            return self.int(int);
        }
        self.otherwise.unwrap_or(self.outside())
    }

    /// The class of an integer.
    #[inline]
    pub(crate) fn int(&self, int: i64) -> u8 {
        let held = self.ranges.iter().find(|(low, high, _)| *low <= int && int <= *high);
        match held {
            Some((.., class)) => *class,
            None if self.words.is_empty() => self.otherwise.unwrap_or(self.outside()),
            None => {
                let text = int.to_string();
                let word = self.words.iter().find(|(word, _)| **word == *text.as_bytes());
                word.map_or(self.otherwise.unwrap_or(self.outside()), |(_, class)| *class)
            }
        }
    }

    /// The class of a blank.
    pub(crate) fn null(&self) -> u8 {
        self.null.unwrap_or(self.unknown())
    }

    /// The class of a truth value.
    pub(crate) fn bool(&self, value: bool) -> u8 {
        self.text(if value { b"true" } else { b"false" })
    }

    /// The words that are told apart, and their classes.
    pub(crate) fn words(&self) -> impl Iterator<Item = (&str, u8)> {
        self.words.iter().filter_map(|(word, class)| Some((std::str::from_utf8(word).ok()?, *class)))
    }

    /// The ranges of integers, each with its lowest, its highest and its class.
    pub(crate) fn ranges(&self) -> &[(i64, i64, u8)] {
        &self.ranges
    }

    /// The class of any value not named.
    pub(crate) fn otherwise(&self) -> Option<u8> {
        self.otherwise
    }

    /// The class that a blank is a sample of.
    pub(crate) fn null_class(&self) -> Option<u8> {
        self.null
    }
}
