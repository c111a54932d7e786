"""Equality: if the work defines a comparison of its own, the test must fail once it expects another value.

A value that equals everything would pass.
"""

from collections.abc import Iterator
from pathlib import Path

from supervisor.verification.evidence.finding import find
from supervisor.verification.evidence.inquiry import Inquiry, Shown
from supervisor.verification.evidence.laying import Content
from supervisor.verification.evidence.seen import Seen
from supervisor.verification.evidence.strength import instead

#: at most so many changed expectations are tried
MOST = 6


async def ask(inquiry: Inquiry) -> Shown:
    if "equality" not in inquiry.doubted or inquiry.noted is None:
        return Shown()
    file, texts = inquiry.file, await inquiry.now(inquiry.file)
    if (content := texts[file]) is None:
        return Shown()
    checks = frozenset(_checks(content, inquiry.noted.lines.get(file, frozenset())))
    found = await find(Seen({file: checks}), texts, inquiry.trial.folder, MOST, only="has ")
    passed = []
    for fault in [each for each in found if not each.is_drastic]:
        changed = {path: instead(content, Path(wrong)) for path, wrong in fault.files.items()}
        if not (await inquiry.experiment(changed)).passed:
            return Shown(settles=("equality",))
        passed.append(fault.label)
    return Shown(doubts=(f"its test passes, too, if it expects something else: {passed[0]}",) if passed else ())


def _checks(content: Content, reached: frozenset[int]) -> Iterator[int]:
    """The lines of assertions that were reached."""
    for number, line in enumerate(content.data.decode(errors="replace").splitlines(), 1):
        if number in reached and line.lstrip().startswith(("assert", "self.assert")):
            yield number
