"""Newcomers: new code among the tests must be used by them, and a new test must be able to fail.

The drastic faults for a new test are in the code that it reaches itself, whether it is in the file of the job's test
or in a new one.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

from supervisor.model.node import cases_of, function_of
from supervisor.verification.evidence.inquiry import Inquiry, Shown
from supervisor.verification.evidence.seen import Seen
from supervisor.verification.evidence.strength import FEWEST, begins, troubles_of
from supervisor.verification.trials.runs import Run

#: so many new tests and new test files are tried; any more are a doubt
MOST, MOST_FILES = 10, 3


async def ask(inquiry: Inquiry) -> Shown:
    if not inquiry.tests:
        return Shown()
    if inquiry.file_after is None:
        inquiry.file_after = await inquiry.experiment(nodes=(inquiry.file,))
    files, new = _new_files(inquiry), _new(inquiry, inquiry.file_after)
    for file in files[:MOST_FILES]:
        run = await inquiry.experiment(nodes=(file,))
        if not run.passed:
            return Shown(doubts=(f"{file} is new and does not pass: {run.why_not}",))
        new += dict.fromkeys(function_of(node) for node in run.cases)
    found = await _able_to_fail(inquiry, new[:MOST]) if new else Shown()
    left = tuple(
        f"{len(each) - most} more new {what} were not tried: {', '.join(each[most:][:3])}"
        for each, most, what in ((files, MOST_FILES, "files of tests"), (new, MOST, "tests"))
        if len(each) > most
    )
    return found if found.refusal else Shown(doubts=(*found.doubts, *left, *_unused(inquiry)))


async def _able_to_fail(inquiry: Inquiry, new: list[str]) -> Shown:
    watched = await inquiry.noted_of(await inquiry.experiment(None, "reach", nodes=tuple(new)))
    inquiry.noted = watched if inquiry.noted is None else inquiry.noted.beside(watched)
    troubles = [each for each in await troubles_of(inquiry, inquiry.used(watched)) if each.is_drastic]
    if not troubles:
        return Shown(doubts=(f"nothing shows that {_named(new)} can fail: it uses nothing of the repository",))
    showing = dict.fromkeys(new, 0)
    for trouble in troubles:
        [run] = await inquiry.experiments([trouble.how], tuple(new), is_alone=True)
        new = [test for test in new if not _fails(run, test)]
        if not new:
            return Shown()
        for test in new:
            showing[test] += begins(run, test) and not trouble.spares
    if any(showing[test] < FEWEST for test in new):
        return Shown(doubts=(f"nothing shows that {_named(new)} can fail",))
    return Shown(refusal=f"strength: {_named(new)} passes all of {len(troubles)} drastic faults")


def _new_files(inquiry: Inquiry) -> list[str]:
    """New modules that pytest collects by their names."""
    return [path for path in inquiry.tests if _is_new(inquiry, path) and _is_module(path)]


def _is_new(inquiry: Inquiry, path: str) -> bool:
    return inquiry.base[path] is None and path in inquiry.files


def _is_module(path: str) -> bool:
    name = PurePosixPath(path).name
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def _unused(inquiry: Inquiry) -> Iterator[str]:
    """New code among the tests that none of them has imported, read or run."""
    seen = inquiry.noted or Seen()
    used = seen.modules | seen.opened | seen.programs.keys()
    for path in inquiry.tests:
        is_code = path.endswith(".py") and not path.endswith("__init__.py")
        if is_code and _is_new(inquiry, path) and path not in used:
            yield f"{path} is new, and nothing was seen to use it"


def _new(inquiry: Inquiry, after: Run) -> list[str]:
    """Functions that did not exist before, or could not be collected. If the file's run at the base was incomplete,
    its text tells which existed."""
    run = inquiry.file_before
    before = {function_of(node) for node in run.cases} if run is not None else set()
    text = b""
    if run is None or run.cut_short:
        if inquiry.file not in inquiry.base:
            return []
        file = inquiry.base[inquiry.file]
        text = file.data if file is not None else b""
    passed = [function_of(node) for node, case in after.cases.items() if case.result == "passed"]
    unknown = [each for each in dict.fromkeys(passed) if each not in before and each != function_of(inquiry.test)]
    return [each for each in unknown if f"def {each.rpartition('::')[2]}(".encode() not in text]


def _fails(run: Run, test: str) -> bool:
    found = cases_of(run.cases, test).values()
    return begins(run, test) and (not found or any(case.result == "failed" for case in found))


def _named(tests: list[str]) -> str:
    return ", ".join(test.partition("::")[2] for test in tests[:3])
