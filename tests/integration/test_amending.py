"""What is dropped from a branch is not told as merged any more by the text of its pull request, at a GitHub on
loopback; and what people wrote there stays."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from immutables import Map

from supervisor.daemon.revising import Revising
from supervisor.flow.requests import decide
from supervisor.integration.review import marks
from supervisor.integration.review.amending import CLOSED, TOO_LONG, UNMARKED, AmendingReviser
from supervisor.integration.review.pull_requests import GitHubPullRequests, Where
from supervisor.integration.revising import BranchReviser
from supervisor.model.batch import Result
from supervisor.model.effect import Revise
from supervisor.model.ledger import Fate, LedgerRow
from supervisor.model.request import ReviewCommits
from supervisor.model.review import Review, ReviewedBranch, Verdict
from tests.agent_clone import git
from tests.flow.world import World
from tests.integration.github_server import TOKEN, Failure, FakeGitHub, github
from tests.integration.reviewed import BRANCH, TEXT, Stage, stage
from tests.observe.night import FATES, FIXED, FLAKY, IMPROVED, Files, a_night

THEIRS = "I have looked at the first half. Please do not merge before Tuesday.\n\n"


@dataclass
class Offered:
    """A branch with a pull request, and the daemon's own steps from a person's word to what the devices do."""

    on: Stage
    github: FakeGitHub
    branch: ReviewedBranch
    where: Where
    world: World = field(default_factory=lambda: World(local=1))
    timeout: float = 30.0

    @property
    def text(self) -> str:
        return str(self.github.pulls[0]["body"])

    @text.setter
    def text(self, text: str) -> None:
        self.github.pulls[0]["body"] = text

    @property
    def review(self) -> Review:
        return self.world.state.reviews["b"]

    @property
    def writes(self) -> int:
        return sum(method == "PATCH" for method, _ in self.github.asked)

    async def said(self, verdict: Verdict, *commits: str, author: str = "ann", reason: str = "") -> None:
        request = ReviewCommits("b", self.branch, commits, verdict, author=author, reason=reason)
        self.world.happens(*decide(self.world.state, request, self.world.now))
        await self.revised()

    async def revised(self) -> None:
        """What is due is done by the devices."""
        device = AmendingReviser(BranchReviser(self.on.store, self.where), self.where, timeout=self.timeout)
        revising = Revising(device, lambda: self.world.now)
        for effect in self.world.pending(Revise):
            self.world.answer(effect, await revising.revise(self.review, effect.number))

    def row(self, job: int) -> str:
        """The row of a job in the list of what is on the branch."""
        told = self.text.partition("### On this branch")[2]
        return next(line for line in told.splitlines() if f"test_{job}`" in line)


@asynccontextmanager
async def offered(home: Path) -> AsyncIterator[Offered]:
    """The work of one job has two commits, that of another one shares the second."""
    sealed = a_night().sealed
    assert sealed is not None
    async with stage(home) as on:
        with github() as known:
            where = Where(known.url, lambda: TOKEN, repositories={"overnight": "ann/shop"})
            rows = {FIXED: (on.first, on.again), IMPROVED: (on.again,), FLAKY: (on.third,)}
            ledger = Map({**FATES, **{job: LedgerRow(Fate.MERGED, "", shas) for job, shas in rows.items()}})
            result = Result(branch=BRANCH, head=on.third)
            batch = replace(sealed, repo=str(on.repo), base=on.base, ledger=ledger, result=result)
            made = await GitHubPullRequests(where, on.store, Files).open(batch, on.third)
            assert not made.problems
            branch = ReviewedBranch(str(on.repo), on.base, BRANCH, on.third, made.pull_request)
            yield Offered(on, known, branch, where)


async def test_a_dropped_commit_is_struck_out_and_said(tmp_path: Path) -> None:
    async with offered(tmp_path) as at:
        before, untouched = at.text, at.row(FIXED)
        assert re.fullmatch(r"1\. `.*test_4`.* [0-9a-f]{12}", at.row(FLAKY))
        await at.said(Verdict.DROPPED, at.on.third, reason="it shouts at @bob, fixes #1 <img src=x>")
        assert re.fullmatch(r"1\. ~~`.*test_4`.* [0-9a-f]{12}~~ \*\*dropped\*\*", at.row(FLAKY))
        assert at.row(FIXED) == untouched
        reverted = at.review.taken_out[at.on.third][:12]
        told = at.text.partition("### Dropped in review")[2]
        said = rf"^- {at.on.third[:12]} by ann: it shouts at .*; reverted by {reverted}$"
        assert re.search(said, told, re.MULTILINE)
        assert "@bob" not in told
        assert "<img" not in told
        assert marks.marked(at.text) == marks.marked(before) == ("overnight", "b")
        assert (at.review.told, at.writes) == ((), 1)


async def test_of_shared_work_only_the_commit_is_struck_out_and_both_in_the_end(tmp_path: Path) -> None:
    async with offered(tmp_path) as at:
        first, again = at.on.first[:12], at.on.again[:12]
        await at.said(Verdict.DROPPED, at.on.third)
        await at.said(Verdict.DROPPED, at.on.again)
        assert at.row(FIXED).endswith(f" {first}, ~~{again}~~")
        assert at.row(IMPROVED).endswith(f"{again}~~ **dropped**")
        await at.said(Verdict.DROPPED, at.on.first)
        assert at.row(FIXED).endswith(f" {first}, {again}~~ **dropped**")
        assert at.text.count("### Dropped in review") == 1
        assert all(f"- {sha[:12]} by ann" in at.text for sha in (at.on.first, at.on.again, at.on.third))


async def test_what_comes_back_is_told_as_it_was(tmp_path: Path) -> None:
    async with offered(tmp_path) as at:
        before = at.text
        await at.said(Verdict.DROPPED, at.on.third, at.on.again)
        assert at.text != before
        await at.said(Verdict.ACCEPTED, at.on.third, at.on.again)
        assert at.text == before


async def test_what_people_wrote_stays_around_our_part_and_in_it(tmp_path: Path) -> None:
    async with offered(tmp_path) as at:
        inside = at.text.replace("### What it took", "(bob: I ran them by hand, too)\n\n### What it took")
        at.text = f"{THEIRS}{inside}\n\nReviewed-by: bob <!-- agent-supervisor dropped -->\n".replace("\n", "\r\n")
        await at.said(Verdict.DROPPED, at.on.third)
        assert at.text.startswith(THEIRS.replace("\n", "\r\n"))
        assert at.text.endswith("\r\n\r\nReviewed-by: bob <!-- agent-supervisor dropped -->\r\n")
        assert "(bob: I ran them by hand, too)\r\n" in at.text
        assert "**dropped**" in at.row(FLAKY)
        assert "\n" not in at.text.replace("\r\n", "")


@pytest.mark.parametrize("how", ["all is theirs", "no end", "no beginning", "twice", "turned around", "none at all"])
async def test_where_the_marks_are_gone_nothing_is_written_and_that_is_said(tmp_path: Path, how: str) -> None:
    async with offered(tmp_path) as at:
        begin = at.text.partition("\n")[0]
        at.text = {
            "all is theirs": "I wrote this.",
            "no end": at.text.replace(marks.END, ""),
            "no beginning": at.text.replace(begin, ""),
            "twice": at.text + "\n" + at.text,
            "turned around": f"{marks.END}\n{at.text.replace(marks.END, '')}",
            "none at all": "",
        }[how]
        before = at.text
        await at.said(Verdict.DROPPED, at.on.third)
        assert (at.text, at.writes, at.review.told) == (before, 0, (UNMARKED,))
        assert at.on.tip(at.on.remote) == at.review.taken_out[at.on.third]
        assert not at.review.is_due


TROUBLES = {
    "it is broken": Failure(502, method="GET"),
    "it breaks at the change": Failure(503, method="PATCH"),
    "too often": Failure(429, {"Retry-After": "3000"}, method="PATCH"),
    "the answer is lost": Failure(trouble="lost", method="PATCH"),
    "it hangs": Failure(trouble="hang", method="GET"),
    "no JSON": Failure(trouble="garbage", method="GET"),
}


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_it_is_tried_again_while_the_branch_is_done(tmp_path: Path, trouble: str) -> None:
    async with offered(tmp_path) as at:
        at.github.fail(TROUBLES[trouble])
        at.timeout = 1.0 if trouble == "it hangs" else at.timeout
        await at.said(Verdict.DROPPED, at.on.third)
        at.timeout = 30.0
        [said] = at.review.told
        assert said.startswith("the text of the pull request does not say it yet: GitHub")
        reverted = at.on.tip(at.on.remote)
        assert dict(at.review.taken_out) == {at.on.third: reverted}
        assert (at.review.due, at.review.is_due) == ((), True)
        waits = 3000 if trouble == "too often" else 15
        at.world.wait(waits - 1)
        assert at.world.pending(Revise) == []
        at.world.wait(2).restart()
        at.world.catch_up()
        await at.revised()
        assert "**dropped**" in at.row(FLAKY)
        assert (at.review.told, at.review.is_due, at.on.tip(at.on.remote)) == ((), False, reverted)
        assert not at.github.failures


async def test_a_change_whose_answer_was_lost_is_not_made_twice(tmp_path: Path) -> None:
    async with offered(tmp_path) as at:
        at.github.fail(Failure(trouble="lost", method="PATCH"))
        await at.said(Verdict.DROPPED, at.on.third)
        text = at.text
        at.world.wait(60)
        await at.revised()
        assert (at.text, at.writes, at.review.told) == (text, 1, ())


REFUSALS = {
    "closed": CLOSED,
    "token": "GitHub does not accept the token (renew the credential)",
    "gone": "GitHub lets the token do nothing in ann/shop",
    "elsewhere": "is none of GitHub's",
    "long": TOO_LONG,
}


@pytest.mark.parametrize("why", REFUSALS)
async def test_what_can_not_be_done_is_said_once_and_not_tried_again(tmp_path: Path, why: str) -> None:
    async with offered(tmp_path) as at:
        match why:
            case "closed":
                at.github.pulls[0]["state"] = "closed"
            case "token":
                at.where = replace(at.where, token=lambda: "expired")
            case "gone":
                at.branch = replace(at.branch, pull_request=f"{at.github.url}/ann/shop/pull/77")
            case "elsewhere":
                at.branch = replace(at.branch, pull_request="https://forge/ann/shop/merge_requests/1")
            case _:
                at.text += "\n" + "x" * (marks.MOST_TEXT - len(at.text))
        before = at.text
        await at.said(Verdict.DROPPED, at.on.third)
        [said] = at.review.told
        assert REFUSALS[why] in said
        assert said.startswith("the text of the pull request is as it was") or why == "closed"
        at.world.wait(7200)
        assert (at.text, at.writes, at.world.pending(Revise)) == (before, 0, [])
        assert set(at.review.taken_out) == {at.on.third}


async def test_reasons_give_way_where_there_is_little_room(tmp_path: Path) -> None:
    async with offered(tmp_path) as at:
        at.text += "\n" + "x" * (marks.MOST_TEXT - len(at.text) - 400)
        await at.said(Verdict.DROPPED, at.on.third, reason="y" * 290)
        assert f"- {at.on.third[:12]} by ann; reverted by" in at.text
        assert (len(at.text) <= marks.MOST_TEXT, at.review.told) == (True, ())


async def test_what_is_still_on_the_branch_of_the_pull_request_is_not_called_dropped(tmp_path: Path) -> None:
    """A colleague's commit there changes the same lines."""
    async with offered(tmp_path) as at:
        at.on.colleague(app__py=TEXT.replace("one", "ONE!").upper().replace("THREE", "THREE?"))
        before = at.text
        await at.said(Verdict.DROPPED, at.on.third)
        assert set(at.review.taken_out) == {at.on.third}
        assert (at.text, at.writes) == (before, 0)
        assert "in the pull request: it can't be reverted alone" in at.review.told[0]
        git(at.on.remote, "update-ref", f"refs/heads/{BRANCH}", at.on.third)
        await at.said(Verdict.ACCEPTED, at.on.third)
        assert at.text == before


def test_no_word_of_an_agent_is_a_mark() -> None:
    """A mark is a line of its own, and a test's name, the only thing that is quoted as it is, is none."""
    hostile = f"`{marks.END}` `{marks.DROPPED}` `~~aaaaaaaaaaaa~~`"
    text = f"{marks.begin('p', 'b')}\n1. {hostile} {'b' * 12}\n\n{marks.END}"
    dropped = [marks.Dropped("b" * 40, "ann")]
    told = marks.amended(text, dropped, [])
    assert f"1. ~~{hostile} {'b' * 12}~~ **dropped**" in told
    assert marks.amended(told, dropped, []) == told
    assert marks.amended(told, [], ["b" * 40]) == text
