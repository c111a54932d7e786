"""What a time brought, for people: as a digest and as a feed."""

from contextlib import suppress
from typing import Annotated

import anyio.lowlevel
from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response

from supervisor.control import messages, reporting
from supervisor.control.desk import Desk, TheDesk
from supervisor.control.looking import shape
from supervisor.errors import NoSuchThing
from supervisor.observe import digest as digests
from supervisor.observe import feed as feeds
from supervisor.observe.snapshot import View
from supervisor.threads import in_thread

PIECE = 1000
DAY_SECONDS = 86_400.0
#: so many batches are told of, and of so many what to review first, which takes reading their events
MOST_BATCHES, MOST_REPORTS = 200, 20
MOST_ENTRIES = 50

routes = APIRouter(tags=["look"])

#: of what a date can say
LATEST = 253_402_300_000
Since = Annotated[
    float, Query(ge=0, le=LATEST, allow_inf_nan=False, description="Seconds since the epoch; default: a day ago.")
]


class Digest(messages.Dated):
    since: str
    #: with outcomes, tokens, branch, pull request, and what to do next
    finished: list[View]
    open: list[View]
    #: agents that ask for permission
    parked: list[View]
    alerts: list[View]
    #: pauses, by what was paused and why
    lost: list[View]
    lost_by_reason: dict[str, float]


@routes.get("/v1/digest", **shape(Digest))
async def digest(desk: TheDesk, since: Since = 0) -> Response:
    """What a time brought: finished batches, alerts, agents that wait for a person, hours lost to pauses."""
    now = desk.clock()
    began = since or now - DAY_SECONDS
    pauses = await _pauses(desk, began)
    finished = await _finished(desk, began)
    state = desk.state()
    pauses.ended(state, now)
    return JSONResponse(digests.digest(state, began, now, finished=finished, pauses=pauses))


@routes.get(
    "/feed.atom",
    response_model=None,
    responses={200: {"content": {feeds.MEDIA_TYPE: {"schema": {"type": "string"}}}}},
)
async def feed(desk: TheDesk) -> Response:
    """An Atom feed: an entry for each finished batch, each alert and each agent that waits for a person."""
    return Response(await written(desk), media_type=feeds.MEDIA_TYPE)


async def written(desk: Desk, origin: str = "") -> bytes:
    sealed = await desk.journal.sealed(limit=MOST_ENTRIES)
    state, now = desk.state(), desk.clock()
    finished = [digests.of_summary(each) for each in sealed]
    alerts = [*state.alerts.past, *state.alerts.open.values()]
    waiting = digests.parked(state, now)
    entries = [*feeds.of_batches(finished), *feeds.of_alerts(alerts), *feeds.of_parked(waiting)]
    return await in_thread(lambda: feeds.feed(entries, desk.journal.installation, now, origin=origin))


async def _finished(desk: Desk, since: float) -> list[View]:
    """Newest first."""
    sealed = [each for each in await desk.journal.sealed(limit=MOST_BATCHES) if each.finished_at >= since]
    views = [digests.of_summary(each) for each in sealed]
    for number, view in enumerate(views[:MOST_REPORTS]):
        with suppress(NoSuchThing):  # its summary is all that is kept
            views[number] = digests.with_report(view, await reporting.made(desk, view["id"]))
    return views


async def _pauses(desk: Desk, since: float) -> digests.Pauses:
    found, after = digests.Pauses(since), await _before(desk, since)
    while piece := await desk.journal.read(after, limit=PIECE):
        after = piece[-1].seq
        for record in piece:
            found.heard(record.event)
        await anyio.lowlevel.checkpoint()  # others come in between
    return found


async def _before(desk: Desk, since: float) -> int:
    """The sequence number after which the events of the time are: they are in the order of their times."""
    newest = await desk.journal.read(limit=1, newest=True)
    low, high = 0, newest[-1].seq if newest else 0
    while low < high:
        middle = (low + high) // 2
        found = await desk.journal.read(middle, limit=1)
        if found and found[0].event.at < since:
            low = found[0].seq
        else:
            high = middle
    return low
