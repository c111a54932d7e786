"""The export of traces, as `status` shows it."""

from collections.abc import Mapping
from typing import Any


def attention(telemetry: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """A collector that accepts nothing needs a person; the entry includes the number of dropped spans."""
    if telemetry is None or not telemetry["problem"]:
        return []
    dropped = f"; {telemetry['dropped']} spans were dropped" if telemetry["dropped"] else ""
    return [{"kind": "telemetry", "message": f"traces can't be told: {telemetry['problem']}{dropped}"}]
