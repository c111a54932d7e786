"""`replay`: a past batch under other settings."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from supervisor.cli import session
from supervisor.cli.arguments import BATCH

SLOTS = typer.Option(
    metavar="[POOL=]N",
    help="Slots of a pool; without POOL, of the first pool it used. Repeatable.",
    show_default=False,
)
VERIFY = typer.Option(min=1, metavar="N", help="Verify slots.", show_default=False)
BUDGET = typer.Option(min=0, metavar="TOKENS", help="The batch's budget of tokens; 0: none.", show_default=False)
WINDOW = typer.Option(metavar="FROM-TO", help='The hours in which jobs start, such as 22:00-06:00; "" for all.')


def replay(
    ctx: typer.Context,
    batch: Annotated[str | None, BATCH] = None,
    slots: Annotated[list[str] | None, SLOTS] = None,
    verify_slots: Annotated[int | None, VERIFY] = None,
    budget: Annotated[int | None, BUDGET] = None,
    window: Annotated[str | None, WINDOW] = None,
) -> None:
    """Say what other settings would have made of a batch that is over: the same decisions, with the times that its
    launches, agents and verifications took. Without options it shows how well that agrees with what happened.

    Example: supervisorctl replay k3f9x --slots 20 --budget 5000000
    """
    here = session.of(ctx)
    client = here.client
    found = session.batch_or_latest(client, batch)
    body: dict[str, Any] = {"verify_slots": verify_slots, "budget_tokens": budget, "window": window}
    body = {key: value for key, value in body.items() if value is not None}
    if slots:
        body["slots"] = _slots(slots, client, found)
    data = client.post(f"/v1/batches/{found}/replay", body, timeout=600)
    here.show(data, "\n".join(_lines(data)))


def _slots(said: list[str], client: Any, batch: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in said:
        pool, equals, number = each.rpartition("=")
        if not (number.isascii() and number.isdigit() and int(number)) or (equals and not pool):
            raise typer.BadParameter(f"{each!r} is not a number of slots, such as 20 or modal=100")
        found[pool or _first_pool(client, batch)] = int(number)
    return found


def _first_pool(client: Any, batch: str) -> str:
    rows = client.get(f"/v1/batches/{batch}/jobs")["rows"]
    used = [row["pool"] for row in rows if row["pool"]]
    return str(used[0]) if used else "local"


def _lines(data: dict[str, Any]) -> Iterator[str]:
    from supervisor.observe.report_text import duration, number

    was, would = data["was"], data["would"]
    yield f"batch {data['batch']} took {duration(was['seconds'])}, with {_launches(was)}: {_counts(was['outcomes'])}"
    if would["seconds"] is None:
        yield "it would never have ended"
    else:
        yield f"it would take {duration(would['seconds'])}, with {_launches(would)}: {_counts(would['outcomes'])}"
    stopped = f", and stop for its {would['stopped']}" if would["stopped"] else ""
    yield f"it would have {would['most_agents']} agents at most and use {number(would['tokens'])} tokens{stopped}"
    yield from (f"note: {note}" for note in data["notes"])


def _launches(course: dict[str, Any]) -> str:
    count = len(course["launches"])
    return "1 launch" if count == 1 else f"{count} launches"


def _counts(outcomes: dict[str, int]) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())) or "nothing"
