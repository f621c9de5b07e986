"""Keeps reservations for Ordering, each under the op_id that Ordering gave it:

    python3 billing.py --db app.db --port 8080

POST /reservations, /reservations/OP_ID/confirm, /reservations/OP_ID/release and /sweep, which releases what nobody
confirmed within the limit. The gateway in front stamps each request with X-Request-Time.
"""

import argparse
import json
import sqlite3
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

LIMIT = 900  # seconds


def reserve(db, now, op_id, cents):
    known = find(db, op_id)
    if known is None:
        db.execute("INSERT INTO holds(op_id, cents, state, held_at) VALUES (?, ?, 'held', ?)", (op_id, cents, now))
        return 201, "reserved"
    state, held = known
    if state == "released":
        return 410, state
    return (201, "reserved") if held == cents else (409, "another amount")


def confirm(db, op_id):
    return move(db, op_id, "confirmed", {"held", "confirmed"}, 410)


def release(db, op_id):
    return move(db, op_id, "released", {"held", "released"}, 409)


def move(db, op_id, to, movable, refused):
    known = find(db, op_id)
    if known is None:
        return 404, "unknown"
    if known[0] not in movable:
        return refused, known[0]
    db.execute("UPDATE holds SET state = ? WHERE op_id = ?", (to, op_id))
    return 200, to


def sweep(db, now):
    swept = db.execute("UPDATE holds SET state = 'released' WHERE state = 'held' AND held_at <= ?", (now - LIMIT,))
    return 200, swept.rowcount


def find(db, op_id):
    return db.execute("SELECT state, cents FROM holds WHERE op_id = ?", (op_id,)).fetchone()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        now = int(self.headers.get("X-Request-Time", time.time()))
        with closing(sqlite3.connect(self.server.db, timeout=10, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            status, said = self.route(db, now, body)
            db.execute("COMMIT")
        data = json.dumps({"said": said}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def route(self, db, now, body):
        match [unquote(part) for part in self.path.split("/")[1:]]:
            case ["reservations"]:
                asked = json.loads(body)
                return reserve(db, now, asked["op_id"], asked["cents"])
            case ["reservations", op_id, "confirm"]:
                return confirm(db, op_id)
            case ["reservations", op_id, "release"]:
                return release(db, op_id)
            case ["sweep"]:
                return sweep(db, now)
        return 404, "no such path"


parser = argparse.ArgumentParser()
parser.add_argument("--db", required=True)
parser.add_argument("--port", type=int, required=True)
args = parser.parse_args()
with ThreadingHTTPServer(("127.0.0.1", args.port), Handler) as server:
    server.db = args.db
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()
