"""A past batch once more, under other settings, by the same decisions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from supervisor.control import naming
from supervisor.control.desk import Desk, TheDesk
from supervisor.control.looking import shape
from supervisor.control.messages import WHOLE, Asked, Dated
from supervisor.control.rebuilding import PIECE
from supervisor.errors import NoSuchThing, Refused
from supervisor.flow import window
from supervisor.foresight.recording import Recording, record
from supervisor.foresight.replay import Other, Replayed, replay
from supervisor.model import event as ev
from supervisor.model.state import State
from supervisor.observe import snapshot
from supervisor.threads import in_thread

#: so far back it is looked how the pools were configured
MOST_PIECES = 50

routes = APIRouter(tags=["look"])


class Replaying(Asked):
    """What is to be otherwise; what is not said is as it was."""

    slots: dict[str, Annotated[int, Field(ge=1, le=100_000), WHOLE]] = Field(
        default_factory=dict, description="By pool."
    )
    verify_slots: Annotated[int | None, Field(ge=1, le=1000), WHOLE] = None
    budget_tokens: Annotated[int | None, Field(ge=0, description="0: no limit."), WHOLE] = None
    window: Annotated[str | None, Field(max_length=20, description='Such as "22:00-06:00"; "": always.')] = None


class Course(Dated):
    """`was`: as it happened; `would`: as it would have been."""

    batch: str
    was: dict[str, Any]
    would: dict[str, Any]
    #: what the prediction leaves out
    notes: list[str]


@routes.post("/v1/batches/{batch}/replay", **shape(Course))
async def replay_batch(desk: TheDesk, batch: str, asked: Replaying | None = None) -> Response:
    """What other slots or another budget would have made of a batch. Changes nothing."""
    meant = await naming.batch(desk, batch)
    other = _other(asked or Replaying())
    events, others = await _night(desk, meant.id)
    recording = await in_thread(record, events)
    if recording is None:
        raise NoSuchThing(f"the events of batch {meant.id} are no longer kept", hint="`[keep]` sets for how long")
    if recording.finished_at is None:
        raise Refused(f"batch {meant.id} is not over yet", hint=f"`supervisorctl wait {meant.id}`")
    pools, accounts = await _before(desk, meant.id)
    found = await in_thread(replay, recording, pools, other, accounts)
    notes = [f"{others} other batches ran at the same time and are left out"] if others else []
    if found.guessed:
        notes.append(f"{found.guessed} attempts were never made: each takes what another job of the batch took")
    was = _was(recording, events)
    content = {"batch": meant.id, "was": was, "would": _would(found), "notes": notes}
    return JSONResponse(snapshot.answer(desk.clock(), **content))


def _other(asked: Replaying) -> Other:
    if asked.window:
        try:
            window.parse(asked.window)
        except ValueError as wrong:
            raise Refused(str(wrong), hint="give a window such as 22:00-06:00") from None
    return Other(asked.slots, asked.verify_slots, asked.budget_tokens, asked.window)


async def _night(desk: Desk, batch: str) -> tuple[list[ev.Event], int]:
    """Its events and those of the daemon from its first to its last one, and how many other batches have some."""
    own = await desk.journal.read(limit=1, batch=batch)
    last = await desk.journal.read(limit=1, batch=batch, newest=True)
    found: list[ev.Event] = []
    others: set[str] = set()
    after = own[0].seq - 1 if own else 0
    while own and after < last[0].seq:
        for each in await desk.journal.read(after, limit=PIECE):
            after = each.seq
            if after > last[0].seq:
                break
            if not isinstance(each.event, ev.BatchEvent) or each.event.batch == batch:
                found.append(each.event)
            else:
                others.add(each.event.batch)
    return found, len(others)


async def _before(desk: Desk, batch: str) -> tuple[ev.PoolsConfigured, list[ev.Event]]:
    """How the pools and the accounts were when it was submitted; what the journal does not say is as it is now."""
    pools: ev.PoolsConfigured | None = None
    slots: list[ev.SlotsChanged] = []
    accounts: ev.AccountsConfigured | None = None
    levels: dict[str, ev.Event] = {}
    before = (await desk.journal.read(limit=1, batch=batch))[0].seq
    for _ in range(MOST_PIECES):
        piece = await desk.journal.read(max(0, before - PIECE - 1), limit=min(PIECE, before))
        for event in (each.event for each in reversed(piece) if each.seq < before):
            match event:
                case ev.SlotsChanged() if pools is None:
                    slots.append(event)
                case ev.PoolsConfigured():
                    pools = pools or event
                case ev.AccountsConfigured():
                    accounts = accounts or event
                case ev.LevelChanged():
                    levels.setdefault(event.account, event)
        if not piece or (pools and accounts) or (before := piece[0].seq) <= 1:
            break
    state: State = desk.state()
    found = pools or ev.PoolsConfigured(0.0, state.configured, state.verifying.slots)
    return _with_slots(found, slots[::-1]), [*([accounts] if accounts else []), *levels.values()]


def _with_slots(pools: ev.PoolsConfigured, changed: Sequence[ev.SlotsChanged]) -> ev.PoolsConfigured:
    slots = {each.pool: each.slots for each in changed}
    return replace(pools, pools=tuple(replace(each, slots=slots.get(each.name, each.slots)) for each in pools.pools))


def _was(recording: Recording, events: Sequence[ev.Event]) -> dict[str, Any]:
    began = recording.submitted.at
    outcomes = Counter(event.outcome for event in events if isinstance(event, ev.JobEnded) and event.job)
    launches = [(each.at, each.job, each.attempt, each.pool) for each in recording.launches]
    return _course(began, recording.finished_at, launches, outcomes)


def _would(found: Replayed) -> dict[str, Any]:
    outcomes = Counter(str(job.outcome) for job in found.batch.jobs() if job.outcome is not None)
    launches = [(each.at, each.job, each.attempt, each.pool) for each in found.launches]
    usage = found.batch.usage
    return _course(found.began, found.ended, launches, outcomes) | {
        "tokens": usage.tokens,
        "most_agents": found.most_agents,
        "stopped": found.batch.stop.reason or None,
    }


def _course(
    began: float, ended: float | None, launches: Sequence[tuple[float, int, int, str]], outcomes: Counter[str]
) -> dict[str, Any]:
    return {
        "began_at": snapshot.rfc3339(began),
        "ended_at": snapshot.rfc3339(ended),
        "seconds": None if ended is None else round(ended - began, 3),
        "launches": [
            {"seconds": round(at - began, 3), "job": job, "attempt": attempt, "pool": pool}
            for at, job, attempt, pool in launches
        ],
        "outcomes": dict(outcomes),
    }
