"""Sends the events that the ordering service wrote into its outbox, one at a time and in order.

    python3 relay.py app.db https://bus.example/v1/events

An event is marked sent once its send has returned. A send that fails is tried again, and the events behind it wait.
"""

import json
import sqlite3
import sys
import time

from nack_sdk import checkpoint


def relay_once(connection, send):
    """Sends the oldest unsent event. False: there is none."""
    event = connection.execute(
        "SELECT event_id, order_id, amount FROM outbox WHERE sent = 0 ORDER BY rowid LIMIT 1"
    ).fetchone()
    if event is None:
        return False
    checkpoint("before_send")
    send(*event)
    checkpoint("after_send")
    connection.execute("UPDATE outbox SET sent = 1 WHERE event_id = ?", event[:1])
    checkpoint("after_mark")
    return True


def open_store(path):
    return sqlite3.connect(path, isolation_level=None)


def http_send(url):
    import urllib.request

    def send(event_id, order_id, amount):
        body = json.dumps({"event_id": event_id, "order_id": order_id, "amount": amount}).encode()
        # urlopen raises for whatever is no 2xx.
        with urllib.request.urlopen(urllib.request.Request(url, body), timeout=10):
            pass

    return send


def work(path, url):
    connection, send = open_store(path), http_send(url)
    while True:
        try:
            idle = not relay_once(connection, send)
        except OSError as error:
            print(f"the send failed and will be tried again: {error}", file=sys.stderr)
            idle = True
        if idle:
            time.sleep(1)


def main():
    if sys.argv[1:] != ["--nack"]:
        return work(*sys.argv[1:])

    import nack_sdk

    def send(event_id, order_id, amount):
        nack_sdk.effect("send", event_id=event_id, order_id=order_id, amount=amount)

    def start(run):
        connection = open_store(run.store)
        return {"relay_once": lambda: relay_once(connection, send)}

    nack_sdk.serve(
        start, name="relay-python", checkpoints=["before_send", "after_send", "after_mark"], sqlite=True
    )


if __name__ == "__main__":
    main()
