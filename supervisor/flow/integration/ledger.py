"""What became of each change and each job. Every change has one row, every job has one, and they agree."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from supervisor.flow.integration.work import Change, Group, Picked, Work
from supervisor.model.ledger import Fate, LedgerRow

MAX_NAMED = 3

#: the best of its changes' fates is the job's
_BEST_FIRST = (Fate.MERGED, Fate.DUPLICATE, Fate.CONFLICT, Fate.REJECTED, Fate.EMPTY)


@dataclass(frozen=True, slots=True)
class ChangeRow:
    change: Change
    fate: Fate
    detail: str = ""
    #: what it has become on the branch
    commit: str = ""
    #: for a conflict: where, and the changes picked before that touch the same paths
    paths: tuple[str, ...] = ()
    rivals: tuple[Change, ...] = ()


def change_rows(
    picks: Iterable[Picked], rejected: Mapping[str, str], works: Iterable[Work], commits: Mapping[str, str]
) -> tuple[ChangeRow, ...]:
    """A row for every change of every work. `commits`: for a change on the branch, the commit that holds it."""
    rows: dict[str, ChangeRow] = {}
    for picked in picks:
        rows |= {row.change.sha: row for row in _rows_of(picked, commits)}
    ordered = []
    for work in sorted(works, key=lambda work: work.job):
        for change in work.changes:
            left_out = ChangeRow(change, Fate.REJECTED, rejected.get(change.sha, ""))
            ordered.append(rows.get(change.sha, left_out))
    return tuple(ordered)


def job_rows(works: Iterable[Work], rows: Sequence[ChangeRow]) -> dict[int, LedgerRow]:
    """A row for every job: one that brings no change is empty, or rejected with the reason."""
    by_job: dict[int, list[ChangeRow]] = {}
    for row in rows:
        by_job.setdefault(row.change.job, []).append(row)
    return {work.job: _job_row(work, by_job.get(work.job, [])) for work in works}


def _rows_of(picked: Picked, commits: Mapping[str, str]) -> Iterable[ChangeRow]:
    group, detail = picked.group, _detail(picked)
    for change in group.changes:
        commit = commits.get(change.sha, "")
        if picked.fate is Fate.MERGED and change is not group.leader:
            leader = group.leader
            yield ChangeRow(change, Fate.DUPLICATE, f"the same as {leader.sha} of job {leader.job}", commit)
        else:
            yield ChangeRow(change, picked.fate, detail, commit, picked.paths, picked.rivals)


def _detail(picked: Picked) -> str:
    named = [f"{rival.sha} of job {rival.job}" for rival in picked.rivals]
    more = [f"{len(named) - MAX_NAMED} more"] if len(named) > MAX_NAMED else []
    rivals = ", ".join(named[:MAX_NAMED] + more)
    match picked.fate:
        case Fate.CONFLICT:
            with_whom = f" with {rivals}" if rivals else " with the base"
            return f"conflicts in {', '.join(picked.paths)}{with_whom}"
        case Fate.DUPLICATE:
            return f"all of it was done by {rivals}"
        case Fate.EMPTY:
            return "it changes nothing"
    return ""


def _job_row(work: Work, rows: list[ChangeRow]) -> LedgerRow:
    if not rows:
        return LedgerRow(Fate.REJECTED if work.rejected else Fate.EMPTY, work.rejected)
    fate = min((row.fate for row in rows), key=_BEST_FIRST.index)
    details = dict.fromkeys(row.detail for row in rows if row.detail)
    commits = dict.fromkeys(row.commit or row.change.sha for row in rows)
    return LedgerRow(fate, "; ".join(details), tuple(commits))


def groups_to_commit(picks: Sequence[Picked]) -> tuple[Group, ...]:
    """The groups on the branch, each with the duplicates that later picks turned out to be.

    A duplicate by content goes to the last of its rivals that was merged; it is credited there.
    """
    merged = {picked.group.leader.sha: list(picked.group.changes) for picked in picks if picked.fate is Fate.MERGED}
    holder = {change.sha: sha for sha, changes in merged.items() for change in changes}
    for picked in picks:
        if picked.fate is Fate.DUPLICATE:
            last = holder[picked.rivals[-1].sha]
            merged[last] += picked.group.changes
            holder |= {change.sha: last for change in picked.group.changes}
    return tuple(Group(tuple(changes)) for changes in merged.values())
