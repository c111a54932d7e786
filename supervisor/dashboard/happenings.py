"""Events in plain words, for the list of what happened last and for the timeline of a job. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from supervisor.model import event as ev
from supervisor.model.batch import Batch
from supervisor.model.event import BatchEvent, Event, JobEvent
from supervisor.observe.snapshot import rfc3339
from supervisor.ports import Record

MOST_TEXT = 300


@dataclass(frozen=True, slots=True)
class Happening:
    seq: int
    at: str
    words: str
    #: somebody's text about it; hostile
    detail: str = ""
    #: "" if it is about the batch or the queue
    job: str = ""
    test: str = ""
    author: str = ""
    #: good, bad, wait or ""
    mood: str = ""


#: by kind: words with the event's fields, the field that has the detail, the mood. What is not here is left out
_WORDS: Mapping[type[Event], tuple[str, str, str]] = {
    ev.BatchSubmitted: ("the batch was submitted", "", ""),
    ev.BatchPaused: ("the batch was paused", "", "wait"),
    ev.BatchResumed: ("the batch was resumed", "", ""),
    ev.BatchStopped: ("the batch launches no more agents: {reason}", "detail", "bad"),
    ev.BatchCancelled: ("the batch was cancelled", "", "bad"),
    ev.BatchFinished: ("the batch is over", "", ""),
    ev.WindowOpened: ("its window opened", "", ""),
    ev.WindowClosed: ("its window closed: jobs wait", "", "wait"),
    ev.QueuePaused: ("the queue was paused", "reason", "wait"),
    ev.QueueResumed: ("the queue was resumed", "", ""),
    ev.SlotsChanged: ("pool {pool} has {slots} slots now", "", ""),
    ev.DaemonStarted: ("the daemon started", "", ""),
    ev.LaunchStarted: ("an agent is being started in {pool}", "", ""),
    ev.LaunchSucceeded: ("its agent is at work", "", ""),
    ev.LaunchFailed: ("its agent could not be started: {reason}", "detail", "bad"),
    ev.WorkPublished: ("its agent handed over its work", "", ""),
    ev.AgentVanished: ("its agent ended without handing over", "detail", "bad"),
    ev.TimeRanOut: ("its agent's time ran out", "", "bad"),
    ev.AgentStalled: ("its agent does nothing any more", "detail", "bad"),
    ev.WakingDeclined: ("its sleeping agent is put away, and its job starts again from its work", "detail", "wait"),
    ev.JobParked: ("its agent waits for a person", "question", "wait"),
    ev.JobUnparked: ("its agent goes on", "", ""),
    ev.WorkCollected: ("its work is safe; its agent says {claim}", "", ""),
    ev.WorkRescued: ("what its agent left is safe", "detail", ""),
    ev.PublicationRefused: ("its work was refused: {reason}", "detail", "bad"),
    ev.VerifyStarted: ("its claim is being verified", "", ""),
    ev.WorkPutBack: ("its claim is verified again", "detail", ""),
    ev.JobRequeued: ("it goes again", "why", "wait"),
    ev.JobHeld: ("it is held: a sibling fails at the same place, and has an agent", "place", "wait"),
    ev.FixBorrowed: ("its test is tried with the work of job {from_job}", "", ""),
    ev.JobFreed: ("it gets an agent of its own", "why", "wait"),
    ev.JobRetried: ("it was asked to go again", "", ""),
    ev.JobCancelled: ("it was cancelled", "", "bad"),
    ev.IntegrationStarted: ("the branch is being made", "", ""),
    ev.IntegrationFailed: ("making the branch failed; it is tried again", "detail", "bad"),
    ev.JudgementWanted: ("merging takes an agent's judgement", "why", "wait"),
    ev.PartialWanted: ("a branch of what is done was asked for", "", ""),
    ev.AgentReleased: ("its agent was put away", "", ""),
}


def told(record: Record, batch: Batch | None = None) -> Happening | None:
    """None: it is of no interest to a person."""
    event = record.event
    said = _SPECIAL[type(event)](event) if type(event) in _SPECIAL else _said(event)
    if said is None or (isinstance(event, BatchEvent) and batch is not None and event.batch != batch.id):
        return None
    words, detail, mood = said
    job = f"{event.batch}.{event.job}" if isinstance(event, JobEvent) else ""
    return Happening(
        record.seq,
        rfc3339(event.at) or "",
        words,
        " ".join(detail.split())[:MOST_TEXT],
        job,
        _test(event, batch),
        str(getattr(event, "author", "")),
        mood,
    )


def _said(event: Event) -> tuple[str, str, str] | None:
    if (known := _WORDS.get(type(event))) is None:
        return None
    words, field, mood = known
    values = {name: getattr(event, name) for name in event.__dataclass_fields__}
    return words.format_map(values), str(values.get(field, "")), mood


def _test(event: Event, batch: Batch | None) -> str:
    if batch is None or not isinstance(event, JobEvent) or not 1 <= event.job <= len(batch.tests):
        return ""
    return batch.tests[event.job - 1][:MOST_TEXT]


def _ended(event: Any) -> tuple[str, str, str]:
    mood = "good" if event.outcome in ("fixed", "improved", "clean", "fixed-by-sibling") else "bad"
    return f"it ended: {event.outcome}", event.detail, mood


def _verified(event: Any) -> tuple[str, str, str]:
    verdict = event.verification or "judged"
    runs = f", {event.passed} of {event.runs} runs passed" if event.runs else ""
    doubts = f", {len(event.doubts)} {'doubt' if len(event.doubts) == 1 else 'doubts'}" if event.doubts else ""
    mood = "good" if verdict == "verified" else "bad" if verdict in ("refused", "unverified", "flaky") else ""
    return f"its claim: {verdict}{runs}{doubts}", event.reason, mood


def _hindered(event: Any) -> tuple[str, str, str]:
    if not event.problem:
        return "its model's provider serves it again", "", ""
    return f"its model's provider refuses to serve it: {event.problem}", event.detail, "wait"


def _nudged(event: Any) -> tuple[str, str, str]:
    return f"its agent is reminded: {event.reason}", event.waking.told if event.waking else "", ""


_SPECIAL: Mapping[type[Event], Callable[[Any], tuple[str, str, str]]] = {
    ev.JobEnded: _ended,
    ev.WorkVerified: _verified,
    ev.AgentHindered: _hindered,
    ev.NudgeStarted: _nudged,
}

#: what only a job's own page shows
DETAILS = (
    *(ev.LaunchStarted, ev.LaunchSucceeded, ev.WorkPublished, ev.WorkCollected, ev.VerifyStarted, ev.WorkVerified),
    *(ev.AgentReleased, ev.NudgeStarted),
)


def of_note(record: Record, batch: Batch | None = None) -> Happening | None:
    """For the list of a whole batch: only what a person would look up for."""
    return None if isinstance(record.event, DETAILS) else told(record, batch)
