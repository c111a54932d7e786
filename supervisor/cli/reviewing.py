"""`review`: the commits of a batch's branch in the order in which to read them; accept or drop them."""

import time
from enum import StrEnum
from typing import Annotated, Any

import typer

from supervisor.cli import ids, printing, session
from supervisor.cli.arguments import BATCH
from supervisor.cli.patience import Patience
from supervisor.cli.tables import table
from supervisor.control.client import quoted
from supervisor.errors import Unreachable

SOME_FAILED = 1
#: so long the branch is waited for
REVISING_SECONDS, EVERY_SECONDS = 60.0, 0.3
COLUMNS = ("commit", "state", "by", "doubts", "jobs", "subject")
MOST_JOBS = 3
SHORT = 12


class Word(StrEnum):
    ACCEPT = "accept"
    DROP = "drop"
    UNDO = "undo"


WORD = typer.Argument(metavar="[accept|drop|undo]", help="What to say of the commits.", show_default=False)
COMMITS = typer.Argument(
    metavar="[COMMIT]…", help="Commits of the branch; ids may be shortened.", autocompletion=ids.commits
)
REASON = typer.Option(metavar="TEXT", help="Why; it is kept, and stands in the commit that reverts one.")


def review(
    ctx: typer.Context,
    batch: Annotated[str | None, BATCH] = None,
    word: Annotated[Word | None, WORD] = None,
    commits: Annotated[list[str] | None, COMMITS] = None,
    reason: Annotated[str, REASON] = "",
) -> None:
    """Review the branch of a batch by its commits, those with doubts first. Default: the latest batch.

    A dropped commit is reverted by a commit on top of the branch, also of the pull request; `accept` or `undo` puts
    it back. Your work tree is not touched. Exits 1 if the branch could not be revised, or not yet.

    Example: supervisorctl review k3f9x

    Example: supervisorctl review k3f9x drop 1a2b3c4 --reason "it hides the error"
    """
    here = session.of(ctx)
    if word is not None and not commits:
        raise typer.BadParameter(f"name the commits to {word}", param_hint="COMMIT")
    there = f"/v1/batches/{quoted(session.batch_or_latest(here.client, batch))}"
    path = f"{there}/review"
    if word is None:
        data = here.client.get(path)
        here.show(data, "" if here.json else _text(data))
        return
    from supervisor.model.review import WORDS

    body = {"commits": commits, "state": WORDS[word], "reason": reason}
    answer = here.client.post(f"{there}/decide", body)
    data = _revised(here, path)
    rows = [row for row in data["rows"] if row["commit"] in answer["commits"]]
    here.show({**answer, "revising": data["revising"], "trouble": data["trouble"], "rows": rows}, _told(rows))
    for note in (*data["notes"], *_later(data)):
        here.note(printing.clean(note))
    if data["revising"] or any(row["problem"] for row in rows):
        raise typer.Exit(SOME_FAILED)


def _revised(here: session.Session, path: str) -> dict[str, Any]:
    """The review once the branch agrees with it, or can't now, or takes long."""
    patience, ends = Patience(), time.monotonic() + REVISING_SECONDS
    while True:
        try:
            data = here.client.get(path)
            patience.reward()
        except Unreachable as away:
            patience.wait(away, until=ends)
            continue
        if not data["revising"] or data["trouble"] or time.monotonic() >= ends:
            return data
        time.sleep(EVERY_SECONDS)


def _later(data: dict[str, Any]) -> list[str]:
    if not data["revising"]:
        return []
    why = f": {data['trouble']}" if data["trouble"] else ""
    return [f"the branch {data['branch']} is not revised yet{why}; it is tried again by itself"]


def _text(data: dict[str, Any]) -> str:
    from supervisor.observe.commit_review import progress

    head = f"{data['branch']}: {progress(data['counts'])}"
    rows = data["rows"]
    cells = [
        (row["commit"][:SHORT], _state(row), row["by"], len(row["doubts"]) or "", _jobs(row), row["subject"])
        for row in rows
    ]
    parts = [printing.clean(head), table(COLUMNS, cells), _doubts(rows), "\n".join(map(printing.clean, _later(data)))]
    return "\n\n".join(part for part in parts if part)


def _state(row: dict[str, Any]) -> str:
    if row["problem"]:
        return f"{row['state']}, but still there" if row["state"] == "dropped" else f"{row['state']}, but not back"
    return str(row["state"])


def _jobs(row: dict[str, Any]) -> str:
    named = [job["id"] for job in row["jobs"]]
    more = [f"{len(named) - MOST_JOBS} more"] if len(named) > MOST_JOBS else []
    return ", ".join([*named[:MOST_JOBS], *more])


def _doubts(rows: list[dict[str, Any]]) -> str:
    """What to look at, by commit: doubts, and what could not be done."""
    lines = []
    for row in rows:
        said = [*row["doubts"], *([row["problem"]] if row["problem"] else [])]
        lines += [f"{row['commit'][:SHORT]}  {' '.join(each.split())}" for each in said]
    return "\n".join(map(printing.clean, lines))


def _told(rows: list[dict[str, Any]]) -> str:
    return "\n".join(printing.clean(_line(row)) for row in rows)


def _line(row: dict[str, Any]) -> str:
    who = f" by {row['by']}" if row["by"] and row["state"] != "unreviewed" else ""
    said = f"{row['commit'][:SHORT]} {row['state']}{who}"
    if row["problem"]:
        return f"{said}, but {row['problem']}"
    if row["reverted_by"]:
        return f"{said}: reverted by {row['reverted_by'][:SHORT]}"
    return f"{said}: not on the branch" if row["is_out"] else said
