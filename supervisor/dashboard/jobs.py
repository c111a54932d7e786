"""One job: doubts first, then how it went, what it changed, how that was verified, what it took, and its log."""

import json
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

from anyio import sleep
from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from supervisor.control import naming
from supervisor.control.desk import Desk
from supervisor.control.naming import Meant
from supervisor.control.working import known
from supervisor.dashboard import cells, happenings, recordings
from supervisor.dashboard.happenings import Happening
from supervisor.dashboard.house import TheHouse
from supervisor.dashboard.live import data
from supervisor.dashboard.rendering import page, rendered
from supervisor.errors import GitFailed, NoSuchThing
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.job import Job
from supervisor.observe import snapshot
from supervisor.observe.review import dropped_by
from supervisor.observe.why import of_sealed_job, why
from supervisor.ports import Commit
from supervisor.threads import in_thread

MOST_EVENTS = 500
LOG_ROWS = 300
LOOK_SECONDS = 0.4
#: the browser is told that the stream is there
IDLE_LOOKS = 30

routes = APIRouter()


@routes.get("/jobs/{job}")
async def job(request: Request, house: TheHouse, job: str) -> Response:
    desk = house.desk
    meant, number = await naming.any_job(desk, job)
    batch, found = await _job(desk, meant, number)
    timeline = await _timeline(desk, batch, number)
    key = AttemptKey(batch.id, number, found.attempts)
    files = desk.files()
    return page(
        request,
        "job.html",
        batch=batch,
        job=found,
        row=snapshot.row(batch, found),
        dropped_by=dropped_by(batch.ledger.get(number), desk.state().reviews.get(batch.id)),
        kind=cells.KINDS[cells.letter(found)],
        is_open=meant.open is not None,
        why=await _why(desk, meant, number),
        is_steered=number > 0,
        timeline=timeline,
        commits=await _commits(desk, batch, found),
        outcome=await in_thread(files.outcome, key),
        artifacts=await in_thread(files.artifacts, key),
        recordings=await recordings.choices(desk, key, found.test),
        is_live=key in desk.state().attempts,
    )


@routes.get("/jobs/{job}/peek")
async def peek(house: TheHouse, job: str) -> Response:
    """A few lines about a cell."""
    meant, number = await naming.any_job(house.desk, job)
    batch, found = await _job(house.desk, meant, number)
    kind, row = cells.KINDS[cells.letter(found)], snapshot.row(batch, found)
    return HTMLResponse(rendered("part_peek.html", batch=batch, job=found, kind=kind, row=row))


async def _job(desk: Desk, meant: Meant, number: int) -> tuple[Batch, Job]:
    batch = await known(desk, meant)
    if batch is None:
        raise NoSuchThing(f"only the summary of batch {meant.id} is still kept", hint="`[keep]` sets for how long")
    if not batch.has_job(number):
        raise NoSuchThing(f"batch {batch.id} has no job {number}", hint="choose one from the list of its jobs")
    return batch, batch.job(number)


async def _why(desk: Desk, meant: Meant, number: int) -> str:
    """In a paragraph, why it is where it is."""
    if meant.id in desk.state().batches:
        return why(desk.state(), f"{meant.id}.{number}", desk.clock())
    return of_sealed_job(naming.sealed_row(await naming.batch(desk, meant.id), number)).text


async def _timeline(desk: Desk, batch: Batch, number: int) -> list[Happening]:
    records = await desk.journal.read(limit=MOST_EVENTS, batch=batch.id, job=number, newest=True)
    return [each for record in records if (each := happenings.told(record, batch)) is not None]


async def _commits(desk: Desk, batch: Batch, job: Job) -> list[Commit] | str:
    """What it changed; a sentence where that can't be shown."""
    if not job.brought.head:
        return []
    try:
        return await desk.store.commits(Path(batch.repo), batch.base, job.brought.head)
    except GitFailed as failed:
        return failed.message


# --- its log


@routes.get("/jobs/{job}/log")
async def log(
    house: TheHouse,
    job: str,
    attempt: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    last_event_id: Annotated[int | None, Header(ge=0, le=2**63 - 1)] = None,
) -> Response:
    meant, number = await naming.any_job(house.desk, job)
    key = AttemptKey(meant.id, number, attempt)
    return StreamingResponse(_log(house.desk, key, last_event_id), media_type="text/event-stream")


async def _log(desk: Desk, key: AttemptKey, after: int | None) -> AsyncIterator[str]:
    """The end of the log, and then what comes; from a position on, everything since."""
    yield "retry: 500\n\n"
    rows: deque[str] = deque(maxlen=LOG_ROWS)
    at, quiet = after or 0, 0
    while not desk.stream.is_closed:
        is_live = key in desk.state().attempts
        piece = await desk.logs.read(key, at)
        if piece.lines and piece.next > at:
            rows.extend(piece.lines)
            at, quiet = piece.next, 0
            continue
        if rows:
            html = await in_thread(lambda: rendered("part_log.html", rows=[_row(line) for line in rows]))
            yield f"id: {at}\n{data(html)}\n"
            rows.clear()
        if not is_live:
            yield "event: over\ndata:\n\n"
            return
        quiet += 1
        if quiet % IDLE_LOOKS == 0:
            yield ": nothing is written\n\n"
        await sleep(LOOK_SECONDS)


def _row(line: str) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(line)
    return {"at": str(row.get("at", ""))[11:19], "kind": str(row.get("kind", "")), "text": str(row.get("text", ""))}
