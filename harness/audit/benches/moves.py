"""Writes a log of an outbox as CSV, with violations planted in it, and prints how many of each as JSON.

    python3 moves.py LINES SEED > moves.csv 2> planted.json

Each violation is planted in a row of its own, so that each is counted by the rule and row that it breaks.
"""

import json
import random
import sys

BUDGET = 5

# What is planted, and in how many of 10 000 rows.
DEFECTS = {
    None: 9930,
    "decided/other": 10,
    "decided/accepted-below-max": 10,
    "decided/transient-at-max": 10,
    "order/finished": 10,
    "order/second-claim": 10,
    "attempts/claim-wrong": 10,
    "takeover/early": 10,
}


def history(chance, plant):
    """The lines of one row, as lists of those that follow each other at once: (from, result, attempts, to)."""
    defect = chance.choices(list(DEFECTS), weights=DEFECTS.values())[0]
    attempts = 0
    while True:
        attempts += 1
        claim = [("pending", "", attempts, "inflight")]
        if attempts == 1 and defect == "order/second-claim":
            plant(defect)
            # Nor does the number of attempts grow, as that of a claim must.
            plant("attempts/claim-wrong")
            claim *= 2
        if attempts == 1 and defect == "takeover/early":
            plant(defect)
            attempts += 1
            claim.append(("inflight", "", attempts, "inflight"))
        yield claim
        if attempts == 1 and defect == "attempts/claim-wrong":
            plant(defect)
            yield [("inflight", "transient", attempts, "pending")]
            attempts += 2
            yield [("pending", "", attempts, "inflight")]
        result = chance.choices(["accepted", "transient", "permanent", "ok"], weights=[70, 25, 4, 1])[0]
        result = {"decided/other": "ok", "decided/transient-at-max": "transient"}.get(defect, result)
        if result == "transient" and attempts < BUDGET:
            yield [("inflight", result, attempts, "pending")]
            continue
        to = "sent" if result == "accepted" else "dead"
        wrong = {"decided/other": "sent", "decided/transient-at-max": "pending"}.get(defect)
        if defect == "decided/accepted-below-max" and result == "accepted" and attempts < BUDGET:
            wrong = "dead"
        if wrong:
            plant(defect)
        yield [("inflight", result, attempts, wrong or to)]
        if defect == "order/finished":
            plant(defect)
            yield [("pending", "", attempts + 1, "inflight")]
        return


def main():
    lines, seed = int(sys.argv[1]), int(sys.argv[2])
    chance, planted = random.Random(seed), {}

    def plant(name):
        planted[name] = planted.get(name, 0) + 1

    sys.stdout.write("id,at,from,result,attempts,to\n")
    written, ident, going = 0, 0, []
    while written < lines or going:
        while len(going) < 1000 and written < lines:
            ident += 1
            going.append((ident, history(chance, plant)))
        at = chance.randrange(len(going))
        name, rest = going[at]
        together = next(rest, None)
        if together is None:
            going[at] = going[-1]
            going.pop()
            continue
        for was, result, attempts, to in together:
            sys.stdout.write(f"m-{name:08d},{1_800_000_000 + written // 5},{was},{result},{attempts},{to}\n")
            written += 1
    planted["lines"] = written
    json.dump(planted, sys.stderr)


main()
