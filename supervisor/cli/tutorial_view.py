"""`supervisorctl tutorial view`: shows a test run as one page for a browser. Needs no daemon."""

from pathlib import Path
from typing import Annotated

import typer

from supervisor.cli import session
from supervisor.cli.arguments import with_common_options

Directory = Annotated[Path, typer.Argument(metavar="DIR", exists=True, file_okay=False, help="The results of a run.")]
Compare = Annotated[
    Path | None,
    typer.Option(metavar="DIR2", exists=True, file_okay=False, help="An earlier run to compare with."),
]
Script = Annotated[
    Path | None,
    typer.Option("--tutorial", metavar="FILE", exists=True, dir_okay=False, help="The script, to order blocks by."),
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
    """Write one self-contained page: each block, its tests, and their transcripts beside their recordings.

    Example: supervisorctl tutorial view results --tutorial tutorial.sh
    """
    from supervisor.e2e.view.page import write

    written = str(write(directory, compare=compare, tutorial=tutorial, to=output))
    session.of(ctx).show({"schema_version": 1, "path": written}, written)
