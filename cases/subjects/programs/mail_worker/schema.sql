CREATE TABLE mail_queue (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    id           TEXT NOT NULL UNIQUE,
    status       TEXT NOT NULL DEFAULT 'queued',   -- queued, working, delivered, failed
    tries        INTEGER NOT NULL DEFAULT 0,
    body         TEXT NOT NULL,
    enqueued_at  INTEGER NOT NULL,                 -- epoch seconds, as locked_until
    locked_until INTEGER,
    last_error   TEXT
);
CREATE INDEX mail_queue_open ON mail_queue(enqueued_at, seq) WHERE status IN ('queued', 'working');
