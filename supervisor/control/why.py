"""The route that says why something is where it is."""

from datetime import UTC, timedelta, timezone
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response

from supervisor.control import messages, naming
from supervisor.control.desk import Desk, TheDesk
from supervisor.control.looking import shape
from supervisor.errors import NoSuchThing
from supervisor.observe import snapshot
from supervisor.observe.why import Answer, explain, of_sealed_batch, of_sealed_job

routes = APIRouter(tags=["look"])

#: how far the clock of whoever asks is from UTC
Offset = Annotated[int, Query(ge=-24 * 60 + 1, le=24 * 60 - 1, description="Say times in a zone this far from UTC.")]


class Why(messages.Dated):
    subject: str
    kind: Literal["job", "batch", "pool"]
    state: str
    #: the whole answer, as one paragraph
    why: str
    #: its parts: where the subject is; and for each cause its stable name, a text, and what would change it
    where: str
    reasons: list[dict[str, str]]


@routes.get("/v1/why/{subject}", **shape(Why))
async def why(desk: TheDesk, subject: str, utc_offset_minutes: Offset = 0) -> Response:
    """Why a job, a batch or a pool is where it is, and what would change that, in one paragraph and by its causes."""
    zone = timezone(timedelta(minutes=utc_offset_minutes)) if utc_offset_minutes else UTC
    answer = await _answer(desk, subject, zone)
    return JSONResponse(snapshot.answer(desk.clock(), **answer.data))


async def _answer(desk: Desk, subject: str, zone: timezone) -> Answer:
    if subject in desk.state().pools:
        return explain(desk.state(), subject, desk.clock(), zone)
    meant, number = await _meant(desk, subject)
    state = desk.state()
    if meant.id in state.batches:
        full = meant.id if number is None else f"{meant.id}.{number}"
        return explain(state, full, desk.clock(), zone)
    meant = await naming.batch(desk, meant.id)  # it may have been sealed since
    assert meant.sealed is not None
    if number is None:
        return of_sealed_batch(meant.sealed.status)
    return of_sealed_job(naming.sealed_row(meant, number))


async def _meant(desk: Desk, subject: str) -> tuple[naming.Meant, int | None]:
    if "." in subject:
        return await naming.any_job(desk, subject)
    try:
        return await naming.batch(desk, subject), None
    except NoSuchThing:
        pools = ", ".join(sorted(desk.state().pools))
        hint = f"the pools are: {pools}; `supervisorctl status` lists the batches"
        raise NoSuchThing(f"there is no batch or pool {subject}", hint=hint) from None
