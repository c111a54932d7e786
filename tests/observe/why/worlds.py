"""Worlds in which job `b.1`, batch `b` or pool `local` is in each state, and what can happen there."""

from collections.abc import Callable, Mapping

from supervisor.flow import batches
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import BatchState
from supervisor.model.effect import Collect, Integrate, Launch, Release, RunAtBase, Verify
from supervisor.model.job import JobState
from supervisor.model.profile import Profile
from tests.flow.test_judgement import judged
from tests.flow.world import World

type Made = Callable[[], World]


def queued() -> World:
    return World(local=0).submit(tests=2)


def backing_off() -> World:
    return World(local=1).submit(tests=1).fail(Launch, "garbage").do(Release)


def sibling() -> World:
    """Its sibling, b.2, goes first: this one was cancelled and retried."""
    world = World(local=0).submit(tests=2, profile=Profile(survey="full", hold_siblings=True))
    return world.do(RunAtBase).cancel(1).retry(1)


def held() -> World:
    world = sibling()
    return world.happens(ev.JobHeld(world.now, "b", 1, first=2, place="tests/conftest.py:4 in shop"))


def on_trial() -> World:
    world = held()
    return world.happens(ev.FixBorrowed(world.now, "b", 1, from_job=2, head="c0de"))


def launching() -> World:
    return World(local=1).submit(tests=1)


def running() -> World:
    return World(local=1).submit(tests=1).do(Launch)


def quiet() -> World:
    world = running()
    return world.happens(ev.AgentFellQuiet(world.now, "b", 1, 1, since=world.now - 60))


def parked() -> World:
    world = running()
    return world.happens(ev.JobParked(world.now, "b", 1, 1, question="May I run rm -rf build?"))


def published() -> World:
    return running().publish()


def vanished() -> World:
    return running().vanish()


def rescued() -> World:
    return vanished().do(Collect)


def to_verify() -> World:
    return World(local=1, verify_slots=0).submit(tests=1).do(Launch).publish().do(Collect)


def verifying() -> World:
    return published().do(Collect)


def done() -> World:
    return World(local=1).submit(tests=2).do(Launch).publish().do(Collect, Verify, Release)


def cancelled() -> World:
    return queued().cancel(1)


#: worlds in which the job b.1 is in this state, in all the ways that matter
JOBS: Mapping[JobState, tuple[Made, ...]] = {
    JobState.QUEUED: (queued, backing_off, sibling),
    JobState.HELD: (held,),
    JobState.LAUNCHING: (launching,),
    JobState.RUNNING: (running, quiet),
    JobState.PARKED: (parked,),
    JobState.COLLECTING: (published, vanished, rescued),
    JobState.VERIFYING: (to_verify, verifying, on_trial),
    JobState.DONE: (done,),
    JobState.CANCELLED: (cancelled,),
}

ONE = AttemptKey("b", 1, 1)

#: what happens to the job b.1 or its first agent, one event of each kind
HAPPENS: Mapping[type[ev.Event], Callable[[float], ev.Event]] = {
    ev.LaunchStarted: lambda at: ev.LaunchStarted(at, *ONE, "agent-1", "sv-b-1-1", "local", "local"),
    ev.LaunchSucceeded: lambda at: ev.LaunchSucceeded(at, *ONE, host_id="host"),
    ev.LaunchFailed: lambda at: ev.LaunchFailed(at, *ONE, reason="timeout", detail="no answer within 60 s"),
    ev.LaunchInterrupted: lambda at: ev.LaunchInterrupted(at, *ONE, host_id="host"),
    ev.WorkPublished: lambda at: ev.WorkPublished(at, *ONE),
    ev.AgentVanished: lambda at: ev.AgentVanished(at, *ONE, detail="killed"),
    ev.TimeRanOut: lambda at: ev.TimeRanOut(at, *ONE),
    ev.AgentFellQuiet: lambda at: ev.AgentFellQuiet(at, *ONE, since=at - 60, waits=True),
    ev.AgentStirred: lambda at: ev.AgentStirred(at, *ONE),
    ev.NudgeStarted: lambda at: ev.NudgeStarted(at, *ONE, reason="silent"),
    ev.AgentNudged: lambda at: ev.AgentNudged(at, *ONE),
    ev.AgentStalled: lambda at: ev.AgentStalled(at, *ONE, detail="no activity for 600 s"),
    ev.AgentHalted: lambda at: ev.AgentHalted(at, *ONE, detail="a cap was reached"),
    ev.WakingDeclined: lambda at: ev.WakingDeclined(at, *ONE, detail="its account is paused for long"),
    ev.AgentHindered: lambda at: ev.AgentHindered(at, *ONE, problem="limit", detail="resets at 20:00"),
    ev.JobParked: lambda at: ev.JobParked(at, *ONE, question="May I?"),
    ev.JobUnparked: lambda at: ev.JobUnparked(at, *ONE),
    ev.JobCancelled: lambda at: ev.JobCancelled(at, "b", 1, author="ann"),
    ev.JobHeld: lambda at: ev.JobHeld(at, "b", 1, first=2, place="tests/conftest.py:4 in shop"),
    ev.FixBorrowed: lambda at: ev.FixBorrowed(at, "b", 1, from_job=2, head="c0de"),
    ev.JobFreed: lambda at: ev.JobFreed(at, "b", 1, why="the work of b.2 does not suffice"),
    ev.JobReady: lambda at: ev.JobReady(at, "b", 1),
    ev.CollectStarted: lambda at: ev.CollectStarted(at, *ONE),
    ev.CollectFailed: lambda at: ev.CollectFailed(at, *ONE, detail="connection refused", retry_at=at + 10),
    ev.PublicationRefused: lambda at: ev.PublicationRefused(at, *ONE, reason="path-escape", detail="it names /etc"),
    ev.WorkCollected: lambda at: ev.WorkCollected(at, *ONE, claim="fixed", head="c0de", commits=1),
    ev.WorkRescued: lambda at: ev.WorkRescued(at, *ONE),
    ev.JobRequeued: lambda at: ev.JobRequeued(at, "b", 1, why="vanished: killed", ready_at=at),
    ev.JobEnded: lambda at: ev.JobEnded(at, "b", 1, outcome="failed", detail="it does not pass"),
    ev.VerifyStarted: lambda at: ev.VerifyStarted(at, *ONE),
    ev.WorkPutBack: lambda at: ev.WorkPutBack(at, *ONE, most=1, detail="red"),
    ev.WorkVerified: lambda at: ev.WorkVerified(at, *ONE, outcome="fixed"),
    ev.JobRetried: lambda at: ev.JobRetried(at, "b", 1, author="ann"),
}


# --- batches


def drained() -> World:
    return verifying().do(Verify)


def merged() -> World:
    """Integrated, with its agent still to be put away."""
    return drained().do(Integrate)


def merging_one_by_one() -> World:
    """A partial integration is under way."""
    world = done()
    return world.happens(ev.PartialWanted(world.now, "b", author="ann"))


def called_off() -> World:
    world = running()
    return world.happens(ev.BatchCancelled(world.now, "b", author="ann"))


def called_off_while_merging() -> World:
    world = merging_one_by_one()
    return world.happens(ev.BatchCancelled(world.now, "b", author="ann"))


def called_off_and_over() -> World:
    """All its jobs are over, one agent is still to be put away."""
    world = verifying()
    return world.happens(ev.BatchCancelled(world.now, "b", author="ann"), ev.JobCancelled(world.now, "b", 1, "ann"))


def over_before_it_began() -> World:
    """Nothing that is due has begun."""
    world = World(local=0).submit(tests=1)
    world.record(ev.JobCancelled(world.now, "b", 1, author="ann"))
    return world


def just_over() -> World:
    world = verifying()
    world.record(ev.JobEnded(world.now, "b", 1, outcome="fixed"))
    return world


def outside_its_window() -> World:
    return World(local=1).submit(tests=1, profile=Profile(window="22:00-06:00"))


BATCHES: Mapping[BatchState, tuple[Made, ...]] = {
    BatchState.QUEUED: (queued, outside_its_window, cancelled, over_before_it_began),
    BatchState.RUNNING: (running, merging_one_by_one, done, vanished, to_verify, backing_off, just_over),
    BatchState.INTEGRATING: (drained, judged),
    BatchState.FINISHED: (merged,),
    BatchState.CANCELLED: (called_off, called_off_while_merging, called_off_and_over),
}


#: what happens to the batch b
BEFALLS: Mapping[type[ev.Event], Callable[[World], ev.Event]] = {
    ev.LaunchStarted: lambda w: HAPPENS[ev.LaunchStarted](w.now),
    ev.BatchCancelled: lambda w: ev.BatchCancelled(w.now, "b", author="ann"),
    ev.BatchStopped: lambda w: ev.BatchStopped(w.now, "b", reason="login", detail="the provider refuses the login"),
    ev.BreakerTripped: lambda w: ev.BreakerTripped(w.now, "b", "5 jobs failed", "verify", "failed", is_mixed=True),
    ev.IntegrationStarted: lambda w: ev.IntegrationStarted(w.now, "b", 1),
    ev.IntegrationResumed: lambda w: ev.IntegrationResumed(w.now, "b", 1),
    ev.IntegrationFailed: lambda w: ev.IntegrationFailed(w.now, "b", 1, detail="disk full", retry_at=w.now + 60),
    ev.JudgementWanted: lambda w: ev.JudgementWanted(w.now, "b", 1, why="two fixes conflict"),
    ev.IntegrationEnded: lambda w: ev.IntegrationEnded(w.now, "b", 1, batches.unmerged(w.batch()), "supervisor/b"),
    ev.BatchFinished: lambda w: ev.BatchFinished(w.now, "b", batches.unmerged(w.batch())),
    ev.BatchSealed: lambda w: ev.BatchSealed(w.now, "b"),
    ev.PartialWanted: lambda w: ev.PartialWanted(w.now, "b", author="ann"),
    ev.PartialStarted: lambda w: ev.PartialStarted(w.now, "b", 1, jobs=(1,)),
    ev.PartialResumed: lambda w: ev.PartialResumed(w.now, "b", 1),
    ev.PartialFailed: lambda w: ev.PartialFailed(w.now, "b", 1, detail="disk full", retry_at=w.now + 60),
    ev.PartialEnded: lambda w: ev.PartialEnded(w.now, "b", 1, branch="supervisor/b"),
}
