"""The read-only routes."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse, Response, StreamingResponse

from supervisor.adapters.recordings.kept import Shown
from supervisor.control import intake, messages, moving, naming
from supervisor.control.desk import Desk, TheDesk
from supervisor.model.attempt import AttemptKey
from supervisor.observe import at_work, snapshot
from supervisor.observe import budget as budgets
from supervisor.observe.claims import verifying
from supervisor.observe.stream import as_data
from supervisor.observe.traces import told as traced
from supervisor.threads import in_thread

#: Sequence numbers are signed 64-bit integers in the journal.
Seq = Annotated[int, Query(ge=0, le=2**63 - 1)]
Limit = Annotated[int, Query(ge=1, le=1000)]

JSON = "application/json"

routes = APIRouter(tags=["look"])


def shape(model: type[messages.Answer]) -> dict[str, Any]:
    """Documents an answer without validating it: it may have 10,000 rows."""
    return {"response_model": None, "responses": {200: {"model": model}}}


@routes.get("/v1/health", **shape(messages.Dated))
async def health(desk: TheDesk) -> Response:
    """Shows that the API answers. Whether the daemon's loop makes progress is checked by the watchdog."""
    return JSONResponse(snapshot.answer(desk.clock()))


@routes.get("/v1/version", **shape(messages.Dated))
async def version(desk: TheDesk) -> Response:
    return JSONResponse(snapshot.answer(desk.clock(), **desk.facts))


@routes.get("/v1/configuration", **shape(messages.Dated))
async def configuration(desk: TheDesk) -> Response:
    """The daemon's effective configuration, without secrets."""
    return JSONResponse(snapshot.answer(desk.clock(), **desk.configuration()))


@routes.get("/v1/status", **shape(messages.Queue))
async def status(desk: TheDesk) -> Response:
    """Open batches, and the pools they run on."""
    return await _in_thread(lambda: _queue(desk))


def _queue(desk: Desk) -> snapshot.View:
    queue, telemetry = snapshot.queue(desk.state(), desk.clock(), desk.problems(), desk.strays()), desk.telemetry()
    return {
        **queue,
        "attention": [*queue["attention"], *traced.attention(telemetry)],
        "accounts": budgets.accounts(desk.state(), desk.clock()),
        "disk": desk.disk(),
        "telemetry": telemetry,
    }


@routes.get("/v1/budget", **shape(messages.Dated))
async def budget(desk: TheDesk) -> Response:
    """Accounts: caps, what is spent and reserved, resets, levels, and pauses with their reasons."""
    return await _in_thread(lambda: budgets.budget(desk.state(), desk.clock()))


@routes.get("/v1/batches", **shape(messages.Batches))
async def batches(desk: TheDesk, limit: Limit = 100) -> Response:
    """Open batches first, then finished ones, newest first."""
    sealed = [json.loads(each.status)["batch"] for each in await desk.journal.sealed(limit=limit)]
    proofs = verifying(desk.state())
    rows = [snapshot.summary(batch, proofs) for batch in reversed(desk.state().in_order())] + sealed
    return JSONResponse(snapshot.answer(desk.clock(), rows=rows[:limit]))


@routes.get("/v1/batches/{batch}", **shape(messages.BatchStatus))
async def batch_status(desk: TheDesk, batch: str) -> Response:
    meant = await naming.batch(desk, batch)
    if (found := meant.open) is not None:
        state = desk.state()
        data = await in_thread(lambda: snapshot.status(found, desk.clock(), verifying(state)))
    else:
        assert meant.sealed is not None
        data = json.loads(meant.sealed.status)
    seen = data["batch"]
    seen["notes"] = await moving.notes(desk, seen, seen.get("notes", ()))
    return JSONResponse(data)


@routes.get("/v1/batches/{batch}/jobs", **shape(messages.Jobs))
async def jobs(desk: TheDesk, batch: str) -> Response:
    meant = await naming.batch(desk, batch)
    if (found := meant.open) is not None:
        return await _in_thread(lambda: snapshot.jobs(found, desk.clock()))
    assert meant.sealed is not None
    return Response(meant.sealed.jobs, media_type=JSON)


@routes.get("/v1/at-work", **shape(messages.AtWork))
async def jobs_at_work(desk: TheDesk, batch: str = "", ended: bool = False) -> Response:
    """The jobs that are at work, of all open batches or of one; with `ended`, those that ended last."""
    meant = (await naming.batch(desk, batch)).id if batch else ""
    state = desk.state()
    return await _in_thread(
        lambda: snapshot.answer(desk.clock(), rows=at_work.rows(state, desk.clock(), meant, ended=ended))
    )


@routes.get("/v1/jobs/{job}", **shape(messages.JobStatus))
async def job(desk: TheDesk, job: str) -> Response:
    meant, number = await naming.any_job(desk, job)
    if meant.open is not None:
        data = snapshot.job(meant.open, number, desk.clock())
    else:
        data = snapshot.answer(desk.clock(), job=naming.sealed_row(meant, number))
    row = data["job"]
    key, test = AttemptKey(meant.id, number, row["attempts"]), row["test"] or ""
    kept = await in_thread(desk.recordings().all, key, test)
    return JSONResponse({**data, "job": {**row, "recordings": [_recording(each) for each in kept]}})


def _recording(shown: Shown) -> snapshot.View:
    """As the page of the job shows it."""
    one = shown.recording
    return {
        "of": shown.words,
        "number": one.number,
        "name": one.name,
        "title": one.title or None,
        "test": one.test,
        "seconds": round(one.seconds, 3),
        "recorded_at": snapshot.rfc3339(one.at) if one.at else None,
        "bytes": one.size,
        "is_cut": one.is_cut,
    }


@routes.get("/v1/checkout", **shape(messages.Checkout))
async def checkout(
    desk: TheDesk,
    repo: Annotated[str, Query(pattern=r"^/[^\x00]*$", max_length=4096)],
    profile: Annotated[str, Query(max_length=64)] = "default",
    allow_dirty: bool = False,
) -> Response:
    """Whether a batch can start from this checkout, its base commit, and how pytest runs there."""
    facts, resolved = await intake.look(desk, Path(repo), profile, allow_dirty=allow_dirty)
    return JSONResponse(
        {
            "schema_version": snapshot.SCHEMA_VERSION,
            "repo": str(facts.root),
            "base": facts.head_sha,
            "profile": resolved.name,
            "pytest": list(resolved.pytest),
            "per": resolved.per,
            "select": resolved.select,
            "python_path": list(resolved.python_path),
            "has_setup": bool(resolved.setup),
            "timeout_seconds": resolved.test_timeout_seconds,
        }
    )


@routes.get("/v1/events", **shape(messages.Events))
async def events(
    desk: TheDesk, after: Seq = 0, limit: Limit = 1000, batch: str = "", job: str = "", newest: bool = False
) -> Response:
    """Events after a sequence number; with `newest`, the latest of them."""
    of_batch, of_job = await _of(desk, batch, job)
    found = await desk.journal.read(after, limit=limit, batch=of_batch, job=of_job, newest=newest)
    return await _in_thread(lambda: snapshot.answer(desk.clock(), rows=[as_data(record) for record in found]))


@routes.get(
    "/v1/events/stream",
    response_model=None,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream(
    desk: TheDesk,
    after: Annotated[int | None, Query(ge=0, le=2**63 - 1)] = None,
    batch: str = "",
    job: str = "",
    last_event_id: Annotated[int | None, Header(ge=0, le=2**63 - 1)] = None,
) -> Response:
    """Server-sent events after a sequence number; default: from now. `Last-Event-ID` resumes."""
    of_batch, of_job = await _of(desk, batch, job)
    start = last_event_id if last_event_id is not None else after
    if start is None:
        last = await desk.journal.read(limit=1, newest=True)
        start = last[-1].seq if last else 0
    return StreamingResponse(_sse(desk, start, of_batch, of_job), media_type="text/event-stream")


async def _sse(desk: Desk, after: int, batch: str, job: int | None) -> AsyncIterator[str]:
    async for piece in desk.stream.follow(after, batch=batch, job=job):
        if not piece:
            yield ": nothing happens\n\n"
        for record in piece:
            yield f"id: {record.seq}\nevent: {record.event.kind}\ndata: {json.dumps(as_data(record))}\n\n"


async def _of(desk: Desk, batch: str, job: str) -> tuple[str, int | None]:
    if job:
        meant, number = await naming.any_job(desk, job)
        return meant.id, number
    return ((await naming.batch(desk, batch)).id, None) if batch else ("", None)


async def _in_thread(view: Callable[[], Any]) -> Response:
    """Build and serialize a large view in a thread: the state is immutable, so this is safe."""
    return Response(await in_thread(lambda: json.dumps(view())), media_type=JSON)
