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
from supervisor.control.naming import Meant
from supervisor.control.rebuilding import Past, events_of
from supervisor.errors import NoSuchThing
from supervisor.observe import report_fold
from supervisor.observe.report import Report, as_data
from supervisor.observe.report_history import history
from supervisor.observe.review import reviewed
from supervisor.observe.snapshot import summary
from supervisor.threads import in_thread

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
    #: the commits of the branch, with what people said of each
    commits: list[dict[str, Any]]
    jobs: list[JobReport]


@routes.get("/v1/batches/{batch}/report", **shape(BatchReport))
async def report(desk: TheDesk, batch: str) -> Response:
    """What happened, what it cost, what to review and what to do next."""
    found = await made(desk, batch)
    return Response(await in_thread(lambda: json.dumps(as_data(found))), media_type=JSON)


@routes.get(
    "/v1/batches/{batch}/report.html",
    response_model=None,
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
)
async def page(desk: TheDesk, batch: str) -> Response:
    """The same as one self-contained page."""
    from supervisor.observe.report_html import html

    found = await made(desk, batch)
    return HTMLResponse(await in_thread(lambda: html(found)))


async def made(desk: Desk, said: str) -> Report:
    """The report of the batch that is meant."""
    meant = await naming.batch(desk, said)
    found, now = await past_of(desk, meant), desk.clock()
    batch, past = found.batch, found.history
    past = replace(past, notes=tuple(await moving.notes(desk, summary(batch), past.notes)))
    # In a thread, because it reads files.
    made = await in_thread(lambda: report_fold.report(batch, past, report_fold.kept(desk.files(), batch), now))
    return reviewed(made, desk.state().reviews.get(batch.id))


async def past_of(desk: Desk, meant: Meant) -> Past:
    """The batch that is meant, and how its time was spent. Raises NoSuchThing if that is not kept any more."""
    now = desk.clock()
    if meant.open is not None:
        events = await events_of(desk.journal, meant.id)
        return Past(meant.open, await in_thread(history, events, now))
    if (past := await desk.rebuilding.of(desk.journal, meant.id, now)) is None:
        hint = f"see `supervisorctl status {meant.id}` and `jobs {meant.id}`; `[keep]` sets how long more is kept"
        raise NoSuchThing(f"only the summary of batch {meant.id} is still kept", hint=hint)
    return past
