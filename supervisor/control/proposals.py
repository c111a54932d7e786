"""Serves writers' proposals to users, who accept or reject them in their own checkout."""

import json
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from supervisor.control import naming, work_messages
from supervisor.control.desk import TheDesk
from supervisor.control.looking import shape
from supervisor.errors import NoSuchThing
from supervisor.model.attempt import AttemptKey
from supervisor.observe import snapshot

routes = APIRouter(tags=["look"])


@routes.get("/v1/jobs/{job}/proposal", **shape(work_messages.Proposed))
async def proposal(desk: TheDesk, job: str) -> Response:
    """The proposal of a writer's job that was verified, and its commits."""
    meant, number = await naming.job(desk, job)
    if meant.open is not None:
        attempts = meant.open.job(number).attempts
    else:
        attempts = int(naming.sealed_row(meant, number)["attempts"])
    text = await desk.proposal(AttemptKey(meant.id, number, attempts))
    if text is None:
        hint = (
            "wait until its work is verified"
            if meant.open
            else "it is not a writer's job, or its agent left nothing to verify"
        )
        raise NoSuchThing(f"{meant.id}.{number} has no proposal", hint=hint)
    found: dict[str, Any] = json.loads(text)
    return JSONResponse(snapshot.answer(desk.clock(), **found))
