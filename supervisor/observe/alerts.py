"""Alerts as data for JSON, and as text for receivers."""

from collections.abc import Mapping
from typing import Any

from supervisor.model.alert import Alert
from supervisor.model.event import AlertRaised, AlertResolved
from supervisor.model.state import State
from supervisor.observe.snapshot import SCHEMA_VERSION, answer, rfc3339


def alerts(state: State, now: float, receivers: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The open alerts, oldest first, and the latest ones that are over."""
    rows = sorted(state.alerts.open.values(), key=lambda alert: (alert.since, alert.id))
    past = [row(alert) for alert in reversed(state.alerts.past)]
    told = [{"name": name, **told} for name, told in (receivers or {}).items()]
    return answer(now, rows=[row(alert) for alert in rows], past=past, receivers=told)


def row(alert: Alert) -> dict[str, Any]:
    return {
        "id": alert.id,
        "kind": alert.kind,
        "subject": alert.subject or None,
        "message": alert.message,
        "since": rfc3339(alert.since),
        "resolved_at": rfc3339(alert.resolved_at),
        "why": alert.why or None,
    }


def notice(event: AlertRaised | AlertResolved) -> dict[str, Any]:
    """The content for a receiver. `text` is a whole sentence, for receivers that use no other field."""
    is_over = isinstance(event, AlertResolved)
    text = f"Over: {event.message} ({event.why})" if isinstance(event, AlertResolved) else event.message
    return {
        "schema_version": SCHEMA_VERSION,
        "text": text,
        "type": "alert.resolved" if is_over else "alert.raised",
        "at": rfc3339(event.at),
        "alert": {
            "id": event.id,
            "kind": event.rule,
            "subject": event.subject or None,
            "message": event.message,
            "why": event.why if isinstance(event, AlertResolved) else None,
        },
    }
