"""`supervisorctl tutorial view`: one page of a run, to look at in a browser. No daemon."""

from pathlib import Path
from typing import Annotated

import typer

from supervisor.cli import session
from supervisor.cli.arguments import with_common_options

Directory = Annotated[Path, typer.Argument(metavar="DIR", exists=True, file_okay=False, help="A run's results.")]
Compare = Annotated[
    Path | None,
    typer.Option(metavar="DIR2", exists=True, file_okay=False, help="Another run, to see what has changed."),
]
Script = Annotated[
    Path | None,
    typer.Option("--tutorial", metavar="FILE", exists=True, dir_okay=False, help="The script, for its own order."),
]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Default: DIR/view.html.")]


@with_common_options
def view(
    ctx: typer.Context,
    directory: Directory,
    compare: Compare = None,
    tutorial: Script = None,
    output: Output = None,
) -> None:
    """Write one self-contained page: each block, its tests, their transcripts beside their recordings.

    Example: supervisorctl tutorial view results --tutorial tutorial.sh
    """
    from supervisor.e2e.view.page import write

    written = str(write(directory, compare=compare, tutorial=tutorial, to=output))
    session.of(ctx).show({"schema_version": 1, "path": written}, written)
