CREATE TABLE outbox (
    event_id TEXT PRIMARY KEY,
    order_id TEXT NOT NULL,
    amount   INTEGER NOT NULL,
    sent     INTEGER NOT NULL DEFAULT 0
);
