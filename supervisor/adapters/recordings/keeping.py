"""Keeps recordings beside what else is kept of a batch; they go with it.

    base/<survey>/<file>.recordings    of what a test file came to at the base
    attempts/<job>-<attempt>/recordings/agent, …/run-1, …/run-2
                                       of the agent's own runs, and of each run of its verification

Each such folder has an index and files with numbers for names: no name that somebody else chose is a path. Blocking.
"""

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import structlog

from supervisor.adapters.layout import Layout
from supervisor.adapters.recordings.checking import NotARecording, checked
from supervisor.adapters.recordings.finding import Found, found, homes_of, runs_in
from supervisor.model.attempt import AttemptKey
from supervisor.model.node import cases_of

#: of one run
MOST, MOST_BYTES = 12, 8 * 2**20
#: of a whole file at the base
MOST_AT_BASE, MOST_BYTES_AT_BASE = 60, 16 * 2**20
#: runs of one verification
MOST_RUNS = 8
INDEX = "recordings.json"
BASE, AGENT, RUN = "base", "agent", "run-"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Recording:
    name: str
    title: str
    #: a node id of pytest, as the record beside the recording says
    test: str
    seconds: float
    size: int
    #: when it began, in seconds since 1970; 0: it is not known
    at: float = 0.0
    #: the rest of it is not kept
    is_cut: bool = False
    number: int = 0


def keep(folder: Path, recordings: Iterable[tuple[Recording, bytes]], most: int, most_bytes: int) -> bool:
    """In place of what was there; whether there are any. Raises OSError."""
    partial = folder.with_name(f".{folder.name}.{os.urandom(4).hex()}")
    partial.mkdir(mode=0o700, parents=True)
    try:
        index = list[Recording]()
        for recording, data in recordings:
            most_bytes -= len(data)
            if len(index) == most or most_bytes < 0:
                break
            index.append(replace(recording, number=len(index) + 1))
            (partial / f"{len(index)}").write_bytes(data)
        (partial / INDEX).write_bytes(msgspec.json.encode(index))
        shutil.rmtree(folder, ignore_errors=True)
        if index:
            partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return bool(index)


def keep_those_of(checkout: Path, nodes: Iterable[str], folder: Path, *, before: Path | None = None) -> bool:
    """What a run of these tests left in its checkout; `before`: the checkout as it was. Whether there is anything."""
    homes = homes_of(nodes)
    but = runs_in(before, homes) if before is not None else frozenset()
    try:
        left = found(checkout, homes, lambda test: True, but)
        return keep(folder, _checked(left), MOST_AT_BASE, MOST_BYTES_AT_BASE)
    except OSError as error:
        log.warning("recordings can't be kept", folder=str(folder), why=str(error))
        return False


def copy(source: Path, folder: Path, tests: Iterable[str]) -> None:
    """Those of some tests; at the base, of whole files."""
    named, is_base = tuple(tests), folder.suffix == ".recordings"
    most, most_bytes = (MOST_AT_BASE, MOST_BYTES_AT_BASE) if is_base else (MOST, MOST_BYTES)
    known = ((each, source / str(each.number)) for each in index_of(source) if is_of(each.test, named))
    try:
        keep(folder, ((each, path.read_bytes()) for each, path in known), most, most_bytes)
    except OSError as error:
        log.warning("recordings can't be kept", folder=str(folder), why=str(error))


def is_of(test: str, named: Iterable[str]) -> bool:
    return any(cases_of({test: None}, each) for each in named)


def _checked(left: Iterable[Found]) -> Iterator[tuple[Recording, bytes]]:
    for each in left:
        try:
            good = checked(each.data)
        except NotARecording as not_one:
            log.info("what is named a recording is none", name=each.name, why=str(not_one))
            continue
        is_cut = each.is_cut or good.is_cut
        about = Recording(each.name, good.title, each.test, good.seconds, len(good.data), good.at, is_cut)
        yield about, good.data


class RecordingsOfAttempts:
    """Where the recordings of attempts are kept as they come."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def of_agent(self, key: AttemptKey, test: str, clone: Path) -> None:
        """What its agent's own runs of its test left."""
        try:
            left = found(clone, homes_of([test]), lambda each: is_of(each, [test]))
            keep(self._layout.recordings(key) / AGENT, _checked(left), MOST, MOST_BYTES)
        except OSError as error:
            log.warning("recordings can't be kept", job=key.job, batch=key.batch, why=str(error))

    def of_runs(self, key: AttemptKey, test: str, recorded: Iterable[str]) -> None:
        """`recorded`: for each run of its verification, where its recordings lie; "": there are none."""
        folder = self._layout.recordings(key)
        for earlier in folder.glob(f"{RUN}*"):
            shutil.rmtree(earlier, ignore_errors=True)
        with_any = [(number, Path(each)) for number, each in enumerate(recorded, 1) if each]
        for number, source in with_any[:MOST_RUNS]:
            copy(source, folder / f"{RUN}{number}", [test])


def index_of(folder: Path) -> list[Recording]:
    try:
        return msgspec.json.decode((folder / INDEX).read_bytes(), type=list[Recording])
    except (OSError, msgspec.MsgspecError):
        return []
