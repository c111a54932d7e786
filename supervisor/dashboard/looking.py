"""The pages that are read: at a glance, the jobs of a batch, and what charts and cells ask for."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from markupsafe import Markup

from supervisor.control import naming
from supervisor.dashboard import cells, happenings
from supervisor.dashboard.faces import PARTS, keyed
from supervisor.dashboard.house import House, TheHouse
from supervisor.dashboard.rendering import page
from supervisor.flow.verifying import place_of, slots_of
from supervisor.model.batch import Batch
from supervisor.model.state import State
from supervisor.observe import snapshot
from supervisor.threads import in_thread

PAGE_ROWS = 100
MOST_HAPPENED = 15
#: looked through for what happened last: most events are of no note
LOOKED_THROUGH = 600

routes = APIRouter()


@routes.get("/")
async def now(request: Request, house: TheHouse) -> Response:
    """The batch at work that was submitted last; without one, the batches there were."""
    batches = house.desk.state().in_order()
    if not batches:
        return RedirectResponse("/batches", 303)
    working = [batch for batch in batches if batch.at_work] or batches
    return await _glance(request, house, working[-1])


@routes.get("/batches/{batch}")
async def batch(request: Request, house: TheHouse, batch: str) -> Response:
    meant = await naming.batch(house.desk, batch)
    if meant.open is None:
        return RedirectResponse(f"/batches/{meant.id}/morning", 303)
    return await _glance(request, house, meant.open)


async def _glance(request: Request, house: House, batch: Batch) -> Response:
    last = await house.desk.journal.read(limit=LOOKED_THROUGH, newest=True)
    told = [each for record in reversed(last) if (each := happenings.of_note(record, batch)) is not None]
    drawn = await in_thread(lambda: cells.letters(batch))
    html = await house.faces.of(batch.id)
    return page(
        request,
        "glance.html",
        batch=batch,
        others=[each for each in house.desk.state().in_order() if each.id != batch.id],
        parts={part: Markup(keyed(html[part], request.state.session)) for part in PARTS},
        cells=drawn,
        counts=cells.counted(drawn),
        stages=cells.STAGES,
        happened=told[:MOST_HAPPENED],
        after=last[-1].seq if last else 0,
    )


@routes.get("/batches/{batch}/series")
async def series(house: TheHouse, batch: str) -> Response:
    """For the charts: columns, as they are drawn."""
    meant = await naming.batch(house.desk, batch)
    points = list((await house.past.of(meant.id)).points)
    state = house.desk.state()
    pools = meant.open.profile.pools if meant.open else ()
    return JSONResponse(
        {
            "at": [point.at for point in points],
            "agents": [point.agents for point in points],
            "checks": [point.checks for point in points],
            "ended": [point.ended for point in points],
            "tokens": [point.tokens for point in points],
            "slots": sum(state.pools[name].slots for name in pools if name in state.pools),
            "verify_slots": _verify_slots(state, meant.open) if meant.open else 0,
        }
    )


def _verify_slots(state: State, batch: Batch) -> int:
    """Those of this machine, and of every pool that verifies what is made in it."""
    places = {place_of(state.pools, batch.profile, pool) for pool in batch.profile.pools}
    return sum(slots_of(state, place) for place in places | {""})


@routes.get("/batches/{batch}/jobs")
async def jobs(
    request: Request,
    house: TheHouse,
    batch: str,
    kind: Annotated[str, Query(max_length=20)] = "",
    q: Annotated[str, Query(max_length=200)] = "",
    start: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> Response:
    """All jobs of a batch as a list, by kind and by name."""
    meant = await naming.batch(house.desk, batch)
    if meant.open is None:
        return RedirectResponse(f"/batches/{meant.id}/morning", 303)
    known = meant.open
    found = await in_thread(lambda: _found(known, kind, q))
    rows = [snapshot.row(known, known.job(number)) for number in found[start : start + PAGE_ROWS]]
    return page(
        request,
        "jobs.html",
        batch=known,
        kinds=cells.KINDS.values(),
        counts=cells.counted(cells.letters(known)),
        kind=kind,
        q=q,
        start=start,
        step=PAGE_ROWS,
        total=len(found),
        rows=rows,
    )


def _found(batch: Batch, kind: str, q: str) -> list[int]:
    drawn = cells.letters(batch)
    letters = {each.letter for each in cells.KINDS.values() if not kind or each.name == kind}
    word = q.casefold()
    return [
        number
        for number, test in enumerate(batch.tests, 1)
        if drawn[number - 1] in letters and (not word or word in test.casefold() or word == batch.job_id(number))
    ]
