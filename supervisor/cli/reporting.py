"""`report`: what happened, what it cost, what to review and what to do next."""

from pathlib import Path
from typing import Annotated, Any

import typer

from supervisor.cli import session
from supervisor.cli.arguments import BATCH
from supervisor.errors import Refused

HTML = typer.Option("--html", metavar="FILE", help="Write the report as one self-contained page.", show_default=False)


def report(
    ctx: typer.Context, batch: Annotated[str | None, BATCH] = None, html: Annotated[Path | None, HTML] = None
) -> None:
    """Report the results of a batch, its cost, and what to do next; also while it runs. Default: the latest batch.

    Example: supervisorctl report --html report.html
    """
    here = session.of(ctx)
    client = here.client
    data = client.get(f"/v1/batches/{session.batch_or_latest(client, batch)}/report")
    if html is None:
        here.show(data, "" if here.json else _text(data))
        return
    _write(html, data)
    here.show({"schema_version": 1, "batch": data["batch"]["id"], "html": str(html)}, str(html))


def _text(data: dict[str, Any]) -> str:
    import msgspec

    from supervisor.observe.report import Report
    from supervisor.observe.report_text import text

    return text(msgspec.convert(data, Report))


def _write(path: Path, data: dict[str, Any]) -> None:
    import msgspec

    from supervisor.observe.report import Report
    from supervisor.observe.report_html import html

    try:
        path.write_text(html(msgspec.convert(data, Report)), encoding="utf-8")
    except OSError as error:
        raise Refused(f"{path} can't be written: {error.strerror}", hint="choose another FILE") from None
