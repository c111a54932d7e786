"""Conduct: the test gets what it got before, and a failing check makes it fail.

It needs no run of its own: it compares the notes of the runs for reach.
"""

from collections.abc import Iterator
from itertools import islice

from supervisor.verification.evidence.inquiry import Inquiry, Shown
from supervisor.verification.evidence.seen import Seen, ranges

MOST = 3


async def ask(inquiry: Inquiry) -> Shown:
    if (after := inquiry.after) is None:
        return Shown()
    before = inquiry.before or Seen()
    found = (
        _unheard(inquiry, before, after),
        _others(before, after),
        _replaced(before, after),
        _otherwise(inquiry, after),
        _not_again(inquiry, after),
        ["not all is known that its test did: there are too many notes of it, or none"] if after.is_cut else [],
    )
    return Shown(doubts=tuple(sentence for each in found for sentence in islice(each, MOST)))


def _unheard(inquiry: Inquiry, before: Seen, after: Seen) -> Iterator[str]:
    for path, lines in sorted(after.unheard.items()):
        if inquiry.is_test(path) and path not in before.unheard:
            yield f"a check of its test fails, and the test passes all the same: {ranges(path, lines)[0]}"


def _others(before: Seen, after: Seen) -> Iterator[str]:
    """Parameters of a test may become fixtures: rewriting a test often does that."""
    for name, place in sorted(after.fixtures.items()):
        was = before.fixtures.get(name, place)
        if was != place and was != PARAMETERS:
            yield f"its test gets another `{name}`: from {place or 'a plugin'}, and before from {was or 'a plugin'}"


def _otherwise(inquiry: Inquiry, after: Seen) -> Iterator[str]:
    for path, name, tested, other in sorted(after.otherwise):
        if path in inquiry.implementation:
            yield f"{path}: `{name}` answers {tested} to its test, and {other} where nothing is tested"


def _not_again(inquiry: Inquiry, after: Seen) -> Iterator[str]:
    for path in sorted(after.not_again):
        if path in inquiry.implementation:
            yield f"{path} was not asked again where nothing is tested: that took too long, or ended early"


def _replaced(before: Seen, after: Seen) -> Iterator[str]:
    for each in sorted(after.replaced - before.replaced):
        yield f"its test puts a function of its own in the place of {each}"


#: as the probe says it
PARAMETERS = "its parameters"
