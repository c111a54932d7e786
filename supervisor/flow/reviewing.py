"""The review of a batch's branch: people decide on its commits, and the branch is revised until it agrees.

What people want and what the branch has are kept apart. A revision is due while they differ, so it does not matter
how often something is asked for, or what is asked for while a revision is under way. The same holds for what the text
of the pull request says about the branch.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from immutables import Map

from supervisor.errors import ImpossibleTransition, Refused
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.agenda import Item
from supervisor.model.review import Opinion, Review, Verdict
from supervisor.model.state import State

#: the most reviews that are kept: those of the batches reviewed last
MOST_REVIEWS = 500
REVISE = "revise"


def decide(state: State, request: rq.ReviewCommits, at: float) -> list[ev.Event]:
    """No event if the decision is the same as before; but a reversal that failed is tried again."""
    if not request.branch.name:
        raise Refused(f"batch {request.batch} has no branch", hint=f"see `supervisorctl report {request.batch}`")
    known = state.reviews.get(request.batch)
    new = tuple(commit for commit in dict.fromkeys(request.commits) if _is_news(known, commit, request.verdict))
    if not new:
        return []
    decided = ev.CommitsReviewed(
        at, request.batch, request.branch, new, request.verdict, author=request.author, reason=request.reason
    )
    return [decided]


def _is_news(review: Review | None, commit: str, verdict: Verdict) -> bool:
    if review is None:
        return verdict is not Verdict.UNREVIEWED
    return review.verdict(commit) is not verdict or commit in review.problems


def on_reviewed(state: State, event: ev.CommitsReviewed) -> State:
    review = state.reviews.get(event.batch) or Review(event.batch, event.branch)
    opinion = Opinion(Verdict(event.verdict), event.author, event.at, event.reason)
    opinions, problems = review.opinions, review.problems
    for commit in event.commits:
        opinions = opinions.set(commit, opinion)
        problems = problems.delete(commit) if commit in problems else problems
    review = replace(review, opinions=opinions, problems=problems, tries=0, at=event.at)
    return _bounded(_due(state, review, event.at), event.batch)


def on_started(state: State, event: ev.RevisionStarted) -> State:
    review = _of(state, event)
    if review.is_working:
        raise ImpossibleTransition(f"the branch of batch {event.batch} is being revised")
    review = replace(review, is_working=True, number=event.number, trouble="")
    return _with(state, review).drop(item(event.batch))


def on_failed(state: State, event: ev.RevisionFailed) -> State:
    review = _working(state, event)
    review = replace(review, is_working=False, trouble=event.detail or "it failed", tries=review.tries + 1)
    return _due(state, review, event.retry_at)


def on_ended(state: State, event: ev.RevisionEnded) -> State:
    review = _working(state, event)
    out = review.taken_out.update(dict(event.reverted))
    for commit in event.restored:
        out = out.delete(commit) if commit in out else out
    # The next revision handles requests that were made during this one.
    problems = {commit: why for commit, why in event.problems.items() if _is_as_asked(review, commit, out)}
    review = replace(
        review,
        is_working=False,
        taken_out=out,
        problems=review.problems.update(problems),
        notes=event.notes,
        out_there=event.out_there,
        unsaid=event.unsaid,
        tries=review.tries + 1 if event.unsaid else 0,
    )
    return _due(state, review, event.at if review.due else max(event.at, event.retry_at))


def _is_as_asked(review: Review, commit: str, out: Map[str, str]) -> bool:
    """Whether what could not be done is still wanted."""
    return (review.verdict(commit) is Verdict.DROPPED) is not (commit in out)


def all_due_again(state: State, at: float) -> State:
    """After a restart: revisions that were under way ended with the last daemon, and are due again."""
    for review in state.reviews.values():
        if review.is_working:
            state = _due(state, replace(review, is_working=False), at)
    return state


def item(batch: str) -> Item:
    return (REVISE, batch)


def _due(state: State, review: Review, at: float) -> State:
    state = _with(state, review)
    if review.is_working:
        return state
    return state.put(item(review.batch), at) if review.is_due else state.drop(item(review.batch))


def _with(state: State, review: Review) -> State:
    return replace(state, reviews=state.reviews.set(review.batch, review))


def _of(state: State, event: ev.ReviewEvent) -> Review:
    if (review := state.reviews.get(event.batch)) is None:
        raise ImpossibleTransition(f"{event.kind} of {event.batch}, which nobody reviews")
    return review


def _working(state: State, event: ev.RevisionFailed | ev.RevisionEnded) -> Review:
    review = _of(state, event)
    if not review.is_working or review.number != event.number:
        raise ImpossibleTransition(f"{event.kind} of {event.batch}, whose branch is not being revised")
    return review


def _bounded(state: State, last: str) -> State:
    """Drop the oldest review with nothing due, if there are too many."""
    if len(state.reviews) <= MOST_REVIEWS:
        return state
    idle = [each for each in state.reviews.values() if each.batch != last and not each.is_working and not each.is_due]
    if not idle:
        return state
    oldest = min(idle, key=lambda review: (review.at, review.batch))
    return replace(state, reviews=state.reviews.delete(oldest.batch))


APPLIED: Mapping[type[ev.Event], Callable[..., State]] = {
    ev.CommitsReviewed: on_reviewed,
    ev.RevisionStarted: on_started,
    ev.RevisionFailed: on_failed,
    ev.RevisionEnded: on_ended,
}
