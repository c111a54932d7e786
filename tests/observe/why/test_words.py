"""What the paragraphs say: the cause, and what would change it."""

import json
from datetime import timedelta, timezone

import pytest

from supervisor.errors import NoSuchThing
from supervisor.model import event as ev
from supervisor.model.effect import Collect, Integrate, Launch, Release, Verify
from supervisor.model.profile import Profile
from supervisor.observe import snapshot
from supervisor.observe.why import explain, of_sealed_batch, of_sealed_job, why
from tests.flow.test_judgement import judged
from tests.flow.world import World
from tests.observe.why.asking import check, check_words
from tests.observe.why.worlds import backing_off, parked, running, vanished, verifying


def said(world: World, subject: str) -> str:
    check(world.state, world.now)
    return why(world.state, subject, world.now)


def test_a_job_waits_for_a_slot_behind_others() -> None:
    world = World(local=2).submit("low", 9).submit("high", 3, priority=1)
    text = said(world, "low.7")
    assert "low.7 waits for a slot, behind 3 jobs of higher priority and 4 of its own batch." in text
    assert "The pool local is full: 2 of 2 slots in use." in text
    assert "`supervisorctl slots local 3` makes one more." in text
    assert "first in line" in said(world, "high.1")
    assert "behind 6 jobs of its own batch, in turn with 8 jobs" in said(
        world.submit("other", 8).happens(ev.BatchCancelled(world.now, "high")), "low.9"
    )


def test_what_is_cancelled_is_not_before_anything() -> None:
    world = World(local=1).submit(tests=5).cancel(3)
    assert "behind 1 job of its own batch" in said(world, "b.4")


def test_a_pause_has_an_author_a_time_and_an_end() -> None:
    world = World(local=0).submit(tests=2)
    world.happens(ev.BatchPaused(world.now, "b", author="alice"))
    world.happens(ev.QueuePaused(world.now, author="bob", reason="the disk is full")).wait(600)
    for subject in ("b", "b.2"):
        text = said(world, subject)
        assert "The batch b was paused by alice at 12:00 UTC, 10 min ago. `supervisorctl resume b` ends that." in text
        assert "The queue was paused by bob at 12:00 UTC, 10 min ago: the disk is full." in text
    world.happens(ev.BatchResumed(world.now, "b"), ev.QueueResumed(world.now))
    assert "paused" not in said(world, "b.2")


def test_a_stop_says_who_has_to_act() -> None:
    world = running().submit("c", 2)
    world.happens(ev.BatchStopped(world.now, "b", reason="login", detail="the model's provider refuses the login"))
    assert "refuses the login. Solve that, then run `supervisorctl resume b`." in said(world, "b")


def test_a_window_says_when_it_opens() -> None:
    profile = Profile(window="22:00-06:00", timezone="Europe/Berlin")
    world = World(local=1).submit(tests=1, profile=profile)
    assert "window 22:00-06:00 (Europe/Berlin), which is closed. It opens at 21:00 UTC (in 9 h 00 min)." in said(
        world, "b.1"
    )
    there = explain(world.state, "b.1", world.now, timezone(timedelta(hours=1)))
    assert "It opens at 22:00 (in 9 h 00 min)." in there.text


def test_a_profile_limits_its_batch() -> None:
    world = World(local=4).submit(tests=3, profile=Profile(slots=1)).do(Launch)
    assert "Its batch has 1 agent; its profile default allows no more at once." in said(world, "b.2")


def test_pools_say_why_they_launch_nothing() -> None:
    failing = World(local=1).submit(tests=1).happens()
    launch = failing.pending(Launch)[0]
    event = ev.LaunchFailed(
        failing.now, *launch.attempt.key, reason="provider", detail="mngr create failed: no space"
    )
    failing.answer(launch, event)
    assert (
        "rests until 12:00 UTC (in 5 s), because its provider local failed to launch an agent: mngr create"
        in said(failing, "local")
    )
    assert "The pool local rests" in said(failing, "b.1")
    closed = World(local=0).submit(tests=1)
    assert "The pool local has no slots. `supervisorctl slots local 4` opens it." in said(closed, "b.1")
    gone = World(local=1).submit(tests=2).happens(ev.PoolsConfigured(0))
    assert "The pool local was removed from the configuration." in said(gone, "b.2")
    idle = World(local=3)
    assert "It has 0 of 3 slots in use, and no job that may use it waits" in said(idle, "local")
    held = World(local=3).submit(tests=2).happens()
    held = World(local=3).happens(ev.QueuePaused(held.now, author="ann")).submit(tests=2)
    assert "It has room, but 2 jobs of b can't be launched: The queue was paused by ann" in said(held, "local")


def test_a_pool_that_puts_many_agents_away_says_so() -> None:
    world = World(local=1, verify_slots=1).submit(tests=5)
    for job in (1, 2):
        world.do(Launch).publish(job).do(Collect)
    assert "The pool local has 2 agents that still have to be put away." in said(world, "b.3")


def test_a_launch_rate_is_said() -> None:
    world = World(ev.PoolSpec("cloud", "modal", 9, agents_per_host=1, launch_rate=0.05))
    world.submit(tests=3, profile=Profile(pools=("cloud",)))
    assert "Jobs wait for modal, which is asked for 3 new hosts a minute." in said(world, "b.3")
    assert "Jobs wait for modal" in said(world, "cloud")


def test_hosts_that_are_avoided_are_named() -> None:
    world = World(ev.PoolSpec("ssh", "pool", 4, hosts=("left", "right")))
    world.submit(tests=1, profile=Profile(pools=("ssh",))).fail(Launch, "timeout")
    assert "A launch on its host left failed, so its other hosts go first until 12:05 UTC" in said(world, "ssh")


def test_a_back_off_says_after_what_and_until_when() -> None:
    text = said(backing_off(), "b.1")
    assert "b.1 is queued again. It went back into the queue: unlaunched. It is ready to be tried again at" in text
    assert "1 job will be tried again. The first is ready at" in said(backing_off(), "b")


def test_an_agent_says_what_it_is_at() -> None:
    world = running()
    assert "Its agent sv-b-1-1 works in the pool local" in said(world, "b.1")
    assert "or at 13:00 UTC (in 1 h 00 min), its time limit." in said(world, "b.1")
    world.happens(ev.AgentHindered(world.now, "b", 1, 1, problem="limit", detail="resets at 20:00"))
    assert "provider refuses to serve it (limit): resets at 20:00. That uses up no retry" in said(world, "b.1")
    assert "Of b.1: its model's provider refuses" in said(world, "b")
    quiet = running()
    quiet.happens(ev.AgentFellQuiet(quiet.now, "b", 1, 1, since=quiet.now - 60))
    assert "It shows no activity since 11:59 UTC (1 min)." in said(quiet, "b.1")
    lost = running()
    lost.happens(ev.AgentFellQuiet(lost.now, "b", 1, 1, since=lost.now - 60, waits=True, unheard=True))
    assert "It has not begun and waits for input since 11:59 UTC (1 min), and was reminded at" in said(lost, "b.1")


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("notify", "Answer it with `mngr connect sv-b-1-1`."),
        ("deny", "The daemon answers no (`on_parked`)."),
        ("time-out", "It is given up at 12:15 UTC (in 15 min), unless it goes on before (`on_parked`)."),
    ],
)
def test_a_parked_agent_says_what_it_asks_and_who_answers(policy: str, words: str) -> None:
    world = World(local=1).submit(tests=1, profile=Profile(on_parked=policy)).do(Launch)
    world.record(ev.JobParked(world.now, "b", 1, 1, question="May I run\n\x1b[31mrm -rf build?"))
    text = said(world, "b.1")
    assert "asks for permission: May I run [31mrm -rf build?" in text
    assert words in text
    assert "asks for permission" in said(world, "b")


def test_a_spent_budget_says_what_becomes_of_agents() -> None:
    world = World(local=2).submit(tests=3, profile=Profile(budget_tokens=10)).do(Launch)
    world.happens(ev.UsageCounted(world.now, "b", 1, 1, input=11))
    text = said(world, "b.1")
    assert "It was told to finish: the budget of 10 tokens is spent (11 were used)." in text
    assert "What is not published by 12:05 UTC (in 5 min) is rescued." in text
    assert "The batch is stopped for good: the budget of 10 tokens is spent" in said(world, "b")
    assert "the budget of 10 tokens is spent" in said(world, "b.3")


def test_work_on_its_way_home_says_what_failed() -> None:
    world = running().publish().fail(Collect, "connection refused")
    assert "That failed once: connection refused. It is tried again at 12:00 UTC (in 10 s)." in said(world, "b.1")
    assert "Its agent ended without publishing: gone. Whatever work it left is being rescued." in said(
        vanished(), "b.1"
    )
    kept = vanished().do(Collect).fail(Release, "no such host")
    assert "Its agent sv-b-1-1 is being stopped and kept. That failed once: no such host." in said(kept, "b.1")


def test_claims_wait_behind_others() -> None:
    world = World(local=4, verify_slots=1).submit(tests=5, profile=Profile(verify_group=1)).do(Launch)
    world.happens(ev.QueuePaused(world.now))
    for job in (1, 2, 3, 4):
        world.publish(job)
    world.do(Collect)
    text = said(world, "b.4")
    assert "b.4 waits to be verified. It waits for the verify slot (1 of 1 in use), with 2 claims before it." in text
    assert "Its claim is run again in clean checkouts, by itself." in said(world, "b.1")


def test_a_group_says_how_many_are_in_it_and_that_it_settled_nothing() -> None:
    world = World(local=4, verify_slots=1).submit(tests=5).do(Launch)
    world.happens(ev.QueuePaused(world.now))
    for job in (1, 2, 3, 4):
        world.publish(job).do(Collect).gather()
    world.do(Verify)
    assert "Its claim is run again in clean checkouts, together with 2 other claims." in said(world, "b.2")
    world.fail(Verify)
    assert "Runs with others could not settle it, so it is verified by itself." in said(world, "b.3")


def test_a_job_that_is_over_says_what_becomes_of_its_work() -> None:
    world = World(local=1).submit(tests=3).do(Launch).publish().do(Collect)
    key = world.pending(Verify)[0].keys[0]
    verdict = ev.WorkVerified(
        world.now, *key, "failed", "the claim is refuted", "refused", "skipped-test: it skips", runs=4, passed=1
    )
    world.answer(world.pending(Verify)[0], verdict)
    text = said(world, "b.1")
    assert "b.1 is over: failed. It ended as failed: the claim is refuted." in text
    assert "Its claim is refused, 1 of 4 runs passed: skipped-test: it skips." in text
    assert "The integration of its batch starts when 2 more jobs are over. `supervisorctl retry b.1`" in text
    assert "refs/supervisor/b/1/1" in text


def test_a_cancelled_job_says_by_whom() -> None:
    world = World(local=0).submit(tests=2).cancel(1)
    assert "b.1 is cancelled. It was cancelled by ann." in said(world, "b.1")
    late = running().submit("c", 2).happens(ev.BatchCancelled(0, "b", author="eve"))
    assert "It was cancelled by eve. 1 job of it still has an agent" in said(late, "b")


def test_integrations_say_what_failed_and_what_needs_judgement() -> None:
    world = verifying().do(Verify).fail(Integrate, "disk full")
    assert "Its integration failed: disk full. It is tried again at 12:00 UTC (in 10 s)." in said(world, "b")
    text = said(judged(), "b")
    assert "Merging its work needs judgement: an agent does that as b.0, which is launching." in text
    assert "is being launched" in said(judged(), "b.0")
    paused = World(local=1).submit(tests=1).do(Launch)
    paused.publish().do(Collect, Verify).happens(ev.QueuePaused(paused.now))
    paused.happens(ev.JudgementWanted(paused.now, "b", 1, why="two fixes conflict"))
    assert "Merging needs judgement: two fixes conflict." in said(paused, "b.0")


def test_what_is_finished_says_what_is_left() -> None:
    world = verifying().do(Verify).do(Integrate)
    text = said(world, "b")
    assert "Its jobs are over, and its branch is supervisor/b." in text
    assert "1 agent of it has still to be put away." in text


def sealed(world: World) -> tuple[str, str]:
    found = snapshot.seal(world.state.batches["b"])
    return found.status, found.jobs


def test_a_sealed_batch_is_told_from_its_summary() -> None:
    status, jobs = sealed(verifying().do(Verify).do(Integrate))
    answer = of_sealed_batch(status)
    check_words(answer)
    assert "Its branch is supervisor/b. Its ledger: 1 rescued." in answer.text
    assert "supervisorctl report b" in answer.text
    job = of_sealed_job(json.loads(jobs)["rows"][0])
    check_words(job)
    assert "It ended as fixed after 1 attempt. The ledger says rescued: kept under refs/supervisor/b/1/1." in job.text


def test_and_so_is_a_cancelled_one() -> None:
    world = verifying()
    world.happens(ev.BatchCancelled(world.now, "b", author="ann"), ev.JobCancelled(world.now, "b", 1, author="ann"))
    status, jobs = sealed(world)
    assert "It was cancelled by ann, so nothing was merged." in of_sealed_batch(status).text
    check_words(of_sealed_job(json.loads(jobs)["rows"][0]))


def test_what_older_versions_kept_is_enough() -> None:
    old: dict[str, object] = {"id": "b", "state": "finished", "finished_at": "2025-01-15T12:00:00Z", "branch": None}
    old |= {"jobs": {"total": 1}, "outcomes": {"clean": 1}, "ledger": {"empty": 1}}
    assert "Nothing was merged. Its ledger: 1 empty." in of_sealed_batch(json.dumps({"batch": old})).text
    row = {"id": "b.1", "state": "done", "outcome": "clean", "ledger": "empty", "attempts": 1}
    assert "It ended as clean after 1 attempt. The ledger says empty." in of_sealed_job(row).text


def test_nothing_is_said_of_what_there_is_not() -> None:
    with pytest.raises(NoSuchThing):
        why(World(local=1).state, "zzz", 0)
    with pytest.raises(NoSuchThing):
        why(parked().state, "b.9", 0)


def test_a_fleet_waits_for_its_canaries() -> None:
    world = World(local=4).submit(tests=20, profile=Profile(canaries=2)).do(Launch)
    text = said(world, "b.9")
    assert "In its batch the fleet waits for its 2 canaries to come through: 0 of 2 did." in text


def test_a_breaker_and_a_broken_base_say_what_to_look_at() -> None:
    world = World(local=1).submit(tests=9).do(Launch)
    world.happens(ev.BreakerTripped(world.now, "b", "5 jobs failed", "working", "failed", is_mixed=True))
    assert "The breaker has stopped the batch: 5 jobs failed." in said(world, "b.9")
    world = World(local=1).submit(tests=9).do(Launch)
    world.happens(ev.BatchStopped(world.now, "b", "survey", "all 3 tests fail for one reason: no such tool"))
    assert "stopped before more agents are paid: all 3 tests fail for one reason" in said(world, "b.9")
    assert "Mend the base, or go on as it is with `supervisorctl resume b`." in said(world, "b")
