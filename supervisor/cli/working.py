"""`work`: lists work that is not merged, and brings it into the user's repository as branches."""

from pathlib import Path
from typing import Annotated, Any

import typer

from supervisor.cli import ids, printing, session
from supervisor.cli.tables import table
from supervisor.control.client import quoted
from supervisor.errors import Refused

SOME_FAILED = 1
COLUMNS = ("job", "ledger", "commits", "where", "why")

TARGET = typer.Argument(
    metavar="[BATCH|JOB]", help="A batch, or a job as BATCH.NUMBER.", show_default=False, autocompletion=ids.targets
)
TAKE = typer.Option("--take", help="Bring the work into your repository as branches. Nothing is checked out.")
BRANCH = typer.Option(
    metavar="NAME", help="With --take: the branch's name; default: supervisor/work/JOB.", show_default=False
)
REPO = typer.Option(metavar="DIR", help="With --take: the repository; default: the batch's.", show_default=False)


def work(
    ctx: typer.Context,
    target: Annotated[str, TARGET] = "",
    take: Annotated[bool, TAKE] = False,
    branch: Annotated[str, BRANCH] = "",
    repo: Annotated[Path | None, REPO] = None,
) -> None:
    """List work that is not merged: rescued, rejected, or of a cancelled batch. Default: of all batches.

    The work is under refs of the daemon's own repository, or with a kept agent. --take makes it a branch of your
    repository, `supervisor/work/JOB`, without overwriting another branch. Exits 1 if some of it could not be taken.

    Example: supervisorctl work k3f9x

    Example: supervisorctl work k3f9x.2 --take --branch rescued-fix
    """
    here = session.of(ctx)
    path = f"/v1/{'jobs' if '.' in target else 'batches'}/{quoted(target)}" if target else "/v1"
    if take:
        _take(here, path, target, branch, repo)
        return
    if branch or repo:
        raise typer.BadParameter("--branch and --repo can only be used with --take")
    data = here.client.get(f"{path}/work")
    here.show(data, _text(data["rows"]))


def _take(here: session.Session, path: str, target: str, branch: str, repo: Path | None) -> None:
    if not target:
        raise Refused("--take requires a batch or a job", hint="`supervisorctl work` lists them")
    body = {"branch": branch, "repo": str(repo.absolute()) if repo else ""}
    data = here.client.post(f"{path}/take", body)
    here.show(data, "\n".join(_line(row) for row in data["rows"]))
    if any(row["problem"] for row in data["rows"]):
        raise typer.Exit(SOME_FAILED)


def _line(row: dict[str, Any]) -> str:
    if row["problem"]:
        return f"{row['job']}: {printing.clean(row['problem'])}"
    was = "is now the branch" if row["changed"] else "was already taken as the branch"
    return f"{row['job']} {was} {printing.clean(row['branch'])}"


def _text(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "no unmerged work"
    cells = [(row["job"], row["ledger"], row["commits"], _where(row), row["why"]) for row in rows]
    return table(COLUMNS, cells)


def _where(row: dict[str, Any]) -> str:
    agent = row["agent"]
    parts = [row["ref"]] if row["ref"] else []
    if agent:
        parts.append(f"agent {agent['name']}, {agent['reach']}")
    return " and ".join(parts)
