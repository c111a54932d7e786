"""A history in which everything happens that can happen: told to the core, which decides what follows."""

from collections.abc import Sequence

from supervisor.flow.history import apply
from supervisor.flow.plan import plan
from supervisor.model import event as ev
from supervisor.model.account import AccountSpec, Budget, Caps
from supervisor.model.evidence import Evidence
from supervisor.model.ledger import Fate, LedgerRow
from supervisor.model.pressure import Pressure
from supervisor.model.profile import Profile
from supervisor.model.review import ReviewedBranch
from supervisor.model.state import State
from supervisor.model.survey import Surveyed
from supervisor.model.waking import Waking
from supervisor.ports import SealedBatch

#: a Tuesday, ten in the morning
TEN_O_CLOCK = 1_750_759_200.0
HEAD = "5e1f" * 10


class Story:
    def __init__(self, installation: str) -> None:
        self.state = State(installation=installation)
        self.events: list[ev.Event] = []
        self.now = TEN_O_CLOCK

    def tell(self, event: ev.Event) -> None:
        """It happened; and so does all that is due because of it."""
        self._add(event)
        while due := plan(self.state, self.now):
            for effect in due:
                self._add(effect.began)

    def _add(self, event: ev.Event) -> None:
        self.state = apply(self.state, event)
        self.events.append(event)
        self.now += 0.25

    def later(self, seconds: float) -> None:
        self.now += seconds
        self.tell(ev.DaemonStarted(self.now, version="0.1.0"))

    def batch[**P](self, kind: type[ev.BatchEvent], batch: str, **fields: object) -> None:
        self.tell(kind(self.now, batch, **fields))

    def job(self, kind: type[ev.JobEvent], batch: str, job: int, **fields: object) -> None:
        self.tell(kind(self.now, batch, job, **fields))

    def attempt(self, kind: type[ev.AttemptEvent], batch: str, job: int, **fields: object) -> None:
        """It happened to the last attempt of a job."""
        number = self.state.batches[batch].job(job).attempts
        self.tell(kind(self.now, batch, job, number, **fields))


def everything(installation: str) -> Sequence[ev.Event]:
    """One batch is integrated and sealed, one cancelled and sealed, one has just begun its work."""
    story = Story(installation)
    _the_daemon(story)
    _a_batch_with_every_trouble(story)
    _a_branch_that_is_reviewed(story)
    _a_batch_that_is_cancelled(story)
    _a_batch_that_needs_attention(story)
    _a_batch_of_siblings(story)
    story.batch(ev.BatchSubmitted, "third", repo="/srv/shop", base=HEAD, tests=("tests/test_a.py::test_open",))
    story.attempt(ev.LaunchSucceeded, "third", 1, host_id="host-1", adopted=True)
    return story.events


def seals(events: Sequence[ev.Event]) -> list[SealedBatch]:
    """The summaries of the batches that are sealed in these events."""
    return [
        SealedBatch(event.batch, TEN_O_CLOCK, event.at, status='{"state": "finished"}', jobs="[]")
        for event in events
        if isinstance(event, ev.BatchSealed)
    ]


def _the_daemon(story: Story) -> None:
    story.tell(ev.DaemonStarted(story.now, version="0.1.0"))
    story.tell(
        ev.PoolsConfigured(
            story.now, (ev.PoolSpec("local", "local", slots=4), ev.PoolSpec("far", "ssh", 2, ("a", "b")))
        )
    )
    story.tell(ev.SlotsChanged(story.now, "local", 6, author="ana"))
    story.tell(ev.LaunchRateChanged(story.now, "ssh", 2.0, refused=True))
    story.tell(ev.QueuePaused(story.now, author="ana", reason="new disk"))
    story.tell(ev.QueueResumed(story.now, author="ana"))
    story.tell(ev.OlderStateAccepted(story.now, last=3, acknowledged=5))
    story.tell(ev.QueueResumed(story.now, author="ana"))
    story.tell(ev.OrphanDestroyed(story.now, "agent-0", "sv-old-1-1"))
    _accounts_and_alerts(story)
    _a_scheduled_time(story)
    story.tell(
        ev.ClearingEnded(story.now, ("old",), ("refs/supervisor/old/1/1",), ("sv-old-2-1",), again_at=story.now)
    )


def _accounts_and_alerts(story: Story) -> None:
    spec = AccountSpec("spare", env={"KEY": "credential:spare"}, is_paid=True, caps=Caps(day_dollars=20.0), leave=0.2)
    story.tell(ev.AccountsConfigured(story.now, (spec,), Budget(Caps(week_tokens=10**9))))
    story.tell(ev.AccountPaused(story.now, "spare", "window", story.now + 60, "opus", "resets at 8pm"))
    story.tell(ev.AccountOpened(story.now, "spare", "window", "opus"))
    story.tell(ev.AccountWindowSeen(story.now, "spare", 300, 0.42, story.now + 7200, story.now))
    story.tell(ev.LevelChanged(story.now, "spare", 16, "all 8 agents were served"))
    story.tell(ev.PressureSeen(story.now, Pressure(9000, 16_000, 200_000, 900)))
    story.tell(ev.AlertRaised(story.now, "paused.queue", "paused", "", "the queue is paused for 1 h"))
    story.tell(ev.AlertResolved(story.now, "paused.queue", "paused", "", "the queue is paused for 1 h", "resumed"))


def _a_scheduled_time(story: Story) -> None:
    story.tell(ev.SchedulesConfigured(story.now, ("app",)))
    story.tell(ev.ScheduleHeld(story.now, "app", TEN_O_CLOCK, "batch old of the same profile is at work"))
    story.tell(ev.ScheduleSkipped(story.now, "app", TEN_O_CLOCK, "it has waited for six hours"))
    story.tell(ev.ScheduleStarted(story.now, "app", TEN_O_CLOCK + 1))
    story.tell(ev.ScheduleEnded(story.now, "app", TEN_O_CLOCK + 1, detail="no tests were collected"))


def _a_batch_with_every_trouble(story: Story) -> None:
    tests = tuple(f"tests/test_shop.py::test_{n}[ü-\t{n}]" for n in range(1, 7))
    profile = Profile(window="09:00-12:00", pools=("local", "far"), env={"KEY": "credential:shop"}, retries=1)
    story.batch(ev.BatchSubmitted, "first", repo="/srv/shop", base=HEAD, tests=tests, profile=profile, author="ana")
    for job in (1, 2, 4, 5, 6):
        story.attempt(ev.LaunchSucceeded, "first", job, host_id="host-1")
    _published_and_verified(story, "first", 1)
    _vanished_then_refused(story, "first", 2)
    story.attempt(ev.AgentMoved, "first", 4, host_id="host-2")
    story.job(ev.JobCancelled, "first", 4, author="ana")
    _rescued(story, "first", 4)
    story.job(ev.JobRetried, "first", 4, author="ana")
    story.attempt(ev.LaunchSucceeded, "first", 4, host_id="host-1")
    for job in (4, 5, 6):
        _published_and_verified(story, "first", job)
    _hard_to_launch_then_too_slow(story, "first", 3)
    _integrated(story, "first", {job: LedgerRow(Fate.MERGED, "", (HEAD, HEAD)) for job in range(1, len(tests) + 1)})


def _published_and_verified(story: Story, batch: str, job: int) -> None:
    story.attempt(ev.WorkPublished, batch, job)
    story.attempt(ev.CollectFailed, batch, job, detail="the host is slow", retry_at=story.now + 1)
    story.later(1)
    story.attempt(ev.WorkCollected, batch, job, claim="fixed", detail="it \x1b[31mheld", head=HEAD, commits=2)
    story.attempt(ev.WorkVerified, batch, job, outcome="fixed", detail="two clean runs", evidence=Evidence(runs=5))
    story.attempt(ev.ReleaseFailed, batch, job, detail="busy", retry_at=story.now + 1)
    story.later(1)
    story.attempt(ev.AgentReleased, batch, job)


def _cancelled_while_it_is_verified(story: Story, batch: str, job: int) -> None:
    story.attempt(ev.WorkPublished, batch, job)
    story.attempt(ev.WorkCollected, batch, job, claim="fixed", head=HEAD, commits=1)
    story.attempt(ev.WorkPutBack, batch, job, detail="it \x1b[31mfails")
    story.job(ev.JobCancelled, batch, job, author="ana")
    story.attempt(ev.AgentReleased, batch, job)


def _vanished_then_refused(story: Story, batch: str, job: int) -> None:
    story.attempt(ev.AgentVanished, batch, job, detail="its window is gone")
    _rescued(story, batch, job)
    story.attempt(ev.LaunchSucceeded, batch, job, host_id="host-1")
    story.attempt(ev.WorkPublished, batch, job)
    story.attempt(ev.PublicationRefused, batch, job, reason="path-escape", detail="../../etc")
    _rescued(story, batch, job)


def _hard_to_launch_then_too_slow(story: Story, batch: str, job: int) -> None:
    story.attempt(ev.LaunchFailed, batch, job, reason="provider", detail="no route")
    story.tell(ev.AgentReleased(story.now, batch, job, 1))  # the second attempt has begun, on the other pool
    story.attempt(ev.LaunchFailed, batch, job, reason="garbage", detail="half an answer")
    story.attempt(ev.AgentReleased, batch, job)
    story.later(10)
    story.attempt(ev.LaunchInterrupted, batch, job, host_id="host-1", detail="half made")
    _rescued(story, batch, job)
    story.attempt(ev.LaunchSucceeded, batch, job, host_id="host-1")
    story.later(3600)
    _rescued(story, batch, job)


def _rescued(story: Story, batch: str, job: int) -> None:
    story.attempt(ev.WorkRescued, batch, job, head=HEAD, commits=1, detail="dirty")
    story.attempt(ev.AgentReleased, batch, job, kept=True)


def _integrated(story: Story, batch: str, ledger: dict[int, LedgerRow]) -> None:
    story.batch(ev.IntegrationFailed, batch, number=1, detail="the disk is full", retry_at=story.now + 5)
    story.later(5)
    story.batch(ev.IntegrationEnded, batch, number=1, ledger=ledger, branch="supervisor/first")


def _a_batch_that_needs_attention(story: Story) -> None:
    """Asked, quiet, told, hindered, stalled; and at the end an integrator that is found to have made nothing."""
    batch, tests = "fourth", tuple(f"tests/test_b.py::test_{n}" for n in (1, 2, 3, 4))
    story.batch(
        ev.BatchSubmitted,
        batch,
        repo="/srv/shop",
        base=HEAD,
        tests=tests,
        profile=Profile(retries=0, job_timeout_seconds=9e4, survey="full"),
    )
    story.batch(ev.SurveyEnded, batch, number=1, found=Surveyed(green=3, red=1, red_tests=tests[:1], seconds=2.0))
    for job in (1, 2, 3, 4):
        story.attempt(ev.LaunchSucceeded, batch, job, host_id="host-1")
    story.attempt(ev.UsageCounted, batch, 1, input=1200, output=80, cached=30_000, tool_calls=3, model="some-model")
    story.attempt(ev.JobParked, batch, 1, question="may I?")
    story.attempt(ev.JobUnparked, batch, 1)
    story.attempt(ev.AgentFellQuiet, batch, 1, since=story.now, waits=True)
    story.later(60)
    story.attempt(ev.AgentNudged, batch, 1)
    story.attempt(ev.AgentStirred, batch, 1)
    _published_and_verified(story, batch, 1)
    _cancelled_while_it_is_verified(story, batch, 4)
    _integrated_in_part(story, batch)
    story.attempt(ev.AgentHindered, batch, 2, problem="limit", detail="resets at 8pm")
    story.attempt(ev.AgentStalled, batch, 2, detail="a limit is its last word")
    _rescued(story, batch, 2)
    story.later(3600)
    story.attempt(ev.LaunchSucceeded, batch, 2, host_id="host-1")
    _published_and_verified(story, batch, 2)
    story.batch(ev.BatchStopped, batch, reason="login", detail="the model's provider refuses the login")
    story.batch(ev.BatchResumed, batch, author="ana")
    _stopped_halted_and_stalled(story, batch, 3)
    story.batch(ev.JudgementWanted, batch, number=2, why="2 fixes to rank")
    story.attempt(ev.LaunchSucceeded, batch, 0, host_id="host-1")
    story.attempt(ev.AgentVanished, batch, 0, detail="its window is gone")
    _rescued(story, batch, 0)
    story.batch(ev.IntegrationEnded, batch, number=2, ledger={job: LedgerRow(Fate.MERGED) for job in (1, 2, 3, 4)})


def _a_batch_of_siblings(story: Story) -> None:
    """One waits for the work of the other, which does not help it."""
    batch, tests = "fifth", ("tests/test_c.py::test_1", "tests/test_c.py::test_2")
    profile = Profile(survey="full", hold_siblings=True, retries=0)
    story.batch(ev.BatchSubmitted, batch, repo="/srv/shop", base=HEAD, tests=tests, profile=profile)
    found = Surveyed(red=2, shared=2, families={"tests/conftest.py:4 in shop: OSError: no room": (1, 2)})
    story.batch(ev.SurveyEnded, batch, number=1, found=found)
    story.attempt(ev.LaunchSucceeded, batch, 1, host_id="host-1")
    story.attempt(ev.WorkPublished, batch, 1)
    story.attempt(ev.WorkCollected, batch, 1, claim="fixed", head=HEAD, commits=1)
    story.attempt(ev.WorkVerified, batch, 1, outcome="fixed", verification="verified")
    story.attempt(ev.AgentReleased, batch, 1)
    story.attempt(ev.WorkVerified, batch, 2, outcome="failed", verification="unverified", reason="it fails")
    story.attempt(ev.LaunchSucceeded, batch, 2, host_id="host-1")
    story.attempt(ev.AgentVanished, batch, 2, detail="its window is gone")
    _rescued(story, batch, 2)
    story.batch(ev.IntegrationEnded, batch, number=1, ledger={job: LedgerRow(Fate.MERGED) for job in (1, 2)})


def _integrated_in_part(story: Story, batch: str) -> None:
    story.batch(ev.PartialWanted, batch, author="ana")
    story.batch(ev.PartialFailed, batch, number=1, detail="the disk is full", retry_at=story.now + 5)
    story.later(5)
    story.batch(ev.PartialEnded, batch, number=1, branch="supervisor/fourth", head=HEAD, merged=1, left=2)


def _stopped_halted_and_stalled(story: Story, batch: str, job: int) -> None:
    story.batch(ev.BreakerTripped, batch, detail="5 failed", stage="running", outcome="lost", is_mixed=True)
    story.batch(ev.BatchResumed, batch, author="ana")
    story.attempt(ev.AgentHalted, batch, job, detail="a cap was reached")
    _rescued(story, batch, job)
    story.later(3600)
    story.attempt(ev.LaunchSucceeded, batch, job, host_id="host-1")
    costs = Waking(180_000, cold=True, cost=1_125_000, instead=700_000, per_token=5.0)
    story.attempt(ev.WakingDeclined, batch, job, detail=costs.told, waking=costs)
    _rescued(story, batch, job)
    story.later(3600)
    story.attempt(ev.LaunchSucceeded, batch, job, host_id="host-1")
    story.attempt(ev.AgentStalled, batch, job, detail="nothing for 600 s")
    _rescued(story, batch, job)


def _a_branch_that_is_reviewed(story: Story) -> None:
    """Its batch is sealed by then."""
    branch = ReviewedBranch("/srv/shop", HEAD, "supervisor/first", HEAD, "https://forge/1")
    story.tell(ev.CommitsReviewed(story.now, "first", branch, (HEAD,), "dropped", author="ana", reason="it ü cheats"))
    story.tell(ev.RevisionFailed(story.now, "first", 1, detail="it is checked out", retry_at=story.now + 5))
    story.later(5)
    story.tell(ev.RevisionEnded(story.now, "first", 2, reverted={HEAD: HEAD}))


def _a_batch_that_is_cancelled(story: Story) -> None:
    tests = ("tests/test_a.py::test_one", "tests/test_a.py::test_two")
    profile = Profile(window="22:00-06:00", timezone="Europe/Berlin", survey="full")
    story.batch(ev.BatchSubmitted, "second", repo="/srv/shop", base=HEAD, tests=tests, profile=profile)
    story.batch(ev.BatchPaused, "second", author="ana")
    story.batch(ev.BatchResumed, "second", author="ana")
    story.batch(ev.BatchCancelled, "second", author="ana")
