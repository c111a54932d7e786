"""The recordings of a job, for the player beside its log: which there are, and one as a film."""

from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import Response

from supervisor.adapters.recordings.filming import filmed
from supervisor.adapters.recordings.kept import PLACE, Shown
from supervisor.control import naming
from supervisor.control.desk import Desk
from supervisor.control.working import known
from supervisor.dashboard.house import TheHouse
from supervisor.errors import NoSuchThing
from supervisor.model.attempt import AttemptKey
from supervisor.threads import in_thread

#: chosen first: what the work does
_FIRST = ("run-1", "agent", "base")
_WORDS = {"base": "Before the work", "agent": "Its agent"}

routes = APIRouter()


async def choices(desk: Desk, key: AttemptKey, test: str) -> list[dict[str, Any]]:
    """By what they are of, each with its address."""
    shown = await in_thread(desk.recordings().all, key, test)
    first = _first(shown)
    return [
        {
            "of": _WORDS.get(of, of.replace("-", " ").capitalize()),
            "options": [_option(key, each, is_first=each is first) for each in same],
        }
        for of, same in groupby(shown, key=lambda each: each.of)
    ]


def _first(shown: Sequence[Shown]) -> Shown | None:
    return next((each for of in _FIRST for each in shown if each.of == of), shown[0] if shown else None)


def _option(key: AttemptKey, shown: Shown, *, is_first: bool) -> dict[str, Any]:
    one = shown.recording
    case = one.test.partition("[")[2].rpartition("]")[0]
    name = ", ".join(filter(None, [one.title or one.name, case]))
    address = f"/jobs/{key.batch}.{key.job}/recordings/{key.attempt}/{shown.of}/{one.number}"
    return {"name": f"{name} ({one.seconds:.1f} s)", "address": address, "is_first": is_first}


@routes.get("/jobs/{job}/recordings/{attempt}/{of}/{number}")
async def recording(
    house: TheHouse,
    job: str,
    attempt: Annotated[int, Path(ge=0, le=1_000_000)],
    of: Annotated[str, Path(pattern=f"^({PLACE.pattern})$")],
    number: Annotated[int, Path(ge=1, le=1_000)],
) -> Response:
    """Data, whatever is in it: the player shows it as text."""
    desk = house.desk
    meant, numbered = await naming.any_job(desk, job)
    batch = await known(desk, meant)
    test = batch.job(numbered).test if batch is not None and batch.has_job(numbered) else ""
    key = AttemptKey(meant.id, numbered, attempt)
    content = await in_thread(desk.recordings().content, key, test, of, number)
    if content is None:
        raise NoSuchThing(f"this recording of job {job} is not kept", hint="load the page again")
    return Response(await filmed(content), media_type="application/json")
