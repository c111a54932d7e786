"""Runs the files of claims' tests in a state of the checkout, and notes what each test reaches there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from supervisor.model.batch import Batch
from supervisor.model.node import file_of
from supervisor.threads import in_thread
from supervisor.verification.baselines import Baselines, tests_in
from supervisor.verification.evidence.inquiry import telling, times_for
from supervisor.verification.evidence.laying import Contents
from supervisor.verification.evidence.seen import MOST_BYTES, is_whole
from supervisor.verification.together.parts import GOING_ON, unsound
from supervisor.verification.together.reaching import ALL, Reached, known, read_notes
from supervisor.verification.together.sharing import Unsound
from supervisor.verification.together.tree import Claimed
from supervisor.verification.tracing.traced import NOTHING
from supervisor.verification.trials.asking import PROBES, Place
from supervisor.verification.trials.runs import Instruments, Run

_WATCHING = Instruments(plugins=telling(), args=GOING_ON)


@dataclass(frozen=True, slots=True)
class Watched:
    """A run of the files of claims."""

    run: Run
    #: what each test reached
    notes: Mapping[str, Reached]
    #: whether the kernel told the files of programs that take no notes
    is_traced: bool = False


class Watching:
    def __init__(self, batch: Batch, trial: Place, baselines: Baselines, *, is_here: bool) -> None:
        """`is_here`: whether the trial is on this machine, where the kernel can be asked."""
        self._batch, self._trial, self._baselines, self._is_here = batch, trial, baselines, is_here

    async def watch(self, claims: Sequence[Claimed], laid: Contents) -> Watched:
        """Raises Unsound."""
        files = {file_of(each.test): each.test for each in claims}
        usual = 0.0
        for test in files.values():
            before = await self._baselines.run(self._batch, test)
            usual += before.seconds if before is not None else self._batch.profile.test_timeout_seconds
        times = min(1 + times_for(self._batch, usual), sum(tests_in(self._batch, test) for test in files.values()))
        run = await self._trial.run(*files, times=times, instruments=replace(_WATCHING, view=laid))
        if why := unsound(run, list(files)):
            raise Unsound(why, len(claims))
        if not await in_thread(is_whole, run.folder / PROBES, MOST_BYTES):
            raise Unsound("not all is known that their tests did", len(claims))
        return Watched(run, await in_thread(read_notes, run.folder / PROBES))

    async def told(self, watched: Watched, laid: Contents) -> Watched:
        """Tests that start programs without notes could notice everything, so these run once more, while the kernel
        tells the files. That takes twice the time."""
        notes = watched.notes
        opaque = [test for test, each in notes.items() if test != ALL and each.is_opaque and each.is_seen]
        if not opaque or not self._is_here:
            return watched
        times = times_for(self._batch, 2 * watched.run.seconds)
        run = await self._trial.run(*opaque, times=times, instruments=replace(_WATCHING, view=laid, traces=True))
        if unsound(run, opaque) or not await in_thread(is_whole, run.folder / PROBES, MOST_BYTES):
            return watched
        told = known(await in_thread(read_notes, run.folder / PROBES), run.ended.traced or NOTHING)
        found = {test: replace(notes.get(test, each) | each, is_opaque=each.is_opaque) for test, each in told.items()}
        return Watched(watched.run, {**notes, **found}, is_traced=True)
