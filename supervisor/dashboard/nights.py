"""The batches there were, one beside the other; and the morning page of one: what it brought, and what to review."""

import json
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from markupsafe import Markup

from supervisor.control import naming, reporting
from supervisor.control.working import known
from supervisor.dashboard import reviewing
from supervisor.dashboard.house import TheHouse, TheSession
from supervisor.dashboard.rendering import page
from supervisor.dashboard.trends import trends
from supervisor.errors import NoSuchThing
from supervisor.observe import snapshot

MOST_BATCHES = 60

routes = APIRouter()


@routes.get("/batches")
async def batches(request: Request, house: TheHouse) -> Response:
    state = house.desk.state()
    sealed = [json.loads(each.status)["batch"] for each in await house.desk.journal.sealed(limit=MOST_BATCHES)]
    rows: list[dict[str, Any]] = [snapshot.summary(batch) for batch in reversed(state.in_order())] + sealed
    return page(request, "batches.html", rows=rows, trends=trends(sealed))


@routes.get("/batches/{batch}/morning")
async def morning(request: Request, house: TheHouse, session: TheSession, batch: str) -> Response:
    """What the night brought, what it cost, and what to review in which order."""
    desk = house.desk
    last = await desk.journal.read(limit=1, newest=True)
    report = await reporting.made(desk, batch)
    meant = await naming.batch(desk, report.batch.id)
    if (found := await known(desk, meant)) is None:
        raise NoSuchThing(f"only the summary of batch {meant.id} is still kept", hint="`[keep]` sets for how long")
    shown = await reviewing.shown(desk, found, report)
    return page(
        request,
        "morning.html",
        report=report,
        branch=Markup(await shown.html(session)),
        is_revising=shown.found.is_revising,
        after=last[-1].seq if last else 0,
        is_open=meant.open is not None,
    )
