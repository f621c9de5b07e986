"""Imports members: POST /v1/members:import takes 1 to 100 rows and answers with a verdict for each, in their order.

    python3 server.py --db app.db --port 8080

Prints `listening on PORT` when it is ready; port 0 takes a free one. Several servers may share a database.
"""

import argparse
import json
import re
import sqlite3
import uuid
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
MAX_ROWS = 100


class Malformed(ValueError):
    """The body cannot be split into keyed rows."""


def parse(body):
    """The rows of a request. Every ValueError means that the body is malformed."""
    try:
        asked = json.loads(body.decode(), parse_constant=refuse)
        json.dumps(asked, ensure_ascii=False).encode()  # a lone surrogate is text that nobody can store
    except RecursionError as error:
        raise Malformed("nested too deeply") from error
    rows = asked.get("rows") if isinstance(asked, dict) else None
    if not isinstance(rows, list) or not 1 <= len(rows) <= MAX_ROWS:
        raise Malformed(f"not 1 to {MAX_ROWS} rows")
    keys = [row.get("row_key") if isinstance(row, dict) else None for row in rows]
    if not all(isinstance(key, str) and key for key in keys) or len(set(keys)) < len(keys):
        raise Malformed("each row needs a row_key of its own")
    return rows


def refuse(constant):
    raise Malformed(f"{constant} is not JSON")


def import_rows(db, rows):
    """One transaction for the request, and a verdict for each row. Who holds the write lock may trust what it read."""
    db.execute("BEGIN IMMEDIATE")
    ids, mails = stored(db, rows)
    results = [verdict(db, row, ids, mails) for row in rows]
    db.execute("COMMIT")
    return results


def stored(db, rows):
    """The ids of the people who have one of the rows' keys, by key, and one of their emails, by email."""
    emails = [row["email"] for row in rows if isinstance(row.get("email"), str)]
    return find(db, "external_key", [row["row_key"] for row in rows]), find(db, "mail", emails)


def find(db, column, values):
    marks = ", ".join("?" * len(values))
    return dict(db.execute(f"SELECT {column}, id FROM people WHERE {column} IN ({marks})", values))


def verdict(db, row, ids, mails):
    key, mail, name = row["row_key"], row.get("email"), row.get("display_name")
    if not (isinstance(mail, str) and EMAIL.fullmatch(mail)):
        return result(key, "rejected", error="invalid_email")
    if not (isinstance(name, str) and name.strip()):
        return result(key, "rejected", error="display_name_blank")
    if key in ids:
        return result(key, "unchanged", ids[key])
    if mail in mails:
        return result(key, "rejected", error="email_taken")
    id = str(uuid.uuid4())
    db.execute("INSERT INTO people(id, external_key, mail, name) VALUES (?, ?, ?, ?)", (id, key, mail, name))
    mails[mail] = id
    return result(key, "created", id)


def result(key, status, id=None, error=None):
    return {"row_key": key, "status": status, "id": id, "error": error}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        if self.path != "/v1/members:import":
            return self.answer(404, {"error": "not_found"})
        try:
            rows = parse(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        except ValueError:
            return self.answer(400, {"error": "malformed_payload"})
        try:
            with closing(sqlite3.connect(self.server.db, timeout=10, isolation_level=None)) as db:
                results = import_rows(db, rows)
        except sqlite3.Error as error:
            self.log_error("%s", error)
            return self.answer(500, {"error": "internal"})
        rejected = any(row["error"] for row in results)
        self.answer(207 if rejected else 200, {"results": results})

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


parser = argparse.ArgumentParser()
parser.add_argument("--db", required=True)
parser.add_argument("--port", type=int, required=True)
args = parser.parse_args()
with Server(("127.0.0.1", args.port), Handler) as server:
    server.db = args.db
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()
