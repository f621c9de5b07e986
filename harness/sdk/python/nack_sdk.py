"""Puts a Python program under nack. Copy this one file beside your code; it needs Python 3.9 and nothing else.

Your code keeps its shape. It gets a line where a crash would matter:

    checkpoint("after_send")        # outside a run this is one comparison

and its main file says how nack reaches it:

    def start(run):                 # called once a process, at the first call
        store = open_store(run.store)
        send = lambda id, payload: nack_sdk.effect("send", id=id, payload=payload)
        return {"deliver_one": lambda worker: deliver_one(store, send, nack_sdk.now, worker)}

    nack_sdk.serve(start, name="my-worker", capabilities=["lease"], checkpoints=["after_send"], sqlite=True)

Handlers get the call's arguments by name. What they return is the reply, and None is the reply `nothing`. An
exception that leaves a handler is an error that may have changed something, unless it is a `Refused` or stands in
`serve(refused=...)`. The protocol behind all this is described in PROTOCOL.md.
"""

import binascii
import json
import os
import sys
import threading
import time

__all__ = ["Failed", "Injected", "Refused", "checkpoint", "effect", "now", "serve"]

PROTOCOL = 1
CALL_FAILED, INJECTED, RAISED = 1, 2, 3
NOT_JSON, NO_REQUEST, NO_METHOD, BAD_PARAMS = -32700, -32600, -32601, -32602

_run = None  # the run that this process serves, if it serves one


class Refused(Exception):
    """A definite error: nothing happened, and the caller may rely on it."""

    def __init__(self, name, text=""):
        super().__init__(text)
        self.name = name


class Failed(Exception):
    """An error with a name of the contract after which nobody knows whether something happened."""

    def __init__(self, name, text=""):
        super().__init__(text)
        self.name = name


class Injected(BaseException):
    """Raised at a checkpoint in place of a crash. No handler for ordinary errors must catch it."""


def checkpoint(name):
    """Passes a point that the contract names."""
    if _run is not None:
        _run.point("checkpoint", {"name": name})


def effect(name, **columns):
    """Calls the outside: returns what it answers or raises what it raises."""
    if _run is None:
        raise RuntimeError("nack_sdk.effect() is the outside of a run, and no run is being served")
    return _run.effect(name, columns)


def now():
    """The time in seconds since 1970, by the clock of the run or, outside one, of the system."""
    return int(time.time()) if _run is None else _run.request("now", {})["result"]


def serve(start, *, name, capabilities=(), checkpoints=(), refused=None, sqlite=False):
    """Answers calls until standard input ends.

    `start(run)` makes the handlers, call name to function, from `run.store`, `run.params`, `run.worker` and
    `run.contract`. `refused` maps exception classes of the program to names of definite errors. `sqlite=True` lets
    the run stop the program before each statement of any connection that `sqlite3.connect` opens from here on.
    """
    global _run
    _run = _Run(start, refused or {})
    if sqlite:
        _watch_sqlite()
    greeting = {
        "name": name,
        "protocol": PROTOCOL,
        "capabilities": list(capabilities),
        "checkpoints": list(checkpoints),
        "statements": sqlite,
        "executable": sys.executable,
    }
    try:
        _run.answer_all(greeting)
    finally:
        _run = None


class _Run:
    """The conversation with nack, over what were this process's standard input and output."""

    def __init__(self, start, refused):
        # From here on a print, of this program or of any it starts, goes where people read it.
        self._input, self._output = os.dup(0), os.dup(1)
        sys.stdout.flush()
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        os.register_at_fork(after_in_child=self._leave)
        self._read = b""
        self._last_id = 0
        self._lock = threading.RLock()
        self._start, self._refused, self._handlers = start, refused, None
        self.contract = self.worker = self.store = None
        self.params = {}
        self.everywhere = False
        self.storage = None

    def _leave(self):
        """A forked child is no worker: it speaks for itself and holds no pipe."""
        global _run
        if _run is self:
            _run = None
            os.close(self._input)
            os.close(self._output)

    # Messages

    def _receive(self):
        """The next message, or None at the end of the input."""
        while True:
            while b"\n" not in self._read:
                chunk = os.read(self._input, 1 << 16)
                if not chunk:
                    return None
                self._read += chunk
            line, self._read = self._read.split(b"\n", 1)
            try:
                message = json.loads(line, object_hook=_decode)
            except ValueError as error:
                self._fail(None, NOT_JSON, str(error))
                continue
            if isinstance(message, dict) and ("method" in message or "id" in message):
                return message
            self._fail(None, NO_REQUEST, "this is no message")

    def _send(self, **message):
        # Encoded before anything is written, so that what cannot be encoded is an error and not half a line.
        text = json.dumps({"jsonrpc": "2.0", **message}, default=_encode, allow_nan=False, separators=(",", ":"))
        line = memoryview(text.encode() + b"\n")
        while line:
            line = line[os.write(self._output, line) :]

    def _fail(self, id, code, text, data=None):
        error = {"code": code, "message": text}
        if data is not None:
            error["data"] = data
        self._send(id=id, error=error)

    def request(self, method, params):
        """Asks nack and waits for its word, however long that takes."""
        with self._lock:
            self._last_id += 1
            id = self._last_id
            self._send(id=id, method=method, params=params)
            while True:
                message = self._receive()
                if message is None:
                    os._exit(0)  # nack is gone, so nobody will ever answer
                if "method" in message:
                    self._fail(message.get("id"), NO_REQUEST, "a call is running")
                elif message["id"] == id:
                    return message
                # Else it answers a question that a signal took this program away from.

    def point(self, method, params):
        answer = self.request(method, params)
        error = answer.get("error")
        if error is None:
            self.storage = answer["result"].get("storage", self.storage)
        elif error["code"] == INJECTED:
            raise Injected(error["message"])
        else:
            raise RuntimeError(error["message"])

    def effect(self, name, columns):
        answer = self.request("effect", {"name": name, "columns": columns})
        error = answer.get("error")
        if error is None:
            return answer["result"]
        if error["code"] != RAISED:
            raise RuntimeError(error["message"])
        text = error["data"]["text"]
        if isinstance(text, bytes):
            text = text.decode("utf-8", "surrogateescape")
        raise _raised(error["data"]["kind"])(text)

    # Calls

    def answer_all(self, greeting):
        while True:
            message = self._receive()
            if message is None:
                return
            method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
            if method == "hello":
                self.contract, self.worker = params["contract"], params["worker"]
                self.store, self.params = params["store"], params["params"]
                self._send(id=id, result=greeting)
            elif method == "call":
                self._answer(id, params)
            elif method is not None:
                self._fail(id, NO_METHOD, f"there is no method {method!r} here; there are hello, call")

    def _answer(self, id, params):
        self.everywhere = params.get("watch", {}).get("everywhere", False)
        self.storage = None
        try:
            if self._handlers is None:
                self._handlers = self._start(self)
            handler = self._handlers.get(params["call"])
            if handler is None:
                return self._fail(id, BAD_PARAMS, f"there is no handler for the call {params['call']!r}")
            self._send(id=id, result=handler(**params["args"]))
        except BaseException as error:  # also an interrupt, an exit and an injected error end no more than the call
            name, definite = self._named(error)
            if not definite and not isinstance(error, Injected):
                sys.__excepthook__(*sys.exc_info())
            text = _text(error)
            data = {"name": name, "definite": definite, "text": text.encode("utf-8", "surrogatepass")}
            self._fail(id, CALL_FAILED, text[:200], data)

    def _named(self, error):
        """The name of an error, and whether it is definite."""
        if isinstance(error, (Refused, Failed)):
            return error.name, isinstance(error, Refused)
        for kind, name in self._refused.items():
            if isinstance(error, kind):
                return name, True
        names = {
            Injected: "raised",
            TimeoutError: "timeout",
            ConnectionError: "connection",
            KeyboardInterrupt: "interrupt",
            SystemExit: "system-exit",
        }
        known = (name for kind, name in names.items() if isinstance(error, kind))
        return next(known, type(error).__name__), False


def _raised(kind):
    """The exception class for what the outside raises."""
    if kind == "cancelled":
        from asyncio import CancelledError  # imported here, since it takes longer than all the rest

        return CancelledError
    kinds = {"timeout": TimeoutError, "connection": ConnectionError, "error": Exception}
    return {**kinds, "interrupt": KeyboardInterrupt, "system-exit": SystemExit}[kind]


def _text(error):
    try:
        return str(error)
    except Exception:
        return f"a {type(error).__name__} that has no text"


def _decode(fields):
    """Bytes come as {"$bytes": base64}, and so does text with lone surrogates, as the bytes it would be in UTF-8."""
    if len(fields) != 1 or not isinstance(fields.get("$bytes"), str):
        return fields
    data = binascii.a2b_base64(fields["$bytes"])
    try:
        data.decode()
    except UnicodeDecodeError:
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            pass
    return data


def _encode(value):
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$bytes": binascii.b2a_base64(value, newline=False).decode()}
    raise TypeError(f"a {type(value).__name__} cannot be sent to nack")


# SQLite


def _watch_sqlite():
    """Replaces sqlite3.connect by one whose connections tell the run of each statement before it runs."""
    import sqlite3

    class Cursor:
        def execute(self, sql, *args):
            _before(sql)
            return super().execute(sql, *args)

        def executemany(self, sql, *args):
            _before(sql)
            return super().executemany(sql, *args)

        def executescript(self, sql):
            _before(sql)
            return super().executescript(sql)

    class Connection:
        def cursor(self, factory=sqlite3.Cursor):
            return super().cursor(watched(Cursor, factory))

        def execute(self, *args):
            return self.cursor().execute(*args)

        def executemany(self, *args):
            return self.cursor().executemany(*args)

        def executescript(self, *args):
            return self.cursor().executescript(*args)

        def commit(self):
            if self.in_transaction:
                _before("COMMIT")
            super().commit()

        def rollback(self):
            if self.in_transaction:
                _before("ROLLBACK")
            super().rollback()

        def __exit__(self, kind, error, trace):
            if kind is not None:
                self.rollback()
                return False
            try:
                self.commit()
            except BaseException:
                self.rollback()
                raise
            return False

    made = {}

    def watched(mixin, factory):
        if not isinstance(factory, type):
            return factory
        if factory not in made:
            made[factory] = type(factory.__name__, (mixin, factory), {})
        return made[factory]

    connect = sqlite3.connect

    def watching_connect(*args, **kwargs):
        if _run is not None and len(args) < 6:
            kwargs["factory"] = watched(Connection, kwargs.get("factory", sqlite3.Connection))
        return connect(*args, **kwargs)

    sqlite3.connect = sqlite3.dbapi2.connect = watching_connect


def _before(sql):
    if _run is None:
        return
    if _run.everywhere:
        _run.point("statement", {"sql": " ".join(sql.split())[:500]})
    if _run.storage is not None and _writes(sql):
        raise _storage_error(_run.storage)


def _writes(sql):
    words = sql.upper().split()
    first = words[0].rstrip(";") if words else ""
    if first == "BEGIN":
        return bool({"IMMEDIATE", "EXCLUSIVE"} & {word.rstrip(";") for word in words[1:2]})
    if first == "WITH":
        return bool({"INSERT", "UPDATE", "DELETE", "REPLACE"} & set(words))
    return first not in ("", "SELECT", "VALUES", "EXPLAIN", "PRAGMA", "SAVEPOINT", "RELEASE", "ROLLBACK")


def _storage_error(fault):
    """The error that SQLite itself gives in this case."""
    import sqlite3

    code, name, text = {
        "busy": (5, "SQLITE_BUSY", "database is locked"),
        "full": (13, "SQLITE_FULL", "database or disk is full"),
        "io": (10, "SQLITE_IOERR", "disk I/O error"),
    }[fault]
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode, error.sqlite_errorname = code, name
    return error
