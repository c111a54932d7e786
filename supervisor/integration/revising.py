"""Revises the branch of a batch by people's decisions on its commits.

The branch may be in two places: the person's repository, and, with a pull request, the remote. Each may have moved
on, so each is revised separately: its last commit is fetched, the reversals are committed on top of it, and the
branch is advanced if it has not moved meanwhile. Nothing is ever forced, and no commit of the branch is rewritten:
report, ledger and people name them. If both places are at the same commit, they still are afterwards: the same
reversal on the same commit is the same commit.

The content shows whether a reversal was made already, so a revision that a crash cut short, or that a person made by
hand, needs no second commit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.adapters.git.advancing import advance
from supervisor.adapters.git.moving import tip
from supervisor.adapters.git.store import GitStore
from supervisor.errors import SupervisorError
from supervisor.integration.branches.reverting import Remade, remade
from supervisor.integration.review.pull_requests import Where
from supervisor.integration.review.pushing import Remote, bring, push, remote_of
from supervisor.model.review import Reversal, Review
from supervisor.ports.review import Revised
from supervisor.threads import in_thread

REPOSITORY, PULL_REQUEST = "the repository", "the pull request"


@dataclass(slots=True)
class _Places:
    """The results of the reversals in each place that has the branch."""

    #: by place
    remade: dict[str, Remade] = field(default_factory=dict)
    #: why a place could not be revised now
    failed: list[SupervisorError] = field(default_factory=list)


class BranchReviser:
    def __init__(self, store: GitStore, where: Where | None) -> None:
        """`where`: the remote of pull requests, if any are made."""
        self._store, self._where = store, where

    async def revise(self, review: Review) -> Revised:
        places = _Places()
        for name, revise in ((REPOSITORY, self._here), (PULL_REQUEST, self._there)):
            try:
                if (done := await revise(review)) is not None:
                    places.remade[name] = done
            except SupervisorError as failed:
                places.failed.append(failed)
        if places.failed:  # the other place is done: the retry will find that
            raise places.failed[0]
        return told(review, places.remade, is_pushed=self._where is not None)

    async def _here(self, review: Review) -> Remade | None:
        """In the person's repository; None if the branch is not there any more."""
        branch, repo = review.branch, Path(review.branch.repo)
        if not await in_thread(repo.is_dir) or not (old := await tip(repo, branch.name)):
            return None
        await self._store.keep(repo, old, _ref(review, "here"))
        done = await self._remade(review, old)
        if done.head != old:
            await self._store.pin(repo, done.head, _ref(review, "here"))
            await advance(self._store.bare(repo), repo, branch.name, old, done.head)
        return done

    async def _there(self, review: Review) -> Remade | None:
        """At the remote; None without a pull request, or if its branch is not there any more."""
        where, branch, repo = self._where, review.branch, Path(review.branch.repo)
        if where is None or not branch.pull_request:
            return None
        bare, remote = self._store.bare(repo), await remote_of(repo, where.remote)
        token = _token(where, remote)
        if not (old := await bring(bare, remote, branch.name, _ref(review, "there"), token)):
            return None
        done = await self._remade(review, old)
        if done.head != old:
            await self._store.pin(repo, done.head, _ref(review, "there"))
            await push(bare, remote, done.head, branch.name, token)
        return done

    async def _remade(self, review: Review, old: str) -> Remade:
        bare = self._store.bare(Path(review.branch.repo))
        return await in_thread(remade, bare, review.branch.base, old, review.batch, review.due)


def told(review: Review, places: dict[str, Remade], *, is_pushed: bool) -> Revised:
    """The overall result. A reversal made in only one place counts as made, with a note about the other."""
    found = {name: done.made for name, done in places.items()}
    notes = list(_elsewhere(review, places, is_pushed=is_pushed))
    made, problems = dict[str, str](), dict[str, str]()
    for each in review.due:
        shas = [done[each.commit] for done in found.values() if each.commit in done]
        told_of = {name: done.problems[each.commit] for name, done in places.items() if each.commit in done.problems}
        if shas:
            made[each.commit] = next((sha for sha in shas if sha), "")
            notes += [f"{each.commit[:12]} in {name}: {why}" for name, why in told_of.items()]
        else:
            problems[each.commit] = next(iter(told_of.values()), _gone(review))
    return Revised(
        reverted=_those(made, review.due, is_back=False),
        restored=_those(made, review.due, is_back=True),
        problems=problems,
        notes=tuple(notes),
        out_there=_out_there(review, places.get(PULL_REQUEST)),
    )


def _those(made: dict[str, str], due: Sequence[Reversal], *, is_back: bool) -> dict[str, str]:
    return {each.commit: made[each.commit] for each in due if each.is_back is is_back and each.commit in made}


def _out_there(review: Review, done: Remade | None) -> tuple[str, ...]:
    """The commits that the branch of the pull request no longer has; without a pull request, as before."""
    out = set(review.out_there)
    for each in review.due if done is not None else ():
        if done is not None and each.commit in done.made:
            (out.discard if each.is_back else out.add)(each.commit)
    return tuple(sorted(out))


def _elsewhere(review: Review, places: dict[str, Remade], *, is_pushed: bool) -> list[str]:
    """Sentences about a pull request whose branch was not revised."""
    if not review.branch.pull_request or PULL_REQUEST in places:
        return []
    if not is_pushed:
        return ["the branch of the pull request is as it was: no token is configured any more"]
    return ["the pull request has no branch any more: what it merged is as it was"]


def _gone(review: Review) -> str:
    return f"there is no branch {review.branch.name} any more: revert it where it was merged"


def _ref(review: Review, place: str) -> str:
    return f"refs/supervisor/{review.batch}/reviewed/{place}"


def _token(where: Where, remote: Remote) -> str:
    return where.token() if where.trusts(remote) else ""
