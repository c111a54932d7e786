"""Small and drastic faults of the Python code that a test has reached: a test that can fail should catch them.

Drastic ones (`drastic`) change every function that was reached, at once. Small ones change one place: a condition, a
comparison, a constant, a returned value, a call that is left out.

Run as a program it reads a question on stdin, writes the faulty files into a folder, and prints what they are. It
parses hostile code, so it is run in a process of its own.
"""

import ast
import hashlib
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from supervisor.verification.evidence.drastic import DRASTIC, LATER_ON, SAYS_ELSE, Code, drastic
from supervisor.verification.evidence.splicing import spliced
from supervisor.verification.evidence.spots import Spot, spots


@dataclass(frozen=True, slots=True)
class Wanted:
    codes: tuple[Code, ...]
    #: at most so many small faults
    most: int
    #: an empty folder for the faulty files
    into: str
    #: only small faults whose description begins with this
    only: str = ""
    #: the test for which something else is said; "": for each
    test: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    #: `tool/cli.py:12 returns None`
    label: str
    is_drastic: bool
    #: the repository's files, and where their faulty content is
    files: Mapping[str, str]
    #: not all of what the test reached is changed in every program, because it runs while tests are collected, too
    spares: bool = False
    #: other tests that run the same code don't find it
    is_own: bool = False


def _small(code: Code) -> Iterator[tuple[Code, int, Spot]]:
    for number, spot in enumerate(spots(ast.parse(code.text), code.reached)):
        yield code, number, spot


def _with(code: Code, number: int) -> str:
    """The file with the spot of this number changed."""
    tree = ast.parse(code.text)
    for each, spot in enumerate(spots(tree, code.reached)):
        if each == number:
            spot.change()
            break
    return spliced(code.text, tree, 0, ())


def faults(
    codes: tuple[Code, ...], most: int, only: str = "", test: str = ""
) -> Iterator[tuple[str, bool, dict[str, str]]]:
    """Drastic faults first, then a sample of the small ones, spread over it all; the same for the same code."""
    readable = [code for code in codes if code.reached and _is_readable(code)]
    for kind in (*DRASTIC, LATER_ON):
        files = {code.path: text for code in readable if (text := drastic(code, kind, test)) is not None}
        if files:
            yield f"all that was reached {kind}", kind in DRASTIC, files
    small = [each for code in readable for each in _small(code) if each[2].what.startswith(only)]
    small.sort(key=lambda each: hashlib.sha256(f"{each[0].path}\0{each[2].line}\0{each[2].what}".encode()).digest())
    taken: set[tuple[str, int]] = set()
    for code, number, spot in small:
        if len(taken) < most and (code.path, spot.line) not in taken:
            taken.add((code.path, spot.line))
            yield f"{code.path}:{spot.line} {spot.what}", False, {code.path: _with(code, number)}


def _is_readable(code: Code) -> bool:
    try:
        ast.parse(code.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def main() -> None:
    warnings.simplefilter("ignore")
    wanted = msgspec.json.decode(sys.stdin.buffer.read(), type=Wanted)
    found: list[Fault] = []
    spares = any(_is_readable(code) and code.breakable != code.reached for code in wanted.codes)
    for label, is_drastic, files in faults(wanted.codes, wanted.most, wanted.only, wanted.test):
        kept: dict[str, str] = {}
        for path, text in files.items():
            file = Path(wanted.into) / f"{len(found)}-{len(kept)}"
            file.write_text(text, errors="surrogateescape")
            kept[path] = str(file)
        is_own = bool(wanted.test) and is_drastic and label.endswith(SAYS_ELSE)
        label = label[:200].encode(errors="replace").decode()
        found.append(Fault(label, is_drastic, kept, spares and is_drastic, is_own))
    sys.stdout.write(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    main()
