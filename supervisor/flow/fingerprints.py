"""Fingerprints of failures: a message without what differs from job to job.

Rules replace text in quotes, addresses, node ids of tests, paths, ids and numbers by a word for their kind. Their
order is fixed, so that the same failure has the same fingerprint in each replay.
"""

import re

from supervisor.flow import slots
from supervisor.model import event as ev
from supervisor.model.job import How, Job, JobState
from supervisor.model.outcome import SUCCESSES, Outcome
from supervisor.model.pattern import Fingerprint, Pattern
from supervisor.model.verdict import UNPROVEN

#: the characters that are read of a message, and that are kept of its sample and of its fingerprint
LONGEST_READ, LONGEST_SAMPLE, LONGEST_MESSAGE = 2000, 300, 200

_STAGES = {
    How.UNLAUNCHED: (JobState.LAUNCHING, Outcome.FAILED),
    How.VANISHED: (JobState.RUNNING, Outcome.LOST),
    How.TIMED_OUT: (JobState.RUNNING, Outcome.TIMED_OUT),
    How.STALLED: (JobState.RUNNING, Outcome.STALLED),
    How.REFUSED: (JobState.COLLECTING, Outcome.FAILED),
}

_EXCEPTION = re.compile(r"\b([A-Z]\w*(?:Error|Exception|Interrupt|Timeout|Exit|Expired|Failed|Failure))\b")

_REPLACED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\x1b\[[0-9;?]*[A-Za-z]"), ""),
    (re.compile(r"""(?<!\w)(?:'[^'\n]*'|"[^"\n]*"|`[^`\n]*`)(?!\w)"""), "<text>"),
    (re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.I), "<url>"),
    (re.compile(r"\S*::\S+"), "<test>"),
    (re.compile(r"(?:[A-Za-z]:)?[\w.@~+-]*(?:[/\\][\w.@~+=%-]+)+[/\\]?"), "<path>"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.I), "<id>"),
    (re.compile(r"\b(?:0x[0-9a-f]+|(?=[a-z]*\d)(?=\d*[a-z])[0-9a-z]{7,})\b", re.I), "<id>"),
    (re.compile(r"\b(?:[\w]+-)+\w*\d[\w-]*\b"), "<id>"),
    (re.compile(r"(?<![A-Za-z_])[-+]?\d[\d.,:_]*\d|(?<![A-Za-z_])\d"), "<n>"),
    (re.compile(r"(?<=[A-Za-z_])\d+\b"), "<n>"),
)


def of(job: Job, event: ev.JobRequeued | ev.JobEnded) -> Pattern | None:
    """The failure that ended an attempt, as a pattern; None: it succeeded, was cancelled, or a provider is at fault.

    Published work that verification ran and rejected does not count: the tests' surroundings did not fail."""
    ending = job.ending
    if ending is None or (ending.how is How.UNLAUNCHED and ending.reason in slots.PROVIDER_FAULTS):
        return None
    if ending.how in _STAGES:
        stage, outcome = _STAGES[ending.how]
        return _pattern(stage, outcome, ": ".join(filter(None, (ending.reason, ending.detail))))
    if ending.how is not How.PUBLISHED or not isinstance(event, ev.JobEnded) or event.outcome in SUCCESSES:
        return None
    if job.verdict.verification not in UNPROVEN:
        return _pattern(JobState.RUNNING, Outcome(event.outcome), event.detail)
    ran = job.verdict.runs > 0 or job.verdict.verification == "refused"
    return _pattern(JobState.VERIFYING, Outcome(event.outcome), event.detail, counts=not ran)


def _pattern(stage: JobState, outcome: Outcome, said: str, *, counts: bool = True) -> Pattern:
    named = _EXCEPTION.findall(said[:LONGEST_READ])
    fingerprint = Fingerprint(stage.value, outcome.value, named[-1] if named else "", normalised(said))
    return Pattern(fingerprint, " ".join(said.split())[:LONGEST_SAMPLE], counts=counts)


def normalised(said: str) -> str:
    text = said[:LONGEST_READ]
    for pattern, word in _REPLACED:
        text = pattern.sub(word, text)
    return " ".join(text.split())[:LONGEST_MESSAGE]
