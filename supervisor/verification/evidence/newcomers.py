"""Newcomers: a test that stands beside the job's own since the work must be able to fail, too.

Its drastic faults are those of what it reaches itself.
"""

from supervisor.model.node import cases_of, function_of
from supervisor.verification.evidence.inquiry import Inquiry, Shown
from supervisor.verification.evidence.strength import FEWEST, troubles_of
from supervisor.verification.trials.runs import Run

#: so many new tests are looked at
MOST = 10


async def ask(inquiry: Inquiry) -> Shown:
    if not inquiry.tests or inquiry.file_before is None:
        return Shown()
    if inquiry.file_after is None:
        inquiry.file_after = await inquiry.experiment(nodes=(inquiry.file,))
    new = _new(inquiry, inquiry.file_after)[:MOST]
    if not new:
        return Shown()
    watched = await inquiry.experiment(None, "reach", nodes=tuple(new))
    troubles = [each for each in await troubles_of(inquiry, await inquiry.seen(watched)) if each.is_drastic]
    if not troubles:
        return Shown(doubts=(f"nothing shows that {_named(new)} can fail: it uses nothing of the repository",))
    for trouble in troubles:
        run = await inquiry.experiment(trouble.changed, before=trouble.before, nodes=tuple(new))
        new = [test for test in new if not _fails(run, test)]
        if not new:
            return Shown()
    if len(troubles) < FEWEST:
        return Shown(doubts=(f"nothing shows that {_named(new)} can fail",))
    return Shown(refusal=f"strength: {_named(new)} passes all of {len(troubles)} drastic faults")


def _new(inquiry: Inquiry, after: Run) -> list[str]:
    """Functions that were not there, or could not be collected."""
    assert inquiry.file_before is not None
    before = {function_of(node) for node in inquiry.file_before.cases}
    passed = [function_of(node) for node, case in after.cases.items() if case.result == "passed"]
    return [each for each in dict.fromkeys(passed) if each not in before and each != function_of(inquiry.test)]


def _fails(run: Run, test: str) -> bool:
    found = cases_of(run.cases, test)
    return not found or any(case.result == "failed" for case in found.values())


def _named(tests: list[str]) -> str:
    return ", ".join(test.partition("::")[2] for test in tests[:3])
