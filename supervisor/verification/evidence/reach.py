"""Reach: what of the repository the test uses, before the work and after it.

If tests were changed, the old test runs on the new implementation, so that the lines are the same and only the test
differs. Otherwise the test runs at the base.
"""

from supervisor.model.evidence import Reach
from supervisor.model.node import cases_of
from supervisor.verification.evidence.inquiry import Inquiry, Shown
from supervisor.verification.evidence.seen import Seen, ranges

MOST_PLACES = 20
MOST_FILES = 50


async def ask(inquiry: Inquiry) -> Shown:
    if (after := inquiry.after) is None:
        return Shown(Reach(not_tried="its test fails while it is watched"))
    was_there = inquiry.file_before is not None and bool(cases_of(inquiry.file_before.cases, inquiry.test))
    if not was_there:
        return Shown(Reach(None, _count(after), (), _files(after), "the test is new, or could not be run before"))
    is_same_code = bool(inquiry.tests)
    changed = inquiry.as_before(*(inquiry.tests if is_same_code else inquiry.base))
    old = await inquiry.experiment(changed, "reach")
    before = inquiry.before = await inquiry.seen(old)
    if is_same_code:
        inquiry.old = old
    else:
        inquiry.undone = old
    lost = _lost(before, after) if is_same_code else []
    cut = "not all that it does was noted" if before.is_cut or after.is_cut else ""
    reach = Reach(_count(before), _count(after), tuple(lost[:MOST_PLACES]), _files(after), cut)
    if (before.runs and not after.runs) or (before.opened and not (after.opened or after.runs)):
        used = ", ".join([*sorted(before.lines)[:3], *sorted(before.programs)[:3], *sorted(before.opened)[:3]][:3])
        return Shown(reach, refusal=f"reach: its test uses nothing of the implementation any more; before: {used}")
    # A test that failed took other paths: then a loss counts only if nothing new is reached.
    if lost and (old.passed or not _more(before, after)):
        more = f" and {len(lost) - 3} more places" if len(lost) > 3 else ""
        return Shown(reach, (f"its test no longer reaches {', '.join(lost[:3])}{more}",))
    return Shown(reach)


def _count(seen: Seen) -> int:
    return sum(map(len, seen.lines.values()))


def _files(seen: Seen) -> tuple[str, ...]:
    """What it reads or runs besides code with lines."""
    return tuple(sorted(seen.opened | seen.programs.keys()))[:MOST_FILES]


def _lost(before: Seen, after: Seen) -> list[str]:
    """Places and programs that it no longer reaches; files that it no longer reads do not count."""
    lines = {path: found - after.lines.get(path, frozenset()) for path, found in before.lines.items()}
    places = [place for path, found in sorted(lines.items()) for place in ranges(path, found)]
    return places + sorted(before.programs.keys() - after.programs.keys())


def _more(before: Seen, after: Seen) -> bool:
    new = any(found - before.lines.get(path, frozenset()) for path, found in after.lines.items())
    return new or bool(after.programs.keys() - before.programs.keys())
