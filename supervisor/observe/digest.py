"""The digest of a period, as data: finished batches, alerts, agents that wait for a person, lost hours. Pure.

Hours are lost while no agents could be launched, because an account, a batch or the queue was paused. Pauses come
from the events of the period; a pause that began before it and still lasts has no event in it, but is in the state.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from supervisor.model import event as ev
from supervisor.model.alert import Alert
from supervisor.model.event import Event
from supervisor.model.job import JobState
from supervisor.model.state import State
from supervisor.observe import at_work
from supervisor.observe.alerts import row as alert_row
from supervisor.observe.report import Report
from supervisor.observe.snapshot import View, answer, rfc3339
from supervisor.ports import SealedBatch

QUEUE = "the queue"
MOST_ADVICE = 3
#: stops that are final: nothing is lost by waiting
_FINAL = {"budget"}

type Key = tuple[str, str, str]


@dataclass(slots=True)
class Pauses:
    """Folds events into the seconds that each subject was paused for each reason."""

    since: float
    #: by subject, reason and model: when it began
    open: dict[Key, float] = field(default_factory=dict)
    seconds: dict[tuple[str, str], float] = field(default_factory=dict)
    times: dict[tuple[str, str], int] = field(default_factory=dict)
    #: the pauses whose end was counted
    _seen: set[Key] = field(default_factory=set)

    def heard(self, event: Event) -> None:
        match event:
            case ev.AccountPaused():
                self._begins((f"account {event.account}", event.reason, event.model), event.at)
            case ev.AccountOpened():
                self._ends((f"account {event.account}", event.reason, event.model), event.at)
            case ev.QueuePaused():
                self._begins((QUEUE, "paused by a person", ""), event.at)
            case ev.QueueResumed():
                self._ends((QUEUE, "paused by a person", ""), event.at)
            case ev.BatchPaused():
                self._begins((f"batch {event.batch}", "paused by a person", ""), event.at)
            case ev.BatchStopped() | ev.BreakerTripped() if event.reason not in _FINAL:
                self._begins((f"batch {event.batch}", event.reason, ""), event.at)
            case ev.BatchResumed() | ev.BatchFinished():
                self._batch_goes_on(event.batch, event.at, is_resumed=isinstance(event, ev.BatchResumed))

    def ended(self, state: State, now: float) -> None:
        """Count the pauses that still last, including those that began before the period."""
        for key, began in _holding(state):
            if began < self.since:
                self.open.setdefault(key, self.since)
        for key in list(self.open):
            self._ends(key, now)

    def _begins(self, key: Key, at: float) -> None:
        self._seen.add(key)
        self.open.setdefault(key, at)

    def _ends(self, key: Key, at: float) -> None:
        """Count the end of a pause. If no event shows its beginning, it began before the period."""
        began = self.open.pop(key, None)
        if began is None:
            if key in self._seen:
                return  # it has been counted
            began = self.since
        self._seen.add(key)
        told = key[:2]
        self.seconds[told] = self.seconds.get(told, 0.0) + max(0.0, at - began)
        self.times[told] = self.times.get(told, 0) + 1

    def _batch_goes_on(self, batch: str, at: float, *, is_resumed: bool) -> None:
        mine = [key for key in self.open if key[0] == f"batch {batch}"]
        for key in mine:
            self._ends(key, at)
        if is_resumed and not mine:
            self._ends((f"batch {batch}", "paused", ""), at)


def _holding(state: State) -> Iterator[tuple[Key, float]]:
    for account in state.accounts.values():
        for pause in account.pauses.values():
            yield (f"account {account.name}", pause.reason, pause.model), pause.since
    for subject, since in state.alerts.paused.items():
        batch = state.batches.get(subject)
        if not subject:
            yield (QUEUE, "paused by a person", ""), since
        elif batch is not None:
            yield (f"batch {subject}", batch.stop.reason or "paused by a person", ""), since


def digest(state: State, since: float, now: float, *, finished: Sequence[View], pauses: Pauses) -> View:
    lost = [
        {"subject": subject, "reason": reason, "times": pauses.times[subject, reason], "seconds": round(seconds, 1)}
        for (subject, reason), seconds in sorted(pauses.seconds.items(), key=lambda each: -each[1])
        if seconds > 0
    ]
    return answer(
        now,
        since=rfc3339(since),
        finished=list(finished),
        open=[_open(state, batch) for batch in state.in_order()],
        parked=parked(state, now),
        alerts=[alert_row(each) for each in alerts_since(state, since)],
        lost=lost,
        lost_by_reason=_by_reason(lost),
    )


def parked(state: State, now: float) -> list[View]:
    """The agents that ask for permission now, which only a person can give."""
    return [row for row in at_work.rows(state, now) if row["state"] is JobState.PARKED]


def alerts_since(state: State, since: float) -> list[Alert]:
    """The open alerts, and those raised or resolved since, oldest first."""
    known = [*state.alerts.past, *state.alerts.open.values()]
    kept = [each for each in known if each.resolved_at is None or max(each.since, each.resolved_at) >= since]
    return sorted(kept, key=lambda each: (each.since, each.id))


def of_summary(sealed: SealedBatch) -> View:
    """A finished batch, from its summary, which may be all that is kept of it."""
    told: Mapping[str, Any] = json.loads(sealed.status)["batch"]
    kept = ("id", "state", "repo", "branch", "profile", "outcomes", "ledger", "tokens", "problems")
    times = {"created_at": told["created_at"], "finished_at": rfc3339(sealed.finished_at)}
    facts = {"seconds": sealed.finished_at - sealed.created_at, "jobs": told["jobs"]["total"]}
    return (
        {name: told.get(name) for name in kept} | times | facts | {"pull_request": None, "next": [], "doubtful": []}
    )


def with_report(view: View, report: Report) -> View:
    """Add its pull request, and what to look at first."""
    return view | {
        "pull_request": report.batch.pull_request or None,
        "next": list(report.next[:MOST_ADVICE]),
        "doubtful": [job.id for job in report.doubtful],
    }


def _open(state: State, batch: Any) -> View:
    return {
        "id": batch.id,
        "state": batch.state,
        "jobs": len(batch.tests),
        "over": sum(batch.count(each) for each in JobState if each.is_over),
        "at_work": batch.at_work,
        "stopped": batch.stop.detail or None if batch.stop.reason else None,
    }


def _by_reason(lost: Iterable[View]) -> dict[str, float]:
    found: dict[str, float] = {}
    for each in lost:
        found[each["reason"]] = found.get(each["reason"], 0.0) + each["seconds"]
    return found
