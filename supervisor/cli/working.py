"""`work`: what was done and is on no branch of yours, and how to have it."""

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
TAKE = typer.Option("--take", help="Bring it into your repository, each piece as a branch. Nothing is checked out.")
BRANCH = typer.Option(metavar="NAME", help="With --take: instead of supervisor/work/JOB.", show_default=False)
REPO = typer.Option(metavar="DIR", help="With --take: another repository than the batch's.", show_default=False)


def work(
    ctx: typer.Context,
    target: Annotated[str, TARGET] = "",
    take: Annotated[bool, TAKE] = False,
    branch: Annotated[str, BRANCH] = "",
    repo: Annotated[Path | None, REPO] = None,
) -> None:
    """Work that is not merged: rescued, rejected, of a batch that was cancelled. Without a word, of all batches.

    It is kept under refs of the daemon's own, or with an agent that is kept. With --take it becomes a branch of your
    repository, `supervisor/work/JOB`; no other branch is overwritten. Exits 1 when some of it could not be taken.

    Example: supervisorctl work k3f9x

    Example: supervisorctl work k3f9x.2 --take --branch rescued-fix
    """
    here = session.of(ctx)
    path = f"/v1/{'jobs' if '.' in target else 'batches'}/{quoted(target)}" if target else "/v1"
    if take:
        _take(here, path, target, branch, repo)
        return
    if branch or repo:
        raise typer.BadParameter("--branch and --repo say where --take puts it")
    data = here.client.get(f"{path}/work")
    here.show(data, _text(data["rows"]))


def _take(here: session.Session, path: str, target: str, branch: str, repo: Path | None) -> None:
    if not target:
        raise Refused("which work is to be taken?", hint="name a batch or a job; `supervisorctl work` lists them")
    body = {"branch": branch, "repo": str(repo.absolute()) if repo else ""}
    data = here.client.post(f"{path}/take", body)
    here.show(data, "\n".join(_line(row) for row in data["rows"]))
    if any(row["problem"] for row in data["rows"]):
        raise typer.Exit(SOME_FAILED)


def _line(row: dict[str, Any]) -> str:
    if row["problem"]:
        return f"{row['job']}: {printing.clean(row['problem'])}"
    was = "is the branch" if row["changed"] else "was there already, as the branch"
    return f"{row['job']} {was} {printing.clean(row['branch'])}"


def _text(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "nothing waits here: all work that was done is merged"
    cells = [(row["job"], row["ledger"], row["commits"], _where(row), row["why"]) for row in rows]
    return table(COLUMNS, cells)


def _where(row: dict[str, Any]) -> str:
    agent = row["agent"]
    parts = [row["ref"]] if row["ref"] else []
    if agent:
        parts.append(f"agent {agent['name']}, {agent['reach']}")
    return " and ".join(parts)
