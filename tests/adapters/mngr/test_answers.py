"""What is made of a line of mngr's listing."""

import pytest

from supervisor.adapters.mngr.answers import seen_agent


@pytest.mark.parametrize(
    ("state", "reason", "seen"),
    [
        ("WAITING", "PERMISSIONS", "blocked"),
        ("RUNNING", "PERMISSIONS", "blocked"),
        ("WAITING", "END_OF_TURN", "waiting"),
        ("RUNNING", None, "running"),
        ("DONE", "PERMISSIONS", "done"),
    ],
)
def test_one_that_asks_is_blocked_also_where_its_turn_is_said_to_go_on(
    state: str, reason: str | None, seen: str
) -> None:
    """A codex that asks is listed as running."""
    host = {"id": "host-" + "1" * 32, "provider_name": "local"}
    plugin = {"codex": {"waiting_reason": reason}}
    raw = {"id": "agent-" + "1" * 32, "name": "one", "host": host, "state": state, "plugin": plugin}
    assert seen_agent(raw).state == seen
