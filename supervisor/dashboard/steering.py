"""What a person does on a page: the same calls as the API's, with the author of the session."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from supervisor.control import messages
from supervisor.control import steering as api
from supervisor.control.desk import Desk
from supervisor.dashboard.house import TheHouse, TheSession
from supervisor.dashboard.saying import NOTHING
from supervisor.errors import NoSuchThing, Refused

MOST_SLOTS = 100_000

routes = APIRouter()

type Act = Callable[[Desk, str, str], Awaitable[Response]]

#: the API's own calls, by the words of the address
ACTS: Mapping[tuple[str, str], Act] = {
    ("batch", "pause"): api.pause_batch,
    ("batch", "resume"): api.resume_batch,
    ("batch", "cancel"): api.cancel_batch,
    ("batch", "retry"): api.retry_batch,
    ("batch", "integrate"): api.integrate_batch,
    ("job", "cancel"): api.cancel_job,
    ("job", "retry"): api.retry_job,
}


@routes.post("/do/queue/{word}")
async def queue(request: Request, house: TheHouse, session: TheSession, word: str) -> Response:
    if word == "pause":
        asked = messages.Pausing(reason="asked for on the dashboard")
        return _back(request, await api.pause(house.desk, asked, session.author), "queue-pause")
    if word == "resume":
        return _back(request, await api.resume(house.desk, session.author), "queue-resume")
    raise _unknown()


@routes.post("/do/pool/{pool}/slots")
async def slots(request: Request, house: TheHouse, session: TheSession, pool: str) -> Response:
    said = parse_qs((await request.body()).decode(errors="replace")).get("slots", [""])[0]
    if not (said.isascii() and said.isdigit()) or int(said[:7]) > MOST_SLOTS:
        raise Refused("slots are a number from 0 to 100,000", hint="go back and give one")
    answer = await api.slots(house.desk, pool, messages.Slots(slots=int(said)), session.author)
    return _back(request, answer, "slots")


@routes.post("/do/{what}/{name}/{word}")
async def act(request: Request, house: TheHouse, session: TheSession, what: str, name: str, word: str) -> Response:
    if (found := ACTS.get((what, word))) is None:
        raise _unknown()
    return _back(request, await found(house.desk, name, session.author), f"{what}-{word}")


def _unknown() -> NoSuchThing:
    return NoSuchThing("nothing is done by that name", hint="load the page again")


def _back(request: Request, answer: Response, said: str) -> Response:
    """To the page that the form was on, which tells what came of it; to a new batch where one was made."""
    told: dict[str, Any] = json.loads(bytes(answer.body))
    path = urlsplit(request.headers.get("referer", "")).path
    if told.get("retry_of"):
        path = f"/batches/{told['batch']}"
    ours = path if path.startswith("/") and not path.startswith(("//", "/\\", "/do/", "/log")) else "/"
    return RedirectResponse(f"{ours}?said={said if told['changed'] else NOTHING}", 303)
