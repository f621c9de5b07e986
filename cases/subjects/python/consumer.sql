CREATE TABLE processed (
    event_id TEXT PRIMARY KEY,
    order_id TEXT NOT NULL,
    amount   INTEGER NOT NULL
);
CREATE TABLE notifications (
    order_id TEXT NOT NULL,
    amount   INTEGER NOT NULL
);
