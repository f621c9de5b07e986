CREATE TABLE mail_queue (
    seq          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    status       TEXT NOT NULL DEFAULT 'queued',   -- queued, working, delivered, failed
    tries        INTEGER NOT NULL DEFAULT 0,
    body         TEXT NOT NULL,
    enqueued_at  BIGINT NOT NULL,                  -- epoch seconds, as locked_until
    locked_until BIGINT,
    last_error   TEXT
);
CREATE INDEX mail_queue_open ON mail_queue(enqueued_at, seq) WHERE status IN ('queued', 'working');
