"""`top`: the whole queue in a terminal, live, with keys to steer."""

from typing import Annotated

import typer

from supervisor.cli import printing, session
from supervisor.cli.arguments import BATCH
from supervisor.errors import Refused


def top(ctx: typer.Context, batch: Annotated[str | None, BATCH] = None) -> None:
    """Watch and steer all open batches in a terminal, also over ssh; with BATCH, that one.

    Keys: w why, l log, e ended, / filter, p pause or resume, c cancel, r retry, s slots, q quit.

    Example: supervisorctl top
    """
    here = session.of(ctx)
    if here.json or not printing.has_terminal():
        hint = "`supervisorctl status --json` and `supervisorctl follow` say the same without one"
        raise Refused("top needs a terminal", hint=hint)
    from supervisor.cli.top.app import Top

    meant = session.batch_or_latest(here.client, batch) if batch else ""
    here.client.get("/v1/health")  # without a daemon this says so, before the screen is taken
    Top(here.client, meant).run()
