//! What a change of a contract counts as: prepared changes of the shipped outbox, and that their verdicts stay when
//! the same contract is written in another order, another layout, or under other names.

mod accept;
mod changes;
mod rewrite;
mod stable;
