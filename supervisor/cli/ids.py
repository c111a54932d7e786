"""Completes ids of batches and jobs. If the daemon is unreachable or slow, there are no candidates."""

import typer

from supervisor.cli import session
from supervisor.control.client import Client, quoted
from supervisor.errors import SupervisorError

#: a slower answer is useless to someone who is typing
QUICK_SECONDS = 1.0
MOST_BATCHES = 50
SHORT = 12


def batches(ctx: typer.Context, incomplete: str) -> list[str]:
    return _ids(ctx, "/v1/batches", limit=MOST_BATCHES)


def jobs(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the batch and its dot first, then the number after the dot."""
    if "." in incomplete:
        return targets(ctx, incomplete)
    return [f"{batch}." for batch in batches(ctx, incomplete)]


def targets(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a batch; after a dot, one of its jobs."""
    batch, dot, _ = incomplete.partition(".")
    return _ids(ctx, f"/v1/batches/{quoted(batch)}/jobs") if dot else batches(ctx, incomplete)


def subjects(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete what `targets` does, or the name of a pool."""
    found = targets(ctx, incomplete)
    return found if "." in incomplete else [*found, *_ids(ctx, "/v1/status", rows="pools", key="name")]


def commits(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a commit of the branch of the batch before it."""
    batch = ctx.params.get("batch")
    found = _ids(ctx, f"/v1/batches/{quoted(batch)}/review", key="commit") if batch else []
    return [commit[:SHORT] for commit in found]


def _ids(ctx: typer.Context, path: str, *, rows: str = "rows", key: str = "id", **query: int) -> list[str]:
    here = session.of(ctx)
    client = Client(here.socket or session.socket_path(), timeout=QUICK_SECONDS)
    try:
        return [row[key] for row in client.get(path, **query)[rows]]
    except SupervisorError:
        return []
