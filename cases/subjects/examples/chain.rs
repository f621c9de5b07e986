//! The monolith's chain on one database: an order is placed, the relay dies right after its send and starts again, and
//! the consumer meets both deliveries. Two deliveries, one event id, one notification.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use nack::clock::Clock;
use nack::inprocess::InProcess;
use nack::session::{Directive, Event, Session, Watch};
use nack_cases::Action;
use nack_contracts::{Map, Value};
use nack_subjects::reference;
use rusqlite::Connection;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let store = folder.path().join("monolith.db");
    let connection = Connection::open(&store)?;
    // The producer comes first: the outbox is its table, and the relay only reads and marks it.
    for contract in ["order-producer", "order-relay", "order-consumer"] {
        reference(contract, None).ok_or("no such reference")?.setup(&connection)?;
    }
    connection.execute("INSERT INTO wallet(id, balance) VALUES ('demo', 100)", ())?;
    drop(connection);

    let mut producer = Service::start("order-producer", &store)?;
    let order = Map::from_iter([("order_id".to_owned(), "order-104".into()), ("amount".to_owned(), 30.into())]);
    assert_eq!(producer.call("place_order", order, None)?, Some("placed".into()));
    drop(producer);

    let mut relay = Service::start("order-relay", &store)?;
    assert_eq!(relay.call("relay_once", Map::new(), Some("after_send"))?, None, "the relay was killed");
    assert_eq!(relay.call("relay_once", Map::new(), None)?, Some(true.into()));
    assert_eq!(relay.call("relay_once", Map::new(), None)?, Some(false.into()), "nothing is left to send");
    let (deliveries, store) = (std::mem::take(&mut relay.deliveries), relay.store.clone());
    drop(relay);

    let mut consumer = Service::start("order-consumer", &store)?;
    let mut applied = Vec::new();
    for delivery in &deliveries {
        let event = Map::from_iter([("event".to_owned(), Value::Map(delivery.clone()))]);
        applied.push(consumer.call("consume", event, None)?);
    }
    drop(consumer);

    let connection = Connection::open(&store)?;
    let notifications: i64 = connection.query_row("SELECT COUNT(*) FROM notifications", (), |row| row.get(0))?;
    for (delivery, applied) in deliveries.iter().zip(&applied) {
        println!("delivered {}, applied: {}", delivery["event_id"], applied == &Some(true.into()));
    }
    println!("{} deliveries, {notifications} notification", deliveries.len());
    assert_eq!(deliveries.len(), 2);
    assert_eq!(deliveries[0], deliveries[1], "both deliveries are the same event");
    assert_eq!(deliveries[0]["event_id"], "order-created:order-104".into());
    assert_eq!(applied, [Some(true.into()), Some(false.into())]);
    assert_eq!(notifications, 1);
    Ok(())
}

/// One reference at work, and what it sent to the outside.
struct Service {
    session: InProcess,
    store: PathBuf,
    deliveries: Vec<Map>,
}

impl Service {
    fn start(contract: &str, store: &Path) -> Outcome<Service> {
        let program = reference(contract, None).ok_or("no such reference")?;
        let session = InProcess::new(program, store, &IndexMap::new(), Arc::new(Clock::default()));
        Ok(Service { session, store: store.to_owned(), deliveries: Vec::new() })
    }

    /// The reply to one call, or `None` if the worker is killed at a checkpoint.
    fn call(&mut self, call: &str, args: Map, kill_at: Option<&str>) -> Outcome<Option<Value>> {
        let watch = Watch { checkpoint: kill_at.map(str::to_owned), ..Watch::default() };
        self.session.call("main", call, &args, watch)?;
        loop {
            let (worker, event) = self.session.next(Duration::from_secs(10)).ok_or("the worker is silent")?;
            match event {
                Event::Point(_) => {
                    // A worker of this process leaves a copy of its store, as it stood when it died.
                    self.store = self.session.kill(&worker).store.ok_or("the store could not be copied")?;
                    return Ok(None);
                }
                Event::Effect { columns, .. } => {
                    self.deliveries.push(columns);
                    self.session.resume(&worker, Directive::Answer(Action::Return("taken".into()).into()));
                }
                Event::Reply(value) => return Ok(Some(value)),
                other => return Err(format!("{call}: {other:?}").into()),
            }
        }
    }
}
