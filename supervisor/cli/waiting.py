"""`wait`: until a batch is over, or for so long."""

import time
from typing import Annotated, Any

import typer

from supervisor.cli import session
from supervisor.cli.arguments import BATCH, TIMEOUT
from supervisor.cli.looking import batch_text
from supervisor.cli.patience import Patience
from supervisor.control.client import Client, quoted
from supervisor.errors import Unreachable

DONE, SOME_FAILED, TIMED_OUT = 0, 1, 124
UNWELL = ("blocked", "failed", "timed-out", "stalled", "lost", "cancelled")
#: between two looks, if no event says that it is over
LOOK_SECONDS = 60.0


def wait(
    ctx: typer.Context,
    batch: Annotated[str | None, BATCH] = None,
    timeout: Annotated[float | None, TIMEOUT] = None,
) -> None:
    """Wait until a batch is over. Exits 0 when all went well, 1 when some jobs did not.

    Without BATCH, for the one submitted last. A daemon that restarts meanwhile is waited for.

    Example: supervisorctl wait --timeout 3600
    """
    here = session.of(ctx)
    client = here.client
    meant = session.batch_or_latest(client, batch)
    data = until_over(client, meant, float("inf") if timeout is None else time.monotonic() + timeout)
    here.show(data, batch_text(data["batch"]))
    raise typer.Exit(TIMED_OUT if data["batch"]["finished_at"] is None else code(data["batch"]))


def code(batch: dict[str, Any]) -> int:
    return SOME_FAILED if any(batch["outcomes"].get(outcome) for outcome in UNWELL) else DONE


def until_over(client: Client, batch: str, ends: float) -> dict[str, Any]:
    """How it stands when it is over, or when the time is."""
    patience = Patience()
    while True:
        try:
            last = client.get("/v1/events", batch=batch, newest=True, limit=1)["rows"]
            data = client.get(f"/v1/batches/{quoted(batch)}")
            patience.reward()
            left = ends - time.monotonic()
            if data["batch"]["finished_at"] is not None or left <= 0:
                return data
            _until_finished(client, batch, last[-1]["seq"] if last else 0, min(left, LOOK_SECONDS))
        except Unreachable as away:
            patience.wait(away, until=ends)


def _until_finished(client: Client, batch: str, after: int, within: float) -> None:
    """Return at the event, at the time, or whenever there is reason to look."""
    ends = time.monotonic() + within
    try:
        for event in client.events(after, batch=batch, timeout=within):
            if event.get("kind") in ("batch-finished", "batch-sealed") or time.monotonic() > ends:
                return
    except Unreachable:
        return
