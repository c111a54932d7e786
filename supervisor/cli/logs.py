"""`logs`: the log of a job's agent; `-f` follows it."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from supervisor.cli import printing, session
from supervisor.cli.arguments import JOB
from supervisor.cli.patience import Patience
from supervisor.control.client import Client, quoted
from supervisor.errors import Unreachable

WAIT_SECONDS = 20
_PAINT = {"say": "bold", "tool": "blue", "result": "bright_black", "pane": "bright_black", "note": "yellow"}

type Row = dict[str, Any]


def logs(
    ctx: typer.Context,
    job: Annotated[str, JOB],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow until the job is over.")] = False,
    attempt: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="The attempt to show; default: the last one.", show_default=False),
    ] = None,
) -> None:
    """Show what a job's agent said and did; BATCH.0 is the integrator's. With --json, one line per entry.

    Example: supervisorctl logs k3f9x.1
    """
    here = session.of(ctx)
    printed = False
    for row in followed(here.client, job, attempt) if follow else _all(here.client, job, attempt):
        printed = True
        print(json.dumps(row) if here.json else row_text(row), flush=follow)
    if not printed and not here.json:
        print("nothing is written yet" if not follow else "nothing was written")


def row_text(row: Row) -> str:
    """The lines of an entry's text, the first with the time and the kind."""
    at, kind = str(row["at"])[11:19], str(row["kind"])
    data = row.get("data") or {}
    said = data.get("tool") or (data.get("by") if data.get("by") != "agent" else "") or ""
    name = kind if kind not in ("say", "event") else said or kind
    lines = [printing.clean(line) for line in str(row["text"]).splitlines()] or [""]
    if kind in ("tool", "result") and said:
        lines[0] = f"{printing.clean(said)}: {lines[0]}"
    mark = "red" if data.get("error") else _PAINT.get(kind, "")
    head = f"{printing.clean(at)} {printing.paint(f'{printing.clean(name)[:6]:<6}', mark)} "
    return "\n".join([head + lines[0], *(" " * 16 + line for line in lines[1:])])


def _all(client: Client, job: str, attempt: int | None) -> Iterator[Row]:
    place = 0
    while rows := (page := _page(client, job, attempt or 0, place, 0))["rows"]:
        yield from rows
        attempt, place = page["attempt"], page["next"]


def followed(client: Client, job: str, attempt: int | None) -> Iterator[Row]:
    """Follow one attempt after the other until the job is over, or only the requested one."""
    patience, number, place = Patience(), attempt or 0, 0
    while True:
        try:
            page = _page(client, job, number, place, WAIT_SECONDS)
            patience.reward()
        except Unreachable as away:
            patience.wait(away)
            continue
        yield from page["rows"]
        number, place = page["attempt"], page["next"]
        if page["rows"] or not page["attempt_over"]:
            continue
        if page["attempts"] > number and attempt is None:
            number, place = number + 1, 0
        elif page["job_over"] or attempt is not None:
            return


def _page(client: Client, job: str, attempt: int, after: int, wait: float) -> Row:
    path = f"/v1/jobs/{quoted(job)}/logs"
    return client.get(path, attempt=attempt or None, after=after or None, wait_seconds=wait or None)
