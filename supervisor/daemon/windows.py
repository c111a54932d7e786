"""Tells what agents hear of their accounts' windows: the newest report of each window, and not too often."""

from collections.abc import Callable, Iterable

from supervisor.flow.governor import shares
from supervisor.model import event as ev
from supervisor.model.share import WindowShare
from supervisor.model.state import State

#: A window is told at most this often.
EVERY_SECONDS = 10.0


class Windows:
    def __init__(self, tell: Callable[[ev.Event], None]) -> None:
        self._tell = tell
        self._told_at: dict[tuple[str, int], float] = {}

    def look(self, state: State, heard: Iterable[tuple[str, WindowShare]], now: float) -> None:
        """`heard`: each with the account of the agent that heard it."""
        newest: dict[tuple[str, int], WindowShare] = {}
        for account, share in heard:
            known = newest.get((account, share.minutes))
            if known is None or share.told_at > known.told_at:
                newest[account, share.minutes] = share
        self._told_at = {key: at for key, at in self._told_at.items() if abs(now - at) < EVERY_SECONDS}
        for key, share in newest.items():
            if key not in self._told_at and (event := shares.heard(state, key[0], share, now)) is not None:
                self._told_at[key] = now
                self._tell(event)
