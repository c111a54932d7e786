"""Routes that change something. Each is idempotent: `changed` says whether it had an effect."""

import json
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse, Response

from supervisor.control import elsewhere, intake, messages, naming, retrying
from supervisor.control.desk import Desk, TheDesk
from supervisor.control.looking import shape
from supervisor.control.naming import Meant
from supervisor.control.peers import author
from supervisor.errors import Refused
from supervisor.model.event import Event, JobEvent
from supervisor.model.request import Cancel, IntegrateSoFar, Pause, Resume, Retry, SetSlots
from supervisor.observe.snapshot import SCHEMA_VERSION

Author = Annotated[str, Depends(author)]

DRAINING = "draining"

routes = APIRouter(tags=["steer"])


def changed(events: Sequence[Event], **content: Any) -> Response:
    jobs = [f"{event.batch}.{event.job}" for event in events if isinstance(event, JobEvent)]
    return JSONResponse({"schema_version": SCHEMA_VERSION, "changed": bool(events), **content, "jobs": jobs})


@routes.post("/v1/submit", **shape(messages.Submitted))
async def submit(desk: TheDesk, asked: messages.Submission, by: Author) -> Response:
    """Submit a batch: one job per test. The answer is sent once the batch would survive a power loss."""
    batch, events = await intake.submit(desk, asked, by)
    jobs = len(desk.state().batches[batch].tests)
    content = {"schema_version": SCHEMA_VERSION, "batch": batch, "jobs": jobs, "changed": bool(events)}
    return JSONResponse(content)


@routes.post("/v1/batches/{batch}/cancel", **shape(messages.Changed))
async def cancel_batch(desk: TheDesk, batch: str, by: Author) -> Response:
    """Cancel a batch. Its agents' work is rescued, and finished work is kept."""
    meant = await naming.batch(desk, batch)
    if meant.sealed is not None and json.loads(meant.sealed.status)["batch"]["state"] == "cancelled":
        return changed([], batch=meant.id)
    found = await naming.open_batch(desk, meant.id)
    return changed(await desk.asked(Cancel(found.id, author=by)), batch=found.id)


@routes.post("/v1/jobs/{job}/cancel", **shape(messages.Changed))
async def cancel_job(desk: TheDesk, job: str, by: Author) -> Response:
    meant, number = await naming.job(desk, job)
    if meant.sealed is not None and naming.sealed_row(meant, number)["outcome"] == "cancelled":
        return changed([], batch=meant.id)
    found = await naming.open_batch(desk, meant.id)
    return changed(await desk.asked(Cancel(found.id, number, author=by)), batch=found.id)


@routes.post("/v1/batches/{batch}/retry", **shape(messages.Changed))
async def retry_batch(desk: TheDesk, batch: str, by: Author, asked: messages.Retrying | None = None) -> Response:
    """Retry every job that did not end well. If the batch is over, they become a new batch: `batch` is its id and
    `retry_of` the old one's."""
    return await _retried(desk, await naming.batch(desk, batch), 0, by, asked)


async def _retried(desk: Desk, meant: Meant, number: int, by: str, asked: messages.Retrying | None) -> Response:
    onto = asked.onto if asked is not None else ""
    if retrying.is_over(meant):
        new, events = await retrying.retry(desk, meant, by, job=number, onto=onto)
        jobs = len(desk.state().batches[new].tests) if new else 0
        listed = [f"{new}.{number}" for number in range(1, jobs + 1)] if events else []
        content = {"changed": bool(events), "batch": new or meant.id, "retry_of": meant.id if new else None}
        return JSONResponse({"schema_version": SCHEMA_VERSION, **content, "jobs": listed})
    if onto:
        raise Refused(f"batch {meant.id} is not over: its jobs start from its own base", hint="leave out --onto")
    return changed(await desk.asked(Retry(meant.id, number, author=by)), batch=meant.id, retry_of=None)


@routes.post("/v1/jobs/{job}/retry", **shape(messages.Changed))
async def retry_job(desk: TheDesk, job: str, by: Author, asked: messages.Retrying | None = None) -> Response:
    meant, number = await naming.job(desk, job)
    return await _retried(desk, meant, number, by, asked)


@routes.post("/v1/batches/{batch}/integrate", **shape(messages.Changed))
async def integrate_batch(
    desk: TheDesk, batch: str, by: Author, asked: messages.Integrating | None = None
) -> Response:
    """Make a branch of the work done so far, while the rest continues. Unchanged if a branch has all of it already.

    With `onto` the branch is rebuilt on another commit, also for a batch that is over; while `state` is `working`,
    repeat the request to get the progress."""
    if asked is not None and asked.onto:
        content = await elsewhere.onto(desk, await naming.batch(desk, batch), asked.onto)
        return JSONResponse({"schema_version": SCHEMA_VERSION, **content})
    found = await naming.open_batch(desk, batch)
    return changed(await desk.asked(IntegrateSoFar(found.id, author=by)), batch=found.id)


@routes.post("/v1/batches/{batch}/pause", **shape(messages.Changed))
async def pause_batch(desk: TheDesk, batch: str, by: Author) -> Response:
    """Launch no more agents of the batch; running ones may finish."""
    found = await naming.open_batch(desk, batch)
    return changed(await desk.asked(Pause(found.id, author=by)), batch=found.id)


@routes.post("/v1/batches/{batch}/resume", **shape(messages.Changed))
async def resume_batch(desk: TheDesk, batch: str, by: Author) -> Response:
    found = await naming.open_batch(desk, batch)
    return changed(await desk.asked(Resume(found.id, author=by)), batch=found.id)


@routes.post("/v1/pause", **shape(messages.Changed))
async def pause(desk: TheDesk, asked: messages.Pausing, by: Author) -> Response:
    """Launch no more agents; running ones may finish."""
    return changed(await desk.asked(Pause(author=by, reason=asked.reason)))


@routes.post("/v1/resume", **shape(messages.Changed))
async def resume(desk: TheDesk, by: Author) -> Response:
    """Resume launching agents. Also ends a drain."""
    return changed(await desk.asked(Resume(author=by)))


@routes.post("/v1/drain", **shape(messages.Changed))
async def drain(desk: TheDesk, by: Author) -> Response:
    """Launch no more agents; the answer has the number of agents that are left."""
    events = await desk.asked(Pause(author=by, reason=DRAINING))
    return changed(events, agents=len(desk.state().attempts))


@routes.put("/v1/pools/{pool}/slots", **shape(messages.Changed))
async def slots(desk: TheDesk, pool: str, asked: messages.Slots, by: Author) -> Response:
    """Set a pool's slots until its configuration changes. Agents beyond them may finish."""
    return changed(await desk.asked(SetSlots(pool, asked.slots, author=by)), pool=pool, slots=asked.slots)


@routes.post("/v1/reload", **shape(messages.Changed))
async def reload(desk: TheDesk) -> Response:
    """Reload the configuration. An invalid one is refused and changes nothing."""
    return JSONResponse({"schema_version": SCHEMA_VERSION, "changed": await desk.reload()})
