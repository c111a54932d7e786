"""Notes on a batch's branch, including whether its base branch has moved on."""

from collections.abc import Sequence

from supervisor.control.desk import Desk
from supervisor.model.ledger import MOVED
from supervisor.observe.snapshot import View


async def notes(desk: Desk, summary: View, told: Sequence[str]) -> list[str]:
    """`summary`: the batch as in `status`; if an older version sealed it, fields may be missing."""
    branch, start = summary.get("branch"), summary.get("submitted_from")
    if not branch or not start:
        return list(told)
    moved = await desk.branches.moved(summary["repo"], start, summary["base"], branch)
    rest = [note for note in told if not note.startswith(MOVED)]
    return [f"{MOVED} {moved}", *rest] if moved else rest
