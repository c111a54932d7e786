"""`wait`: waits until a batch is over, or until a timeout."""

import time
from typing import Annotated, Any

import typer

from supervisor.cli import session
from supervisor.cli.arguments import BATCH, TIMEOUT
from supervisor.cli.looking import batch_text, under_way
from supervisor.cli.patience import Patience
from supervisor.control.client import Client, quoted
from supervisor.errors import Unreachable

DONE, SOME_FAILED, OUT_OF_BUDGET, NEEDS_A_PERSON, TIMED_OUT = 0, 1, 6, 7, 124
UNWELL = ("blocked", "failed", "timed-out", "stalled", "lost", "cancelled")
#: the polling interval if no event arrives; and while the last agents of a stopped batch finish
LOOK_SECONDS, STOPPED_SECONDS = 60.0, 2.0


def wait(
    ctx: typer.Context,
    batch: Annotated[str | None, BATCH] = None,
    timeout: Annotated[float | None, TIMEOUT] = None,
) -> None:
    """Wait until a batch is over. Exits 0 if all jobs ended well, 1 if some did not, 6 if its budget was spent.

    Exits 7 when a person must act first, because a login was refused or credit is used up: see
    `supervisorctl status`. Default: the batch submitted last. It keeps waiting while the daemon restarts.

    Example: supervisorctl wait --timeout 3600
    """
    here = session.of(ctx)
    client = here.client
    meant = session.batch_or_latest(client, batch)
    here.note(f"waiting for batch {meant}")
    data = until_over(client, meant, float("inf") if timeout is None else time.monotonic() + timeout)
    here.show(data, batch_text(data["batch"]))
    raise typer.Exit(code(data["batch"]) if is_over(data["batch"]) else TIMED_OUT)


def is_over(batch: dict[str, Any]) -> bool:
    return batch["finished_at"] is not None or needs_a_person(batch)


def needs_a_person(batch: dict[str, Any]) -> bool:
    """The batch is stopped until a person acts, and none of its agents is at work any more."""
    is_held = batch["finished_at"] is None and batch["stopped"] not in (None, "budget")
    return is_held and not under_way(batch["jobs"])


def code(batch: dict[str, Any]) -> int:
    if batch.get("stopped"):  # absent from a batch that an older version sealed
        return OUT_OF_BUDGET if batch["stopped"] == "budget" else NEEDS_A_PERSON
    return SOME_FAILED if any(batch["outcomes"].get(outcome) for outcome in UNWELL) else DONE


def until_over(client: Client, batch: str, ends: float) -> dict[str, Any]:
    """The status of the batch once it is over, or at the deadline."""
    patience = Patience()
    while True:
        try:
            last = client.get("/v1/events", batch=batch, newest=True, limit=1)["rows"]
            data = client.get(f"/v1/batches/{quoted(batch)}")
            patience.reward()
            left = ends - time.monotonic()
            if is_over(data["batch"]) or left <= 0:
                return data
            within = min(left, STOPPED_SECONDS if data["batch"]["stopped"] else LOOK_SECONDS)
            _until_finished(client, batch, last[-1]["seq"] if last else 0, within)
        except Unreachable as away:
            patience.wait(away, until=ends)


def _until_finished(client: Client, batch: str, after: int, within: float) -> None:
    """Return at an event that may end the batch, at the deadline, or if the daemon is unreachable."""
    ends = time.monotonic() + within
    try:
        for event in client.events(after, batch=batch, timeout=within):
            if (
                event.get("kind") in ("batch-finished", "batch-sealed", "batch-stopped", "breaker-tripped")
                or time.monotonic() > ends
            ):
                return
    except Unreachable:
        return
