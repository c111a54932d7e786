"""`digest`: what a time brought, as plain text for mail."""

import re
import time
from datetime import datetime
from typing import Annotated

import typer

from supervisor.cli import session

SINCE = typer.Option(
    "--since", metavar="TIME", help="`24h`, `90m`, `7d`, or a date such as 2026-07-31 or 2026-07-31T22:00."
)
_UNITS = {"m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def digest(ctx: typer.Context, since: Annotated[str, SINCE] = "24h") -> None:
    """Say what a time brought: batches, what to review first, alerts, agents that wait, hours lost to pauses.

    Example: supervisorctl digest --since 24h
    """
    here = session.of(ctx)
    data = here.client.get("/v1/digest", since=f"{began(since, time.time()):.3f}")
    here.show(data, "" if here.json else _text(data))


def began(said: str, now: float) -> float:
    """Seconds since the epoch. A date without a zone is this machine's."""
    if found := re.fullmatch(r"(\d{1,6}) ?([mhdw])", said.strip()):
        return max(1.0, now - int(found[1]) * _UNITS[found[2]])
    try:
        return max(1.0, datetime.fromisoformat(said.strip()).timestamp())
    except (ValueError, OverflowError, OSError):
        raise typer.BadParameter(f"{said!r} is no time: say 24h, 7d or 2026-07-31", param_hint="--since") from None


def _text(data: dict[str, object]) -> str:
    from supervisor.observe.digest_text import text

    return text(data)
