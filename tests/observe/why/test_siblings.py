"""What is said of jobs that are held for a sibling, and of those that wait until their file was run at the base."""

from supervisor.model.effect import Collect, Launch, RunAtBase, Verify
from supervisor.model.profile import Profile
from supervisor.observe import snapshot
from tests.flow.world import World
from tests.observe.why.test_words import said

HOLDING = Profile(survey="full", hold_siblings=True)


def holding() -> World:
    return World(local=2).submit(tests=2, profile=HOLDING).do(RunAtBase)


def test_a_job_waits_until_its_file_was_run_at_the_base() -> None:
    world = World(local=2).submit(tests=2, profile=HOLDING)
    text = "Jobs of its batch are launched after their files were run at the base; next is tests/test_it.py of b.1."
    assert text in said(world, "b.1")
    assert text in said(world, "b")


def test_one_that_is_held_names_the_sibling_and_the_place() -> None:
    text = said(holding(), "b.2")
    assert text.startswith(
        "b.2 is held for a sibling, b.1. At the base both fail at one place of the code that they share"
    )
    assert "tests/conftest.py:4 in shop" in text
    assert "b.1 is launching: when its work is verified, the test of this job is run with it" in text
    assert "1 job is held for b.1: tests/conftest.py:4 in shop" in said(holding(), "b").replace('"', "")


def test_while_it_is_tried_it_says_with_whose_work() -> None:
    world = holding().do(Launch).publish().do(Collect, Verify)
    assert "Its test is run with the work of b.1, by itself." in said(world, "b.2")


def test_status_counts_the_held_and_names_whom_they_wait_for() -> None:
    world = holding()
    view = snapshot.summary(world.batch())
    assert view["jobs"]["held"] == 1
    assert view["siblings"] == [{"place": "tests/conftest.py:4 in shop", "held": 1, "first": "b.1"}]
    assert [snapshot.row(world.batch(), world.job(number))["sibling"] for number in (1, 2)] == [None, "b.1"]
    done = snapshot.row(world.do(Launch).publish().do(Collect, Verify, Verify).batch(), world.job(2))
    assert (done["outcome"], done["sibling"]) == ("fixed-by-sibling", "b.1")
