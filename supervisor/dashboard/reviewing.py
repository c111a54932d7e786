"""The review of a branch on the morning page: each commit with its evidence, accepted or dropped."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse
from pydantic import ValidationError

from supervisor.control import review_messages
from supervisor.control import reviewing as api
from supervisor.control.desk import Desk
from supervisor.control.reviewing import Reviewable
from supervisor.dashboard.entering import Session
from supervisor.dashboard.house import TheHouse, TheSession
from supervisor.dashboard.live import data
from supervisor.dashboard.rendering import rendered
from supervisor.dashboard.saying import NOTHING
from supervisor.errors import GitFailed, Refused
from supervisor.model.batch import Batch
from supervisor.model.event import Event, ReviewEvent
from supervisor.model.ledger import HELD_BACK
from supervisor.model.review import WORDS
from supervisor.observe.commit_review import counted, progress
from supervisor.observe.report import Report
from supervisor.observe.review import ReviewRow
from supervisor.ports import Commit
from supervisor.threads import in_thread

NEW_PAGE = "load the page again"

routes = APIRouter()


@dataclass(frozen=True, slots=True)
class Shown:
    """The branch of a batch, as its page shows it."""

    found: Reviewable
    #: by commit, what it changes; a sentence where that can't be shown
    patches: Mapping[str, Commit] | str

    async def html(self, session: Session) -> str:
        return await in_thread(lambda: rendered("part_branch.html", **self._values(session)))

    def _values(self, session: Session) -> dict[str, Any]:
        found, said = self.found, self.found.review
        counts = counted(row.known for row in found.rows)
        return {
            "report": found.report,
            "rows": found.rows,
            "patches": self.patches if not isinstance(self.patches, str) else {},
            "unshown": self.patches if isinstance(self.patches, str) else "",
            "counts": counts,
            "progress": progress(counts),
            "held": [note for note in found.report.notes if note.startswith(HELD_BACK)],
            "review": said,
            "is_revising": found.is_revising,
            "is_over": found.batch.finished_at is not None and bool(found.batch.result.branch),
            "form_key": session.form_key,
        }


async def shown(desk: Desk, batch: Batch, report: Report) -> Shown:
    rows = await api.rows_of(desk, batch, report)
    return await _with_patches(desk, Reviewable(batch, report, rows, desk.state().reviews.get(batch.id)))


async def _with_patches(desk: Desk, found: Reviewable) -> Shown:
    return Shown(found, await _patches(desk, found.batch, found.rows))


async def _patches(desk: Desk, batch: Batch, rows: Sequence[ReviewRow]) -> Mapping[str, Commit] | str:
    if not batch.result.head or not rows:
        return {}
    try:
        commits = await desk.store.commits(Path(batch.repo), batch.base, batch.result.head)
    except GitFailed as failed:
        return failed.message
    return {commit.sha: commit for commit in commits}


@routes.post("/do/review/{batch}")
async def decide(request: Request, house: TheHouse, session: TheSession, batch: str) -> Response:
    """One button of one commit; then on to the next one that nobody has said anything of."""
    said = parse_qs((await request.body()).decode(errors="replace"), max_num_fields=20)
    word, commit = (said.get(name, [""])[0] for name in ("word", "commit"))
    if word not in WORDS:
        raise Refused("a commit is accepted or dropped, or what was said of it is undone", hint=NEW_PAGE)
    try:
        asked = review_messages.Reviewing.model_validate(
            {"commits": [commit], "state": WORDS[word], "reason": said.get("reason", [""])[0].strip()}
        )
    except ValidationError as error:
        raise Refused("that is no commit, or the reason is too long", hint=NEW_PAGE) from error
    found = await api.reviewable(house.desk, batch)
    _, is_changed = await api.decide(house.desk, found, asked, session.author)
    place = commit if word == "undo" else _next(found.rows, commit)
    return RedirectResponse(
        f"/batches/{found.batch.id}/morning?said={f'review-{word}' if is_changed else NOTHING}#c-{place}", 303
    )


def _next(rows: Sequence[ReviewRow], commit: str) -> str:
    """The commit to read after this one; this one, if all are reviewed."""
    shas = [row.known.commit for row in rows]
    at = shas.index(commit) if commit in shas else 0
    later = [*rows[at + 1 :], *rows[:at]]
    return next((row.known.commit for row in later if row.known.state == "unreviewed"), commit)


@routes.get("/batches/{batch}/revised")
async def revised(
    house: TheHouse, session: TheSession, batch: str, after: Annotated[int, Query(ge=0, le=2**63 - 1)] = 0
) -> Response:
    """For a page whose branch is being revised: the commits again, each time something became of that."""
    await api.reviewable(house.desk, batch)
    return StreamingResponse(_revised(house.desk, session, batch, after), media_type="text/event-stream")


async def _revised(desk: Desk, session: Session, batch: str, after: int) -> AsyncIterator[str]:
    yield "retry: 1000\n\n"
    async for piece in desk.stream.follow(after):
        if not any(_is_about(record.event, batch) for record in piece):
            yield ": nothing happens\n\n"
            continue
        found = await api.reviewable(desk, batch)
        now = await _with_patches(desk, found)
        partial = f'<hx-partial hx-target="#branch" hx-swap="innerMorph">{await now.html(session)}</hx-partial>'
        yield f"id: {piece[-1].seq}\n{data(partial)}\n"
        if not found.is_revising:
            yield "event: over\ndata:\n\n"
            return


def _is_about(event: Event, batch: str) -> bool:
    return isinstance(event, ReviewEvent) and event.batch == batch
