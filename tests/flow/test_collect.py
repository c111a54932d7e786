"""Work is brought home before anything else, judged, and its agent put away."""

import pytest

from supervisor.model import event as ev
from supervisor.model.attempt import Stage
from supervisor.model.effect import Collect, Integrate, Launch, Release, Verify
from supervisor.model.job import Ending, How, JobState
from supervisor.model.outcome import Outcome
from supervisor.model.profile import Profile
from tests.flow.world import RETRY_SECONDS, World


def published(**profile: object) -> World:
    return World(local=1).submit(profile=Profile(**profile)).do(Launch).publish()  # type: ignore[arg-type]


def test_what_is_published_is_collected_and_nothing_else_is_taken_for_it() -> None:
    world = published()
    assert [effect.rescue for effect in world.pending(Collect)] == [False]
    assert world.refuses(ev.WorkRescued(world.now, "b", 1, 1))


def test_what_is_not_published_is_rescued_and_counts_as_no_work() -> None:
    world = World(local=1).submit().do(Launch).vanish()
    assert world.refuses(ev.WorkCollected(world.now, "b", 1, 1, claim="fixed"))
    assert world.refuses(ev.PublicationRefused(world.now, "b", 1, 1, reason="bomb"))


def test_collecting_is_tried_until_it_succeeds_and_the_slot_is_held_so_long() -> None:
    world = published()
    for tries in (1, 2, 3):
        world.fail(Collect)
        assert world.last_attempt().tries == tries
        assert not world.pending(Collect)
        world.wait(RETRY_SECONDS)
    assert world.pool().busy == 1
    world.do(Collect)
    assert (world.pool().busy, world.last_attempt().tries) == (0, 0)


def test_a_late_answer_makes_the_next_try_needless() -> None:
    world = published().fail(Collect)
    world.happens(ev.WorkCollected(world.now, "b", 1, 1, claim="fixed")).wait(RETRY_SECONDS)
    assert not world.pending(Collect)
    world.fail(Release).happens(ev.AgentReleased(world.now, "b", 1, 1)).wait(RETRY_SECONDS)
    assert not world.pending(Release)
    assert not world.state.attempts


def test_a_refused_publication_is_rescued_and_its_job_goes_again() -> None:
    world = published()
    effect = world.pending(Collect)[0]
    world.answer(effect, ev.PublicationRefused(world.now, "b", 1, 1, reason="path-escape", detail="../../etc"))
    assert world.job().ending == Ending(How.REFUSED, "../../etc", "path-escape")
    assert [effect.rescue for effect in world.pending(Collect)] == [True]
    world.do(Collect, Release)
    assert (world.job().attempts, world.job().setbacks.retries) == (2, 1)


def test_the_job_ends_while_its_agent_is_put_away() -> None:
    world = published().do(Collect, Verify)
    assert world.job().state is JobState.DONE
    assert world.last_attempt().stage is Stage.RELEASING


def test_verification_has_the_last_word() -> None:
    assert published().do(Collect).fail(Verify).job().outcome is Outcome.FAILED


def test_the_verdict_on_an_earlier_attempt_says_nothing_of_the_next() -> None:
    """A person cancels a job while it is verified and has it worked on again; the first verdict comes late."""
    world = World(local=1).submit(tests=2).do(Launch).publish().do(Collect, Release).cancel(1).retry(1).cancel(2)
    world.do(Launch, Collect, Release, Launch).publish(1).do(Collect)
    assert world.job(1).attempts == 2
    assert world.refuses(ev.WorkVerified(world.now, "b", 1, 1, outcome="failed"))


def test_putting_away_is_tried_until_it_succeeds_and_holds_up_only_the_seal() -> None:
    world = published().do(Collect, Verify, Integrate)
    for _ in range(3):
        world.fail(Release).wait(RETRY_SECONDS)
    assert world.batch().finished_at is not None
    assert not world.do(Release).state.batches


@pytest.mark.parametrize(
    ("policy", "of_the_published", "of_the_lost"),
    [("all", True, True), ("failed", False, True), ("none", False, False)],
)
def test_agents_are_kept_by_policy(policy: str, of_the_published: bool, of_the_lost: bool) -> None:
    well = published(keep_agents=policy).do(Collect)
    assert [effect.attempt.keep for effect in well.pending(Release)] == [of_the_published]
    lost = World(local=1).submit(profile=Profile(keep_agents=policy)).do(Launch).vanish().do(Collect)
    assert [effect.attempt.keep for effect in lost.pending(Release)] == [of_the_lost]


def test_rescued_commits_are_remembered_with_the_job() -> None:
    world = World(local=1).submit(profile=Profile(retries=0)).do(Launch).vanish()
    world.answer(world.pending(Collect)[0], ev.WorkRescued(world.now, "b", 1, 1, head="beef", commits=2))
    world.do(Release)
    assert (world.job().outcome, world.job().brought.head, world.job().brought.commits) == (Outcome.LOST, "beef", 2)
