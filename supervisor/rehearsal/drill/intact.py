"""Whether anything was lost or doubled: pure questions about what the daemon says of a batch."""

from collections.abc import Mapping, Sequence
from typing import Any

type Row = Mapping[str, Any]


def damage(events: Sequence[Row], batch: Row, jobs: Sequence[Row]) -> str:
    """A sentence; "": the batch of one job has all it should have, once."""
    if len(jobs) != 1 or sum(batch["ledger"].values()) != 1 or sum(batch["outcomes"].values()) != 1:
        return f"its ledger has {sum(batch['ledger'].values())} entries for one job"
    if batch["ledger"].get("merged") != 1:
        return f"its work is not on the branch: the ledger says {jobs[0]['ledger']}, {jobs[0]['ledger_why'] or ''}"
    if not batch["branch"]:
        return "there is no branch"
    return _doubled(events)


def _doubled(events: Sequence[Row]) -> str:
    """No attempt has two agents, and nothing ends twice."""
    for kind in ("launch-started", "launch-succeeded", "work-published", "work-collected", "agent-released"):
        attempts = [event["attempt"] for event in events if event["kind"] == kind]
        if len(attempts) != len(set(attempts)):
            return f"an attempt has the event {kind} twice"
    for kind in ("batch-submitted", "job-ended", "batch-finished", "batch-sealed"):
        if (count := sum(event["kind"] == kind for event in events)) != 1:
            return f"there are {count} events {kind}, not one"
    return ""


def lost(before: Sequence[Row], after: Sequence[Row]) -> str:
    """What the daemon had told before it was killed, the next one must tell again; "": it does."""
    if list(after[: len(before)]) == list(before):
        return ""
    return f"of {len(before)} events that were told before the daemon was killed, some are gone or differ"
