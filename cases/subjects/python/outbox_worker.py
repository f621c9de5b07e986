"""Delivers the rows of the outbox table: claim one, send it, record what came of it.

    python3 outbox_worker.py app.db https://mail.example/v1/messages

A claim is a lease, so a row outlives its worker. The attempt number is the fence: whoever takes a row over raises it,
and a late worker then finds that the row is no longer its own.
"""

import json
import sqlite3
import sys
import time

from nack_sdk import checkpoint

PENDING, INFLIGHT, SENT, DEAD = "pending", "inflight", "sent", "dead"
ACCEPTED, TRANSIENT, PERMANENT = "accepted", "transient", "permanent"


class NotInflight(ValueError):
    """A decision was asked for a row that nobody has claimed."""


class Outbox:
    def __init__(self, path, budget=5, lease=60):
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.budget = budget
        self.lease = lease

    def deliver_one(self, send, now):
        """Serves the oldest row that is open. Returns its new state, None if there is none, `lost` if it was lost."""
        checkpoint("before_claim")
        row = self.claim(now())
        if row is None:
            return None
        checkpoint("after_claim")
        result, error = self.attempt(send, row)
        checkpoint("after_send")
        state = decide(row["state"], row["attempts"], result, self.budget)
        recorded = self.record(row, state, error)
        checkpoint("after_record")
        return state if recorded else "lost"

    def claim(self, now):
        with Transaction(self.connection) as store:
            # A row that killed every worker that took it must not live for ever.
            store.execute(
                "UPDATE outbox SET state = 'dead', leased_until = NULL, last_error = 'abandoned on its last attempt'"
                " WHERE state = 'inflight' AND (leased_until IS NULL OR leased_until <= ?) AND attempts >= ?",
                (now, self.budget),
            )
            found = store.execute(
                "SELECT id, attempts, payload FROM outbox WHERE state = 'pending'"
                " OR (state = 'inflight' AND (leased_until IS NULL OR leased_until <= ?))"
                " ORDER BY created, rowid LIMIT 1",
                (now,),
            ).fetchone()
            if found is None:
                return None
            id, attempts, payload = found
            store.execute(
                "UPDATE outbox SET state = 'inflight', attempts = ?, leased_until = ? WHERE id = ?",
                (attempts + 1, now + self.lease, id),
            )
            return {"id": id, "state": INFLIGHT, "attempts": attempts + 1, "payload": payload}

    def attempt(self, send, row):
        """What the transport says, and the error that a person should see. Interrupts are not ours to answer."""
        if not isinstance(row["payload"], str):
            return PERMANENT, "the payload is not text"
        try:
            return send(row["id"], row["payload"]), None
        except (TimeoutError, ConnectionError) as error:
            return TRANSIENT, error
        except Exception as error:
            return PERMANENT, error

    def record(self, row, state, error):
        """Writes the outcome, unless somebody else holds the row by now."""
        text = None if error is None else str(error).encode("utf-8", "replace").decode()[:500]
        done = self.connection.execute(
            "UPDATE outbox SET state = ?, leased_until = NULL, last_error = ?"
            " WHERE id = ? AND state = 'inflight' AND attempts = ?",
            (state, text, row["id"], row["attempts"]),
        )
        return done.rowcount == 1


class Transaction:
    """BEGIN IMMEDIATE, so that two workers never decide on the same reading."""

    def __init__(self, connection):
        self.connection = connection

    def __enter__(self):
        self.connection.execute("BEGIN IMMEDIATE")
        return self.connection

    def __exit__(self, kind, error, trace):
        self.connection.execute("COMMIT" if kind is None else "ROLLBACK")


def decide(state, attempts, result, budget=5):
    """The next state of a claimed row. What is not known fails closed."""
    if state != INFLIGHT:
        raise NotInflight(f"a row that is {state!r} cannot be decided")
    if result == ACCEPTED:
        return SENT
    if result == TRANSIENT and attempts < budget:
        return PENDING
    return DEAD


def http_transport(url):
    """Sends over HTTP. Only a 202 with a token accepts."""
    import urllib.error
    import urllib.request

    def send(id, payload):
        request = urllib.request.Request(url, payload.encode(), {"X-Message-Id": id})
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                token = json.load(response).get("ack") if response.status == 202 else None
                return ACCEPTED if isinstance(token, str) and token.strip() else "unreadable"
        except urllib.error.HTTPError as error:
            return TRANSIENT if error.code == 429 or error.code >= 500 else PERMANENT
        except urllib.error.URLError as error:
            raise ConnectionError(str(error)) from error

    return send


def work(path, url):
    outbox, send = Outbox(path), http_transport(url)
    while True:
        if outbox.deliver_one(send, lambda: int(time.time())) is None:
            time.sleep(1)


def main():
    if sys.argv[1:] != ["--nack"]:
        return work(*sys.argv[1:])

    import nack_sdk

    def send(id, payload):
        return nack_sdk.effect("send", id=id, payload=payload)

    def start(run):
        outbox = Outbox(run.store, run.params["budget"], run.params["lease"])
        return {
            "deliver_one": lambda worker: outbox.deliver_one(send, nack_sdk.now),
            "decide": lambda state, attempts, result: decide(state, attempts, result, outbox.budget),
        }

    nack_sdk.serve(
        start,
        name="outbox-worker-python",
        capabilities=["decide", "lease", "created"],
        checkpoints=["before_claim", "after_claim", "after_send", "after_record"],
        refused={NotInflight: "not_inflight"},
        sqlite=True,
    )


if __name__ == "__main__":
    main()
