"""The ledger: one row for every change and one for every job, and the two agree."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from supervisor.integration.rules.work import Picked, Work
from supervisor.model.change import Change, ChangeKey
from supervisor.model.ledger import Fate, LedgerRow

MAX_NAMED = 3
RESOLVED = "a conflict that the integrator resolved"

#: a job's fate is the best one of its changes
_BEST_FIRST = (Fate.MERGED, Fate.DUPLICATE, Fate.CONFLICT, Fate.REJECTED, Fate.EMPTY)


@dataclass(frozen=True, slots=True)
class ChangeRow:
    change: Change
    fate: Fate
    detail: str = ""
    #: its commit on the branch
    commit: str = ""
    #: for a conflict: the paths, and the earlier changes that touch the same paths
    paths: tuple[str, ...] = ()
    rivals: tuple[Change, ...] = ()


def change_rows(
    picks: Iterable[Picked],
    rejected: Mapping[ChangeKey, str],
    works: Iterable[Work],
    commits: Mapping[ChangeKey, str],
) -> tuple[ChangeRow, ...]:
    """A row for every change of every work. `commits` maps a change on the branch to its commit."""
    rows: dict[ChangeKey, ChangeRow] = {}
    for picked in picks:
        detail = _detail(picked)
        for change in picked.changes:
            commit = commits.get(change.key, "")
            rows[change.key] = ChangeRow(change, picked.fate, detail, commit, picked.paths, picked.rivals)
    ordered = []
    for work in sorted(works, key=lambda work: work.job):
        for change in work.changes:
            left_out = ChangeRow(change, Fate.REJECTED, rejected.get(change.key, ""))
            ordered.append(rows.get(change.key, left_out))
    return tuple(ordered)


def job_rows(
    works: Iterable[Work], rows: Sequence[ChangeRow], doubts: Mapping[int, tuple[str, ...]] | None = None
) -> dict[int, LedgerRow]:
    """A row for every job. A job without changes is empty, or rejected with the reason.

    `doubts`: how the merge changed a job's work, if it is not merged as verified."""
    by_job: dict[int, list[ChangeRow]] = {}
    for row in rows:
        by_job.setdefault(row.change.job, []).append(row)
    return {work.job: _job_row(work, by_job.get(work.job, []), (doubts or {}).get(work.job, ())) for work in works}


def _detail(picked: Picked) -> str:
    named = [f"{rival.sha} of job {rival.job}" for rival in picked.rivals]
    more = [f"{len(named) - MAX_NAMED} more"] if len(named) > MAX_NAMED else []
    rivals = ", ".join(named[:MAX_NAMED] + more)
    match picked.fate:
        case Fate.CONFLICT:
            with_whom = f" with {rivals}" if rivals else " with the base"
            return f"conflicts in {', '.join(picked.paths)}{with_whom}"
        case Fate.DUPLICATE if (there := picked.holder) is not None:
            same = [change.patch_id for change in picked.changes] == [there.patch_id]
            return f"{'the same as' if same else 'already contained in'} {there.sha} of job {there.job}"
        case Fate.DUPLICATE:
            return "the base already has it"
        case Fate.EMPTY:
            return "it changes nothing"
        case Fate.MERGED if picked.resolved:
            return RESOLVED
    return ""


def _job_row(work: Work, rows: list[ChangeRow], doubts: tuple[str, ...]) -> LedgerRow:
    if not rows:
        return LedgerRow(Fate.REJECTED if work.rejected else Fate.EMPTY, work.rejected)
    fate = min((row.fate for row in rows), key=_BEST_FIRST.index)
    on_branch = fate in (Fate.MERGED, Fate.DUPLICATE)
    details = dict.fromkeys([*(row.detail for row in rows if row.detail), *(doubts if on_branch else ())])
    commits = dict.fromkeys(row.commit or row.change.sha for row in rows)
    return LedgerRow(fate, "; ".join(details), tuple(commits), doubts if on_branch else ())


def credited(picks: Iterable[Picked]) -> tuple[tuple[Change, ChangeKey], ...]:
    """Each change on the branch with the merged change whose commit contains it, for duplicates, too."""
    found: dict[ChangeKey, ChangeKey] = {}
    named: list[tuple[Change, ChangeKey]] = []
    for picked in picks:
        for change in picked.changes:
            if picked.fate is Fate.MERGED:
                found[change.key] = change.key
            elif picked.fate is Fate.DUPLICATE and picked.holder is not None:
                found[change.key] = found[picked.holder.key]
            else:
                continue
            named.append((change, found[change.key]))
    return tuple(named)
