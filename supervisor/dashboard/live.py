"""The first page as it changes: server-sent events from the daemon's own stream, from any event on.

Kinds of messages: `cells`, the jobs that are drawn otherwise now (`all`: every job); one without a name, the parts of
the page that read otherwise now and what happened; `over`, when the batch has left memory. The id of a message is the
last event that it tells of, so a browser that lost its connection gets what it missed, and nothing twice.
"""

import json
from collections.abc import AsyncIterator, Sequence

from anyio import current_time, sleep
from fastapi import APIRouter, Header
from fastapi.responses import Response, StreamingResponse

from supervisor.control import naming
from supervisor.control.looking import Seq
from supervisor.dashboard import cells, happenings
from supervisor.dashboard.entering import Session
from supervisor.dashboard.faces import PARTS, keyed
from supervisor.dashboard.house import House, TheHouse, TheSession
from supervisor.dashboard.rendering import rendered
from supervisor.model import event as ev
from supervisor.model.batch import Batch
from supervisor.model.event import JobEvent
from supervisor.ports import Record

#: events that come within this time are told together
TOGETHER_SECONDS = 0.25
#: estimates go on where nothing happens
IDLE_SECONDS = 2.0
#: who has missed more than this, such as a night, gets all cells at once and only the last of what happened
MOST_MISSED = 1000
#: of what happened in one message
MOST_TOLD = 15
#: every job may look otherwise after these
_FOR_ALL = (ev.BatchCancelled, ev.BatchStopped, ev.BatchResumed)

routes = APIRouter()


@routes.get("/batches/{batch}/live")
async def live(
    house: TheHouse,
    session: TheSession,
    batch: str,
    after: Seq = 0,
    last_event_id: int | None = Header(default=None, ge=0, le=2**63 - 1),
) -> Response:
    found = await naming.batch(house.desk, batch)
    start = after if last_event_id is None else last_event_id
    return StreamingResponse(_messages(house, session, found.id, start), media_type="text/event-stream")


async def _messages(house: House, session: Session, batch: str, after: int) -> AsyncIterator[str]:
    yield "retry: 500\n\n"
    last = await house.desk.journal.read(limit=1, newest=True)
    if last and last[-1].seq - after > MOST_MISSED:
        after = last[-1].seq - MOST_MISSED
        if known := house.desk.state().batches.get(batch):
            yield _all(known)
    shown: dict[str, str] = {}
    told_at = current_time()
    async for piece in house.desk.stream.follow(after, idle_seconds=IDLE_SECONDS):
        for message in _drawn(house, batch, piece):
            yield message
        parts = [await _parts(house, batch, shown), _told(house, batch, piece)]
        identity = f"id: {piece[-1].seq}\n" if piece else ""
        if html := "".join(parts):
            yield f"{identity}{data(keyed(html, session))}\n"
        elif identity:
            yield f"{identity}event: heard\ndata:\n\n"
        else:
            yield ": nothing happens\n\n"
        if batch not in house.desk.state().batches:
            yield "event: over\ndata:\n\n"
            return
        await sleep(max(0.0, told_at + TOGETHER_SECONDS - current_time()))
        told_at = current_time()


def _drawn(house: House, batch: str, piece: Sequence[Record]) -> list[str]:
    known = house.desk.state().batches.get(batch)
    if known is None:
        return []
    events = [record.event for record in piece]
    if any(isinstance(event, _FOR_ALL) and event.batch == batch for event in events):
        return [_all(known)]
    numbers = {event.job for event in events if isinstance(event, JobEvent) and event.batch == batch}
    changed = cells.changed(known, numbers)
    return [f"event: cells\ndata: {json.dumps(changed)}\n\n"] if changed else []


def _all(batch: Batch) -> str:
    return f"event: all\ndata: {json.dumps(cells.letters(batch))}\n\n"


async def _parts(house: House, batch: str, shown: dict[str, str]) -> str:
    """The parts that this browser has not seen like this."""
    html = await house.faces.of(batch)
    fresh = [part for part in PARTS if shown.get(part) != html[part]]
    shown.update({part: html[part] for part in fresh})
    return "".join(
        f'<hx-partial hx-target="#{part}" hx-swap="innerMorph">{html[part]}</hx-partial>' for part in fresh
    )


def _told(house: House, batch: str, piece: Sequence[Record]) -> str:
    known = house.desk.state().batches.get(batch)
    rows = [told for record in reversed(piece) if (told := happenings.of_note(record, known)) is not None]
    if not rows:
        return ""
    html = rendered("part_happened.html", rows=rows[:MOST_TOLD])
    return f'<hx-partial hx-target="#happened" hx-swap="afterbegin">{html}</hx-partial>'


def data(html: str) -> str:
    """HTML as the lines of a message."""
    return "".join(f"data: {line}\n" for line in html.splitlines())
