"""Resolves ids of batches and jobs: they may be shortened as long as they stay unique."""

import json
from dataclasses import dataclass
from typing import Any

from supervisor.control.desk import Desk
from supervisor.errors import NoSuchThing, Refused
from supervisor.model.batch import Batch
from supervisor.model.job import INTEGRATOR
from supervisor.ports import SealedBatch

MANY = 10


@dataclass(frozen=True, slots=True)
class Meant:
    """A batch that is open, or one that is sealed."""

    id: str
    open: Batch | None = None
    sealed: SealedBatch | None = None


async def batch(desk: Desk, said: str) -> Meant:
    known = desk.state().batches
    if said in known:
        return Meant(said, open=known[said])
    if (sealed := await desk.journal.sealed_batch(said)) is not None:
        return Meant(said, sealed=sealed)
    found = {one for one in known if one.startswith(said)} | set(await desk.journal.sealed_ids(said, limit=MANY))
    if len(found) > 1:
        listed = ", ".join(sorted(found)[:MANY])
        raise Refused(f"{said} matches several batches: {listed}", hint="give more of the id")
    if not found:
        raise NoSuchThing(f"there is no batch {said}", hint="`supervisorctl status` lists them")
    return await batch(desk, found.pop())


async def open_batch(desk: Desk, said: str) -> Batch:
    """For requests that change a batch: a sealed one can't be changed."""
    meant = await batch(desk, said)
    if meant.open is None:
        hint = f"see `supervisorctl report {meant.id}`; `supervisorctl retry {meant.id}` retries what failed"
        raise Refused(f"batch {meant.id} is finished", hint=hint)
    return meant.open


async def job(desk: Desk, said: str) -> tuple[Meant, int]:
    """`BATCH.N`, where the batch may be shortened; the integrator's job is refused."""
    meant, number = await any_job(desk, said)
    if number == INTEGRATOR:
        hint = f"steer the batch {meant.id} instead"
        raise Refused(f"{meant.id}.{number} is the integrator's job; it cannot be steered", hint=hint)
    return meant, number


async def any_job(desk: Desk, said: str) -> tuple[Meant, int]:
    """Like `job`, but accepts `BATCH.0`, the integrator's, for read-only requests."""
    prefix, dot, number = said.rpartition(".")
    if not dot or not prefix or not (number.isascii() and number.isdigit() and len(number) < 8):
        raise NoSuchThing(f"{said} is not a job", hint="a job is written BATCH.NUMBER, such as k3f9x.12")
    meant = await batch(desk, prefix)
    if meant.open is not None and not meant.open.has_job(int(number)):
        raise _no_job(meant, int(number), len(meant.open.tests))
    return meant, int(number)


def sealed_row(meant: Meant, number: int) -> dict[str, Any]:
    assert meant.sealed is not None
    jobs = json.loads(meant.sealed.jobs)
    # Batches that were sealed by an earlier version have no row for their integrator.
    row: dict[str, Any] | None = (
        jobs.get("integrator") if number == INTEGRATOR else dict(enumerate(jobs["rows"], 1)).get(number)
    )
    if row is None:
        raise _no_job(meant, number, len(jobs["rows"]))
    return row


def _no_job(meant: Meant, number: int, last: int) -> NoSuchThing:
    if number == INTEGRATOR:
        why = "an integrator is only launched if merging needs judgement"
        return NoSuchThing(f"batch {meant.id} has no integrator", hint=why)
    hint = f"its jobs are {meant.id}.1 to {meant.id}.{last}"
    return NoSuchThing(f"batch {meant.id} has no job {number}", hint=hint)
