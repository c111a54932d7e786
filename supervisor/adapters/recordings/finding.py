"""Finds the recordings that runs of the test framework left in a checkout.

They are in `.test_output/e2e/<run>/<test>/attempt-<n>`, and the layout is up to whoever ran there. So folders are
opened relative to each other, no link is followed, only plain files are read, and everything has a limit. Blocking.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from supervisor.adapters.recordings.checking import line
from supervisor.model.node import file_of

FOLDER = (".test_output", "e2e")
ENDING = ".cast"
RESULT = "result.json"
#: of one file: longer ones are cut
MOST_BYTES = 2 * 2**20
MOST_RESULT = 2**20
MOST_NODE, MOST_NAME = 1_000, 100
#: entries of a folder that are looked at, and folders of each kind that are opened
MOST_ENTRIES, MOST_HOMES, MOST_RUNS, MOST_TESTS, MOST_ATTEMPTS = 2_000, 12, 20, 1_000, 5
#: folders of attempts that are looked into, and files that are read, in all
MOST_LOOKS, MOST_READ = 5_000, 300

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

#: pytest's root folder, and the name of a run in it
type RunName = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Found:
    name: str
    #: as the record beside it says; "": it does not
    test: str
    data: bytes
    is_cut: bool


@dataclass(slots=True)
class _Patience:
    """The remaining numbers of folders to open and files to read, because most of them may be of no use."""

    looks: int = MOST_LOOKS
    reads: int = MOST_READ

    def has_ended(self) -> bool:
        return self.looks <= 0 or self.reads <= 0


class _Result(msgspec.Struct):
    nodeid: str


def homes_of(nodes: Iterable[str]) -> list[str]:
    """The possible root folders of pytest for these tests: the checkout, and each folder above them."""
    files = [PurePosixPath(file_of(node)) for node in nodes]
    above = {str(parent) for file in files for parent in file.parents if ".." not in file.parts}
    return sorted({".", *above} - {"/"}, key=lambda each: (len(each), each))[:MOST_HOMES]


def runs_in(checkout: Path, homes: Iterable[str]) -> frozenset[RunName]:
    """The runs that are there already."""
    return frozenset((home, run) for home, _, runs in _places(checkout, homes) for run in runs)


def found(
    checkout: Path, homes: Iterable[str], is_wanted: Callable[[str], bool], but: Set[RunName] = frozenset()
) -> Iterator[Found]:
    """The recordings, those of the last run first. `is_wanted`: decides by test; `but`: runs to leave out."""
    patience = _Patience()
    for home, place, runs in _places(checkout, homes):
        for run in runs:
            if (home, run) not in but:
                yield from _of_run(place, run, is_wanted, patience)


def _places(checkout: Path, homes: Iterable[str]) -> Iterator[tuple[str, int, list[str]]]:
    with _within(None, str(checkout)) as top:
        for home in homes if top is not None else ():
            with _chain(top, [*PurePosixPath(home).parts, *FOLDER]) as place:
                if place is not None:
                    yield home, place, sorted(_names(place), reverse=True)[:MOST_RUNS]


def _of_run(place: int, run: str, is_wanted: Callable[[str], bool], patience: _Patience) -> Iterator[Found]:
    with _within(place, run) as tests:
        for test in sorted(_names(tests))[:MOST_TESTS]:
            with _within(tests, test) as attempts:
                for attempt in sorted(_names(attempts), key=lambda name: (-len(name), name))[:MOST_ATTEMPTS]:
                    with _within(attempts, attempt) as here:
                        yield from _of_attempt(here, is_wanted, patience)
                    if patience.has_ended():
                        return


def _of_attempt(here: int | None, is_wanted: Callable[[str], bool], patience: _Patience) -> Iterator[Found]:
    patience.looks -= 1
    names = sorted(name for name in _names(here) if name.endswith(ENDING))
    patience.reads -= bool(names)
    if here is None or not names or not is_wanted(test := _test(here)):
        return
    for name in names[: max(patience.reads, 0)]:
        patience.reads -= 1
        if (data := _read(here, name, MOST_BYTES + 1)) is None:
            continue
        is_cut = len(data) > MOST_BYTES
        whole = data[:MOST_BYTES].rpartition(b"\n")[0] if is_cut else data
        yield Found(line(name.removesuffix(ENDING), MOST_NAME), test, whole, is_cut)


def _test(here: int) -> str:
    data = _read(here, RESULT, MOST_RESULT + 1)
    try:
        told = msgspec.json.decode(data or b"", type=_Result).nodeid
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    return told if told.isprintable() and len(told) <= MOST_NODE else ""


# --- folders and files, none of which is trusted


def _names(folder: int | None) -> list[str]:
    if folder is None:
        return []
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry, _ in zip(entries, range(MOST_ENTRIES), strict=False)]
    except OSError:
        return []


@contextmanager
def _within(folder: int | None, name: str) -> Iterator[int | None]:
    try:
        opened = os.open(name, _DIRECTORY, dir_fd=folder)
    except (OSError, ValueError):
        yield None
        return
    try:
        yield opened
    finally:
        os.close(opened)


@contextmanager
def _chain(folder: int | None, names: list[str]) -> Iterator[int | None]:
    if not names:
        yield folder
        return
    with _within(folder, names[0]) as inner:
        if inner is None:
            yield None
        else:
            with _chain(inner, names[1:]) as last:
                yield last


def _read(folder: int, name: str, most: int) -> bytes | None:
    try:
        file = os.open(name, _FILE, dir_fd=folder)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return None
        with os.fdopen(file, "rb", closefd=False) as opened:
            return opened.read(most)
    except OSError:
        return None
    finally:
        os.close(file)
