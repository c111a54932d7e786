"""Runs the files of claims' tests in a view of the checkout, and notes what each test reaches there."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import anyio

from supervisor.model.batch import Batch
from supervisor.model.node import file_of
from supervisor.threads import in_thread
from supervisor.verification.baselines import Baselines, tests_in
from supervisor.verification.evidence.inquiry import telling, times_for
from supervisor.verification.evidence.seen import MOST_BYTES, is_whole
from supervisor.verification.together.lanes import Lanes
from supervisor.verification.together.parts import GOING_ON, unsound
from supervisor.verification.together.reaching import ALL, Reached, known, read_notes
from supervisor.verification.together.sharing import LEAST_SECONDS, Unsound
from supervisor.verification.together.tree import Claimed
from supervisor.verification.tracing.traced import NOTHING
from supervisor.verification.trials.asking import PROBES, Checkout
from supervisor.verification.trials.runs import Instruments, Run, View

_WATCHING = Instruments(plugins=telling(), args=GOING_ON)


@dataclass(frozen=True, slots=True)
class Watched:
    """The files of claims, run while it was noted what they reach."""

    #: by file; several files may share a run
    runs: Mapping[str, Run]
    #: what each test reached
    notes: Mapping[str, Reached]
    #: whether the kernel told the files of programs that take no notes
    is_traced: bool = False

    @property
    def unread_files(self) -> Collection[str]:
        return {file for run in self.runs.values() for file in run.report.unread_files}

    @property
    def seconds(self) -> float:
        return sum(run.seconds for run in {id(run): run for run in self.runs.values()}.values())

    @property
    def tests(self) -> int:
        return sum(len(run.cases) for run in {id(run): run for run in self.runs.values()}.values())


class Watching:
    def __init__(self, batch: Batch, trial: Checkout, baselines: Baselines, lanes: Lanes, *, is_here: bool) -> None:
        """`is_here`: whether the trial is on this machine, where the kernel can be asked."""
        self._batch, self._trial, self._baselines, self._lanes = batch, trial, baselines, lanes
        self._is_here = is_here

    async def watch(self, claims: Sequence[Claimed], view: View) -> Watched:
        """Raises Unsound."""
        tests = {file_of(each.test): each.test for each in claims}
        usual = {file: await self._usual(test) for file, test in tests.items()}
        found: dict[str, Run] = {}

        async def run(files: Sequence[str]) -> None:
            most = sum(tests_in(self._batch, tests[file]) for file in files)
            times = min(1 + times_for(self._batch, sum(usual[file] for file in files)), most)
            found.update(dict.fromkeys(files, await self._run(files, times, replace(_WATCHING, view=view))))

        shares = shared(usual, self._lanes.width)
        async with anyio.create_task_group() as runs:
            for files in shares:
                runs.start_soon(run, files)
        for files in shares:
            await self._check(found[files[0]], files, len(claims))
        return Watched(found, await self._notes([found[files[0]] for files in shares]))

    async def told(self, watched: Watched, view: View) -> Watched:
        """Tests that start programs without notes could notice everything, so these run once more, while the kernel
        tells the files. That takes twice the time."""
        notes = watched.notes
        opaque = [test for test, each in notes.items() if test != ALL and each.is_opaque and each.is_seen]
        if not opaque or not self._is_here:
            return watched
        each = watched.seconds / max(1, watched.tests)
        found: list[tuple[Sequence[str], Run]] = []

        async def run(tests: Sequence[str]) -> None:
            times = times_for(self._batch, 2 * watched.seconds)
            found.append((tests, await self._run(tests, times, replace(_WATCHING, view=view, traces=True))))

        async with anyio.create_task_group() as runs:
            for tests in shared(dict.fromkeys(opaque, each), self._lanes.width):
                runs.start_soon(run, tests)
        for asked, ran in found:
            if unsound(ran, asked) or not await in_thread(is_whole, ran.folder / PROBES, MOST_BYTES):
                continue
            told = known(await in_thread(read_notes, ran.folder / PROBES), ran.ended.traced or NOTHING)
            notes = {**notes, **{test: _beside(notes.get(test), now) for test, now in told.items()}}
        return Watched(watched.runs, notes, is_traced=True)

    async def _usual(self, test: str) -> float:
        """How long its file took at the base."""
        before = await self._baselines.run(self._batch, test)
        return before.seconds if before is not None else self._batch.profile.test_timeout_seconds

    async def _run(self, nodes: Sequence[str], times: float, instruments: Instruments) -> Run:
        async with self._lanes.one():
            return await self._trial.run(*nodes, times=times, instruments=instruments)

    async def _check(self, run: Run, files: Sequence[str], claims: int) -> None:
        if why := unsound(run, files):
            raise Unsound(why, claims)
        if not await in_thread(is_whole, run.folder / PROBES, MOST_BYTES):
            raise Unsound("not all is known that their tests did", claims)

    async def _notes(self, runs: Sequence[Run]) -> Mapping[str, Reached]:
        notes: dict[str, Reached] = {}
        for run in runs:
            for test, reached in (await in_thread(read_notes, run.folder / PROBES)).items():
                notes[test] = notes[test] | reached if test in notes else reached
        return notes


def _beside(before: Reached | None, now: Reached) -> Reached:
    return replace(now if before is None else before | now, is_opaque=now.is_opaque)


def shared(seconds: Mapping[str, float], width: int) -> list[list[str]]:
    """Divides what takes so many seconds each into as many shares as can be under way, none of them too short."""
    count = max(1, min(width, len(seconds), int(sum(seconds.values()) / LEAST_SECONDS)))
    shares: list[list[str]] = [[] for _ in range(count)]
    lengths = [0.0] * count
    for name in sorted(seconds, key=lambda each: -seconds[each]):
        place = lengths.index(min(lengths))
        shares[place].append(name)
        lengths[place] += seconds[name]
    return [share for share in shares if share]
