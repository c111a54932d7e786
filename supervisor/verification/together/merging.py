"""Merges two changes of one file that change different lines of it."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

from supervisor.verification.evidence.laying import Content

#: larger files are not merged
MOST_LINES = 20_000


class _Hunk(NamedTuple):
    start: int
    end: int
    lines: list[bytes]


def merged(now: Content | None, one: Content | None, other: Content | None) -> Content | None:
    """Raises ValueError if the changes can't be kept apart."""
    if one == other:
        return one
    if now is None or one is None or other is None or not now.kind == one.kind == other.kind:
        raise ValueError("a file that is made, deleted or of another kind")
    lines = now.data.splitlines(keepends=True)
    if len(lines) > MOST_LINES:
        raise ValueError("too many lines")
    mine, its = _hunks(lines, one), _hunks(lines, other)
    hunks = sorted(mine + [each for each in its if each not in mine])
    for first, second in pairwise(hunks):
        if second.start <= first.end:
            raise ValueError("they touch the same lines")
    for hunk in reversed(hunks):
        lines[hunk.start : hunk.end] = hunk.lines
    return Content(b"".join(lines), now.kind)


def _hunks(lines: Sequence[bytes], changed: Content) -> list[_Hunk]:
    new = changed.data.splitlines(keepends=True)
    found = SequenceMatcher(None, lines, new, autojunk=False).get_opcodes()
    return [_Hunk(start, end, new[a:b]) for tag, start, end, a, b in found if tag != "equal"]
