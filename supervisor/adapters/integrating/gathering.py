"""Reads what each job of a batch brings: its commits, and what its agent said of them."""

import asyncio
from pathlib import Path

from supervisor.adapters.archive_outcome import parse_outcome
from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import PUBLISHED, Layout
from supervisor.errors import Hostile
from supervisor.flow.integration.bringing import brings_work, work_of
from supervisor.flow.integration.work import Work
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.publication import Outcome


async def gather(store: GitStore, layout: Layout, batch: Batch) -> tuple[Work, ...]:
    """The work of every job that published some, in the order of their numbers."""
    works = []
    for job in filter(brings_work, batch.jobs()):
        report = await asyncio.to_thread(read_report, layout, AttemptKey(batch.id, job.number, job.attempts))
        changes = await store.changes(Path(batch.repo), batch.base, job.head, job.number)
        works.append(work_of(batch, job, report, changes))
    return tuple(works)


def read_report(layout: Layout, key: AttemptKey) -> Outcome | None:
    """What an attempt published of itself; None where it is not kept."""
    try:
        return parse_outcome((layout.attempt(key) / Path(PUBLISHED).stem / "outcome.json").read_bytes())
    except (OSError, Hostile):
        return None
