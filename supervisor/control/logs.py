"""The log of an attempt, from any offset; with `wait_seconds`, a long poll."""

import json
from typing import Annotated, Any

from anyio import sleep
from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict

from supervisor.control import messages, naming
from supervisor.control.desk import Desk, TheDesk
from supervisor.control.looking import JSON, Seq, shape
from supervisor.errors import NoSuchThing
from supervisor.model.attempt import AttemptKey
from supervisor.observe import snapshot

LOOK_SECONDS = 0.2
MOST_WAIT_SECONDS = 30.0

routes = APIRouter(tags=["look"])


class LogRow(BaseModel):
    model_config = ConfigDict(extra="allow")

    at: str
    attempt: int
    #: the event file that the entry comes from, "pane", or "supervisor"
    source: str
    #: say, tool, result, event, pane, note
    kind: str
    text: str
    data: dict[str, Any]


class Logs(messages.Dated):
    job: str
    #: the attempt whose log this is; 0 if none was launched yet
    attempt: int
    #: how many attempts there are
    attempts: int
    #: this attempt's agent was released: its log is complete
    attempt_over: bool
    job_over: bool
    #: pass it as `after` to continue
    next: int
    rows: list[LogRow]


@routes.get("/v1/jobs/{job}/logs", **shape(Logs))
async def logs(
    desk: TheDesk,
    job: str,
    attempt: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    after: Seq = 0,
    wait_seconds: Annotated[float, Query(ge=0, le=MOST_WAIT_SECONDS)] = 0,
) -> Response:
    """Lines of an attempt's log; default: the last attempt's. With `wait_seconds`, waits for new lines."""
    deadline = desk.clock() + wait_seconds
    while True:
        facts = await _facts(desk, job, attempt)
        key = AttemptKey(facts.pop("batch"), facts.pop("number"), facts["attempt"])
        piece = await desk.logs.read(key, after)
        is_done = facts["attempt_over"] and (facts["job_over"] or facts["attempts"] > facts["attempt"])
        if piece.lines or is_done or desk.clock() >= deadline:
            head = json.dumps(snapshot.answer(desk.clock(), **facts, next=piece.next))
            return Response(f'{head[:-1]}, "rows": [{", ".join(piece.lines)}]}}', media_type=JSON)
        await sleep(LOOK_SECONDS)


async def _facts(desk: Desk, said: str, attempt: int) -> dict[str, Any]:
    meant, number = await naming.any_job(desk, said)
    if meant.open is not None:
        job = meant.open.job(number)
        attempts, job_over = job.attempts, job.state.is_over
    else:
        attempts, job_over = int(naming.sealed_row(meant, number)["attempts"]), True
    if attempt > attempts:
        hint = f"its attempts are 1 to {attempts}" if attempts else "its agent was not launched yet"
        raise NoSuchThing(f"{meant.id}.{number} has no attempt {attempt}", hint=hint)
    shown = attempt or attempts
    is_there = AttemptKey(meant.id, number, shown) in desk.state().attempts
    return {
        "batch": meant.id,
        "number": number,
        "job": f"{meant.id}.{number}",
        "attempt": shown,
        "attempts": attempts,
        "attempt_over": not is_there and (shown > 0 or job_over),
        "job_over": job_over,
    }
