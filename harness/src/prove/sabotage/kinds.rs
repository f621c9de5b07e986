//! The kinds of sabotage, by the names that reports use.

/// One way to falsify a set-up behind a subject's back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sabotage {
    AnswerSwapped,
    CommitLost,
    DeliveryDoubled,
    DeliverySwallowed,
    RowFlipped,
    TerminalReopened,
    ResultsReordered,
    StatusReplaced,
    IndexDropped,
    ReplyChanged,
    TimeMoved,
}

impl Sabotage {
    pub(super) const ALL: [Sabotage; 11] = [
        Sabotage::AnswerSwapped,
        Sabotage::CommitLost,
        Sabotage::DeliveryDoubled,
        Sabotage::DeliverySwallowed,
        Sabotage::RowFlipped,
        Sabotage::TerminalReopened,
        Sabotage::ResultsReordered,
        Sabotage::StatusReplaced,
        Sabotage::IndexDropped,
        Sabotage::ReplyChanged,
        Sabotage::TimeMoved,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Sabotage::AnswerSwapped => "answer-swapped",
            Sabotage::CommitLost => "commit-lost",
            Sabotage::DeliveryDoubled => "delivery-doubled",
            Sabotage::DeliverySwallowed => "delivery-swallowed",
            Sabotage::RowFlipped => "row-flipped",
            Sabotage::TerminalReopened => "terminal-reopened",
            Sabotage::ResultsReordered => "results-reordered",
            Sabotage::StatusReplaced => "status-replaced",
            Sabotage::IndexDropped => "index-dropped",
            Sabotage::ReplyChanged => "reply-changed",
            Sabotage::TimeMoved => "time-moved",
        }
    }

    pub(super) fn what(self) -> &'static str {
        match self {
            Sabotage::AnswerSwapped => "an answer of the outside becomes another on its way to the subject",
            Sabotage::CommitLost => "the store is put back to what it was before each call",
            Sabotage::DeliveryDoubled => "each delivery arrives twice",
            Sabotage::DeliverySwallowed => "no delivery arrives, and the subject is answered all the same",
            Sabotage::RowFlipped => "a word of a stored row becomes another after each call",
            Sabotage::TerminalReopened => "a row that has come to its end is opened again after each call",
            Sabotage::ResultsReordered => "the lists in each reply are reversed",
            Sabotage::StatusReplaced => "the HTTP status of each reply becomes another",
            Sabotage::IndexDropped => "the unique indexes are dropped",
            Sabotage::ReplyChanged => "each reply becomes another word",
            Sabotage::TimeMoved => "the clock moves a day before each call",
        }
    }
}
