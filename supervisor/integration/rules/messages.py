"""The commit messages of an integration: fixed text, agents' summaries as quotations, trailers at the end.

Agents' texts are in paragraphs of their own before the trailers, so that nothing in them can pass for a trailer. An
invisible space breaks whatever a forge would act on, such as `fixes #1` or `@name`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from supervisor.integration.rules.work import Evidence, Work
from supervisor.model.change import IMPLEMENTATION, Change

MAX_SUMMARY = 200
MAX_SUBJECT = 100
MAX_DOUBTS = 20

_INVISIBLE = "\u200b"
#: a mention, an issue or a pull request; a link; a CI command, such as `[skip ci]` or `***NO_CI***`; the name of a
#: trailer, such as `Signed-off-by:`
_OBEYED = re.compile(
    r"(?<=[@#])|(?<=!)(?=\d)|(?<=\bgh-)(?=\d)|(?<=:)(?=//)|(?<=\bwww)(?=\.)"
    r"|(?<=\[)(?=[^\]]*\])|(?<=\*\*)(?=\*)|(?<=-by)(?=:)",
    re.IGNORECASE,
)
_TRAILER = re.compile(r"Supervisor-(Job|Change): (\S+)")


#: doubts for the reviewer of a commit, by job
type Doubts = Mapping[int, tuple[str, ...]]


def squash_message(batch: str, changes: Sequence[Change], works: Mapping[int, Work], doubts: Doubts) -> str:
    """The message of the squashed commit with all changes to tests, tutorials and documentation."""
    jobs = sorted({change.job for change in changes})
    lines = [f"- {_named(works[job].test)}: {_summary(works[job], changes)}" for job in jobs]
    subject = f"[TEST/DOC] {_count(len(changes), 'change')} from {_count(len(jobs), 'job')}"
    return "\n\n".join([subject, "\n".join(lines), _trailers(batch, changes, doubts)]) + "\n"


def fix_message(
    batch: str, changes: Sequence[Change], works: Mapping[int, Work], doubts: Doubts, *, resolved: bool = False
) -> str:
    """The message of a fix of the implementation, the first of `changes`.

    `resolved`: an integrator's agent resolved its conflicts."""
    leader = _leader(changes)
    kind = leader.kind or "OTHER"
    summary = _line(works[leader.job].summaries.get(leader.kind, ""))
    jobs = sorted({change.job for change in changes})
    tests = "\n".join(f"- {_named(works[job].test)}: {_shown(works[job].evidence)}" for job in jobs)
    how = "It conflicted with the commits below it; an integrator's agent resolved that." if resolved else ""
    parts = [f"[{kind}] {_line(leader.subject, MAX_SUBJECT)}", summary, how, tests, _trailers(batch, changes, doubts)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _leader(changes: Sequence[Change]) -> Change:
    """The change that gives a commit its subject: a job's fix of the implementation, before its other changes."""
    own = [change for change in changes if change.job == changes[0].job]
    return next((change for change in own if change.kind == IMPLEMENTATION), own[0])


def trailers_in(message: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The jobs and changes in a commit's trailers; only its last paragraph counts."""
    lines = message.rstrip("\n").rpartition("\n\n")[2].splitlines()
    found = [match for line in lines if (match := _TRAILER.fullmatch(line))]
    jobs, changes = (tuple(match[2] for match in found if match[1] == name) for name in ("Job", "Change"))
    return jobs, changes


def unlinked(words: str) -> str:
    """The same text to a reader, without effective mentions, issue keywords and links."""
    return _OBEYED.sub(_INVISIBLE, words)


def _trailers(batch: str, changes: Iterable[Change], doubts: Doubts) -> str:
    changes = list(changes)
    jobs = sorted({change.job for change in changes})
    said = [f"Supervisor-Doubt: {batch}.{job}: {_line(doubt)}" for job in sorted(doubts) for doubt in doubts[job]]
    if len(said) > MAX_DOUBTS:
        said = [*said[:MAX_DOUBTS], f"Supervisor-Doubt: and {len(said) - MAX_DOUBTS} more: see the report"]
    names = [f"Supervisor-Job: {batch}.{job}" for job in jobs]
    return "\n".join([*names, *(f"Supervisor-Change: {change.sha}" for change in changes), *said])


def _summary(work: Work, changes: Iterable[Change]) -> str:
    own = [change for change in changes if change.job == work.job]
    said = (work.summaries.get(change.kind) or change.subject for change in own)
    return _line("; ".join(dict.fromkeys(text for text in said if text)))


def _line(text: str, most: int = MAX_SUMMARY) -> str:
    line = unlinked(" ".join(text.split()))
    return line if len(line) <= most else line[: most - 1] + "…"


def _named(test: str) -> str:
    """A node id in a form that can be pasted; if it has spaces, as plain text."""
    return test if test.isprintable() and " " not in test and len(test) <= MAX_SUMMARY else _line(test)


def _shown(evidence: Evidence) -> str:
    before = {True: "failed before", False: "passed before", None: "not run before"}[evidence.failed_before]
    after = f"passed {evidence.passed} of {evidence.runs} runs after" if evidence.runs else "not run after"
    return f"{before}, {after}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
