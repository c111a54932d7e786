"""One pull request for a batch, whatever GitHub, the network and the daemon do meanwhile."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from immutables import Map

from supervisor.adapters.git.store import GitStore
from supervisor.integration.review.pull_requests import GitHubPullRequests, OfferedForReview, Patience, Where
from supervisor.model.batch import Batch, Origin, Result
from supervisor.model.ledger import Fate, LedgerRow
from supervisor.ports import Integration, Judgement
from tests.agent_clone import commit, git
from tests.integration.github_server import TOKEN, Failure, FakeGitHub, github
from tests.observe.night import TESTS, Files, a_night
from tests.waiting import until

TITLE = "agent-supervisor overnight 2025-01-15: 1 fixed, 1 improved, 1 of these not merged, 3 escalated"
BRANCH = "supervisor/b"
IMPATIENT = Patience(seconds=3.0, first=0.01, longest=0.05)


@dataclass
class Stage:
    github: FakeGitHub
    batch: Batch
    #: what was merged
    head: str
    remote: Path
    store: GitStore

    def device(self, *, token: str = TOKEN, timeout: float = 5.0, files: Files | None = None) -> GitHubPullRequests:
        where = Where(self.github.url, lambda: token, repositories={"overnight": "ann/shop"})
        return GitHubPullRequests(where, self.store, lambda: files or Files(), patience=IMPATIENT, timeout=timeout)

    def pushed(self, branch: str = BRANCH) -> str:
        return git(self.remote, "rev-parse", "-q", "--verify", f"refs/heads/{branch}")

    @property
    def creations(self) -> int:
        return sum(method == "POST" for method, _ in self.github.asked)


@asynccontextmanager
async def stage(home: Path) -> AsyncIterator[Stage]:
    """A person's repository with a remote, the daemon's own copy of it, and a batch that is integrated."""
    repo, remote = home / "repo", home / "ann" / "shop.git"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    base = commit(repo, "first", app__py="one\n")
    remote.parent.mkdir()
    git(home, "clone", "-q", "--bare", str(repo), str(remote))
    git(repo, "remote", "add", "origin", str(remote))
    store = GitStore(home / "state")
    await store.snapshot(repo, base, "b")
    work = home / "state" / "batches" / "b" / "source"
    head = commit(work, "[FIX_IMPL] Two", app__py="two\n")
    git(work, "push", "-q", str(store.bare(repo)), "HEAD:refs/supervisor/b/integrated/1")
    sealed = a_night().sealed
    assert sealed is not None
    with github() as known:
        yield Stage(known, replace(sealed, repo=str(repo), base=base), head, remote, store)


async def test_the_branch_is_pushed_and_a_draft_is_opened(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        offer = await on.device().open(on.batch, on.head)
        assert (offer.pull_request, offer.problems) == (f"{on.github.url}/ann/shop/pull/1", ())
        assert on.pushed() == on.head
        asked = on.github.body
        assert (asked["head"], asked["base"], asked["draft"]) == (BRANCH, "main", True)
        assert asked["title"] == TITLE


@pytest.mark.parametrize(("branches", "into"), [(("main", "release/2"), "release/2"), (("main",), "main")])
async def test_it_goes_against_the_branch_that_was_submitted_from_where_that_is_known_there(
    tmp_path: Path, branches: tuple[str, ...], into: str
) -> None:
    async with stage(tmp_path) as on:
        on.github.branches = tuple(name.replace("/", "%2F") for name in branches)
        offer = await on.device().open(replace(on.batch, origin=Origin(branch="release/2")), on.head)
        assert (bool(offer.pull_request), offer.problems) == (True, ())
        assert on.github.body["base"] == into


async def test_asked_again_it_is_the_same_one(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        first = await on.device().open(on.batch, on.head)
        assert await on.device().open(on.batch, on.head) == first
        assert on.creations == 1
        on.github.pulls[0]["state"] = "closed"
        assert await on.device().open(on.batch, on.head) == first


TROUBLES = {
    "500": [Failure(500)],
    "503 at every second request": [Failure(503), Failure(502, method="POST"), Failure(503, method="GET")],
    "429": [Failure(429, {"Retry-After": "0"})],
    "403 of a rate limit": [Failure(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "0"})],
    "no answer": [Failure(trouble="drop", method="POST")],
    "an answer that is lost after the creation": [Failure(trouble="lost", method="POST")],
    "500 and lost": [Failure(500, method="POST"), Failure(trouble="lost", method="POST")],
    "an answer that is no JSON": [Failure(trouble="garbage")],
}


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_one_pull_request_is_opened_through(tmp_path: Path, trouble: str) -> None:
    async with stage(tmp_path) as on:
        on.github.fail(*TROUBLES[trouble])
        offer = await on.device().open(on.batch, on.head)
        assert (offer.pull_request, offer.problems) == (f"{on.github.url}/ann/shop/pull/1", ())
        assert len(on.github.pulls) == 1
        assert not on.github.failures


async def test_a_github_that_hangs_is_not_waited_for_and_asked_again(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.github.fail(Failure(trouble="hang"), Failure(trouble="hang", method="POST"))
        assert (await on.device(timeout=0.3).open(on.batch, on.head)).pull_request
        assert len(on.github.pulls) == 1


async def test_a_daemon_that_is_killed_at_the_creation_finds_it_again(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.github.fail(Failure(trouble="hang", method="POST"))
        killed = asyncio.create_task(on.device().open(on.batch, on.head))
        await until("it is asked to create one", lambda: on.creations)
        killed.cancel()
        await asyncio.wait([killed])
        on.github.add(BRANCH)  # it had arrived
        assert (await on.device().open(on.batch, on.head)).pull_request.endswith("/pull/1")
        assert len(on.github.pulls) == 1


GIVEN_UP = {
    "down for good": ([Failure(500)] * 500, "GitHub answers 500"),
    "a limit for an hour": ([Failure(429, {"Retry-After": "3600"})], "asked too often"),
    "refused": ([Failure(422, method="POST", message="No commits between main and it")], "No commits between"),
    "an answer without end": ([Failure(trouble="huge")], "too large"),
}


@pytest.mark.parametrize("case", GIVEN_UP)
async def test_what_can_not_be_opened_is_told_and_fails_nothing(tmp_path: Path, case: str) -> None:
    failures, says = GIVEN_UP[case]
    async with stage(tmp_path) as on:
        on.github.fail(*failures)
        started = time.monotonic()
        offer = await on.device().open(on.batch, on.head)
        assert (offer.pull_request, len(offer.problems)) == ("", 1)
        assert says in offer.problems[0]
        assert time.monotonic() - started < 20


async def test_a_token_that_is_not_accepted_is_told_and_not_tried_again(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        offer = await on.device(token="wrong").open(on.batch, on.head)
        assert offer.problems == (
            "no pull request was opened: GitHub does not accept the token (renew the credential)",
        )
        assert len(on.github.asked) == 1


async def test_a_branch_of_that_name_with_other_work_is_never_overwritten(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        other = commit(Path(on.batch.repo), "somebody else's", app__py="three\n")
        git(Path(on.batch.repo), "push", "-q", "origin", f"HEAD:refs/heads/{BRANCH}")
        offer = await on.device().open(on.batch, on.head)
        assert "git push failed" in offer.problems[0]
        assert (on.pushed(), on.creations) == (other, 0)


async def test_last_nights_pull_request_of_the_profile_is_named(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        mark = "<!-- agent-supervisor profile={} batch={} -->\nx".format
        on.github.add("supervisor/old", body=mark("overnight", "old"))
        on.github.add("supervisor/other", body=mark("daily", "other"))
        on.github.add("supervisor/fork", body=mark("overnight", "fork"), repository="eve/shop")
        on.github.add("feature", body=mark("overnight", "mine"))
        on.github.add("supervisor/closed", body=mark("overnight", "closed"), state="closed")
        await on.device().open(on.batch, on.head)
        assert "Supersedes #1, of the same profile." in on.github.body["body"]


async def test_where_nothing_was_merged_escalations_are_told_on_an_empty_commit(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        nothing = Map({number: LedgerRow(Fate.EMPTY) for number in range(1, TESTS + 1)})
        batch = replace(on.batch, ledger=nothing, result=Result())
        assert (await on.device().open(batch, "")).pull_request
        pushed = on.pushed()
        assert git(on.remote, "rev-parse", f"{pushed}^") == batch.base
        assert git(on.remote, "diff", "--name-only", batch.base, pushed) == ""
        on.github.pulls.clear()
        await on.device().open(batch, batch.base)
        assert on.pushed() == pushed


async def test_where_there_is_nothing_to_tell_nobody_is_asked(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        nothing = Map({number: LedgerRow(Fate.EMPTY) for number in range(1, TESTS + 1)})
        offer = await on.device(files=Files({})).open(replace(on.batch, ledger=nothing), "")
        assert (offer.pull_request, offer.problems, on.github.asked) == ("", (), [])


async def test_a_repository_without_drafts_gets_a_plain_one(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.github.drafts = False
        assert (await on.device().open(on.batch, on.head)).pull_request
        assert "draft" not in on.github.body


async def test_a_repository_without_the_remote_is_told_so(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        git(Path(on.batch.repo), "remote", "remove", "origin")
        offer = await on.device().open(on.batch, on.head)
        assert "has no remote origin" in offer.problems[0]


async def test_a_repository_that_was_renamed_is_the_same_one(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.github.add(BRANCH, repository="ann/store")
        assert (await on.device().open(on.batch, on.head)).pull_request.endswith("/pull/1")
        assert on.creations == 0


async def test_the_persons_repository_is_only_read(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        repo = Path(on.batch.repo)
        (repo / "app.py").write_text("mine\n")
        before = (
            git(repo, "for-each-ref"),
            git(repo, "status", "--porcelain"),
            git(repo, "config", "--list", "--local"),
        )
        await on.device().open(on.batch, on.head)
        after = (
            git(repo, "for-each-ref"),
            git(repo, "status", "--porcelain"),
            git(repo, "config", "--list", "--local"),
        )
        assert before == after


@dataclass
class Integrating:
    """An integrator that is done, or wants judgement."""

    made: Integration | Judgement

    async def integrate(self, batch: Batch, number: int) -> Integration | Judgement:
        return self.made


async def test_what_was_integrated_is_offered_with_its_own_ledger_and_branch(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        made = Integration(on.batch.ledger, f"{BRANCH}-2", head=on.head, problems=("slow",))
        before = replace(on.batch, ledger=Map(), result=Result())
        done = await OfferedForReview(Integrating(made), on.device()).integrate(before, 1)
        assert isinstance(done, Integration)
        assert (done.pull_request, done.problems) == (f"{on.github.url}/ann/shop/pull/1", ("slow",))
        assert on.pushed(f"{BRANCH}-2") == on.head
        on.github.fail(Failure(401))
        failed = await OfferedForReview(Integrating(made), on.device()).integrate(before, 1)
        assert isinstance(failed, Integration)
        assert (failed.pull_request, len(failed.problems), failed.branch) == ("", 2, made.branch)


async def test_nothing_is_offered_while_judgement_is_wanted(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        wanted = Judgement("two conflicts")
        assert await OfferedForReview(Integrating(wanted), on.device()).integrate(on.batch, 1) is wanted
        assert on.github.asked == []
