"""Asks Billing for the money of a purchase, once:

    python3 ordering.py --db app.db --billing https://billing.example purchase-17

Prints the state of the purchase. It stays open until Billing has said yes or no: an answer that does not come, or that
nobody can read, says nothing, and the next attempt asks under the same op_id.
"""

import argparse
import http.client
import json
import sqlite3
from urllib.parse import urlsplit

FINAL = {201: "reserved", 402: "declined"}


def reserve(db, billing, id):
    op_id, cents, state = db.execute("SELECT op_id, cents, state FROM purchases WHERE id = ?", (id,)).fetchone()
    if state == "pending" and (said := ask(billing, op_id, cents)):
        db.execute("UPDATE purchases SET state = ? WHERE id = ? AND state = 'pending'", (said, id))
        (state,) = db.execute("SELECT state FROM purchases WHERE id = ?", (id,)).fetchone()
    return state


def ask(billing, op_id, cents):
    """What Billing says, or None if it is not known."""
    to = urlsplit(billing)
    connection = http.client.HTTPConnection(to.hostname, to.port, timeout=3)
    try:
        body = json.dumps({"op_id": op_id, "cents": cents})
        connection.request("POST", to.path + "/reservations", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        return FINAL.get(answer.status)
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


parser = argparse.ArgumentParser()
parser.add_argument("--db", required=True)
parser.add_argument("--billing", required=True)
parser.add_argument("purchase")
args = parser.parse_args()
print(reserve(sqlite3.connect(args.db, isolation_level=None, timeout=10), args.billing, args.purchase))
