"""Holds `nack audit` against DuckDB on one log, side by side: time, and equal counts.

    python3 moves.py 5000000 7 > moves.csv 2> planted.json
    python3 versus_duckdb.py NACK moves.csv planted.json [THREADS]
"""

import json
import os
import subprocess
import sys
import time

import duckdb

COLUMNS = "{'id': 'VARCHAR', 'at': 'BIGINT', 'from': 'VARCHAR', 'result': 'VARCHAR', 'attempts': 'INT', 'to': 'VARCHAR'}"
DECIDED = {
    "decided/other": """ "to" <> 'inflight' AND "from" = 'inflight' AND COALESCE(result, '') NOT IN ('accepted', 'transient', 'permanent') AND "to" <> 'dead' """,
    "decided/accepted-below-max": """ "to" <> 'inflight' AND "from" = 'inflight' AND result = 'accepted' AND attempts < 5 AND "to" <> 'sent' """,
    "decided/transient-at-max": """ "to" <> 'inflight' AND "from" = 'inflight' AND result = 'transient' AND attempts >= 5 AND "to" <> 'dead' """,
}
ORDER = {
    "order/finished": "was IN ('sent', 'dead')",
    "order/second-claim": """was = 'inflight' AND "from" = 'pending' AND attempts = tries""",
    "attempts/claim-wrong": """was IS NOT NULL AND "to" = 'inflight' AND attempts <> tries + 1""",
    "takeover/early": """ "from" = 'inflight' AND "to" = 'inflight' AND "at" - since < 60""",
}


def counts(of):
    return ", ".join(f"COUNT(*) FILTER (WHERE {condition})" for condition in of.values())


def by_duckdb(path, threads, in_order):
    engine = duckdb.connect()
    engine.execute(f"SET threads = {threads}")
    lines = f"read_csv('{path}', header = true, columns = {COLUMNS})"
    rules = dict(DECIDED)
    if in_order:
        rules |= ORDER
        lines = f"""(SELECT *, LAG("to") OVER w AS was, LAG(attempts) OVER w AS tries, LAG("at") OVER w AS since
            FROM (SELECT *, ROW_NUMBER() OVER () AS n FROM {lines}) WINDOW w AS (PARTITION BY id ORDER BY n))"""
    began = time.time()
    found = engine.execute(f"SELECT {counts(rules)} FROM {lines}").fetchone()
    return time.time() - began, dict(zip(rules, found))


def by_nack(nack, path, threads, in_order):
    only = [] if in_order else ["--only", "decided", "--only", "claimed"]
    command = [nack, "audit", "outbox", "--log", path, "--jobs", str(threads), "--report", "json=-", *only]
    began = time.time()
    done = subprocess.run(command, capture_output=True, check=False)
    took = time.time() - began
    cases = json.loads(done.stdout)["cases"]
    found = {c["name"].removeprefix("outbox/audit/"): c["found"]["broken"] for c in cases if c.get("found", {}).get("broken")}
    return took, found


def main():
    nack, path, planted = sys.argv[1:4]
    threads = int(sys.argv[4]) if len(sys.argv) > 4 else os.cpu_count()
    with open(planted) as file:
        wanted = json.load(file)
    for in_order in [False, True]:
        name = "rules of a line and of order" if in_order else "rules of a line"
        for turn in range(3):
            theirs, their_counts = by_duckdb(path, threads, in_order)
            ours, our_counts = by_nack(nack, path, threads, in_order)
            for rule, count in their_counts.items():
                assert count == our_counts.get(rule, 0) == wanted.get(rule, 0), (rule, count, our_counts, wanted)
            load = os.getloadavg()[0]
            print(f"{name}: DuckDB {theirs:.2f} s, nack {ours:.2f} s, {theirs / ours:.1f} times as fast (load {load:.1f})")
    print("all counts are those that were planted")


main()
