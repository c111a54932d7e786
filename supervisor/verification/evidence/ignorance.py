"""Ignorance: the work must do the same for a user as for a test.

The test runs once more while all signs that tell a test from a user's run are hidden from the implementation. If it
fails then, the question is who looked for the signs: the work itself, or the test, which may.
"""

from supervisor.verification.evidence.inquiry import Inquiry, Shown
from supervisor.verification.evidence.seen import Sign
from supervisor.verification.trials.runs import Run


async def ask(inquiry: Inquiry) -> Shown:
    """The first run also notes what the test uses."""
    hidden = await inquiry.experiment(None, "reach", "hide")
    inquiry.noted = await inquiry.noted_of(hidden)
    inquiry.after = inquiry.used(inquiry.noted)
    if hidden.passed:
        return Shown(doubts=_curious(inquiry, inquiry.after.asked), settles=("ignorance",))
    seen = await inquiry.experiment(None, "reach")
    if not seen.passed:
        inquiry.after, inquiry.fails_watched = None, not seen.cut_short
        return Shown(doubts=(f"its test fails while it is watched, so there is no evidence: {seen.why_not}",))
    inquiry.noted = await inquiry.noted_of(seen)
    inquiry.after = inquiry.used(inquiry.noted)
    # A golden file may contain the program's name: needing that is no cheating.
    again = await inquiry.experiment(None, "reach", "hide but the name")
    if again.passed or await _needed_it_before(inquiry, again):
        return Shown()
    signs = (await inquiry.seen(again)).asked
    if own := [sign for sign in signs if sign.path and not inquiry.is_test(sign.path)]:
        return Shown(refusal=f"ignorance: it works only while it is tested: {_named(own[0])}")
    if asked := [sign for sign in signs if sign.was_hidden]:
        return Shown(doubts=(f"its test fails without the environment of tests: {_named(asked[0])}",))
    return Shown(refusal=f"ignorance: it works only while it is tested, and else {again.why_not}")


async def _needed_it_before(inquiry: Inquiry, now: Run) -> bool:
    """Whether the base passes its test, but fails it in the same way when the signs are hidden."""
    base = inquiry.as_before(*inquiry.base)
    if not (await inquiry.experiment(base)).passed:
        return False
    before = await inquiry.experiment(base, "hide but the name")
    return not before.passed and bool(before.cut_short) == bool(now.cut_short)


def _curious(inquiry: Inquiry, signs: tuple[Sign, ...]) -> tuple[str, ...]:
    """Changed files of the implementation that look for signs which they did not look for before."""
    changed = set(inquiry.implementation)
    return tuple(
        f"{_named(sign)}, as if to know whether it is tested"
        for sign in signs
        if sign.path in changed and sign.what.split()[0] not in _text(inquiry, sign.path) and _matters(inquiry, sign)
    )[:3]


def _matters(inquiry: Inquiry, sign: Sign) -> bool:
    """A program may change any file, except those of its tests."""
    path, _, how = sign.what.partition(" ")
    return how != "to change it" or inquiry.is_test(path)


def _text(inquiry: Inquiry, path: str) -> str:
    before = inquiry.base[path]
    return before.data.decode(errors="replace") if before is not None else ""


def _named(sign: Sign) -> str:
    return f"{sign.path or 'a plugin'}:{sign.line} looks for {sign.what}"
