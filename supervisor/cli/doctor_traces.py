"""What `doctor` says of traces: whether they can be told, and what has come of them."""

from collections.abc import Iterator
from typing import Any

from supervisor.cli import session
from supervisor.cli.findings import Finding, Judged
from supervisor.errors import SupervisorError


def traces(here: session.Session, judged: Judged) -> Iterator[Finding]:
    from supervisor.adapters.telemetry.extra import HINT, MISSING, is_missing

    if not judged.settings.telemetry.endpoint:
        return
    if is_missing(judged.settings):
        yield Finding("traces", "problem", MISSING, HINT)
    elif judged.is_running and (told := _told(here)) is not None:
        yield _of(told)
    else:
        yield Finding("traces", "ok", "the daemon tells them when it runs")


def _told(here: session.Session) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] | None = here.client.get("/v1/status").get("telemetry")
    except SupervisorError:
        return None
    return found


def _of(told: dict[str, Any]) -> Finding:
    counts = f"{told['spans']} spans were told since the daemon started, {told['dropped']} were dropped"
    if problem := told["problem"]:
        hint = "see that the collector runs, and takes OTLP by HTTP at `endpoint` under [telemetry]"
        return Finding("traces", "problem", f"they can't be told: {problem}; {counts}", hint)
    return Finding("traces", "warning" if told["dropped"] else "ok", counts)
