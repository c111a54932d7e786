"""Lists work that is not merged, and brings it into the user's repository on request."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response

from supervisor.control import messages, naming, work_messages
from supervisor.control.desk import Desk, TheDesk
from supervisor.control.looking import shape
from supervisor.control.naming import Meant
from supervisor.errors import GitFailed, NoSuchThing, Refused
from supervisor.model.batch import Batch
from supervisor.observe import snapshot
from supervisor.observe.work import Piece, branch_of, pieces, sealed_pieces
from supervisor.threads import in_thread

routes = APIRouter(tags=["work"])

#: how many finished batches are searched, newest first
MANY = 20
Limit = Annotated[int, Query(ge=0, le=1000)]


@routes.get("/v1/work", **shape(work_messages.Work))
async def work(desk: TheDesk, limit: Limit = MANY) -> Response:
    """Unmerged work of every open batch and of the latest finished ones."""
    found = [Meant(batch.id, open=batch) for batch in reversed(desk.state().in_order())]
    found += [Meant(sealed.id, sealed=sealed) for sealed in await desk.journal.sealed(limit=limit)]
    rows = [piece.view for meant in found for piece in await _pieces(desk, meant)]
    return JSONResponse(snapshot.answer(desk.clock(), rows=rows))


@routes.get("/v1/batches/{batch}/work", **shape(work_messages.Work))
async def work_of_batch(desk: TheDesk, batch: str) -> Response:
    """Rescued, rejected and unmerged work of a batch, open or finished."""
    return _listed(desk, await _pieces(desk, await naming.batch(desk, batch)))


@routes.get("/v1/jobs/{job}/work", **shape(work_messages.Work))
async def work_of_job(desk: TheDesk, job: str) -> Response:
    meant, number = await naming.any_job(desk, job)
    return _listed(desk, await _pieces(desk, meant, number))


@routes.post("/v1/batches/{batch}/take", **shape(work_messages.Taken))
async def take_batch(desk: TheDesk, batch: str, asked: messages.Taking) -> Response:
    """Bring all of it into the user's repository, each piece as its own branch."""
    meant = await naming.batch(desk, batch)
    return await _taken(desk, meant, await _pieces(desk, meant), asked)


@routes.post("/v1/jobs/{job}/take", **shape(work_messages.Taken))
async def take_job(desk: TheDesk, job: str, asked: messages.Taking) -> Response:
    meant, number = await naming.any_job(desk, job)
    return await _taken(desk, meant, await _pieces(desk, meant, number), asked)


def _listed(desk: Desk, found: Sequence[Piece]) -> Response:
    return JSONResponse(snapshot.answer(desk.clock(), rows=[piece.view for piece in found]))


async def known(desk: Desk, meant: Meant) -> Batch | None:
    """The batch, rebuilt from its events if it is sealed; None if they are no longer kept."""
    if meant.open is not None:
        return meant.open
    past = await desk.rebuilding.of(desk.journal, meant.id, desk.clock())
    return past.batch if past is not None else None


async def _pieces(desk: Desk, meant: Meant, job: int | None = None) -> list[Piece]:
    batch = await known(desk, meant)
    if batch is not None and job is not None and not batch.has_job(job):
        raise NoSuchThing(f"batch {meant.id} has no job {job}", hint=f"`supervisorctl jobs {meant.id}` lists them")
    if batch is not None:
        return await in_thread(pieces, batch, job)
    assert meant.sealed is not None
    return sealed_pieces(json.loads(meant.sealed.status)["batch"], json.loads(meant.sealed.jobs), job)


def _repo(meant: Meant) -> Path:
    if meant.open is not None:
        return Path(meant.open.repo)
    assert meant.sealed is not None
    return Path(json.loads(meant.sealed.status)["batch"]["repo"])


async def _taken(desk: Desk, meant: Meant, found: Sequence[Piece], asked: messages.Taking) -> Response:
    if not found:
        raise NoSuchThing("there is no unmerged work to take", hint=LISTING)
    if asked.branch and len({piece.id for piece in found}) > 1:
        raise Refused("one branch can't hold the work of several jobs", hint=f"name one job; {LISTING}")
    repo = _repo(meant)
    target = Path(asked.repo or repo)
    rows = [await _brought(desk, repo, target, piece, _name(piece, asked.branch)) for piece in found]
    if len(rows) == 1 and isinstance(failed := rows[0]["failed"], Refused):
        raise failed
    for row in rows:
        row["problem"] = row["failed"].message if row["failed"] is not None else None
        del row["failed"]
    changed = any(row["changed"] for row in rows)
    return JSONResponse(snapshot.answer(desk.clock(), changed=changed, repo=str(target), rows=rows))


LISTING = "`supervisorctl work` lists unmerged work"


def _name(piece: Piece, said: str) -> str:
    if not said:
        return piece.branch
    newest = branch_of(piece.id) if piece.attempt else piece.branch
    return said + piece.branch.removeprefix(newest)


async def _brought(desk: Desk, repo: Path, target: Path, piece: Piece, branch: str) -> dict[str, Any]:
    row: dict[str, Any] = {"job": piece.id, "attempt": piece.attempt or None, "head": piece.head or None}
    try:
        if not piece.head:
            agent = piece.view["agent"] or {}
            why = f"the work of {piece.id} exists only with the agent {agent.get('name')}"
            raise Refused(why, hint=str(agent.get("reach", "")))
        changed = await desk.store.hand_over(repo, target, piece.head, branch)
    except (Refused, GitFailed) as failed:
        said = (
            failed
            if isinstance(failed, Refused)
            else Refused(failed.message, hint="check that the daemon's user may write to it")
        )
        return {**row, "branch": None, "changed": False, "failed": said}
    return {**row, "branch": branch, "changed": changed, "failed": None}
