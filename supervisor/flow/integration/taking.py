"""What an integrator says beside its branch, and what of it counts. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from supervisor.flow.integration.ledger import ChangeRow
from supervisor.model.ledger import Fate

ON_BRANCH = (Fate.MERGED, Fate.DUPLICATE)
MAX_REASON = 300
MOST_RANKED = 10_000


def given_up(extra: Mapping[str, object]) -> dict[str, str]:
    """Changes that an integrator says it could not bring in, with its reasons. Its outcome is hostile."""
    said = extra.get("failed")
    entries = [entry for entry in said if isinstance(entry, dict)] if isinstance(said, list) else []
    reasons = {entry.get("change"): entry.get("reason") for entry in entries if _is_name(entry.get("change"))}
    return {
        str(change): " ".join(reason.split())[:MAX_REASON]
        for change, reason in reasons.items()
        if isinstance(reason, str)
    }


def ranked(extra: Mapping[str, object]) -> tuple[str, ...]:
    """The fixes as an integrator ranks them, best first; () where it does not say."""
    said = extra.get("ranking")
    named = said[:MOST_RANKED] if isinstance(said, list) else []
    return tuple(dict.fromkeys(str(each) for each in named if _is_name(each)))


def untrue(
    failed: Mapping[str, str], ranking: Sequence[str], conflicts: Collection[str], fixes: Collection[str]
) -> Iterator[str]:
    """What it says of things that it was not asked about."""
    for change in failed:
        if change not in conflicts:
            yield f"the integrator says that {_shown(change)} failed, which is in no conflict"
    for change in ranking:
        if change not in fixes:
            yield f"the integrator ranks {_shown(change)}, which is no fix of this branch"


def with_reasons(rows: Sequence[ChangeRow], reasons: Mapping[str, str]) -> tuple[ChangeRow, ...]:
    """Of what stays in conflict, also why it was given up."""
    return tuple(
        replace(row, detail="; ".join(filter(None, [row.detail, reasons.get(row.change.sha, "")])))
        if row.fate is Fate.CONFLICT
        else row
        for row in rows
    )


def _is_name(said: object) -> bool:
    return isinstance(said, str) and bool(said)


def _shown(said: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in said)[:50]
