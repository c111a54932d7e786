"""What the commits of an integration say: mechanical words, agents' summaries as quotations, trailers at the end.

Agents' texts stand in paragraphs of their own before the trailers, so nothing in them can pass for a trailer. What a
forge would obey in them, `fixes #1` or `@name`, is broken by an invisible space.
"""

import re
from collections.abc import Iterable, Mapping

from supervisor.flow.integration.work import Change, Evidence, Group, Work

MAX_SUMMARY = 200
MAX_SUBJECT = 100

_INVISIBLE = "\u200b"
_REFERENCE = re.compile(r"(?<=@)|(?<=#)|(?<=\bgh-)(?=\d)|(?<=:)(?=//)|(?<=\bwww)(?=\.)", re.IGNORECASE)
_TRAILER = re.compile(r"Supervisor-(Job|Change): (\S+)")


def squash_message(batch: str, groups: Iterable[Group], works: Mapping[int, Work]) -> str:
    """Of the one commit that holds all changes to tests, tutorials and documentation."""
    changes = [change for group in groups for change in group.changes]
    jobs = sorted({change.job for change in changes})
    lines = [f"- {works[job].test}: {_summary(works[job], changes)}" for job in jobs]
    subject = f"[TEST/DOC] {_count(len(changes), 'change')} from {_count(len(jobs), 'job')}"
    return "\n\n".join([subject, "\n".join(lines), _trailers(batch, changes)]) + "\n"


def fix_message(batch: str, group: Group, works: Mapping[int, Work]) -> str:
    """Of a commit that holds one change to the implementation."""
    leader = group.leader
    kind = leader.kind or "OTHER"
    summary = _line(works[leader.job].summaries.get(leader.kind, ""))
    tests = "\n".join(f"- {works[job].test}: {_shown(works[job].evidence)}" for job in group.jobs)
    parts = [f"[{kind}] {_line(leader.subject, MAX_SUBJECT)}", summary, tests, _trailers(batch, group.changes)]
    return "\n\n".join(part for part in parts if part) + "\n"


def trailers_in(message: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The jobs and the changes that a commit's trailers name; only its last paragraph counts."""
    lines = message.rstrip("\n").rpartition("\n\n")[2].splitlines()
    found = [match for line in lines if (match := _TRAILER.fullmatch(line))]
    jobs, changes = (tuple(match[2] for match in found if match[1] == name) for name in ("Job", "Change"))
    return jobs, changes


def unlinked(words: str) -> str:
    """The same to read; but it calls nobody, closes nothing and leads nowhere."""
    return _REFERENCE.sub(_INVISIBLE, words)


def _trailers(batch: str, changes: Iterable[Change]) -> str:
    changes = list(changes)
    jobs = [f"Supervisor-Job: {batch}.{job}" for job in sorted({change.job for change in changes})]
    return "\n".join(jobs + [f"Supervisor-Change: {change.sha}" for change in changes])


def _summary(work: Work, changes: Iterable[Change]) -> str:
    own = [change for change in changes if change.job == work.job]
    said = (work.summaries.get(change.kind) or change.subject for change in own)
    return _line("; ".join(dict.fromkeys(text for text in said if text)))


def _line(text: str, most: int = MAX_SUMMARY) -> str:
    line = unlinked(" ".join(text.split()))
    return line if len(line) <= most else line[: most - 1] + "…"


def _shown(evidence: Evidence) -> str:
    before = {True: "failed before", False: "passed before", None: "not run before"}[evidence.failed_before]
    after = f"passed {evidence.passed} of {evidence.runs} runs after" if evidence.runs else "not run after"
    return f"{before}, {after}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
