"""How long jobs are in each stage, folded from events: a job is in one stage at a time."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from supervisor.model import event as ev
from supervisor.model.attempt import Stage as AttemptStage
from supervisor.model.job import INTEGRATOR, JobState
from supervisor.model.state import State


class Stage(StrEnum):
    QUEUED = "queued"
    LAUNCHING = "launching"
    WORKING = "working"
    COLLECTING = "collecting"
    VERIFYING = "verifying"
    INTEGRATING = "integrating"


#: the stage that an event begins; None: the job is in none
_BEGINS: Mapping[type[ev.Event], Stage | None] = {
    ev.JobRequeued: Stage.QUEUED,
    ev.JobRetried: Stage.QUEUED,
    ev.JobFreed: Stage.QUEUED,
    ev.FixBorrowed: Stage.VERIFYING,
    ev.LaunchStarted: Stage.LAUNCHING,
    ev.LaunchSucceeded: Stage.WORKING,
    ev.WorkPublished: Stage.COLLECTING,
    ev.AgentVanished: Stage.COLLECTING,
    ev.TimeRanOut: Stage.COLLECTING,
    ev.AgentStalled: Stage.COLLECTING,
    ev.WakingDeclined: Stage.COLLECTING,
    ev.LaunchFailed: None,
    ev.LaunchInterrupted: None,
    ev.WorkCollected: Stage.VERIFYING,
    ev.WorkRescued: None,
    ev.WorkVerified: None,
    ev.JobCancelled: None,
    ev.JobEnded: None,
}
#: events that cut a stage short: its duration would say nothing about the stage
_CUT_SHORT = (ev.LaunchFailed, ev.LaunchInterrupted, ev.JobCancelled, ev.JobEnded)

type Key = tuple[str, int]


class Stages:
    """The stage of every job at work, and since when. A stage whose beginning was not seen is not measured."""

    def __init__(self, state: State | None = None) -> None:
        self._since: dict[Key, tuple[Stage, float]] = {} if state is None else dict(_under_way(state))

    def hear(self, state: State, event: ev.Event) -> Iterator[tuple[Stage, float]]:
        """The stages that the event ends, with their seconds. `state` is the state after the event."""
        match event:
            case ev.IntegrationStarted():
                self._since[event.batch, INTEGRATOR] = Stage.INTEGRATING, event.at
            case ev.IntegrationEnded():
                yield from self._ended((event.batch, INTEGRATOR), event.at)
            case ev.BatchSealed():
                self._forget(event.batch)
            case ev.JobEvent() if event.job != INTEGRATOR and type(event) in _BEGINS:
                yield from self._moved(state, event, _BEGINS[type(event)])

    def _moved(self, state: State, event: ev.JobEvent, begins: Stage | None) -> Iterator[tuple[Stage, float]]:
        key = (event.batch, event.job)
        if isinstance(event, ev.LaunchStarted) and event.attempt == 1 and (batch := state.batches.get(event.batch)):
            self._since.setdefault(key, (Stage.QUEUED, batch.created_at))
        if isinstance(event, _CUT_SHORT):
            self._since.pop(key, None)
        else:
            yield from self._ended(key, event.at)
        if begins is not None:
            since = event.ready_at if isinstance(event, ev.JobRequeued) else event.at
            self._since[key] = begins, since

    def _ended(self, key: Key, at: float) -> Iterator[tuple[Stage, float]]:
        if (found := self._since.pop(key, None)) is not None:
            yield found[0], max(0.0, at - found[1])

    def _forget(self, batch: str) -> None:
        for key in [key for key in self._since if key[0] == batch]:
            del self._since[key]


def _under_way(state: State) -> Iterable[tuple[Key, tuple[Stage, float]]]:
    """The stages that the last daemon left under way, as far as the state has their beginning."""
    for attempt in state.attempts.values():
        batch, number = attempt.key.batch, attempt.key.job
        job = state.batches[batch].job(number)
        if number != INTEGRATOR and job.attempts == attempt.key.attempt and (found := _FOUND.get(attempt.stage)):
            yield (batch, number), (found, attempt.started_at)
    for each in state.batches.values():
        if each.count(JobState.VERIFYING):
            for job in each.touched.values():
                if job.state is JobState.VERIFYING and job.times.collected is not None:
                    yield (each.id, job.number), (Stage.VERIFYING, job.times.collected)


_FOUND: Mapping[AttemptStage, Stage] = {
    AttemptStage.LAUNCHING: Stage.LAUNCHING,
    AttemptStage.LIVE: Stage.WORKING,
}
