"""Packs faults of many tests into few runs in which pytest forks for each of them.

A run can hold the faults of any tests, and any number for one test, if these tests can share a run without a fault.
An old version of a test, which is tried on faults as well, is part of that run's checkout.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from supervisor.verification.evidence.forking import MOST_BYTES, InFork, can_be_forked, forking, size_of
from supervisor.verification.together.combining import Together, combined
from supervisor.verification.together.meeting import Asked
from supervisor.verification.together.parts import part
from supervisor.verification.trials.reports import Fork
from supervisor.verification.trials.runs import LATE, Instruments, Run


class Forks:
    """One run."""

    def __init__(self, base: Together, asked: Sequence[Asked]) -> None:
        self._base, self.asked = base, asked

    def instruments(self, test_seconds: float, times: float) -> Instruments:
        """`test_seconds`: a test's time limit; `times`: the run's, as a multiple of it."""
        faults = [InFork(each.nodes[0], each.times * test_seconds, each.fault) for each in self.asked]
        first = self._base.instruments
        return replace(first, plugins={**first.plugins, **forking(faults, times * test_seconds)})

    def answers(self, run: Run) -> dict[Asked, Run]:
        """Those of the faults that were tried. Blocking."""
        session = run.session
        is_over = session is not None and session.exitstatus == run.ended.code == 0
        if not is_over or run.stray or run.stopped or run.ended.is_lost or run.report.is_forged:
            return {}
        tried = [(each, run.report.forks.get(number)) for number, each in enumerate(self.asked)]
        return {each: self._answer(run, each, fork) for each, fork in tried if fork is not None}

    def _answer(self, run: Run, asked: Asked, fork: Fork) -> Run:
        own = part(replace(run, report=replace(run.report, cases=fork.cases)), asked.nodes, len(self.asked))
        return replace(own, ended=replace(own.ended, code=LATE), is_controlled=True) if fork.is_late else own


def forks(asked: Sequence[Asked], never: Set[str], most: int) -> list[Forks]:
    """`most`: so many faults share a run. One that would be alone in its run is left out. Blocking."""
    by_base: defaultdict[tuple[int, tuple[str, ...], frozenset[str]], list[Asked]] = defaultdict(list)
    for each in filter(_can_fork, asked):
        by_base[id(each.standing), each.nodes, frozenset(each.tests)].append(each)
    bases = {_base(alike[0]): alike for alike in by_base.values()}
    return [
        Forks(base, some)
        for base in combined(list(bases), never)
        for some in _parted([each for one in base.asked for each in bases[one]], most)
        if len(some) > 1
    ]


def _base(asked: Asked) -> Asked:
    """The same without its fault."""
    return Asked(asked.standing, asked.nodes, asked.times, Instruments(files=asked.tests, is_faulty=True))


def _can_fork(asked: Asked) -> bool:
    mine = asked.instruments
    is_one_test = len(asked.nodes) == 1 and "::" in asked.nodes[0]
    is_fault = mine.is_faulty and mine.contents is not None and can_be_forked(asked.fault)
    is_plain = mine.is_plain or mine.is_alone or asked.is_unforkable
    return is_one_test and is_fault and not (is_plain or mine.plugins or mine.env)


def _parted(asked: Sequence[Asked], most: int) -> Iterator[list[Asked]]:
    part, size = list[Asked](), 0
    for each in asked:
        more = size_of(each.fault)
        if part and (len(part) >= most or size + more > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(each)
        size += more
    if part:
        yield part
