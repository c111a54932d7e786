"""`supervisorctl tutorial view`: one page of a run, to look at in a browser. No daemon."""

from pathlib import Path
from typing import Annotated

import typer

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


def view(directory: Directory, compare: Compare = None, tutorial: Script = None, output: Output = None) -> None:
    """Write one self-contained page: each block, its tests, their transcripts beside their recordings.

    Example: supervisorctl tutorial view results --tutorial tutorial.sh
    """
    from supervisor.e2e.view.page import write

    print(write(directory, compare=compare, tutorial=tutorial, to=output))
