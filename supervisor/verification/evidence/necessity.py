"""Necessity: the test must fail without each file of a fix; a file that it passes without is named.

First all files are left out, which also shows that the test catches the defect. Many files are tried in groups, then
one by one. A file that there was no time for is a doubt: perhaps nothing needs it.
"""

from collections.abc import Sequence

from supervisor.model.evidence import Necessity
from supervisor.verification.evidence.inquiry import Inquiry, Shown

#: more files are first tried in so many groups; so many experiments run whatever time they take
FEW = 4


async def ask(inquiry: Inquiry) -> Shown:
    if not (paths := inquiry.implementation):
        return Shown()
    if inquiry.undone is None:
        inquiry.undone = await inquiry.experiment(inquiry.as_before(*paths))
    if inquiry.undone.passed:
        named = _named(paths)
        doubt = f"its test passes without {named}, too: nothing shows what {_this(paths)} for"
        return Shown(Necessity(unexplained=tuple(paths)), (doubt,))
    if len(paths) == 1:
        return Shown(Necessity(needed=tuple(paths)), settles=tuple(paths))
    needed, unexplained = await _sorted(inquiry, paths)
    left = [path for path in paths if path not in (*needed, *unexplained)]
    not_tried = f"no time was left for {_named(left)}" if left else ""
    doubts = []
    if unexplained:
        named = f"{_named(unexplained)}, too: nothing shows what {_this(unexplained)} for"
        doubts.append(f"its test passes without {named}")
    if left:
        doubts.append(f"there was no time to try its test without {_named(left)}")
    shown = Necessity(tuple(needed), tuple(unexplained), not_tried)
    return Shown(shown, tuple(doubts), settles=tuple(needed))


async def _sorted(inquiry: Inquiry, paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """The files that are needed, and those that are not."""
    size = max(1, -(-len(paths) // FEW))
    groups = [list(paths[start : start + size]) for start in range(0, len(paths), size)]
    needed: list[str] = []
    unexplained: list[str] = []
    tries = 0
    while groups and (tries < FEW or not inquiry.is_spent):
        group, tries = groups.pop(0), tries + 1
        # The unexplained files are left out as well: of two files that do the same, one is needed.
        if (await inquiry.experiment(inquiry.as_before(*group, *unexplained))).passed:
            unexplained += group
        elif len(group) == 1:
            needed += group
        else:
            groups += [[path] for path in group]
    return needed, unexplained


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f"{', '.join(paths[:3])}{more}"


def _this(paths: Sequence[str]) -> str:
    return "it is" if len(paths) == 1 else "they are"
