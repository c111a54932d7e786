"""Our own part of a pull request's text stands between two marks; what people write around it is theirs. Pure.

A mark is a line of its own, which nothing that we quote can be. When commits are dropped, the rows of our part that
name them are struck out, and a section at its end says who dropped them. Nothing else of our part changes, so what
somebody corrected in it stays; and when a commit comes back, so does its row, as it was.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from supervisor.integration.review.quoting import defused

END = "<!-- agent-supervisor end -->"
DROPPED = "<!-- agent-supervisor dropped -->"
#: what GitHub takes
MOST_TEXT = 65_536
MOST_AUTHOR = 80
SHORT = 12

_BEGIN = re.compile(r"^<!-- agent-supervisor profile=(\S+) batch=(\S+) -->\r?$", re.MULTILINE)
_END = re.compile(rf"^{re.escape(END)}\r?$", re.MULTILINE)
_DROPPED = re.compile(rf"^{re.escape(DROPPED)}$.*\Z", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"(1\. |- )(.*)")
_STRUCK_ROW = re.compile(r"(1\. |- )~~(.*)~~ \*\*dropped\*\*")
_COMMIT = re.compile(rf"\b[0-9a-f]{{{SHORT}}}\b")
_CODE = re.compile(r"`[^`]*`")
_AND_MORE = re.compile(r"\band \d+ more\b")


@dataclass(frozen=True, slots=True)
class Dropped:
    """A commit that is not on the branch of the pull request any more."""

    commit: str
    author: str
    reason: str = ""
    #: the commit that took it out, if one says so
    reverted_by: str = ""


class Unmarked(Exception):
    """The text has no part of ours, or more than one."""


class TooLong(Exception):
    """It would be more than GitHub takes."""


def begin(profile: str, batch: str) -> str:
    return f"<!-- agent-supervisor profile={profile} batch={batch} -->"


def marked(text: str) -> tuple[str, str] | None:
    """The profile and the batch of a text that has a part of ours."""
    found = _BEGIN.search(text)
    return (found[1], found[2]) if found else None


def amended(text: str, dropped: Sequence[Dropped], restored: Collection[str]) -> str:
    """The text once these commits are dropped and no others of ours are; again gives the same.

    `restored`: commits that are on the branch, and may have been dropped before. Reasons are left out where there is
    no room for them."""
    for is_short in (False, True):
        told = _amended(text, dropped, restored, is_short=is_short)
        if len(told) <= MOST_TEXT:
            return told
    raise TooLong


def _amended(text: str, dropped: Sequence[Dropped], restored: Collection[str], *, is_short: bool) -> str:
    start, end = _part(text)
    part = text[start:end]
    out, back = {each.commit[:SHORT] for each in dropped}, {sha[:SHORT] for sha in restored}
    rows = _DROPPED.sub("", part.replace("\r\n", "\n")).rstrip("\n").split("\n")
    struck = "\n".join(_struck(_unstruck(row, out | back), out) for row in rows)
    told = "\n\n".join([struck, *_section(dropped, is_short=is_short), ""])
    # GitHub's own form sends other ends of lines than we do.
    return text[:start] + (told.replace("\n", "\r\n") if "\r\n" in part else told) + text[end:]


def _part(text: str) -> tuple[int, int]:
    """What stands after the first mark and before the last one."""
    begins, ends = list(_BEGIN.finditer(text)), list(_END.finditer(text))
    if len(begins) != 1 or len(ends) != 1 or ends[0].start() < begins[0].end():
        raise Unmarked
    return begins[0].end(), ends[0].start()


def _struck(row: str, out: Collection[str]) -> str:
    """Cases: all that it names is dropped; some of it; nothing."""
    found = _ROW.fullmatch(row)
    named = set(_COMMIT.findall(_CODE.sub("", row))) if found else set()
    if found is None or not named & set(out):
        return row
    if named <= set(out) and not _AND_MORE.search(row):
        return f"{found[1]}~~{found[2]}~~ **dropped**"
    return _COMMIT.sub(lambda sha: f"~~{sha[0]}~~" if sha[0] in out else sha[0], row)


def _unstruck(row: str, known: Collection[str]) -> str:
    if found := _STRUCK_ROW.fullmatch(row):
        return found[1] + found[2]
    for sha in known:
        row = row.replace(f"~~{sha}~~", sha)
    return row


def _section(dropped: Sequence[Dropped], *, is_short: bool) -> Iterator[str]:
    if dropped:
        yield f"{DROPPED}\n### Dropped in review"
        yield "The branch does not have any more what is struck out above:"
        yield "\n".join(_row(each, is_short=is_short) for each in dropped)


def _row(dropped: Dropped, *, is_short: bool) -> str:
    why = f": {defused(dropped.reason)}" if dropped.reason and not is_short else ""
    how = f"; reverted by {dropped.reverted_by[:SHORT]}" if dropped.reverted_by else ""
    return f"- {dropped.commit[:SHORT]} by {defused(dropped.author, MOST_AUTHOR) or 'somebody'}{why}{how}"
