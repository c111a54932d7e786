"""Opens a journal that can be trusted: a new one, an intact one, an upgraded one, or one accepted as it is.

Cases, in this order:

- there is no journal and no remains of one: a journal is created;
- the journal is from a version without marks: it gets a mark, and then its digests;
- the journal holds what was acknowledged: it is opened;
- it holds less or something else: it is refused; or, if a person says so, it is copied aside and used as it is.
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
    """The journal, once it can be trusted. Otherwise raises Unreadable and changes no byte."""
    with unreadable.damage_found(path):
        if not path.exists():
            _create(path)
        elif path.stat().st_size == 0:  # SQLite would take it for a new database
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
    """The mark is written first: while it says that nothing was acknowledged, a missing journal loses nothing."""
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
    """The numbers of missing events were assigned already: they are not reused."""
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
