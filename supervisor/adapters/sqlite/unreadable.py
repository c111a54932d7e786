"""The ways in which a journal can't be trusted, each with what to do about it."""

import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from supervisor.errors import Unreadable


def damaged(path: Path, why: object) -> Unreadable:
    command = f"supervisord --state-dir {shlex.quote(str(path.parent))} --salvage"
    return Unreadable(
        f"the journal {path} is damaged: {why}",
        hint=f"`{command}` copies what can still be read into a new journal and keeps this one beside it",
    )


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


@contextmanager
def damage_found(path: Path) -> Iterator[None]:
    """What SQLite finds wrong with the file becomes Unreadable."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise damaged(path, error) from error
