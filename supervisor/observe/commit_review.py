"""The review of a branch in a report, commit by commit."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from supervisor.model.review import Verdict


@dataclass(frozen=True, slots=True)
class CommitReview:
    commit: str
    #: the jobs whose work it contains
    jobs: tuple[str, ...]
    #: the number of doubts about their work
    doubts: int = 0
    #: accepted, dropped or unreviewed
    state: str = "unreviewed"
    #: who said so, when and why
    by: str = ""
    at: str | None = None
    reason: str = ""
    #: it is not on the branch any more
    is_out: bool = False
    #: the commit that reverted it; "": none, or none that names it
    reverted_by: str = ""
    #: why it could not be reverted or put back
    problem: str = ""


def counted(found: Iterable[CommitReview]) -> dict[str, int]:
    states = [each.state for each in found]
    return {"total": len(states)} | {verdict.value: states.count(verdict) for verdict in Verdict}


def progress(counts: Mapping[str, int]) -> str:
    """`7 of 12 commits reviewed: 5 accepted, 2 dropped`."""
    done = counts["total"] - counts["unreviewed"]
    parts = [f"{counts[each]} {each}" for each in (Verdict.ACCEPTED, Verdict.DROPPED) if counts[each]]
    said = f"{done} of {counts['total']} {'commit' if counts['total'] == 1 else 'commits'} reviewed"
    return f"{said}: {', '.join(parts)}" if parts else said
