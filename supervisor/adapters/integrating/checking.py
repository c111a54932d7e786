"""Reads an integrator's branch: what it decides, or every lie in it. Its word is taken for nothing."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.adapters.git.picking import Integrated, Resolution
from supervisor.adapters.git.remaking import Remade
from supervisor.adapters.git.store import GitStore
from supervisor.adapters.integrating.gathering import read_report
from supervisor.adapters.layout import Layout
from supervisor.flow.integration.checking import dropped, placed, shape
from supervisor.flow.integration.taking import given_up, ranked, untrue
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.job import INTEGRATOR, Job

MOST_LIES = 20


@dataclass(frozen=True, slots=True)
class Said:
    """What an integrator decides, the order of the fixes and what becomes of each conflict; or why nothing counts."""

    lies: tuple[str, ...] = ()
    resolutions: tuple[Resolution, ...] = ()
    ranking: tuple[str, ...] = ()
    #: conflicts that it gives up, with its reasons
    failed: Mapping[str, str] = field(default_factory=dict)
    #: what it says of things that it was not asked about
    untrue: tuple[str, ...] = ()


class Reading:
    def __init__(self, store: GitStore, layout: Layout) -> None:
        self._store, self._layout = store, layout

    async def said(self, batch: Batch, done: Integrated, job: Job) -> Said:
        """`done`: the machine's branch. First what the other claims to be, then what it holds."""
        repo = Path(batch.repo)
        report = await asyncio.to_thread(read_report, self._layout, AttemptKey(batch.id, INTEGRATOR, job.attempts))
        extra = report.extra if report else {}
        failed, ranking = given_up(extra), ranked(extra)
        commits = await self._store.branch(repo, batch.base, job.head)
        machine = {each.sha: each.changes for each in done.landed}
        found, lies = placed(batch.id, commits, machine, done.aside)
        lies = [*shape(batch.base, commits), *lies, *dropped(found, machine, done.aside, failed)]
        # What does not stand where it should, or as one commit too many or too few, has nothing to be compared with.
        remade = Remade() if lies else await self._store.remade(repo, batch.base, found)
        if lies := [*lies, *remade.objections]:
            return Said(tuple(str(lie) for lie in lies))
        order = ranking or tuple(change for each in found if each.machine for change in machine[each.machine])
        return Said((), tuple(remade.resolutions), order, failed, tuple(_untrue(done, failed, ranking)))


def named(lies: tuple[str, ...]) -> Iterator[str]:
    yield from (f"the integrator's branch is not taken: {lie}" for lie in lies[:MOST_LIES])
    if len(lies) > MOST_LIES:
        yield f"the integrator's branch has {len(lies) - MOST_LIES} lies more"


def _untrue(done: Integrated, failed: Mapping[str, str], ranking: tuple[str, ...]) -> Iterator[str]:
    conflicts = {change.sha for unit in done.aside for change in unit.changes}
    fixes = {change for each in done.landed if each.job is not None for change in each.changes}
    yield from untrue(failed, ranking, conflicts, fixes | conflicts)
