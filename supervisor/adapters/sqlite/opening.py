"""From a path to a journal that can be trusted: made, found whole, brought up to date, or accepted as it is.

Cases, in this order:

- there is nothing, and nothing of it is left: a journal is made;
- there is one of a version that knew no mark: it gets one, and then its digests;
- what was acknowledged is there: it is opened;
- less or something else is there: refused; or, when a person says so, kept aside in a copy and gone on with.
"""

import secrets
import shutil
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from supervisor.adapters.sqlite import mark, unreadable
from supervisor.adapters.sqlite.appending import insert
from supervisor.adapters.sqlite.inspecting import Found, hold, inspect
from supervisor.adapters.sqlite.mark import Mark
from supervisor.adapters.sqlite.schema import build, open_database, place
from supervisor.adapters.sqlite.tally import total
from supervisor.adapters.sqlite.thread import transaction
from supervisor.errors import Unreadable
from supervisor.model.event import OlderStateAccepted


def settled(path: Path, *, accept_older: bool = False) -> Found:
    """What is there, once it can be trusted; else Unreadable, and every byte is as it was."""
    with unreadable.damage_found(path):
        if not path.exists():
            _create(path)
        elif path.stat().st_size == 0:  # SQLite would take it for a new one
            raise unreadable.damaged(path, "it is empty")
        marked = mark.read(mark.place_of(path))
        found = inspect(path, marked, thoroughly=accept_older)
        if found.is_older_version and not mark.place_of(path).exists():
            mark.create(mark.place_of(path), Mark(found.installation, found.last, total(found.tallies)))
            return found
        try:
            hold(path, found, marked)
        except Unreadable:
            if not accept_older:
                raise
            return _accepted(path, found, marked)
        return found


def _create(path: Path) -> None:
    """The mark comes first: where it says that nothing was acknowledged, there is nothing to be missed."""
    marked_at = mark.place_of(path)
    remains = [
        each.name
        for each in path.parent.iterdir()
        if each.name.startswith((f"{path.name}-wal", f"{path.name}.damaged"))
    ]
    if marked_at.exists() and ((marked := mark.read(marked_at)) is None or marked.seq):
        remains.append(marked_at.name)
    if remains:
        raise unreadable.missing(path, ", ".join(sorted(remains)))
    installation = secrets.token_hex(6)
    mark.create(marked_at, Mark(installation, 0, 0))
    place(build(path, installation), path)


def _accepted(path: Path, found: Found, marked: Mark | None) -> Found:
    """The numbers of what is missing were given out: they are not used again."""
    _keep_aside(path)
    acknowledged = marked.seq if marked else 0
    last = max(found.last, acknowledged)
    event = OlderStateAccepted(time.time(), last=found.last, acknowledged=acknowledged)
    with closing(open_database(path)) as connection, transaction(connection):
        tallies = insert(connection, last, [event], found.tallies)
    mark.create(mark.place_of(path), Mark(found.installation, last + 1, total(tallies)))
    return replace(found, last=last + 1, tallies=tallies)


def _keep_aside(path: Path) -> None:
    number = 1
    while (kept := path.with_name(f"{path.name}.older-{number}")).exists():
        number += 1
    log = path.with_name(f"{path.name}-wal")
    if log.exists():
        shutil.copyfile(log, kept.with_name(f"{kept.name}-wal"))
    shutil.copyfile(path, kept)
