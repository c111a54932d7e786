"""What has come of traces, as `status` shows it."""

from collections.abc import Mapping
from typing import Any


def attention(telemetry: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """A collector that takes nothing needs a person; what was dropped is said with it."""
    if telemetry is None or not telemetry["problem"]:
        return []
    dropped = f"; {telemetry['dropped']} spans were dropped" if telemetry["dropped"] else ""
    return [{"kind": "telemetry", "message": f"traces can't be told: {telemetry['problem']}{dropped}"}]
