//! The contracts that ship inside nack, so that a gate takes them from the pinned binary and not from the change
//! under review.

use crate::source::Source;

/// The shipped contracts, in the order of their numbers.
#[must_use]
pub fn shipped() -> Vec<Source> {
    [
        ("contracts/outbox.toml", include_str!("../outbox.toml")),
        ("contracts/order-producer.toml", include_str!("../order-producer.toml")),
        ("contracts/order-relay.toml", include_str!("../order-relay.toml")),
        ("contracts/order-consumer.toml", include_str!("../order-consumer.toml")),
        ("contracts/member-import.toml", include_str!("../member-import.toml")),
    ]
    .into_iter()
    .map(|(file, text)| Source::new(file, text))
    .collect()
}

/// The lock of the shipped contracts.
#[must_use]
pub fn shipped_lock() -> Source {
    Source::new("contracts/contracts.lock", include_str!("../contracts.lock"))
}
