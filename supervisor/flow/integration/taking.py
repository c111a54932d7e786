"""What becomes of each change when an integrator's branch takes the place of the mechanical one. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from supervisor.flow.integration.checking import BranchCommit
from supervisor.flow.integration.ledger import ChangeRow
from supervisor.model.ledger import Fate

ON_BRANCH = (Fate.MERGED, Fate.DUPLICATE)
MAX_REASON = 300
RESOLVED = "a conflict that the integrator resolved"


def qualifying(rows: Sequence[ChangeRow]) -> set[str]:
    """What an integrator has to account for."""
    return {row.change.sha for row in rows if row.fate in (*ON_BRANCH, Fate.CONFLICT)}


def given_up(extra: Mapping[str, object]) -> dict[str, str]:
    """Changes that an integrator says it could not bring in, with its reasons. Its outcome is hostile."""
    said = extra.get("failed")
    entries = [entry for entry in said if isinstance(entry, dict)] if isinstance(said, list) else []
    reasons = {entry.get("change"): entry.get("reason") for entry in entries}
    return {
        change: " ".join(reason.split())[:MAX_REASON]
        for change, reason in reasons.items()
        if isinstance(change, str) and isinstance(reason, str)
    }


def holders(commits: Sequence[BranchCommit], made: Mapping[str, str]) -> dict[str, str]:
    """For each change that is on a branch, the commit that holds it. `made`: what each commit has become."""
    return {change: made[commit.sha] for commit in commits if commit.sha in made for change in commit.changes}


def retaken(
    rows: Sequence[ChangeRow], holders: Mapping[str, str], reasons: Mapping[str, str]
) -> tuple[ChangeRow, ...]:
    """Every change keeps its row; `reasons` say why one is not on the branch."""
    return tuple(_retaken(row, holders.get(row.change.sha, ""), reasons.get(row.change.sha, "")) for row in rows)


def _retaken(row: ChangeRow, commit: str, reason: str) -> ChangeRow:
    if row.fate is Fate.CONFLICT and commit:
        return replace(row, fate=Fate.MERGED, detail=RESOLVED, commit=commit)
    if row.fate is Fate.CONFLICT:
        return replace(row, detail="; ".join(filter(None, [row.detail, reason])))
    if row.fate in ON_BRANCH and commit:
        return replace(row, commit=commit)
    if row.fate in ON_BRANCH:
        return replace(row, fate=Fate.REJECTED, detail=reason or "the integrator left it out", commit="")
    return row
