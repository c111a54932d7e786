"""Strength: a test that was changed must be able to fail, and must notice what it noticed before.

Drastic faults are tried first: the test must catch at least one. Small faults follow, as far as the allowance goes.
Those that survive are tried on the old test: if that catches one, the new test is weaker. An old test that fails even
without a fault catches one if it then fails in another way.
"""

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import batched
from pathlib import Path

from supervisor.model.evidence import Strength
from supervisor.model.node import cases_of, function_of
from supervisor.verification.evidence.finding import find
from supervisor.verification.evidence.inquiry import Change, Inquiry, Shown
from supervisor.verification.evidence.laying import Content, Contents
from supervisor.verification.evidence.lies import Lie, Telling, lies
from supervisor.verification.evidence.seen import Seen
from supervisor.verification.trials.runs import Run

#: at most so many small faults are tried, and so many drastic ones whatever time they take
MOST_SMALL = 12
MOST_DRASTIC = 8
#: fewer drastic faults prove nothing
FEWEST = 2
#: so many faults settle a doubt, whatever time they take
ENOUGH = 8
MOST_NAMED = 20
#: so many survivors are tried on the old test; if it is stronger, all faults are, within so many times the allowance
MOST_COMPARED = 8
MOST_TIMES = 3
MOST_PROGRAMS = 3

#: addresses, times, numbers of processes and temporary names
_VARYING = re.compile(r"0x[0-9a-f]+|/tmp/\S+|\b\d+\.\d+ ?m?s\b")


@dataclass(frozen=True, slots=True)
class Trouble:
    """A fault of the implementation, as it is put into a checkout."""

    label: str
    is_drastic: bool
    changed: Contents = field(default_factory=dict)
    liar: Telling | None = None
    #: not all of what the test reached is changed in every program
    spares: bool = False
    #: other tests that share its run don't find it
    is_own: bool = False

    @property
    def how(self) -> Change:
        return Change(self.changed, self.liar, self.is_own)


async def ask(inquiry: Inquiry) -> Shown:
    """Work that changes no tests has nothing to prove here: that its test failed at the base is its strength."""
    if not inquiry.tests or inquiry.after is None:
        return Shown(Strength(not_tried="" if inquiry.after else "its test fails while it is watched"))
    own = function_of(inquiry.test) if inquiry.is_shared else ""
    troubles = await troubles_of(inquiry, inquiry.after, own)
    if not troubles:
        nothing = "nothing of the repository was seen to be used by it"
        return Shown(Strength(not_tried=nothing), (f"nothing shows that its test can fail: {nothing}",))
    survived: list[Trouble] = []
    tried: list[Trouble] = []
    idle: list[Trouble] = []
    left = list(troubles)
    while some := _affordable(inquiry, left, len(tried) + len(idle)):
        left = left[len(some) :]
        for trouble, run in zip(some, await inquiry.experiments([each.how for each in some]), strict=True):
            if not begins(run, inquiry.test):
                idle.append(trouble)
                continue
            tried.append(trouble)
            if run.passed:
                survived.append(trouble)
    if not tried:
        nothing = f"with {_labels(idle)}, pytest does not even collect it"
        return Shown(Strength(not_tried=nothing), (f"nothing shows that its test can fail: {nothing}",))
    return await _judged(inquiry, [each for each in troubles if each not in idle], tried, survived)


def _affordable(inquiry: Inquiry, left: Sequence[Trouble], count: int) -> Sequence[Trouble]:
    """The next ones, as many as are asked for at a time and should fit into the allowance; `count` were tried."""
    some = left[: inquiry.trial.width]
    if not inquiry.is_spent:
        return some[: inquiry.affords]
    small = ENOUGH if "strength" in inquiry.doubted else 0
    must = [count + place < (MOST_DRASTIC if each.is_drastic else small) for place, each in enumerate(some)]
    return some[: [*must, False].index(False)]


def begins(run: Run, test: str) -> bool:
    """Whether the test ran. A fault that keeps pytest from collecting the test says nothing about it."""
    return bool(cases_of(run.cases, test)) or run.is_late or bool(run.stopped)


def _labels(troubles: Sequence[Trouble]) -> str:
    return ", ".join(each.label for each in troubles[:4])


async def _judged(
    inquiry: Inquiry, troubles: Sequence[Trouble], tried: Sequence[Trouble], survived: Sequence[Trouble]
) -> Shown:
    caught, left = len(tried) - len(survived), len(troubles) - len(tried)
    past, asked = Past(inquiry), survived[:MOST_COMPARED]
    strength = Strength(
        tried=len(tried),
        caught=caught,
        survived=tuple(each.label for each in survived[:MOST_NAMED]),
        not_tried="; ".join(_not_tried(left, len(troubles), len(survived) - len(asked))),
    )
    drastic = [each for each in tried if each.is_drastic]
    if len(drastic) >= FEWEST and all(each in survived for each in drastic):
        passes = f"its test passes all of {len(drastic)} drastic faults: {_labels(drastic)}"
        if not any(each.spares for each in drastic):
            return Shown(strength, refusal=f"strength: {passes}")
        return Shown(strength, (f"{passes}, as far as they could be tried: it runs while tests are collected",))
    if len(drastic) < FEWEST and not caught:
        return Shown(strength, (f"nothing shows that its test can fail: it passes all of {_labels(tried)}",))
    if only := await _only_in_company(inquiry, [each for each in tried if each not in survived]):
        return Shown(strength, (f"its test catches {only} only beside other experiments",))
    noticed = await past.noticed(asked)
    missed = [each for each in asked if each in noticed and not await _caught_beside(inquiry, each)]
    if missed:
        before = await past.counted(tried)
        named = "; ".join(each.label for each in missed[:3])
        old = f"{before} of the same" if before is not None else f"{len(missed)} of those that it passes"
        doubt = f"its test catches {caught} of {len(tried)} faults, the test before caught {old}; not: {named}"
        return Shown(replace(strength, caught_before=before), (doubt,))
    is_compared = inquiry.old is not None and inquiry.old.passed and asked == survived
    is_enough = len(tried) >= min(ENOUGH, len(troubles))
    return Shown(strength, settles=("strength",) if is_compared and is_enough else ())


async def _only_in_company(inquiry: Inquiry, caught: Sequence[Trouble]) -> str:
    """The label of a fault that its test catches only in a run with other experiments; "" if none was found.

    A test that meets a fault may go on to code that it does not reach otherwise, and find another claim's fault
    there. So it must catch a drastic one that is its own, or one that is tried alone. And a test may notice that
    pytest forks: one of the small faults, at random, is tried where that can't be noticed.
    """
    if not inquiry.is_shared:
        return ""
    drastic, small = ([each for each in caught if each.is_drastic is kind] for kind in (True, False))
    again = [(drastic[-1], True)] if drastic and not any(each.is_own for each in drastic) else []
    again += [(secrets.choice(small), False)] if small else []
    for each, is_alone in again:
        [run] = await inquiry.experiments([each.how._replace(is_plain=True)], is_alone=is_alone)
        if run.passed:
            return each.label
    return ""


def _not_tried(left: int, faults: int, not_compared: int) -> Iterator[str]:
    if left:
        yield f"no time was left for {left} of {faults} faults"
    if not_compared:
        yield f"{not_compared} of those that it misses were not tried on the test before"


class Past:
    """The old test, on the new implementation and on faulty ones."""

    def __init__(self, inquiry: Inquiry) -> None:
        self._inquiry = inquiry
        self._known: dict[str, bool] = {}
        self._usual: tuple[str, ...] | None = None
        self._is_steady: bool | None = None

    async def noticed(self, troubles: Sequence[Trouble]) -> list[Trouble]:
        """Those that it catches."""
        if self._inquiry.old is None or not await self._compares():
            return []
        left = [each for each in troubles if each.label not in self._known]
        for some in batched(left, self._inquiry.trial.width):
            for each, run in zip(some, await self._run(some), strict=True):
                self._known[each.label] = _answer(run) != self._usual
        return [each for each in troubles if self._known[each.label]]

    async def counted(self, troubles: Sequence[Trouble]) -> int | None:
        """How many of these it catches; None: that takes too long."""
        count = 0
        for some in batched(troubles, self._inquiry.trial.width):
            if self._inquiry.spent > MOST_TIMES * self._inquiry.allowance:
                return None
            count += len(await self.noticed(some))
        return count

    async def _compares(self) -> bool:
        """Whether its answers can be compared: a test that fails must give the same messages each time."""
        assert self._inquiry.old is not None
        if self._is_steady is None:
            self._usual = _answer(self._inquiry.old)
            passed = self._inquiry.old.passed
            self._is_steady = passed or _answer(*await self._run([Trouble("", False)])) == self._usual
        return self._is_steady

    async def _run(self, troubles: Sequence[Trouble]) -> list[Run]:
        old = self._inquiry.as_before(*self._inquiry.tests)
        return await self._inquiry.experiments([Change({**each.changed, **old}, each.liar) for each in troubles])


def _answer(run: Run) -> tuple[str, ...]:
    """The result of each case, without what varies from run to run."""
    if not run.cases:
        return (run.why_not,)
    return tuple(f"{node} {case.result} {_VARYING.sub('', case.message)}" for node, case in sorted(run.cases.items()))


async def _caught_beside(inquiry: Inquiry, trouble: Trouble) -> bool:
    """Whether a new test of its file catches the fault: the check may have moved there."""
    if inquiry.file_after is None or inquiry.file_before is None:
        return False
    passed = {node for node, case in inquiry.file_after.cases.items() if case.result == "passed"}
    if not (new := passed - inquiry.file_before.cases.keys()):
        return False
    [file] = await inquiry.experiments([trouble.how], (inquiry.file,))
    return any(file.cases[node].result == "failed" for node in new if node in file.cases)


# --- faults


async def troubles_of(inquiry: Inquiry, seen: Seen, test: str = "") -> list[Trouble]:
    """Faults of the code and lies of programs other than Python; if there are neither, empty or missing files. One of
    the drastic faults is found only by `test`."""
    texts = await inquiry.now(*seen.lines)
    troubles = []
    for fault in await find(seen, texts, inquiry.trial.folder, MOST_SMALL, test=test):
        changed = {path: instead(texts[path], Path(file)) for path, file in fault.files.items()}
        troubles.append(Trouble(fault.label, fault.is_drastic, changed, spares=fault.spares, is_own=fault.is_own))
    for path, how in sorted(seen.programs.items())[:MOST_PROGRAMS]:
        if path not in seen.lines and not _is_python(await inquiry.trial.head_of(path)):
            troubles += [_told(path, how, lie) for lie in lies(how)]
    if not troubles and seen.opened:
        paths = sorted(seen.opened)
        troubles.append(Trouble("the files that it reads are empty", True, dict.fromkeys(paths, Content(b""))))
        troubles.append(Trouble("the files that it reads are missing", True, dict.fromkeys(paths)))
    return sorted(troubles, key=lambda each: not each.is_drastic)


def instead(content: Content | None, file: Path) -> Content:
    return Content(file.read_bytes(), content.kind if content is not None else "file")


def _told(path: str, how: str, lie: Lie) -> Trouble:
    return Trouble(f"{path} {lie.what}", lie.is_drastic, liar=Telling(path, how, lie))


def _is_python(head: bytes) -> bool:
    """By its first lines. Faults of its code take the place of lies: its lines were noted as reached."""
    return b"python" in b"".join(head.splitlines()[:3])
