

def connect(db):
    """One connection that commits each statement, and how it marks a parameter."""
    if db.startswith("postgres"):
        import psycopg
        return psycopg.connect(db, autocommit=True), "%s"
    connection = sqlite3.connect(db, isolation_level=None)
    connection.text_factory = lambda raw: raw.decode(errors="surrogateescape")
    return connection, "?"


def run(sql, *values):
    return connection.execute(sql.replace("?", mark), values)


def instant(seconds):
    """A time as SQL, in the way that the table keeps it."""
    if seconds is None:
        return "NULL"
    return f"datetime({seconds}, 'unixepoch')" if TIMES_ARE_TEXT else TIME % seconds


def claim():
    """The oldest row that nobody holds, claimed: its id, its attempts and its payload. None: there is none."""
    free = f"{STATE} = '{WORDS['pending']}'"
    if LEASE:
        free = f"({free} OR ({STATE} = '{WORDS['inflight']}' AND ({LEASE} IS NULL OR {LEASE} <= {instant(now)})))"
    order = f"{CREATED}, {ID}" if CREATED else ID
    while row := run(f"SELECT {ID}, {STATE}, {ATTEMPTS}, {PAYLOAD} FROM {TABLE} WHERE {free} ORDER BY {order} LIMIT 1").fetchone():
        id, state, attempts, payload = row
        if state == WORDS["inflight"] and attempts >= BUDGET:
            record(id, attempts, "dead")
            continue
        lease = f", {LEASE} = {instant(now + SECONDS)}" if LEASE else ""
        sql = f"UPDATE {TABLE} SET {STATE} = ?, {ATTEMPTS} = ?{lease} WHERE {ID} = ? AND {STATE} = ? AND {ATTEMPTS} = ?"
        if run(sql, WORDS["inflight"], attempts + 1, id, state, attempts).rowcount == 1:
            return id, attempts + 1, payload
    return None


def record(id, attempts, state):
    """Whether the row was still ours: whoever claims it again raises its attempts."""
    lease = f", {LEASE} = NULL" if LEASE else ""
    sql = f"UPDATE {TABLE} SET {STATE} = ?{lease} WHERE {ID} = ? AND {STATE} = ? AND {ATTEMPTS} = ?"
    return run(sql, WORDS[state], id, WORDS["inflight"], attempts).rowcount == 1


def send(id, payload):
    """sent, pending or dead: nothing is an acceptance but a 202 with a token in it."""
    try:
        data = payload.encode() if isinstance(payload, str) else bytes(payload)
        data.decode()
        str(id).encode("ascii")
    except UnicodeError:
        return "dead"
    if not str(id).isprintable() or not str(id):
        return "dead"
    to = urlsplit(url)
    exchange = http.client.HTTPConnection(to.hostname, to.port)
    signal.setitimer(signal.ITIMER_REAL, 3)
    try:
        exchange.request("POST", to.path or "/", data, {"X-Message-Id": str(id)})
        answer = exchange.getresponse()
        status, body = answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return "pending"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        exchange.close()
    if status == 202:
        try:
            return "sent" if json.loads(body)["ack"].strip() else "dead"
        except (ValueError, LookupError, TypeError, AttributeError):
            return "dead"
    return "pending" if status == 429 or status >= 500 else "dead"


def late(*_):
    raise TimeoutError("no whole answer in time")


arguments = argparse.ArgumentParser()
for name in ("--db", "--send-url", "--now"):
    arguments.add_argument(name, required=True)
given = arguments.parse_args()
url, now = given.send_url, int(given.now)
signal.signal(signal.SIGALRM, late)
connection, mark = connect(given.db)
claimed = claim()
if claimed is None:
    print("nothing")
else:
    id, attempts, payload = claimed
    state = send(id, payload)
    if state == "pending" and attempts >= BUDGET:
        state = "dead"
    print(state if record(id, attempts, state) else "lost")
