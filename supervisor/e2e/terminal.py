"""A program in its own terminal: send keys, read the screen; everything is recorded."""

import re
import time

from supervisor.e2e import keys, ptys
from supervisor.e2e.casts import CastFile
from supervisor.e2e.launch import Launch
from supervisor.e2e.log import Log
from supervisor.e2e.output import Stream
from supervisor.e2e.ptys import Size
from supervisor.e2e.result import CommandResult
from supervisor.e2e.screens import Screen
from supervisor.e2e.spawned import Spawned


class Terminal(Spawned):
    """A running terminal program; `screen` is what a user would see now."""

    def __init__(self, launch: Launch, log: Log, cast: CastFile, size: Size) -> None:
        self.cast = cast
        self.screen = Screen(size, answer=self._answer)
        self._heard = time.monotonic()
        super().__init__(launch, log)

    def _hear(self, stream: Stream, text: str) -> None:
        with self._changed:
            self.cast.output(text)
            self.screen.feed(text)
            self._heard = time.monotonic()
            self._changed.notify_all()

    def _finished(self, result: CommandResult | None) -> None:
        with self._changed:
            self.cast.close(result.exit_code if result else 1)

    def _answer(self, text: str) -> None:
        """The terminal's own answer to a program's query, such as the cursor position."""
        super().send(text)

    # --- act --------------------------------------------------------------------------------------------------
    def send(self, text: str) -> None:
        """Type text unchanged; `press("Enter")` ends a line."""
        with self._changed:
            if self.is_running:
                self.cast.input(text)
        super().send(text)

    def press(self, *names: str) -> None:
        """Press keys, one after the other: `press("Ctrl+C")`, `press("Down", "Down", "Enter")`."""
        for name in names:
            self.send(keys.sequence(name, self.screen.emulator.has_application_cursor_keys))

    def resize(self, columns: int, lines: int) -> None:
        size = Size(columns, lines)
        with self._changed:
            self.screen.resize(size)
            self.cast.resize(size)
        ptys.resize(self._running.input_fd, size)

    def mark(self, label: str) -> None:
        """Add a named marker to the recording."""
        with self._changed:
            self.cast.marker(label)

    # --- look -------------------------------------------------------------------------------------------------
    def wait_text(self, pattern: str | re.Pattern[str], timeout: float = 10.0) -> re.Match[str]:
        """Wait until the screen matches; a failure shows the screen."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while (found := self.screen.search(pattern)) is None:
                left = deadline - time.monotonic()
                if left <= 0 or not self.is_running:
                    wanted = pattern if isinstance(pattern, str) else pattern.pattern
                    how = f"within {timeout:g} s" if self.is_running else "before it ended"
                    raise AssertionError(
                        f"`{self.command}` did not show {wanted!r} {how}; its screen:\n{self.screen.output}"
                    )
                self._changed.wait(min(left, 0.1))
        return found

    def wait_idle(self, quiet: float = 0.3, timeout: float = 10.0) -> None:
        """Wait until nothing has been printed for `quiet` seconds."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while (left := self._heard + quiet - time.monotonic()) > 0:
                if time.monotonic() > deadline:
                    raise AssertionError(f"`{self.command}` was never quiet for {quiet:g} s within {timeout:g} s")
                self._changed.wait(min(left, 0.1))
