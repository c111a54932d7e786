"""Merges two changes of one file that change different lines of it, or the same lines alike."""

from itertools import pairwise

from supervisor.verification.evidence.laying import Content
from supervisor.verification.together.hunks import MOST_LINES, hunks, lines_of


def merged(now: Content | None, one: Content | None, other: Content | None) -> Content | None:
    """Raises ValueError if the changes can't be kept apart."""
    if one == other:
        return one
    if now is None or one is None or other is None or not now.kind == one.kind == other.kind:
        raise ValueError("a file that is made, deleted or of another kind")
    lines = lines_of(now.data)
    if len(lines) > MOST_LINES:
        raise ValueError("too many lines")
    found = sorted({*hunks(now.data, one.data), *hunks(now.data, other.data)})
    for first, second in pairwise(found):
        if second.start <= first.end:
            raise ValueError("they touch the same lines")
    for hunk in reversed(found):
        lines[hunk.start : hunk.end] = hunk.lines
    return Content(b"".join(lines), now.kind)
