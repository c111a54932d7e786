"""What is true of every state the core can be in, checked against a count from scratch; and of every history."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

from supervisor.flow import canary, rates, slots
from supervisor.flow.governor import accounts
from supervisor.flow.lifecycle import key_of
from supervisor.flow.plan import next_at
from supervisor.flow.settle import MOST_LAUNCHES
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey, Stage
from supervisor.model.batch import Batch, BatchState
from supervisor.model.effect import (
    Effect,
)
from supervisor.model.job import How, Job, JobState
from supervisor.model.outcome import Outcome
from supervisor.model.state import State
from supervisor.model.survey import Survey
from supervisor.model.usage import NOTHING
from tests.flow import account_laws, sibling_laws
from tests.flow.awaiting import awaited, due_to

#: what says that a launch failed by nobody's fault but the provider's, or because the daemon went down
EXCUSED = frozenset({"provider", "missing", "interrupted", "rate"})


def check_books(state: State) -> None:
    """Every number that is kept for speed is what a recount gives."""
    for pool in state.pools.values():
        attempts = [attempt for attempt in state.attempts.values() if attempt.pool == pool.name]
        assert pool.busy == sum(attempt.holds_slot for attempt in attempts)
        assert pool.lingering == sum(not attempt.holds_slot for attempt in attempts)
        assert dict(pool.members) == Counter(attempt.host for attempt in attempts if attempt.host)
        assert pool.broken <= set(pool.members)
        assert pool.resting == (("rest", pool.name) in state.agenda.times)
    for batch in state.batches.values():
        _check_batch(state, batch)
        _check_survey(batch.survey)
    _check_verifying(state)
    account_laws.check_books(state)
    assert list(state.agenda.order) == sorted((at, item) for item, at in state.agenda.times.items())
    assert all(key.batch in state.batches for key in state.attempts), "an agent of a sealed batch"


def _check_verifying(state: State) -> None:
    found = state.verifying
    assert {key: first for first, group in found.groups.items() for key in group.left} == dict(found.group_of)
    assert all(group.left for group in found.groups.values())
    assert not set(found.waiting) & set(found.group_of), "a claim waits for what it has"
    for key in found.waiting:
        job = state.batches[key.batch].job(key.job)
        assert job.state is JobState.VERIFYING, f"{job} waits to be verified"
        assert job.attempts == key.attempt
    assert all(each.batch in state.batches for each in found.group_of)


def _check_survey(survey: Survey) -> None:
    """Each file is run, under way, or due: once."""
    begun = [*survey.again, *(file for files in survey.under_way.values() for file in files)]
    assert set(begun) <= set(survey.files[: survey.cursor])
    assert len(begun) == len(set(begun)) == survey.cursor - survey.over
    assert all(number <= survey.groups for number in survey.under_way)


def _check_batch(state: State, batch: Batch) -> None:
    attempts = list(state.attempts_of(batch.id))
    assert batch.agents == len(attempts)
    assert batch.busy == sum(attempt.holds_slot for attempt in attempts)
    counted = Counter(job.state for job in batch.jobs())
    assert all(batch.count(one) == counted[one] for one in JobState)
    assert batch.is_drained == all(job.state.is_over for job in (*batch.jobs(), *integrators(batch)))
    assert all(number in batch.touched for number in range(1, batch.cursor + 1))
    assert batch.cursor == len(batch.tests) or batch.cursor + 1 not in batch.touched
    assert len(set(batch.again)) == len(batch.again)
    assert all(batch.job(number).state is JobState.QUEUED for number in batch.again)
    used = sum((job.usage for job in (*batch.touched.values(), *integrators(batch))), NOTHING)
    assert batch.usage == replace(used, model=batch.usage.model), "the last model is that of whoever spoke last"
    for job in (*batch.touched.values(), *integrators(batch)):
        last = state.attempts.get(AttemptKey(batch.id, job.number, job.attempts))
        stages = _STAGES[job.state]
        assert (last.stage if last else None) in stages, f"{job} with {last}"
        assert job.state.is_over == (job.outcome is not None) == (job.times.ended is not None)
    if batch.finished_at is not None:
        assert set(batch.ledger) == set(range(1, len(batch.tests) + 1)), "the ledger does not add up"


def integrators(batch: Batch) -> tuple[Job, ...]:
    return () if batch.integrator is None else (batch.integrator,)


#: where the last agent of a job can be, None: put away, or there never was one
_AWAY = (None, Stage.RELEASING)
_STAGES: dict[JobState, tuple[Stage | None, ...]] = {
    JobState.QUEUED: _AWAY,
    JobState.HELD: (None,),
    JobState.LAUNCHING: (Stage.LAUNCHING,),
    JobState.RUNNING: (Stage.LIVE,),
    JobState.PARKED: (Stage.LIVE,),
    JobState.COLLECTING: (Stage.COLLECTING, Stage.RELEASING, None),
    JobState.VERIFYING: _AWAY,
    JobState.DONE: _AWAY,
    JobState.CANCELLED: _AWAY,
}


def check_nothing_is_forgotten(state: State, asked: list[Effect]) -> None:
    """Whatever waits for something will get it: it is due, or a device has yet to answer."""
    under_way = {awaited(effect) for effect in asked} | set(state.agenda.times)
    is_launching = any(attempt.stage is Stage.LAUNCHING for attempt in state.attempts.values())
    assert not slots.awaited(state) or next_at(state, 0.0) is not None or is_launching, (
        "nobody will launch what waits"
    )
    for batch in slots.launchable(state):
        has_room = any(state.pools[name].has_room for name in batch.profile.pools if name in state.pools)
        is_held = has_room and not slots.awaited(state)
        assert not is_held or account_laws.will_open(state, batch), f"{batch.id} waits for no account that opens"
    for attempt in state.attempts.values():
        assert under_way & set(due_to(attempt)), f"nobody will move on {attempt}"
    for batch in state.batches.values():
        for job in (*batch.touched.values(), *integrators(batch)):
            where = (batch.id, job.number)
            if job.state is JobState.QUEUED:
                assert job.number in batch.again or ("ready", *where) in under_way, f"{job} is never ready"
            if job.state is JobState.HELD:
                sibling_laws.check_held(state, batch, job)
            if job.state is JobState.VERIFYING:
                key = AttemptKey(*where, job.attempts)
                is_judged = key in state.verifying.waiting or ("settle", *where) in under_way
                first = state.verifying.group_of.get(key)
                is_judged = is_judged or (first is not None and ("verify", *first) in under_way)
                assert is_judged, f"{job} is never judged"
            if job.state is JobState.COLLECTING and AttemptKey(*where, job.attempts) not in state.attempts:
                assert ("settle", *where) in under_way, f"{job} is never settled"
        sibling_laws.check_waiting(batch)
        for number in batch.survey.under_way:
            assert ("base", batch.id, number) in under_way, f"group {number} of the survey of {batch.id} never ends"
        if batch.finished_at is None and batch.is_drained:
            due = {("integrate", batch.id), ("finish", batch.id), ("partial", batch.id)}
            assert due & under_way, f"{batch.id} is drained and never ends"
        partial = batch.integrations.partial
        if partial is not None and (batch.state is BatchState.RUNNING or not partial.trouble):
            assert ("partial", batch.id) in under_way, f"the partial integration of {batch.id} never ends"
        if batch.finished_at is not None and not batch.agents:
            assert ("seal", batch.id) in under_way, f"{batch.id} is never sealed"
        if batch.state in (BatchState.QUEUED, BatchState.RUNNING) and batch.profile.window:
            assert ("window", batch.id) in under_way, f"the window of {batch.id} never changes"


@dataclass
class Lives:
    """What happened to one job, told by its events alone."""

    attempts: int = 0
    #: attempts whose agent may be at work: launched, and neither collected nor put away nor known never to be
    at_work: set[int] = field(default_factory=set)
    crashes: int = 0
    failed_launches: int = 0
    over: bool = False
    holds: int = 0


#: a job in one of these is over as soon as it is cancelled
_WITHOUT_AGENT = (JobState.QUEUED, JobState.HELD, JobState.VERIFYING)


class Historian:
    """Watches the events go by and checks the promises that no single state shows."""

    def __init__(self) -> None:
        self.jobs: dict[tuple[str, int], Lives] = defaultdict(Lives)
        self.integrations: Counter[str] = Counter()
        self.stragglers: Counter[str] = Counter()
        self.finished: Counter[str] = Counter()
        #: the commits of each job that were verified
        self.verified: dict[tuple[str, int], set[str]] = defaultdict(set)

    def __call__(self, before: State, event: ev.Event) -> None:
        match event:
            case ev.LaunchStarted():
                self._launched(before, event)
            case ev.IntegrationStarted():
                self.integrations[event.batch] += 1
                assert self.integrations[event.batch] == 1, "integrated twice"
                self._numbered(before, event)
            case ev.PartialWanted(automatic=True):
                self.stragglers[event.batch] += 1
                assert self.stragglers[event.batch] == 1, "its profile wanted it twice"
            case ev.PartialStarted():
                self._numbered(before, event)
                over = [job.number for job in before.batches[event.batch].jobs() if job.state.is_over]
                assert list(event.jobs) == over, "made of what is not over"
            case ev.BatchFinished():
                self.finished[event.batch] += 1
                assert self.finished[event.batch] == 1, "finished twice"
            case ev.BatchSealed():
                assert not list(before.attempts_of(event.batch))
                left = [item for item in before.agenda.times if event.batch in item[1:2]]
                assert left == [("seal", event.batch)], f"left behind: {left}"
            case ev.JobEvent():
                self._lived(before, event, self.jobs[event.batch, event.job])

    def _numbered(self, before: State, event: ev.IntegrationStarted | ev.PartialStarted) -> None:
        batch = before.batches[event.batch]
        assert batch.integrations.partial is None, "two integrations at once"
        assert event.number == batch.integrations.count + 1, "each has a number of its own"

    def _launched(self, before: State, event: ev.LaunchStarted) -> None:
        batch, pool, life = before.batches[event.batch], before.pools[event.pool], self.jobs[event.batch, event.job]
        assert pool.busy < pool.slots, "launched above the slots"
        assert not any((before.paused, batch.paused, batch.stop.reason, pool.resting))
        assert batch.window_open
        assert not batch.awaits_survey(event.job), "launched before it is known whether it has siblings"
        assert canary.has_room(batch), "launched beside the canaries"
        assert rates.has_token(before, pool, new_host=event.new_host, now=event.at), "launched too fast"
        assert not batch.profile.slots or batch.busy < batch.profile.slots
        assert event.account or not accounts.names_of(batch.profile)
        if event.account:
            account_laws.check_launch(before, event.account, accounts.model_of(batch), event.at)
        assert not life.over
        assert not life.at_work, f"{event} beside the agents of attempts {life.at_work}"
        assert event.attempt == life.attempts + 1, "a gap between attempts"
        life.attempts = event.attempt
        life.at_work.add(event.attempt)

    def _lived(self, before: State, event: ev.JobEvent, life: Lives) -> None:
        batch = before.batches[event.batch]
        match event:
            case ev.NudgeStarted():
                self._told(before, event)
            case ev.LaunchSucceeded():
                life.failed_launches = 0
            case ev.LaunchFailed():
                life.failed_launches += event.reason not in EXCUSED
                if event.reason in ("provider", "refused", "missing"):
                    life.at_work.discard(event.attempt)
            case ev.WorkCollected() | ev.AgentReleased():
                life.at_work.discard(event.attempt)
            case ev.AgentVanished() | ev.AgentStalled() if batch.job(event.job).setbacks.hindrance:
                pass  # its provider let it down: that costs nothing
            case ev.AgentVanished() | ev.AgentStalled() | ev.PublicationRefused():
                life.crashes += 1
            case ev.JobRequeued():
                assert not life.over
                assert life.crashes <= batch.profile.retries, "retried beyond the limit"
                assert event.counts == _is_a_crash(batch.job(event.job)), f"{event} is counted wrongly"
                assert life.failed_launches < MOST_LAUNCHES
            case ev.JobEnded():
                assert not life.over, "ended twice"
                life.over = True
                _deserved(batch, event, life)
            case ev.JobCancelled():
                life.over = life.over or batch.job(event.job).state in _WITHOUT_AGENT
            case ev.JobHeld():
                assert not life.attempts, "held although it had an agent"
                assert not life.holds, "held twice"
                life.holds += 1
            case ev.FixBorrowed():
                assert event.head in self.verified[event.batch, event.from_job], "tried with what nobody has verified"
            case ev.WorkVerified(verification="verified"):
                self.verified[event.batch, event.job].add(batch.job(event.job).brought.head)
            case ev.JobRetried():
                assert life.over
                life.over, life.crashes, life.failed_launches = False, 0, 0

    def _told(self, before: State, event: ev.NudgeStarted) -> None:
        """Nobody is told anything twice, or while it works; but for who was refused again since."""
        attempt, job = before.attempts[key_of(event)], before.batches[event.batch].job(event.job)
        is_refused_again = event.reason == "again" and (attempt.nudged_at or 0.0) <= job.setbacks.hindered_at
        assert event.reason not in attempt.nudges or is_refused_again
        assert attempt.quiet_since is not None or event.reason in ("parked", "budget", "cap")
        account_laws.check_waking(before, event)


def _is_a_crash(job: Job) -> bool:
    """What uses up a retry, and the only thing that does."""
    return job.ending is not None and job.ending.how in (How.VANISHED, How.STALLED, How.REFUSED)


def _deserved(batch: Batch, event: ev.JobEnded, life: Lives) -> None:
    """A job is given up only for faults of its own, and only after all the tries it has."""
    if batch.job(event.job).is_on_trial:
        assert event.outcome in (Outcome.FIXED_BY_SIBLING, Outcome.CANCELLED)
        return
    ending = batch.job(event.job).ending
    assert ending is not None
    assert event.outcome != Outcome.FIXED_BY_SIBLING
    if event.outcome in (Outcome.LOST, Outcome.STALLED) and not batch.is_spent:
        assert life.crashes == batch.profile.retries + 1
    if event.outcome == Outcome.FAILED and ending.how == "unlaunched" and ending.reason != "refused":
        assert ending.reason not in EXCUSED
        assert life.failed_launches == MOST_LAUNCHES, "given up before its launches were used up"
