"""Retries while the daemon is unreachable, as during a restart, until a time limit."""

import time

from supervisor.errors import Unreachable

PATIENCE_SECONDS, EVERY_SECONDS = 60.0, 0.5


class Patience:
    def __init__(self) -> None:
        self._since: float | None = None

    def reward(self) -> None:
        self._since = None

    def wait(self, away: Unreachable, *, until: float = float("inf")) -> None:
        """Sleep before the next try; raise `away` if the daemon has been unreachable for too long."""
        now = time.monotonic()
        self._since = self._since or now
        if now - self._since > PATIENCE_SECONDS:
            raise away
        time.sleep(max(0.0, min(EVERY_SECONDS, until - now)))
