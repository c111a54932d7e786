"""The report of a batch, as JSON and as a page: of one that runs as of one that is sealed."""

import asyncio
import json
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, ConfigDict

from supervisor.control import messages, naming
from supervisor.control.desk import Desk, TheDesk
from supervisor.control.looking import JSON, shape
from supervisor.control.naming import Meant
from supervisor.errors import NoSuchThing
from supervisor.model.event import Event
from supervisor.observe import report_fold
from supervisor.observe.report import Report, as_data
from supervisor.observe.report_history import history, rebuilt

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
    """What happened, what it took, what to review and what to do next."""
    meant = await naming.batch(desk, batch)
    events = await events_of(desk, meant.id)
    return Response(await asyncio.to_thread(lambda: json.dumps(as_data(_made(desk, meant, events)))), media_type=JSON)


@routes.get(
    "/v1/batches/{batch}/report.html",
    response_model=None,
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
)
async def page(desk: TheDesk, batch: str) -> Response:
    """The same as one page that needs nothing else."""
    from supervisor.observe.report_html import html

    meant = await naming.batch(desk, batch)
    events = await events_of(desk, meant.id)
    return HTMLResponse(await asyncio.to_thread(lambda: html(_made(desk, meant, events))))


def _made(desk: Desk, meant: Meant, events: list[Event]) -> Report:
    """Blocking: it reads files."""
    now = desk.clock()
    if meant.open is None and not events:
        hint = f"`supervisorctl status {meant.id}` and `jobs {meant.id}` have it; `[keep]` says how long more is kept"
        raise NoSuchThing(f"only the summary of batch {meant.id} is kept by now", hint=hint)
    batch = meant.open or rebuilt(meant.id, events)
    return report_fold.report(batch, history(events, now), report_fold.kept(desk.files(), batch), now)


async def events_of(desk: Desk, batch: str) -> list[Event]:
    after, found = 0, list[Event]()
    while piece := await desk.journal.read(after, limit=PIECE, batch=batch):
        after = piece[-1].seq
        found += [record.event for record in piece]
    return found
