"""Placeholder keys and caps: the daemon writes them, the gate reads them.

Only a key's digest is stored. A key belongs to one attempt, to the accounts that its requests may use, and to purses:
what counts under one cap, such as a batch. It ends with its attempt.
"""

import hashlib
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from supervisor.gate.claims import Allowance, Price, price_of
from supervisor.gate.sharing import KEYS, opened, transaction

#: the prefix of an agent's key, which no provider's key has
PREFIX = "sk-gate-"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (
    digest BLOB PRIMARY KEY, batch TEXT NOT NULL, job INTEGER NOT NULL, attempt INTEGER NOT NULL,
    accounts TEXT NOT NULL, purses TEXT NOT NULL, issued_at REAL NOT NULL, ended_at REAL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS keys_of_attempts ON keys (batch, job, attempt);
CREATE TABLE IF NOT EXISTS caps (purse TEXT PRIMARY KEY, tokens INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS allowances (
    purse TEXT, pot TEXT, name TEXT NOT NULL, is_money INTEGER NOT NULL, since REAL, until REAL NOT NULL,
    most INTEGER NOT NULL, PRIMARY KEY (purse, pot, since)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS prices (
    match TEXT NOT NULL, input REAL NOT NULL, cache_write REAL NOT NULL, cache_read REAL NOT NULL,
    output REAL NOT NULL
);
"""

type Attempt = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Pass:
    """What a key allows."""

    attempt: Attempt
    #: by API: the account whose key is used
    accounts: Mapping[str, str]
    purses: tuple[str, ...]
    is_over: bool = False


def digest_of(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


class Keys:
    """The daemon writes, the gate only reads."""

    def __init__(self, folder: Path) -> None:
        self._db = opened(folder / KEYS, _SCHEMA)

    # --- the gate's

    def pass_of(self, key: str) -> Pass | None:
        found = self._db.execute(
            "SELECT batch, job, attempt, accounts, purses, ended_at FROM keys WHERE digest = ?", (digest_of(key),)
        ).fetchone()
        if found is None:
            return None
        accounts = msgspec.json.decode(found[3], type=dict[str, str])
        purses = msgspec.json.decode(found[4], type=tuple[str, ...])
        return Pass((found[0], found[1], found[2]), accounts, purses, found[5] is not None)

    def cap(self, purse: str) -> int | None:
        found = self._db.execute("SELECT tokens FROM caps WHERE purse = ?", (purse,)).fetchone()
        return None if found is None else int(found[0])

    def allowances(self, purse: str, at: float) -> list[Allowance]:
        """The purse's allowances that are valid at that time."""
        found = self._db.execute(
            "SELECT * FROM allowances WHERE purse = ? AND since <= ? AND (until > ? OR until = 0)", (purse, at, at)
        )
        return [Allowance(*row) for row in found]

    def price(self, model: str) -> Price:
        return price_of((Price(*row) for row in self._db.execute("SELECT * FROM prices ORDER BY rowid")), model)

    def known(self) -> tuple[set[str], set[str]]:
        """The batches of all keys, and their pots."""
        found = self._db.execute("SELECT DISTINCT batch, purses FROM keys").fetchall()
        pots = {purse for row in found for purse in msgspec.json.decode(row[1], type=tuple[str, ...])}
        pots |= {row[0] for row in self._db.execute("SELECT pot FROM allowances")}
        return {row[0] for row in found}, pots

    # --- the daemon's

    def issue(self, attempt: Attempt, accounts: Mapping[str, str], purses: Iterable[str]) -> str:
        """A new key for an attempt; an older one of the same attempt ends."""
        key = PREFIX + secrets.token_urlsafe(32)
        told = (msgspec.json.encode(accounts).decode(), msgspec.json.encode(list(purses)).decode())
        with transaction(self._db):
            self.end(attempt)
            self._db.execute(
                "INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", (digest_of(key), *attempt, *told, time.time())
            )
        return key

    def end(self, attempt: Attempt) -> None:
        self._db.execute(
            "UPDATE keys SET ended_at = ? WHERE batch = ? AND job = ? AND attempt = ? AND ended_at IS NULL",
            (time.time(), *attempt),
        )

    def attempts(self) -> set[Attempt]:
        """All attempts that have, or had, a key."""
        return set(self._db.execute("SELECT batch, job, attempt FROM keys").fetchall())

    def put_caps(self, caps: Mapping[str, int | None]) -> None:
        """Set caps; None removes one."""
        with transaction(self._db):
            for purse, tokens in caps.items():
                self._db.execute("DELETE FROM caps WHERE purse = ?", (purse,))
                if tokens is not None:
                    self._db.execute("INSERT INTO caps VALUES (?, ?)", (purse, tokens))

    def put_allowances(self, allowances: Iterable[Allowance]) -> None:
        """Replace all allowances."""
        with transaction(self._db):
            self._db.execute("DELETE FROM allowances")
            self._db.executemany("INSERT INTO allowances VALUES (?, ?, ?, ?, ?, ?, ?)", allowances)

    def put_prices(self, prices: Iterable[Price]) -> None:
        """Replace all prices; the first that matches a model counts."""
        with transaction(self._db):
            self._db.execute("DELETE FROM prices")
            self._db.executemany("INSERT INTO prices VALUES (?, ?, ?, ?, ?)", prices)

    def forget(self, before: float) -> None:
        """Delete keys that ended before that time."""
        self._db.execute("DELETE FROM keys WHERE ended_at < ?", (before,))

    def close(self) -> None:
        self._db.close()
