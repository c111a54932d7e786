"""Tokens taken, reservations and held requests: the gate writes them, the daemon reads them.

A request is reserved before it is sent, and settled with the usage that its provider reports. A request that a killed
gate left reserved may have taken all of it: it counts as unknown, which fills its pots but not its token counts.
"""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from supervisor.gate.keys import Attempt, Pass
from supervisor.gate.sharing import COUNTS, opened, transaction
from supervisor.gate.tokens import NONE, Tokens

#: an agent may ask for models by any name: those beyond this number are counted as one
MOST_MODELS, ANY_MODEL = 50, "others"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS taken (
    batch TEXT, job INTEGER, attempt INTEGER, account TEXT, model TEXT,
    input INTEGER NOT NULL, cache_write INTEGER NOT NULL, cache_read INTEGER NOT NULL, output INTEGER NOT NULL,
    requests INTEGER NOT NULL, unknown INTEGER NOT NULL,
    PRIMARY KEY (batch, job, attempt, account, model)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pots (pot TEXT PRIMARY KEY, amount INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS under_way (
    id INTEGER PRIMARY KEY, batch TEXT NOT NULL, job INTEGER NOT NULL, attempt INTEGER NOT NULL,
    account TEXT NOT NULL, model TEXT NOT NULL, pots TEXT NOT NULL, tokens INTEGER NOT NULL, at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS held (
    id INTEGER PRIMARY KEY, batch TEXT NOT NULL, job INTEGER NOT NULL, attempt INTEGER NOT NULL,
    model TEXT NOT NULL, why TEXT NOT NULL, until REAL, at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS shut (
    account TEXT, model TEXT, why TEXT NOT NULL, until REAL NOT NULL, said TEXT NOT NULL,
    PRIMARY KEY (account, model)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS windows (
    account TEXT, minutes INTEGER, used REAL NOT NULL, resets_at REAL NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (account, minutes)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refused (
    pot TEXT PRIMARY KEY, at REAL NOT NULL, spent INTEGER NOT NULL, cap INTEGER NOT NULL, wanted INTEGER NOT NULL
) WITHOUT ROWID;
"""
_OF_ATTEMPT = "WHERE batch = ? AND job = ? AND attempt = ?"
_ADD_SPENT = "INSERT INTO pots VALUES (?, ?) ON CONFLICT DO UPDATE SET amount = amount + excluded.amount"
_ADD_TAKEN = """
INSERT INTO taken VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
    input = input + excluded.input, cache_write = cache_write + excluded.cache_write,
    cache_read = cache_read + excluded.cache_read, output = output + excluded.output,
    requests = requests + excluded.requests, unknown = unknown + excluded.unknown
"""


@dataclass(frozen=True, slots=True)
class Row:
    """What one attempt took from one model."""

    attempt: Attempt
    account: str
    model: str
    tokens: Tokens
    requests: int
    #: what requests may have taken whose end was not seen
    unknown: int


@dataclass(frozen=True, slots=True)
class Held:
    """A request that waits for its provider."""

    attempt: Attempt
    model: str
    why: str
    until: float | None
    #: since when
    at: float


@dataclass(frozen=True, slots=True)
class Shut:
    """A limit of an account, as its provider reported it."""

    account: str
    model: str
    why: str
    until: float
    said: str


@dataclass(frozen=True, slots=True)
class Window:
    """What an account's provider last reported of a subscription's window."""

    account: str
    #: its length
    minutes: int
    #: as a fraction of 1
    used: float
    resets_at: float
    #: when it was reported
    at: float


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """The last request that did not fit under a cap."""

    pot: str
    at: float
    spent: int
    cap: int
    wanted: int


class Counts:
    def __init__(self, folder: Path) -> None:
        self.path = folder / COUNTS
        self._db = opened(self.path, _SCHEMA)

    # --- the gate's

    def take_over(self) -> int:
        """Settle what an earlier gate has left. Returns how many of its requests were under way."""
        with transaction(self._db):
            left = self._db.execute("SELECT id, pots, tokens FROM under_way").fetchall()
            for id_, pots, tokens in left:
                self._settle(id_, msgspec.json.decode(pots, type=dict[str, int]), NONE, tokens, 0)
            self._db.execute("DELETE FROM held")
            self._db.execute("DELETE FROM shut WHERE until < ?", (time.time(),))
            self._db.execute("DELETE FROM windows WHERE resets_at < ?", (time.time(),))
        return len(left)

    def forget_all_but(self, batches: Collection[str], pots: Collection[str]) -> None:
        """Delete all other counts: the daemon has them in its journal before it forgets their keys."""
        with transaction(self._db):
            for table, column, kept in (
                ("taken", "batch", batches),
                ("pots", "pot", pots),
                ("refused", "pot", pots),
            ):
                found = self._db.execute(f"SELECT DISTINCT {column} FROM {table}").fetchall()
                gone = [row for row in found if row[0] not in kept]
                self._db.executemany(f"DELETE FROM {table} WHERE {column} = ?", gone)

    def reserve(self, owner: Pass, account: str, model: str, tokens: int, pots: Mapping[str, int]) -> int:
        told = msgspec.json.encode(pots).decode()
        with transaction(self._db):
            model = self._known_model(owner.attempt, model)
            done = self._db.execute(
                "INSERT INTO under_way (batch, job, attempt, account, model, pots, tokens, at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*owner.attempt, account, model, told, tokens, time.time()),
            )
        assert done.lastrowid is not None
        return done.lastrowid

    def settle(self, id_: int, pots: Mapping[str, int], tokens: Tokens, unknown: int, requests: int = 1) -> None:
        with transaction(self._db):
            self._settle(id_, pots, tokens, unknown, requests)

    def _settle(self, id_: int, pots: Mapping[str, int], tokens: Tokens, unknown: int, requests: int) -> None:
        owner = self._db.execute("SELECT batch, job, attempt, account, model FROM under_way WHERE id = ?", (id_,))
        kinds = (tokens.input, tokens.cache_write, tokens.cache_read, tokens.output)
        if requests or unknown:
            self._db.execute(_ADD_TAKEN, (*owner.fetchone(), *kinds, requests, unknown))
            self._db.executemany(_ADD_SPENT, pots.items())
        self._db.execute("DELETE FROM under_way WHERE id = ?", (id_,))

    def _known_model(self, attempt: Attempt, model: str) -> str:
        known = [row[0] for row in self._db.execute(f"SELECT DISTINCT model FROM taken {_OF_ATTEMPT}", attempt)]
        return model if model in known or len(known) < MOST_MODELS else ANY_MODEL

    def hold(self, attempt: Attempt, model: str, why: str, until: float | None) -> int:
        done = self._db.execute(
            "INSERT INTO held (batch, job, attempt, model, why, until, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*attempt, model, why, until, time.time()),
        )
        assert done.lastrowid is not None
        return done.lastrowid

    def release(self, id_: int) -> None:
        self._db.execute("DELETE FROM held WHERE id = ?", (id_,))

    def shut(self, door: Shut) -> None:
        row = (door.account, door.model, door.why, door.until, door.said)
        self._db.execute("INSERT OR REPLACE INTO shut VALUES (?, ?, ?, ?, ?)", row)

    def reopen(self, account: str, model: str) -> None:
        self._db.execute("DELETE FROM shut WHERE account = ? AND model = ?", (account, model))

    def see(self, window: Window) -> None:
        row = (window.account, window.minutes, window.used, window.resets_at, window.at)
        self._db.execute("INSERT OR REPLACE INTO windows VALUES (?, ?, ?, ?, ?)", row)

    def turn_away(self, away: TurnedAway) -> None:
        row = (away.pot, away.at, away.spent, away.cap, away.wanted)
        self._db.execute("INSERT OR REPLACE INTO refused VALUES (?, ?, ?, ?, ?)", row)

    # --- anybody's

    def spent(self) -> dict[str, int]:
        """By pot."""
        return dict(self._db.execute("SELECT pot, amount FROM pots").fetchall())

    def reserved(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM under_way").fetchone()[0])

    def is_asking(self, attempt: Attempt) -> bool:
        """Whether a request of the attempt is under way."""
        return self._db.execute(f"SELECT 1 FROM under_way {_OF_ATTEMPT} LIMIT 1", attempt).fetchone() is not None

    def taken(self, attempt: Attempt | None = None) -> list[Row]:
        where, values = (_OF_ATTEMPT, attempt) if attempt is not None else ("", ())
        found = self._db.execute(f"SELECT * FROM taken {where}", values).fetchall()
        return [Row((r[0], r[1], r[2]), r[3], r[4], Tokens(*r[5:9]), r[9], r[10]) for r in found]

    def held(self) -> list[Held]:
        found = self._db.execute("SELECT batch, job, attempt, model, why, until, at FROM held").fetchall()
        return [Held((row[0], row[1], row[2]), *row[3:]) for row in found]

    def shut_doors(self) -> list[Shut]:
        return [Shut(*row) for row in self._db.execute("SELECT * FROM shut").fetchall()]

    def windows(self) -> list[Window]:
        return [Window(*row) for row in self._db.execute("SELECT * FROM windows").fetchall()]

    def turned_away(self) -> Mapping[str, TurnedAway]:
        return {row[0]: TurnedAway(*row) for row in self._db.execute("SELECT * FROM refused").fetchall()}

    def close(self) -> None:
        self._db.close()
