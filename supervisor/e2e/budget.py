"""A test's time budget: all our deadlines expire before pytest-timeout's, which would leave processes behind."""

import os
import time
from dataclasses import dataclass

import pytest

_SMALLEST_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Budget:
    """The time left of a test's limit, minus a reserve to end processes and write results."""

    started: float
    limit: float | None = None

    @property
    def reserve(self) -> float:
        return min(3.0, self.limit * 0.2) if self.limit else 3.0

    @property
    def grace(self) -> float:
        """Between SIGTERM and SIGKILL."""
        return min(1.0, self.reserve / 4)

    def allow(self, seconds: float) -> float:
        if self.limit is None:
            return seconds
        left = self.started + self.limit - self.reserve - time.monotonic()
        return max(_SMALLEST_SECONDS, min(seconds, left))


def limit_of(item: pytest.Item) -> float | None:
    """The limit that pytest-timeout sets for a test: by marker, command line, environment, or configuration file."""
    config = item.config
    if not config.pluginmanager.hasplugin("timeout"):
        return None
    marker = item.get_closest_marker("timeout")
    candidates: list[object] = []
    if marker is not None:
        candidates.append(marker.args[0] if marker.args else marker.kwargs.get("timeout"))
    candidates += [config.getoption("timeout", None), os.environ.get("PYTEST_TIMEOUT"), config.getini("timeout")]
    for candidate in candidates:
        if candidate is not None and candidate != "":
            seconds = float(str(candidate))
            return seconds if seconds > 0 else None
    return None
