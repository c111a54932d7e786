"""The checkpoint: the state at some event, kept so that a restart need not fold all events before it.

It is only a shortcut: a checkpoint of another version, or an altered one, is ignored, and the events are folded from
the beginning. Sealing a batch drops it, because replay leaves out sealed batches.
It includes the sums of the events that it covers, so that a check need not read them to know that none is missing.
"""

import sqlite3
import typing
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256
from typing import Any

import msgspec
from immutables import Map

from supervisor import __version__
from supervisor.adapters.sqlite.tally import Tallies, event_digest
from supervisor.model.state import State


def write(connection: sqlite3.Connection, seq: int, state: State, tallies: Tallies) -> None:
    body = msgspec.msgpack.encode(state, enc_hook=_plain)
    row = (seq, FINGERPRINT, body, msgspec.json.encode(tallies).decode())
    columns = "id, seq, shape, body, tallies, digest"
    values = (*row, event_digest(*row))
    connection.execute(f"INSERT OR REPLACE INTO checkpoint ({columns}) VALUES (1, ?, ?, ?, ?, ?)", values)


def drop(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM checkpoint")


def read(connection: sqlite3.Connection) -> tuple[int, State] | None:
    if (row := _whole(connection)) is None:
        return None
    try:
        return row[0], msgspec.msgpack.decode(row[2], type=State, dec_hook=_rich)
    except (msgspec.DecodeError, ValueError, TypeError):
        return None


def sums(connection: sqlite3.Connection) -> tuple[int, dict[str, int]] | None:
    """The sums of the events that the checkpoint covers, if it is valid."""
    row = _whole(connection)
    return None if row is None else (row[0], msgspec.json.decode(row[3], type=dict[str, int]))


def _whole(connection: sqlite3.Connection) -> tuple[int, str, bytes, str] | None:
    found = connection.execute("SELECT seq, shape, body, tallies, digest FROM checkpoint").fetchone()
    if found is None or found[1] != FINGERPRINT or found[4] != event_digest(*found[:4]):
        return None
    row: tuple[int, str, bytes, str] = found[:4]
    return row


def _plain(value: Any) -> Any:
    if isinstance(value, Map):
        return list(value.items())
    if isinstance(value, frozenset):
        return list(value)
    raise TypeError(f"a state can't hold a {type(value).__name__}")


def _rich(wanted: Any, value: Any) -> Any:
    if typing.get_origin(wanted) is Map:
        key, content = typing.get_args(wanted)
        return Map(msgspec.convert(value, list[tuple[key, content]], dec_hook=_rich))  # type: ignore[valid-type]
    raise TypeError(f"a state can't hold a {wanted}")


def _shapes(kind: Any, seen: dict[str, str]) -> dict[str, str]:
    """Every class in a state, with its fields or members."""
    for part in typing.get_args(kind):
        _shapes(part, seen)
    if isinstance(kind, type) and kind.__name__ not in seen:
        if issubclass(kind, Enum):
            seen[kind.__name__] = ",".join(member.value for member in kind)
        elif is_dataclass(kind):
            hints = typing.get_type_hints(kind)
            seen[kind.__name__] = ",".join(f"{field.name}:{hints[field.name]}" for field in fields(kind))
            for hint in hints.values():
                _shapes(hint, seen)
    return seen


FINGERPRINT = sha256(f"{__version__} {sorted(_shapes(State, {}).items())}".encode()).hexdigest()
