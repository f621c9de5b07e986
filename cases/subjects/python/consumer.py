"""Consumes order events: each is notified once, however often it is delivered.

    python3 consumer.py app.db < event.json

The marker of an event and its notification share a transaction, so there are both or neither.
"""

import json
import sqlite3
import sys

from nack_sdk import checkpoint


class InvalidEvent(ValueError):
    """The body is no event."""


class Conflict(Exception):
    """The event's id is known with another content."""


def consume(connection, body, deliver=None):
    """Applies an event. False: it was applied before."""
    event_id, order_id, amount = parse(body)
    connection.execute("BEGIN IMMEDIATE")
    try:
        known = connection.execute(
            "SELECT order_id, amount FROM processed WHERE event_id = ?", (event_id,)
        ).fetchone()
        checkpoint("after_dedup")
        if known is not None:
            if known != (order_id, amount):
                raise Conflict(event_id)
            connection.execute("ROLLBACK")
            return False
        connection.execute("INSERT INTO notifications(order_id, amount) VALUES (?, ?)", (order_id, amount))
        checkpoint("after_effect")
        connection.execute(
            "INSERT INTO processed(event_id, order_id, amount) VALUES (?, ?, ?)", (event_id, order_id, amount)
        )
        if deliver is not None:
            deliver(event_id)
        checkpoint("before_commit")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    checkpoint("after_commit")
    return True


def parse(body):
    """The three fields of an event, or InvalidEvent."""
    try:
        event = json.loads(body.decode("utf-8"), object_pairs_hook=distinct, parse_constant=refuse)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InvalidEvent(str(error)) from error
    if not isinstance(event, dict) or set(event) != {"event_id", "order_id", "amount"}:
        raise InvalidEvent("an event has exactly event_id, order_id and amount")
    for field in ("event_id", "order_id"):
        check_id(field, event[field])
    amount = event["amount"]
    if type(amount) is not int or not 1 <= amount <= 1_000_000:
        raise InvalidEvent("amount is a whole number from 1 to 1000000")
    return event["event_id"], event["order_id"], amount


def check_id(field, value):
    if not isinstance(value, str) or not 1 <= len(value) <= 200:
        raise InvalidEvent(f"{field} is text of 1 to 200 characters")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise InvalidEvent(f"{field} holds half a character")


def distinct(pairs):
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise InvalidEvent("a key stands twice")
    return fields


def refuse(constant):
    raise InvalidEvent(f"{constant} is not JSON")


def open_store(path):
    return sqlite3.connect(path, isolation_level=None)


def main():
    if sys.argv[1:] != ["--nack"]:
        applied = consume(open_store(sys.argv[1]), sys.stdin.buffer.read())
        return print("applied" if applied else "duplicate")

    import nack_sdk

    def deliver(event_id):
        nack_sdk.effect("deliver", event_id=event_id)

    def raw(event):
        return event if isinstance(event, bytes) else json.dumps(event).encode()

    def start(run):
        connection = open_store(run.store)
        return {
            "consume": lambda event=None: consume(connection, raw(event)),
            "consume_outside": lambda event=None: consume(connection, raw(event), deliver),
        }

    nack_sdk.serve(
        start,
        name="consumer-python",
        capabilities=["number-types", "outside"],
        checkpoints=["after_dedup", "after_effect", "before_commit", "after_commit"],
        refused={InvalidEvent: "invalid_event", Conflict: "conflict"},
        sqlite=True,
    )


if __name__ == "__main__":
    main()
