"""Folding the events of one batch: into the batch, after it has left memory, and into how its time was spent."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from supervisor.flow.history import apply
from supervisor.model import event as ev
from supervisor.model.batch import Batch
from supervisor.model.job import INTEGRATOR
from supervisor.model.pool import Pool
from supervisor.model.state import State
from supervisor.observe.report import History, JobHistory, Spent, Try
from supervisor.observe.snapshot import rfc3339

#: how an attempt ended, in a word
_ENDS: dict[type[ev.Event], str] = {
    ev.WorkPublished: "published",
    ev.AgentVanished: "vanished",
    ev.TimeRanOut: "timed out",
    ev.AgentStalled: "stalled",
    ev.WakingDeclined: "put away",
    ev.JobCancelled: "cancelled",
    ev.LaunchFailed: "not launched",
    ev.LaunchInterrupted: "interrupted",
}


def rebuilt(batch: str, events: Iterable[ev.Event]) -> Batch:
    """Rebuild a batch as it was when it was sealed, from its own events alone."""
    state = State("")
    for event in events:
        if isinstance(event, ev.BatchSealed):
            break
        if isinstance(event, ev.LaunchStarted) and event.pool not in state.pools:
            state = state.with_pool(Pool(event.pool, event.provider, slots=0))
        state = apply(state, event)
    return state.batches[batch]


def history(events: Sequence[ev.Event], now: float) -> History:
    """The history of a batch. Open intervals last until now."""
    clocks: dict[int, _Clock] = {}
    hindrances: Counter[str] = Counter()
    created = next((event.at for event in events if isinstance(event, ev.BatchSubmitted)), now)
    over_at = next((event.at for event in events if isinstance(event, ev.BatchFinished | ev.BatchCancelled)), now)
    for event in events:
        if isinstance(event, ev.JudgementWanted):
            clocks[INTEGRATOR] = _Clock(event.at, waiting_from=event.at)
        elif isinstance(event, ev.JobEvent):
            clocks.setdefault(event.job, _Clock(created, waiting_from=created)).take(event)
        if isinstance(event, ev.AgentHindered) and event.problem:
            hindrances[event.problem] += 1
    ended = [event for event in events if isinstance(event, ev.IntegrationEnded)]
    last = ended or [event for event in events if isinstance(event, ev.PartialEnded)][-1:]
    return History(
        {number: clock.read(over_at) for number, clock in clocks.items()},
        dict(hindrances),
        next((event.pull_request for event in reversed(ended) if event.pull_request), ""),
        tuple(problem for event in last for problem in event.problems),
        tuple(note for event in last for note in event.notes),
    )


@dataclass(slots=True)
class _Clock:
    """Measures how long one job waited and worked."""

    created: float
    #: since when it has been waiting for an agent, and since when an agent has been working on it
    waiting_from: float | None
    working_from: float | None = None
    over_at: float | None = None
    queued: float = 0.0
    worked: float = 0.0
    tries: list[Try] = field(default_factory=list)

    def take(self, event: ev.JobEvent) -> None:
        """Cases: a launch; a question to a person, and the answer; a requeue; the end of the job or an attempt."""
        match event:
            case ev.LaunchStarted():
                self._stop(event.at)
                self.working_from = event.at
                started = rfc3339(event.at) or ""
                self.tries.append(Try(event.attempt, event.agent_name, event.pool, started))
            case ev.JobParked():
                self._stop(event.at)
            case ev.JobUnparked():
                self.working_from = event.at
            case ev.JobRequeued() | ev.JobRetried():
                self._stop(event.at)
                self.waiting_from, self.over_at = event.at, None
            case ev.JobEnded():
                self._stop(event.at)
                self.over_at = event.at
            case _ if type(event) in _ENDS:
                self._stop(event.at)
                self._end(event)

    def _stop(self, at: float) -> None:
        if self.waiting_from is not None:
            self.queued += at - self.waiting_from
        if self.working_from is not None:
            self.worked += at - self.working_from
        self.waiting_from = self.working_from = None

    def _end(self, event: ev.JobEvent) -> None:
        if isinstance(event, ev.JobCancelled):
            self.over_at = event.at
        if self.tries and self.tries[-1].ended_at is None:
            self.tries[-1] = replace(self.tries[-1], ended_at=rfc3339(event.at), how=_ENDS[type(event)])

    def read(self, now: float) -> JobHistory:
        end = self.over_at or now
        self._stop(end)
        rest = end - self.created - self.queued - self.worked
        spent = Spent(*(round(max(0.0, seconds), 1) for seconds in (self.queued, self.worked, rest)))
        return JobHistory(tuple(self.tries), spent)
