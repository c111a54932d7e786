"""`supervisorctl tutorial install-command`: installs a Claude Code slash command. Needs no daemon."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from supervisor.cli import session
from supervisor.cli.arguments import with_common_options
from supervisor.errors import Refused

NAME = "sync-tutorial-to-e2e-tests.md"

Directory = Annotated[Path, typer.Argument(metavar="[DIR]", exists=True, file_okay=False, help="The repository.")]


@with_common_options
def install_command(ctx: typer.Context, directory: Directory = Path()) -> None:
    """Write the slash command `sync-tutorial-to-e2e-tests` into DIR. A file that was edited there is not overwritten.

    Example: supervisorctl tutorial install-command
    """
    shipped = (files("supervisor.e2e.tutorial") / NAME).read_text(encoding="utf-8")
    path = directory / ".claude" / "commands" / NAME
    if path.exists() and path.read_text(encoding="utf-8") != shipped:
        raise Refused(
            f"{path} exists and differs from the shipped version", hint="move it away to install the shipped version"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(shipped, encoding="utf-8")
    session.of(ctx).show({"schema_version": 1, "path": str(path)}, str(path))
