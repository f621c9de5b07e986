"""Delivers the mails of mail_queue: claims the oldest open one, posts it, and records what came of it.

Any number of workers may share a queue. Whoever claims a mail raises its `tries`, so a worker that was too slow finds
another number there and records nothing. A database on PostgreSQL needs psycopg.
"""

import argparse
import http.client
import json
import signal
import sqlite3
import time
from urllib.parse import urlsplit

LEASE = 60  # seconds that a claim lasts
MAX_TRIES = 5
TIMEOUT = 3  # seconds for a whole exchange, however slowly it drips

OLDEST = """SELECT seq, status, tries, id, body FROM mail_queue
    WHERE status = 'queued' OR (status = 'working' AND (locked_until IS NULL OR locked_until <= ?))
    ORDER BY enqueued_at, seq LIMIT 1"""
CLAIM = """UPDATE mail_queue SET status = 'working', tries = tries + 1, locked_until = ?
    WHERE seq = ? AND status = ? AND tries = ?"""
RECORD = """UPDATE mail_queue SET status = ?, locked_until = NULL, last_error = ?
    WHERE seq = ? AND status = 'working' AND tries = ?"""


class Queue:
    def __init__(self, db):
        if db.startswith(("postgres://", "postgresql://")):
            import psycopg
            self.connection, self.mark = psycopg.connect(db, autocommit=True), "%s"
        else:
            self.connection, self.mark = sqlite3.connect(db, isolation_level=None), "?"
            # A text that is not UTF-8 must not stop the worker: it is found out when it is to be sent.
            self.connection.text_factory = lambda raw: raw.decode(errors="surrogateescape")

    def execute(self, sql, *values):
        return self.connection.execute(sql.replace("?", self.mark), values)

    def claim(self, now):
        """The oldest mail that nobody holds, or None."""
        while row := self.execute(OLDEST, now).fetchone():
            seq, status, tries, mail_id, body = row
            if status == "working" and tries >= MAX_TRIES:
                self.record(seq, tries, "failed", "abandoned on its last try")
            elif self.execute(CLAIM, now + LEASE, seq, status, tries).rowcount == 1:
                return seq, tries + 1, mail_id, body

    def record(self, seq, tries, status, error):
        """Whether the mail was still ours."""
        return self.execute(RECORD, status, error, seq, tries).rowcount == 1


def attempt(url, mail_id, body):
    """The mail's next status, and why it is not delivered."""
    try:
        data = body.encode() if isinstance(body, str) else body
        data.decode()
        if not (mail_id and mail_id.isascii() and mail_id.isprintable()):
            raise ValueError("the id fits no header")
    except ValueError as error:
        return "failed", ascii(error)[:200]
    try:
        status, answer = post(url, mail_id, data)
    except (OSError, http.client.HTTPException) as error:
        return "queued", ascii(error)
    if status == 202 and has_token(answer):
        return "delivered", None
    return "queued" if status == 429 or status >= 500 else "failed", f"HTTP {status}"


def post(url, mail_id, data):
    to = urlsplit(url)
    connection = http.client.HTTPConnection(to.hostname, to.port)
    signal.setitimer(signal.ITIMER_REAL, TIMEOUT)
    try:
        connection.request("POST", to.path or "/", data, {"X-Message-Id": mail_id})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        connection.close()


def on_alarm(number, frame):
    raise TimeoutError(f"no complete answer within {TIMEOUT} s")


def has_token(answer):
    try:
        return json.loads(answer)["ack"].strip() != ""
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False


def deliver_one(queue, url, now):
    if not (mail := queue.claim(now)):
        return "idle"
    seq, tries, mail_id, body = mail
    status, error = attempt(url, mail_id, body)
    if status == "queued" and tries >= MAX_TRIES:
        status = "failed"
    return status if queue.record(seq, tries, status, error) else "superseded"


parser = argparse.ArgumentParser()
parser.add_argument("--db", required=True, help="a path, or postgres://…")
parser.add_argument("--send-url", required=True)
parser.add_argument("--once", action="store_true")
parser.add_argument("--now", type=int, help="epoch seconds instead of the clock")
args = parser.parse_args()
signal.signal(signal.SIGALRM, on_alarm)
queue = Queue(args.db)
while True:
    said = deliver_one(queue, args.send_url, int(time.time()) if args.now is None else args.now)
    print(said, flush=True)
    if args.once:
        break
    time.sleep(1 if said == "idle" else 0)
