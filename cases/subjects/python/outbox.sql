CREATE TABLE outbox (
    id           TEXT PRIMARY KEY,
    state        TEXT NOT NULL DEFAULT 'pending',
    attempts     INTEGER NOT NULL DEFAULT 0,
    payload      TEXT NOT NULL,
    created      INTEGER NOT NULL,
    leased_until INTEGER,
    last_error   TEXT
);
CREATE INDEX outbox_open ON outbox(created) WHERE state IN ('pending', 'inflight');
