"""The verbs `alerts` and `schedules`: what needs a person, and what the clock will bring."""

from typing import Annotated, Any

import typer

from supervisor.cli import printing, session
from supervisor.cli.tables import table


def alerts(
    ctx: typer.Context,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Also those that are over.")] = False,
) -> None:
    """List what needs a person now, and who is told of it.

    Example: supervisorctl alerts --all
    """
    here = session.of(ctx)
    data = here.client.get("/v1/alerts")
    if not everything:
        data.pop("past")
    here.show(data, _text(data))


def _text(data: dict[str, Any]) -> str:
    rows = [_row(alert) for alert in [*data["rows"], *data.get("past", ())]]
    parts = [table(("since", "over", "kind", "alert"), rows) if rows else "no alert holds"]
    if data["receivers"]:
        told = [_receiver(each) for each in data["receivers"]]
        parts.append(table(("receiver", "delivered", "last", "problem"), told))
    return "\n\n".join(parts)


def _row(alert: dict[str, Any]) -> tuple[object, ...]:
    return _time(alert["since"]), _time(alert["resolved_at"]), alert["kind"], alert["message"]


def _receiver(each: dict[str, Any]) -> tuple[object, ...]:
    given_up = f"{each['given_up']} given up" if each["given_up"] else None
    problem = ", ".join(filter(None, (each["problem"], given_up)))
    return each["name"], each["delivered"], _time(each["last_at"]), problem


def _time(at: str | None) -> str | None:
    return printing.moment(at) if at else None


def schedules(ctx: typer.Context) -> None:
    """List the batches that are submitted at a time, with their next times.

    Example: supervisorctl schedules
    """
    here = session.of(ctx)
    data = here.client.get("/v1/schedules")
    rows = [_schedule(each) for each in data["rows"]]
    head = ("schedule", "next", "last batch", "profile", "repository", "note")
    here.show(data, table(head, rows) if rows else "there is no schedule; docs/night.md says how to make one")


def _schedule(each: dict[str, Any]) -> tuple[object, ...]:
    note = "is being submitted" if each["submitting"] else f"waits: {each['held']}" if each["held"] else ""
    note = note or (f"not submitted: {each['problem']}" if each["problem"] else "")
    return each["name"], _time(each["next_at"]), each["batch"], each["profile"], each["repo"], note
