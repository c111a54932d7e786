"""The review of a batch's branch, commit by commit: what there is to read, and what a person says of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from supervisor.control import naming, reporting, review_messages
from supervisor.control.desk import Desk, TheDesk
from supervisor.control.looking import shape
from supervisor.control.steering import Author
from supervisor.errors import GitFailed, NoSuchThing, Refused
from supervisor.model.batch import Batch
from supervisor.model.request import ReviewCommits
from supervisor.model.review import Review, ReviewedBranch, Verdict
from supervisor.observe import report_fold, review, snapshot
from supervisor.observe.commit_review import counted
from supervisor.observe.report import Report
from supervisor.observe.review import ReviewRow
from supervisor.threads import in_thread

routes = APIRouter(tags=["review"])


@dataclass(frozen=True, slots=True)
class Reviewable:
    """A batch that is over and has a branch."""

    batch: Batch
    report: Report
    rows: list[ReviewRow]
    #: what people said so far; None: nothing
    review: Review | None

    @property
    def branch(self) -> ReviewedBranch:
        batch, offered = self.batch, self.report.batch.pull_request
        return ReviewedBranch(batch.repo, batch.base, batch.result.branch, batch.result.head, offered)

    @property
    def is_revising(self) -> bool:
        return self.review is not None and (self.review.is_working or bool(self.review.due))


@routes.get("/v1/batches/{batch}/review", **shape(review_messages.Review))
async def review_of_batch(desk: TheDesk, batch: str) -> Response:
    """The commits of a batch's branch in the order in which to read them, and what people said of each."""
    found = await reviewable(desk, batch)
    said = found.review
    return JSONResponse(
        snapshot.answer(
            desk.clock(),
            batch=found.batch.id,
            branch=found.batch.result.branch,
            pull_request=found.report.batch.pull_request or None,
            counts=counted(row.known for row in found.rows),
            revising=found.is_revising,
            trouble=(said.trouble or None) if said is not None else None,
            notes=list(said.told) if said is not None else [],
            rows=[row.view for row in found.rows],
        )
    )


@routes.post("/v1/batches/{batch}/decide", **shape(review_messages.Decided))
async def review_commits(desk: TheDesk, batch: str, asked: review_messages.Reviewing, by: Author) -> Response:
    """Accept or drop commits, or take that back. A dropped commit is reverted on the branch, and put back if it is
    not dropped any more. Unchanged if the same was said before; what could not be done then is tried again."""
    found = await reviewable(desk, batch)
    commits, is_changed = await decide(desk, found, asked, by)
    content = {"batch": found.batch.id, "commits": list(commits)}
    return JSONResponse({"schema_version": snapshot.SCHEMA_VERSION, "changed": is_changed, **content})


async def decide(
    desk: Desk, found: Reviewable, asked: review_messages.Reviewing, by: str
) -> tuple[tuple[str, ...], bool]:
    """The commits that are meant, and whether anything changed."""
    commits = tuple(_commit(found, each) for each in asked.commits)
    state = Verdict(asked.state)
    request = ReviewCommits(found.batch.id, found.branch, commits, state, author=by, reason=asked.reason)
    return commits, bool(await desk.asked(request))


async def reviewable(desk: Desk, said: str) -> Reviewable:
    """Raises Refused if there is no branch to review."""
    meant = await naming.batch(desk, said)
    past, now = await reporting.past_of(desk, meant), desk.clock()
    batch = past.batch
    if batch.finished_at is None:
        hint = f"`supervisorctl follow {batch.id}` shows its progress"
        raise Refused(f"batch {batch.id} is not over: its last branch is not made yet", hint=hint)
    if not batch.result.branch:
        raise Refused(f"batch {batch.id} has no branch to review", hint=f"see `supervisorctl report {batch.id}`")
    known = desk.state().reviews.get(batch.id)
    # Without what agents said, which takes reading the files of each attempt.
    report = await in_thread(lambda: report_fold.report(batch, past.history, {}, now))
    report = review.reviewed(report, known)
    return Reviewable(batch, report, await rows_of(desk, batch, report), known)


async def rows_of(desk: Desk, batch: Batch, report: Report) -> list[ReviewRow]:
    """Without subjects where the commits are not kept any more."""
    titles: Sequence[tuple[str, str]] = ()
    if batch.result.head:
        try:
            titles = await desk.store.titles(Path(batch.repo), batch.base, batch.result.head)
        except GitFailed:
            titles = ()
    return review.rows(report, titles)


def _commit(found: Reviewable, said: str) -> str:
    meant = [row.known.commit for row in found.rows if row.known.commit.startswith(said)]
    batch = found.batch.id
    if not meant:
        hint = f"`supervisorctl review {batch}` lists them"
        raise NoSuchThing(f"the branch of batch {batch} has no commit {said}", hint=hint)
    if len(meant) > 1:
        raise Refused(f"{said} matches several commits of batch {batch}", hint="give more of the id")
    return meant[0]
