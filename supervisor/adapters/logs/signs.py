"""What an agent's own files tell of it now: when it was last active, whether it waits, whether it asks."""

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from supervisor.adapters.logs.books import Page
from supervisor.adapters.logs.panes import Pane
from supervisor.kinds import Kind
from supervisor.model.attempt import Attempt
from supervisor.model.share import WindowShare
from supervisor.ports import Sight

#: What is typed into a pane changes it: that is no activity of the agent's.
ECHO_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Files:
    """One attempt's, below its state directory, as its kind keeps them."""

    attempt: Attempt
    kind: Kind
    folder: Path

    def active_at(self, paths: Iterable[Path], pane: Pane | None) -> float:
        """The newest of its files; for one that writes none, its pane. A clock that is ahead does not count."""
        latest = self.attempt.started_at
        for path in (*paths, *(self.folder / sign for sign in self.kind.signs)):
            with suppress(OSError):
                latest = max(latest, path.lstat().st_mtime)
        if pane is not None and pane.changed_at > (self.attempt.nudged_at or 0.0) + ECHO_SECONDS:
            latest = max(latest, pane.changed_at)
        return min(latest, time.time())

    def seen(self, page: Page, active_at: float, has_dialog: bool, windows: tuple[WindowShare, ...] = ()) -> Sight:
        is_here = self.attempt.provider == "local" and self.folder.exists()
        return Sight(
            active_at=active_at,
            waits=not self.kind.is_amid_turn(self.folder) if is_here else None,
            heard=bool(page.word.at or page.usage.output) if is_here else None,
            asks=(has_dialog or self.kind.asks(self.folder)) if is_here else None,
            usage=page.usage,
            problem=page.word.problem,
            detail=page.word.detail,
            until=page.word.until,
            model=page.word.model,
            refused_at=page.word.at,
            windows=windows,
        )
