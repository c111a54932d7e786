"""The report of a batch, running or sealed, as JSON and as a page."""

import json
from dataclasses import replace
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, ConfigDict

from supervisor.control import messages, moving, naming
from supervisor.control.desk import Desk, TheDesk
from supervisor.control.looking import JSON, shape
from supervisor.errors import NoSuchThing
from supervisor.model.event import Event
from supervisor.observe import report_fold
from supervisor.observe.report import Report, as_data
from supervisor.observe.report_history import history, rebuilt
from supervisor.observe.snapshot import summary
from supervisor.threads import in_thread

PIECE = 1000

routes = APIRouter(tags=["look"])


class JobReport(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: str
    test: str
    standing: str
    summary: str
    changes: list[dict[str, Any]]
    verification: dict[str, Any]


class BatchReport(messages.Dated):
    batch: dict[str, Any]
    submitted: int
    #: they add up to `submitted`
    counts: dict[str, int]
    ledger: dict[str, int]
    tokens: dict[str, int | None]
    escalations: list[dict[str, Any]]
    next: list[str]
    jobs: list[JobReport]


@routes.get("/v1/batches/{batch}/report", **shape(BatchReport))
async def report(desk: TheDesk, batch: str) -> Response:
    """What happened, what it cost, what to review and what to do next."""
    made = await _made(desk, batch)
    return Response(await in_thread(lambda: json.dumps(as_data(made))), media_type=JSON)


@routes.get(
    "/v1/batches/{batch}/report.html",
    response_model=None,
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
)
async def page(desk: TheDesk, batch: str) -> Response:
    """The same as one self-contained page."""
    from supervisor.observe.report_html import html

    made = await _made(desk, batch)
    return HTMLResponse(await in_thread(lambda: html(made)))


async def _made(desk: Desk, said: str) -> Report:
    meant = await naming.batch(desk, said)
    events, now = await events_of(desk, meant.id), desk.clock()
    if meant.open is None and not events:
        hint = f"see `supervisorctl status {meant.id}` and `jobs {meant.id}`; `[keep]` sets how long more is kept"
        raise NoSuchThing(f"only the summary of batch {meant.id} is still kept", hint=hint)
    batch = meant.open if meant.open is not None else await in_thread(rebuilt, meant.id, events)
    past = history(events, now)
    past = replace(past, notes=tuple(await moving.notes(desk, summary(batch), past.notes)))
    # In a thread, because it reads files.
    return await in_thread(lambda: report_fold.report(batch, past, report_fold.kept(desk.files(), batch), now))


async def events_of(desk: Desk, batch: str) -> list[Event]:
    after, found = 0, list[Event]()
    while piece := await desk.journal.read(after, limit=PIECE, batch=batch):
        after = piece[-1].seq
        found += [record.event for record in piece]
    return found
