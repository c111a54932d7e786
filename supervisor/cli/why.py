"""`why`: one paragraph on where a job, a batch or a pool is, why, and what would change that."""

import textwrap
from datetime import datetime
from typing import Annotated

import typer

from supervisor.cli import ids, printing, session
from supervisor.control.client import quoted

SUBJECT = typer.Argument(
    metavar="JOB|BATCH|POOL",
    help="A job as BATCH.NUMBER, a batch, or the name of a pool. Default: the batch submitted last.",
    show_default=False,
    autocompletion=ids.subjects,
)


def why(ctx: typer.Context, subject: Annotated[str | None, SUBJECT] = None) -> None:
    """Say why a job, a batch or a pool is where it is, and what would change that.

    Example: supervisorctl why k3f9x.1
    """
    here = session.of(ctx)
    meant = subject or session.batch_or_latest(here.client, None)
    offset = datetime.now().astimezone().utcoffset()
    minutes = round(offset.total_seconds() / 60) if offset is not None else 0
    data = here.client.get(f"/v1/why/{quoted(meant)}", utc_offset_minutes=minutes)
    here.show(data, paragraph(data["why"]))


def paragraph(text: str) -> str:
    said = printing.clean(text)
    if not printing.has_terminal():
        return said
    return textwrap.fill(said, max(40, printing.terminal_columns()), break_on_hyphens=False, break_long_words=False)
