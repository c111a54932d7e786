"""A daemon that is restarted comes back: whoever follows it waits for that, for a while."""

import time

from supervisor.errors import Unreachable

PATIENCE_SECONDS, EVERY_SECONDS = 60.0, 0.5


class Patience:
    def __init__(self) -> None:
        self._since: float | None = None

    def reward(self) -> None:
        self._since = None

    def wait(self, away: Unreachable, *, until: float = float("inf")) -> None:
        """Return to try again; raise what was wrong when it lasts too long, or is not of the kind that passes."""
        now = time.monotonic()
        self._since = self._since or now
        if now - self._since > PATIENCE_SECONDS:
            raise away
        time.sleep(max(0.0, min(EVERY_SECONDS, until - now)))
