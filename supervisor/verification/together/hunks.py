"""Which lines of a file another version of it replaces."""

import re
from typing import NamedTuple

import pygit2
from pygit2.enums import DiffOption

#: longer files are not compared line by line
MOST_LINES = 20_000
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


class Hunk(NamedTuple):
    """In place of the lines from `start`, counted from 0, up to `end`: these."""

    start: int
    end: int
    lines: tuple[bytes, ...]

    @property
    def touched(self) -> range:
        """The lines that are replaced, counted from 1; those beside the place if lines are only added."""
        return range(self.start + (self.start < self.end), self.end + 1 + (self.start == self.end))


def lines_of(data: bytes) -> list[bytes]:
    return _LINE.findall(data)


def hunks(now: bytes, other: bytes) -> list[Hunk]:
    patch = pygit2.Patch.create_from(now, other, flag=DiffOption.FORCE_TEXT, context_lines=0)
    new, found = lines_of(other), list[Hunk]()
    for each in patch.hunks:
        # Where no line is replaced, or none is added, git names the line before the place.
        start = each.old_start - (each.old_lines > 0)
        first = each.new_start - (each.new_lines > 0)
        found.append(Hunk(start, start + each.old_lines, tuple(new[first : first + each.new_lines])))
    return found
