"""Many claims share one trial: one run answers what several of them ask at the same time.

Theory of operation. Each claim has a `Share`, which its hearing uses like a trial of its own. Once every unfinished
hearing waits for a run, a turn begins: faults are tried in forks of one pytest (`forked`), what else they ask is
packed into as few runs as possible (`combining`), and each hearing gets the results of its own tests only. The order
of the tests is reversed from turn to turn: a test that needs what another test leaves behind fails in one of them.

A run that is not conclusive for each of its tests, such as one that does not end, is `Unsound` for all of them.
"""

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import or_
from pathlib import Path

import anyio

from supervisor.model.node import cases_of
from supervisor.tasks import all_of
from supervisor.threads import in_thread
from supervisor.verification.evidence.seen import is_whole
from supervisor.verification.evidence.switching import untold
from supervisor.verification.together.combining import Together, combined
from supervisor.verification.together.forked import Forks, forks
from supervisor.verification.together.lanes import Lanes, head_in
from supervisor.verification.together.meeting import Asked, Standing
from supervisor.verification.together.parts import own, unsound
from supervisor.verification.together.reaching import ALL, Reached, known, read_notes
from supervisor.verification.tracing.traced import NOTHING
from supervisor.verification.trials.asking import PROBES, Checkout, log_of
from supervisor.verification.trials.reports import UNENDED
from supervisor.verification.trials.runs import PLAIN, Instruments, Run

#: a shorter run saves more by more tests than by other runs beside it
LEAST_SECONDS = 2.0
#: A hearing asks for so many experiments at a time: the more are known, the better they can be packed.
MOST_AT_ONCE = 16
_UNKNOWN = {ALL: Reached(is_opaque=True)}


class Unsound(Exception):
    """A common run settles nothing; `claims`: how many shared it."""

    def __init__(self, why: str, claims: int) -> None:
        super().__init__(why)
        self.claims = claims


@dataclass(slots=True)
class Share:
    """One claim's share of a trial, in the claim's view."""

    rounds: "Rounds"
    standing: Standing
    runs: list[Run] = field(default_factory=list)
    setup_seconds: float = 0.0
    #: how many of these runs are charged to another claim, which asked for them as well
    saved: int = 0

    @property
    def folder(self) -> Path:
        return self.rounds.trial.folder

    @property
    def log(self) -> str:
        return log_of(self.runs, self.note)

    @property
    def note(self) -> str:
        return self.rounds.trial.note

    async def head_of(self, path: str) -> bytes:
        return await head_in(self.rounds.trial, self.standing.view, path)

    @property
    def width(self) -> int:
        return MOST_AT_ONCE

    async def run(self, *nodes: str, times: float = 1, instruments: Instruments = PLAIN) -> Run:
        [run] = await self.run_each(nodes, times, [instruments])
        return run

    async def run_each(self, nodes: Sequence[str], times: float, instruments: Sequence[Instruments]) -> list[Run]:
        return await self._asked(Asked(self.standing, tuple(nodes), times, each) for each in instruments)

    async def run_again(self, node: str, count: int, times: float) -> list[Run]:
        """One in each turn: the order of the tests differs from turn to turn."""
        return [await self.run(node, times=times) for _ in range(count)]

    async def run_alone(self, node: str, times: float) -> Run:
        return await self.run(node, times=times, instruments=Instruments(is_alone=True))

    async def _asked(self, asked: Iterable[Asked]) -> list[Run]:
        answers = await self.rounds.ask([*asked])
        self.saved += sum(is_saved for _, is_saved in answers)
        runs = [run for run, _ in answers]
        self.runs += runs
        return runs


@dataclass(frozen=True, slots=True)
class Pace:
    """How long runs take."""

    #: the time limit of a common run, as a multiple of a test's
    most_times: float
    #: the part of each limit that does not depend on how long the test takes
    spare_times: float = 0.0
    #: the seconds of one test
    each: float = 0.0
    #: the time limit of one test, in seconds
    test_seconds: float = 60.0

    def times(self, asked: Sequence[Asked]) -> float:
        """The limit of their run, to which what is to spare is added once."""
        longest = max(each.times for each in asked)
        together = self.spare_times + sum(max(0, each.times - self.spare_times) for each in asked)
        return max(longest, min(self.most_times, together))

    def most_tests(self, tests: int, width: int) -> int:
        """How many tests go into one run, so that so many runs can be under way and no run is too short."""
        return max(-(-tests // width), math.ceil(LEAST_SECONDS / self.each)) if self.each else tests


class Rounds:
    def __init__(self, trial: Checkout, pace: Pace, lanes: Lanes) -> None:
        self.trial, self.pace, self.lanes = trial, pace, lanes
        self._hearings = 0
        self._asked: list[Asked] = []
        #: hearings that have asked
        self._waiting = 0
        self._turns = 0
        self._is_turning = False
        #: files that, as switches, could not tell which test a program belongs to
        self._untold: set[str] = set()

    def join(self, hearings: int) -> None:
        self._hearings = hearings

    async def leave(self) -> None:
        """A hearing is over."""
        self._hearings -= 1
        await self._turn()

    async def ask(self, asked: Sequence[Asked]) -> list[tuple[Run, bool]]:
        self._asked += asked
        self._waiting += 1
        await self._turn()
        return [await each.answer.awaited() for each in asked]

    async def _turn(self) -> None:
        """The last hearing to ask runs what all have asked for."""
        if self._is_turning or not self._asked or self._waiting < self._hearings:
            return
        self._is_turning = True
        try:
            while self._asked and self._waiting >= self._hearings:
                await self._answer_all()
        finally:
            self._is_turning = False

    async def _answer_all(self) -> None:
        left, self._asked, self._waiting = self._asked, [], 0
        self._turns += 1
        while left:
            asked, left = left, []
            most = self.pace.most_tests(len(asked), self.lanes.width)
            async with anyio.create_task_group() as runs:
                forked = await in_thread(forks, asked, self._untold, most)
                for each in forked:
                    runs.start_soon(self._answer, each.asked, partial(self._fork, each), left)
                taken = {each for run in forked for each in run.asked}
                others = [each for each in asked if each not in taken]
                for together in await in_thread(combined, others, self._untold, most):
                    runs.start_soon(self._answer, together.asked, partial(self._run, together), left)

    async def _answer(
        self,
        asked: Sequence[Asked],
        run: Callable[[], Awaitable[Mapping[Asked, tuple[Run, bool]]]],
        left: list[Asked],
    ) -> None:
        """`left`: for experiments that this run did not answer."""
        try:
            answers = await run()
        except Exception as error:
            for each in asked:
                each.answer.is_error(error)
            return
        for each, answer in answers.items():
            each.answer.is_value(answer)
        left += [each for each in asked if each not in answers]

    async def _fork(self, forks: Forks) -> dict[Asked, tuple[Run, bool]]:
        """The answers to faults that could be tried in a fork."""
        asked = forks.asked
        nodes = dict.fromkeys(node for each in asked for node in each.nodes)
        # Some may be late.
        times = self.pace.times(asked) + 2 * max(each.times for each in asked)
        async with self.lanes.one():
            run = await self.trial.run(
                *nodes, times=times, instruments=forks.instruments(self.pace.test_seconds, times)
            )
        answers = await in_thread(forks.answers, run)
        for each in asked:
            each.is_unforkable = each not in answers
        return {each: (answer, each is not asked[0]) for each, answer in answers.items()}

    async def _run(self, together: Together) -> dict[Asked, tuple[Run, bool]]:
        """The answers to experiments; the others have to be packed into runs anew."""
        asked = together.asked
        nodes = list(dict.fromkeys(node for each in self._ordered(asked) for node in each.nodes))
        times = self.pace.times(asked) if len(asked) > 1 else asked[0].times
        async with self.lanes.one():
            run = await self.trial.run(*nodes, times=times, instruments=together.instruments)
        if len(asked) == 1:
            return {asked[0]: (await in_thread(_watched, asked[0], run), False)}
        if met := await in_thread(untold, run.folder / PROBES):
            # Notes that name none of the switches are not trusted: then each switch counts as noted.
            self._untold |= (met & together.switched) or together.switched
            return {}
        if why := unsound(run, nodes) or (run.report.uncollected and run.why_not):
            if together.instruments.are_none:
                raise Unsound(why, len(asked))
            return await self._alone(_spoilers(asked, nodes, run))
        return {each: (await in_thread(_heard, each, run, len(asked)), each is not asked[0]) for each in asked}

    def _ordered(self, asked: Sequence[Asked]) -> Sequence[Asked]:
        return asked if self._turns % 2 else asked[::-1]

    async def _alone(self, asked: Sequence[Asked]) -> dict[Asked, tuple[Run, bool]]:
        async def run(each: Asked) -> tuple[Run, bool]:
            async with self.lanes.one():
                ran = await self.trial.run(*each.nodes, times=each.times, instruments=each.in_its_view)
            return await in_thread(_watched, each, ran), False

        return dict(zip(asked, await all_of(partial(run, each) for each in asked), strict=True))


def _spoilers(asked: Sequence[Asked], nodes: Iterable[str], run: Run) -> Sequence[Asked]:
    """Those to run alone: the one whose test did not end in time, or all of them if it is not known which one."""
    unended = (node for node in nodes if any(each.message == UNENDED for each in cases_of(run.cases, node).values()))
    stuck = next(unended, None) if run.is_late else None
    return [each for each in asked if stuck in each.nodes] or asked


def _heard(asked: Asked, run: Run, parts: int) -> Run:
    """Blocking."""
    return _watched(asked, own(run, asked.nodes, parts))


def _watched(asked: Asked, run: Run) -> Run:
    """Remembers what the old version of the test reaches, if the run watched it. Blocking."""
    if asked.teaches:
        folder, before = run.folder / PROBES, asked.standing.reached_before or Reached()
        notes = known(read_notes(folder), run.ended.traced or NOTHING) if is_whole(folder) else _UNKNOWN
        asked.standing.reached_before = reduce(or_, notes.values(), before)
    return run
