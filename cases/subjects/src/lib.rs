//! The reference implementations of the shipped contracts. Each is one program with named defect points: asked for a
//! defect, it is a mutant that the gate must refuse. A defect lives in the reference's own SQL and branches.

mod defect;
pub mod member_import;
pub mod order_consumer;
pub mod order_producer;
pub mod order_relay;
pub mod outbox;
mod transaction;

use std::sync::Arc;

use nack::subject::Program;

use member_import::MemberImport;
use order_consumer::OrderConsumer;
use order_producer::OrderProducer;
use order_relay::OrderRelay;
use outbox::Outbox;

/// The reference for a shipped contract, with one named defect or with none. `None` if there is no reference for the
/// contract, or if it has no such defect.
#[must_use]
pub fn reference(contract: &str, defect: Option<&str>) -> Option<Arc<dyn Program>> {
    Some(match contract {
        "outbox" => Arc::new(Outbox::new(defect)?),
        "order-producer" => Arc::new(OrderProducer::new(defect)?),
        "order-relay" => Arc::new(OrderRelay::new(defect)?),
        "order-consumer" => Arc::new(OrderConsumer::new(defect)?),
        "member-import" => Arc::new(MemberImport::new(defect)?),
        _ => return None,
    })
}
