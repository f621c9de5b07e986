//! The statements around a transaction. The references write them in the open, one after another, so that a defect can
//! move one; whatever fails in between is rolled back where the call ends.

use nack::inprocess::Db;
use nack::subject::Failure;

/// Begins a transaction that holds the write lock from the start, so that nothing it reads can change before it writes.
pub(crate) fn begin(db: &Db) -> Result<(), Failure> {
    db.execute("BEGIN IMMEDIATE", ()).map(drop)
}

/// Makes what the transaction wrote durable.
pub(crate) fn commit(db: &Db) -> Result<(), Failure> {
    db.execute("COMMIT", ()).map(drop)
}

/// Leaves no transaction open behind a failed call, so that the connection can serve the next one.
pub(crate) fn roll_back(db: &Db) {
    if db.in_transaction() {
        // The caller hears of the failure that led here. One more has nothing to add: a connection that cannot roll
        // back loses its transaction when it closes.
        let _ = db.execute("ROLLBACK", ());
    }
}
