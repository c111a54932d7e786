"""The reasons why a journal can't be trusted, each with its remedy."""

import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from supervisor.errors import Unreadable


def damaged(path: Path, why: object) -> Unreadable:
    return Unreadable(
        f"the journal {path} is damaged: {why}",
        hint=f"`{_command(path, '--salvage')}` copies what can still be read into a new journal "
        "and keeps this one beside it",
    )


def older(path: Path, last: int, acknowledged: int) -> Unreadable:
    return Unreadable(
        f"the journal {path} ends with event {last}, but events up to {acknowledged} were acknowledged",
        hint=_restored_or_damaged(path),
    )


def different(path: Path, acknowledged: int) -> Unreadable:
    return Unreadable(
        f"the journal {path} does not hold what was acknowledged up to event {acknowledged}: "
        "events are missing, or are not as they were written",
        hint=_restored_or_damaged(path),
    )


def unmarked(path: Path, mark: Path) -> Unreadable:
    what = "is damaged" if mark.exists() else "is missing"
    return Unreadable(
        f"the file {mark} {what}, which tells up to where the journal {path} was acknowledged",
        hint=_restored_or_damaged(path),
    )


def of_another(path: Path, found: str, marked: str) -> Unreadable:
    return Unreadable(
        f"the journal {path} is of the installation {found}, but what is beside it is of {marked}",
        hint=_restored_or_damaged(path),
    )


def _restored_or_damaged(path: Path) -> str:
    return (
        "nothing was changed; put back what is missing. If it was restored from a backup on purpose, start once with "
        f"`{_command(path, '--accept-older-state')}`; else `{_command(path, '--salvage')}` makes a new journal of "
        "what can be read and keeps this one beside it"
    )


def _command(path: Path, flag: str) -> str:
    return f"supervisord --state-dir {shlex.quote(str(path.parent))} {flag}"


def newer(path: Path, what: str) -> Unreadable:
    return Unreadable(
        f"the journal {path} was written by a newer version: {what}",
        hint="run that version, or a later one; the file is as it was",
    )


def foreign(path: Path) -> Unreadable:
    return Unreadable(
        f"{path} is not a journal of agent-supervisor",
        hint="give another state directory, or move that file away",
    )


def missing(path: Path, remains: str) -> Unreadable:
    return Unreadable(
        f"the journal {path} is not there, but what is left of it is: {remains}",
        hint="put it back under its name; or move what is left away to start anew",
    )


def hopeless(path: Path, why: object) -> Unreadable:
    return Unreadable(
        f"nothing of the journal {path} can be read: {why}",
        hint="restore it from a backup; or move it away to start anew, and look for agents that still run",
    )


def out_of_reach(path: Path, why: object) -> Unreadable:
    return Unreadable(
        f"the journal {path} can't be opened: {why}",
        hint="see to its permissions, and to the room on its disk and the disk's health",
    )


#: These mean that the file can't be accessed; they tell nothing about its content.
_OUT_OF_REACH = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}


@contextmanager
def damage_found(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about the file into Unreadable."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        primary = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        raise (out_of_reach if primary in _OUT_OF_REACH else damaged)(path, error) from error
