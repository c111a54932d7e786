"""What people decide on the commits of a branch, and what the branch is asked for because of it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.errors import Refused
from supervisor.flow import reviewing
from supervisor.flow.requests import decide
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.effect import Revise
from supervisor.model.review import Review, ReviewedBranch, Verdict
from tests.flow.world import World, replayed

BRANCH = ReviewedBranch("/repo", "base", "supervisor/b", "head")
ONE, TWO, THREE = (letter * 40 for letter in "abc")


def reviewed(world: World, verdict: Verdict, *commits: str, author: str = "ann") -> list[ev.Event]:
    """A person asks; what it leads to."""
    request = rq.ReviewCommits("b", BRANCH, commits, verdict, author=author, reason="it cheats")
    events = decide(world.state, request, world.now)
    world.happens(*events)
    return events


def review(world: World) -> Review:
    return world.state.reviews["b"]


def test_an_accepted_commit_asks_for_nothing() -> None:
    world = World(local=1)
    assert reviewed(world, Verdict.ACCEPTED, ONE)
    assert review(world).verdict(ONE) is Verdict.ACCEPTED
    assert world.pending(Revise) == []


def test_a_dropped_commit_is_taken_out_once() -> None:
    world = World(local=1)
    reviewed(world, Verdict.DROPPED, ONE, TWO)
    [asked] = review(world).due[:1]
    assert (asked.commit, asked.author, asked.reason, asked.is_back) == (ONE, "ann", "it cheats", False)
    world.do(Revise)
    assert (set(review(world).taken_out), review(world).due) == ({ONE, TWO}, ())
    assert reviewed(world, Verdict.DROPPED, ONE, TWO, author="ben") == []
    assert world.pending(Revise) == []


def test_what_is_decided_while_the_branch_is_revised_is_done_next() -> None:
    world = World(local=1)
    reviewed(world, Verdict.DROPPED, ONE)
    reviewed(world, Verdict.DROPPED, TWO)
    [first] = world.pending(Revise)
    world.answer(first, ev.RevisionEnded(world.now, "b", first.number, {ONE: "r1"}))
    assert [each.commit for each in review(world).due] == [TWO]
    world.do(Revise)
    assert dict(review(world).taken_out) == {ONE: "r1", TWO: ""}


@pytest.mark.parametrize("verdict", [Verdict.ACCEPTED, Verdict.UNREVIEWED])
def test_who_thinks_better_of_it_gets_the_commit_back(verdict: Verdict) -> None:
    world = World(local=1)
    reviewed(world, Verdict.DROPPED, ONE)
    world.do(Revise)
    reviewed(world, verdict, ONE, author="ben")
    [back] = review(world).due
    assert (back.commit, back.author, back.is_back) == (ONE, "ben", True)
    world.do(Revise)
    assert not review(world).taken_out
    assert not review(world).due


def test_what_was_taken_back_in_time_is_never_done() -> None:
    world = World(local=1)
    reviewed(world, Verdict.DROPPED, ONE)
    world.fail(Revise)
    reviewed(world, Verdict.ACCEPTED, ONE)
    world.wait(3600)
    assert world.pending(Revise) == []
    assert len(world.told(ev.RevisionStarted)) == 1


def test_what_can_not_be_done_is_said_and_tried_again_when_it_is_asked_for_again() -> None:
    world = World(local=1)
    reviewed(world, Verdict.DROPPED, ONE)
    [effect] = world.pending(Revise)
    world.answer(effect, ev.RevisionEnded(world.now, "b", effect.number, problems={ONE: "it collides"}))
    assert review(world).problems[ONE] == "it collides"
    world.wait(3600).restart()
    assert world.pending(Revise) == []
    assert reviewed(world, Verdict.DROPPED, ONE)
    world.do(Revise)
    assert not review(world).problems
    assert set(review(world).taken_out) == {ONE}


def test_a_failure_is_tried_again_later() -> None:
    world = World(local=1)
    reviewed(world, Verdict.DROPPED, ONE)
    world.fail(Revise, "it is checked out")
    assert (review(world).trouble, review(world).tries) == ("it is checked out", 1)
    world.wait(60).do(Revise)
    assert (review(world).trouble, review(world).tries) == ("", 0)


def test_a_text_that_does_not_say_it_yet_is_tried_again_and_the_branch_is_not() -> None:
    world = World(local=1)
    reviewed(world, Verdict.DROPPED, ONE)
    [first] = world.pending(Revise)
    at, unsaid = world.now, "GitHub answers 502"
    ended = ev.RevisionEnded(at, "b", first.number, {ONE: "r1"}, out_there=(ONE,), unsaid=unsaid, retry_at=at + 60)
    world.answer(first, ended)
    assert (review(world).due, review(world).out_there, review(world).tries) == ((), (ONE,), 1)
    assert unsaid in review(world).told[0]
    world.wait(59)
    assert world.pending(Revise) == []
    world.wait(1).restart()
    [again] = world.pending(Revise)
    world.answer(again, ev.RevisionEnded(world.now, "b", again.number, out_there=(ONE,)))
    assert (dict(review(world).taken_out), review(world).told, review(world).tries) == ({ONE: "r1"}, (), 0)
    world.wait(3600)
    assert world.pending(Revise) == []


def test_a_batch_without_a_branch_is_not_reviewed() -> None:
    request = rq.ReviewCommits("b", replace(BRANCH, name=""), (ONE,), Verdict.DROPPED)
    with pytest.raises(Refused, match="batch b has no branch"):
        decide(World(local=1).state, request, 0.0)


def test_late_and_repeated_answers_mean_nothing() -> None:
    world = World(local=1)
    assert world.refuses(ev.RevisionStarted(world.now, "b", 1))
    reviewed(world, Verdict.DROPPED, ONE)
    assert world.refuses(ev.RevisionStarted(world.now, "b", 2))
    assert world.refuses(ev.RevisionEnded(world.now, "b", 7, {ONE: "r1"}))
    world.do(Revise)
    assert world.refuses(ev.RevisionEnded(world.now, "b", 1, {ONE: "r1"}))


def test_the_oldest_reviews_go_but_none_of_which_something_is_due() -> None:
    world = World(local=1)
    waits = rq.ReviewCommits("waits", BRANCH, (ONE,), Verdict.DROPPED)
    world.happens(*decide(world.state, waits, world.now))
    for number in range(reviewing.MOST_REVIEWS + 5):
        request = rq.ReviewCommits(f"b{number}", BRANCH, (ONE,), Verdict.ACCEPTED)
        world.happens(*decide(world.state, request, world.now + number))
    assert len(world.state.reviews) == reviewing.MOST_REVIEWS
    assert "waits" in world.state.reviews
    assert "b0" not in world.state.reviews


COMMITS = st.lists(st.sampled_from([ONE, TWO, THREE]), min_size=1, max_size=3, unique=True)
STEPS = st.one_of(
    st.tuples(st.sampled_from(Verdict), COMMITS),
    st.sampled_from(["done", "failed", "collides", "restart", "wait"]),
)


@given(st.lists(STEPS, max_size=15))
def test_in_the_end_the_branch_lacks_what_is_dropped_and_nothing_else(
    steps: list[tuple[Verdict, list[str]] | str],
) -> None:
    """Whatever is asked for, fails, collides and restarts in between; and never are two revisions under way."""
    world = World(local=1)
    for step in steps:
        _go(world, step)
        assert len(world.pending(Revise)) <= 1
    world.restart()
    for _ in range(4):
        world.wait(3600).do(Revise)
    for known in world.state.reviews.values():
        dropped = {commit for commit in (ONE, TWO, THREE) if known.verdict(commit) is Verdict.DROPPED}
        assert set(known.taken_out) ^ dropped <= set(known.problems)
    assert replayed(world.events) == replace(world.state)


def _go(world: World, step: tuple[Verdict, list[str]] | str) -> None:
    match step:
        case (verdict, commits):
            reviewed(world, Verdict(verdict), *commits)
        case "done":
            world.do(Revise)
        case "failed":
            world.fail(Revise)
        case "collides":
            for effect in world.pending(Revise):
                problems = {each.commit: "it collides" for each in world.state.reviews["b"].due}
                world.answer(effect, ev.RevisionEnded(world.now, "b", effect.number, problems=problems))
        case "restart":
            world.restart()
        case "wait":
            world.wait(10)
