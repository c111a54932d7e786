"""What an agent's own files tell of it now: when it was last active, whether it waits, whether it asks."""

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from supervisor.adapters.logs import claude
from supervisor.adapters.logs.books import Page
from supervisor.adapters.logs.panes import Pane
from supervisor.model.attempt import Attempt
from supervisor.ports import Sight

ACTIVE, ASKS = "active", "permissions_waiting"
#: What is typed into a pane changes it: that is no activity of the agent's.
ECHO_SECONDS = 5.0


def active_at(attempt: Attempt, paths: Iterable[Path], folder: Path, pane: Pane | None) -> float:
    """The newest of its files; for one that writes none, its pane. A clock that is ahead does not count."""
    latest = attempt.started_at
    for path in (*paths, folder / claude.RAW, folder / ACTIVE):
        with suppress(OSError):
            latest = max(latest, path.lstat().st_mtime)
    if pane is not None and pane.changed_at > (attempt.nudged_at or 0.0) + ECHO_SECONDS:
        latest = max(latest, pane.changed_at)
    return min(latest, time.time())


def seen(attempt: Attempt, page: Page, folder: Path, active_at: float, asks: bool) -> Sight:
    is_here = attempt.provider == "local" and folder.exists()
    return Sight(
        active_at=active_at,
        waits=not (folder / ACTIVE).exists() if is_here else None,
        asks=(folder / ASKS).exists() or asks if is_here else None,
        usage=page.usage,
        problem=page.word.problem,
        detail=page.word.detail,
    )
